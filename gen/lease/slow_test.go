package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

// far is a store whose calls take a while.
type far struct {
	lease.Store
	trip time.Duration
}

func (f far) wait(ctx context.Context) error {
	select {
	case <-time.After(f.trip):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f far) Load(ctx context.Context) (lease.Snapshot, error) {
	if err := f.wait(ctx); err != nil {
		return lease.Snapshot{}, err
	}
	return f.Store.Load(ctx)
}

func (f far) Swap(ctx context.Context, s lease.Swap) (int64, error) {
	if err := f.wait(ctx); err != nil {
		return 0, err
	}
	return f.Store.Swap(ctx, s)
}

// A registry that answers each call in time is not too far to take a node from,
// which needs several.
func TestFarRegistry(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", far{registry, 1800 * time.Millisecond}, ids)
		start := time.Now()
		a.mustBegin()
		defer a.end()
		if d := time.Since(start); d > 4*time.Second {
			t.Errorf("the start took %s", d)
		}
		time.Sleep(10 * time.Second)
		a.mustMint()
		for range 60 {
			time.Sleep(time.Second)
			a.mustMint()
		}
	})
}

// A call that nobody answers holds up a node no longer than before.
func TestHungRegistry(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		hung := make(chan struct{})
		a := newParty(t, "a", hanging{registry, hung}, ids)
		a.mustBegin()
		defer a.end()
		time.Sleep(time.Minute)
		close(hung)
		time.Sleep(4100 * time.Millisecond) // one call, and the pause behind it
		a.mustMint()
	})
}

// hanging is a store whose calls begun before a channel is closed do not return.
type hanging struct {
	lease.Store
	until chan struct{}
}

func (h hanging) Load(ctx context.Context) (lease.Snapshot, error) {
	select {
	case <-h.until:
		return h.Store.Load(ctx)
	default:
		<-ctx.Done()
		return lease.Snapshot{}, ctx.Err()
	}
}
