package lease_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

// A party is a process that holds a node: with a network of its own to the
// registry, and a clock of its own.
type party struct {
	t      testing.TB
	name   string
	store  *leasetest.Faulty
	config lease.Config
	offset atomic.Int64 // of its wall clock, in ns
	g      *gen.Generator
	k      *lease.Keeper
	ids    *idSet
	life   int // how often it was started
}

// newParty returns a process that does not run yet.
func newParty(t testing.TB, name string, registry lease.Store, ids *idSet) *party {
	p := &party{t: t, name: name, store: leasetest.NewFaulty(registry, nil), ids: ids}
	p.config = lease.Config{Registry: &lease.Registry{Store: p.store}, First: 0, Last: gen.MaxNode, Holder: name, Now: p.now}
	return p
}

func (p *party) now() int64 { return time.Now().UnixNano() + p.offset.Load() }

func (p *party) step(d time.Duration) { p.offset.Add(int64(d)) }

// begin starts the process.
func (p *party) begin() error {
	guard := new(gen.Guard)
	g, err := gen.New(gen.Config{Leased: true, Now: p.now, Guard: guard, Rand: func() uint64 { return 0 }})
	if err != nil {
		p.t.Fatal(err)
	}
	c := p.config
	c.Minter, c.Guard = g, guard
	k, err := lease.Hold(p.t.Context(), c)
	if err != nil {
		return err
	}
	p.g, p.k = g, k
	p.life++
	return nil
}

func (p *party) mustBegin() {
	p.t.Helper()
	if err := p.begin(); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
}

// kill ends the process without a word to the registry.
func (p *party) kill() {
	if p.k == nil {
		return
	}
	p.store.Set(func(string) leasetest.Fate { return leasetest.Lost })
	_ = p.k.Close(context.Background())
	p.store.Set(nil)
	p.k, p.g = nil, nil
}

// end ends the process in an orderly way.
func (p *party) end() {
	if p.k == nil {
		return
	}
	if err := p.k.Close(context.Background()); err != nil {
		p.t.Errorf("%s: %v", p.name, err)
	}
	p.k, p.g = nil, nil
}

// mint mints a batch, all of which must be new to the world.
func (p *party) mint(n int) (last int64, err error) {
	if p.g == nil {
		return 0, gen.ErrNoNode
	}
	batch := make([]int64, n)
	if err := p.g.Snowflakes(batch); err != nil {
		return 0, err
	}
	// Within a term there is nothing to tell apart.
	p.ids.add(p.t, fmt.Sprintf("%s, life %d, term of %s", p.name, p.life, p.k.Status().Since.UTC()), batch)
	return batch[n-1], nil
}

func (p *party) mustMint() int64 {
	p.t.Helper()
	id, err := p.mint(1)
	if err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	return id
}

// mints tells whether the process can mint.
func (p *party) mints() bool {
	_, err := p.mint(1)
	return err == nil
}

func (p *party) cut(fate leasetest.Fate) { p.store.Set(func(string) leasetest.Fate { return fate }) }

func (p *party) mend() { p.store.Set(nil) }

// An idSet is all ids that there are. By the argument the times of a node are
// cut into stretches with one holder each, so it looks at these: far fewer ids
// than there might be are enough to see two of them meet.
type idSet struct {
	mu        sync.Mutex
	stretches map[int]map[string]stretch // by node and term
	max       int64
}

// A stretch is where a term's ids lie.
type stretch struct{ first, last int64 }

func newIDSet() *idSet { return &idSet{stretches: map[int]map[string]stretch{}} }

// add fails for ids that are not ascending, or lie in the stretch of another
// term.
func (s *idSet) add(t testing.TB, term string, ids []int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	node := nodeOf(ids[0])
	terms := s.stretches[node]
	if terms == nil {
		terms = map[string]stretch{}
		s.stretches[node] = terms
	}
	own, known := terms[term]
	if !known {
		own = stretch{ids[0], ids[0] - 1}
	}
	for _, id := range ids {
		if id <= own.last || nodeOf(id) != node {
			t.Fatalf("%s: %d of node %d after %d of node %d", term, id, nodeOf(id), own.last, node)
		}
		own.last = id
	}
	terms[term] = own
	s.max = max(s.max, own.last)
	for other, o := range terms {
		if other != term && o.first <= own.last && own.first <= o.last {
			t.Fatalf("node %d: %s minted from %s to %s, %s from %s to %s", node,
				term, timeOf(own.first), timeOf(own.last), other, timeOf(o.first), timeOf(o.last))
		}
	}
}

func nodeOf(id int64) int { return int(id >> gen.SequenceBits & gen.MaxNode) }

func timeOf(id int64) time.Time {
	return time.UnixMilli(id>>(gen.NodeBits+gen.SequenceBits) + gen.Epoch)
}

// world runs a test in a bubble of its own time, decades after the bubble's own,
// which begins before the epoch of the ids.
func world(t *testing.T, do func(t *testing.T, registry *leasetest.Memory, ids *idSet)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)))
		registry := leasetest.NewMemory()
		if _, err := (&lease.Registry{Store: registry}).Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		do(t, registry, newIDSet())
	})
}
