package leasetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

// ErrInjected is what calls of a Faulty store fail with.
var ErrInjected = errors.New("injected: no reply")

// Fate is what becomes of a call.
type Fate int

// Fates of a call.
const (
	Done     Fate = iota
	Lost          // it fails, and was not applied
	Unproven      // it fails, but was applied
)

// Faulty is a store whose calls fail as a test decides.
type Faulty struct {
	lease.Store
	mu    sync.Mutex
	fate  func(call string) Fate
	calls int
}

// NewFaulty returns a store whose calls, "Load", "Found" and "Swap", have the
// fate that a function gives them.
func NewFaulty(s lease.Store, fate func(call string) Fate) *Faulty {
	return &Faulty{Store: s, fate: fate}
}

// Set changes the fate of calls; nil lets all succeed.
func (f *Faulty) Set(fate func(call string) Fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fate = fate
}

// Calls is how many calls there were.
func (f *Faulty) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *Faulty) call(name string) Fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.fate == nil {
		return Done
	}
	return f.fate(name)
}

// Load implements lease.Store.
func (f *Faulty) Load(ctx context.Context) (s lease.Snapshot, err error) {
	fate := f.call("Load")
	if fate == Lost {
		return s, ErrInjected
	}
	if s, err = f.Store.Load(ctx); err == nil && fate == Unproven {
		return lease.Snapshot{}, ErrInjected
	}
	return s, err
}

// Found implements lease.Store.
func (f *Faulty) Found(ctx context.Context, old string, head lease.Head, wait time.Duration) error {
	fate := f.call("Found")
	if fate == Lost {
		return ErrInjected
	}
	if err := f.Store.Found(ctx, old, head, wait); err != nil {
		return err
	}
	if fate == Unproven {
		return ErrInjected
	}
	return nil
}

// Swap implements lease.Store.
func (f *Faulty) Swap(ctx context.Context, s lease.Swap) (int64, error) {
	fate := f.call("Swap")
	if fate == Lost {
		return 0, ErrInjected
	}
	now, err := f.Store.Swap(ctx, s)
	if err == nil && fate == Unproven {
		return 0, ErrInjected
	}
	return now, err
}
