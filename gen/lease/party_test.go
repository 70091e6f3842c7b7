package lease_test

import (
	"context"
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
	t       testing.TB
	name    string
	store   *leasetest.Faulty
	config  lease.Config
	offset  atomic.Int64 // of its wall clock, in ns
	g       *gen.Generator
	k       *lease.Keeper
	endLife context.CancelFunc
	ids     *idSet
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
	p.ids.add(p.t, p.name, batch)
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

// An idSet is all ids that there are.
type idSet struct {
	mu  sync.Mutex
	of  map[int64]string
	max int64
}

func newIDSet() *idSet { return &idSet{of: map[int64]string{}} }

func (s *idSet) add(t testing.TB, name string, ids []int64) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if other, ok := s.of[id]; ok {
			t.Fatalf("id %d (%s, node %d) of %s was minted by %s before", id, time.UnixMilli(id>>22+gen.Epoch).UTC(), nodeOf(id), name, other)
		}
		s.of[id] = name
		s.max = max(s.max, id)
	}
}

func nodeOf(id int64) int { return int(id >> gen.SequenceBits & gen.MaxNode) }

func timeOf(id int64) time.Time { return time.UnixMilli(id>>(gen.NodeBits+gen.SequenceBits) + gen.Epoch) }

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
