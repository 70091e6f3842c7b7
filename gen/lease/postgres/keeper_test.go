package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// A party is a process that holds a node and mints all the time.
type party struct {
	k   *lease.Keeper
	g   *gen.Generator
	end func()

	mu   sync.Mutex
	ids  []int64
	last time.Time // when the last one was minted
	errs int
}

func nodeOf(id int64) int { return int(id >> gen.SequenceBits & gen.MaxNode) }

func newParty(t *testing.T, store lease.Store, name string, last int) *party {
	t.Helper()
	guard := new(gen.Guard)
	g, err := gen.New(gen.Config{Leased: true, Guard: guard})
	if err != nil {
		t.Fatal(err)
	}
	p := &party{g: g}
	ctx, cancel := context.WithCancel(t.Context())
	var minting sync.WaitGroup
	minting.Go(func() {
		for tick := time.Tick(time.Millisecond); ctx.Err() == nil; <-tick {
			p.mint()
		}
	})
	p.end = sync.OnceFunc(func() {
		cancel()
		minting.Wait()
		if p.k != nil {
			_ = p.k.Close(context.Background())
		}
	})
	t.Cleanup(p.end)
	p.k, err = lease.Hold(t.Context(), lease.Config{Registry: &lease.Registry{Store: store}, Minter: g, Guard: guard, Last: last, Holder: name,
		Heartbeat: 200 * time.Millisecond, MarkAhead: 1500 * time.Millisecond, TTL: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mint mints a batch, of which at 10 000 ids a second 10 are due.
func (p *party) mint() {
	batch := make([]int64, 10)
	err := p.g.Snowflakes(batch)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.errs++
		return
	}
	p.ids, p.last = append(p.ids, batch...), time.Now()
}

// minted is how many ids there are of a node.
func (p *party) minted(node int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.ids {
		if nodeOf(id) == node {
			n++
		}
	}
	return n
}

// A holder is cut off for longer than its TTL: it stops by itself, its node goes
// to another, and it takes a new one when it is back.
func TestCutOff(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		url := made(t, s)
		direct := open(t, url)
		begun(t, direct)
		link := servers.NewLink(t, s.Addr())
		a := newParty(t, open(t, at(t, url, link.Addr)), "a", 1)
		until(t, "a mints", func() bool { return a.minted(0) > 1000 })
		link.Cut()
		b := newParty(t, direct, "b", 0) // waits until a's lease is over
		until(t, "b mints", func() bool { return b.minted(0) > 1000 })
		if a.g.Node() >= 0 || a.k.Status().Node >= 0 || a.k.Status().Err == nil {
			t.Errorf("a holds node %d, its status is %+v", a.g.Node(), a.k.Status())
		}
		since := b.k.Status().Since
		a.mu.Lock()
		if a.last.After(since) || a.errs == 0 {
			t.Errorf("a minted until %s, b holds the node since %s", a.last, since)
		}
		a.mu.Unlock()
		link.Mend()
		until(t, "a mints again", func() bool { return a.minted(1) > 1000 })
		if n := a.minted(0); n == 0 || b.minted(1) != 0 {
			t.Errorf("a has minted %d ids of node 0, b %d of node 1", n, b.minted(1))
		}
		a.end()
		b.end()
		distinct(t, a, b)
	})
}

// distinct looks for ids that two have minted.
func distinct(t *testing.T, parties ...*party) {
	t.Helper()
	seen := map[int64]bool{}
	for _, p := range parties {
		for _, id := range p.ids {
			if seen[id] {
				t.Fatalf("%d was minted twice, of node %d", id, nodeOf(id))
			}
			seen[id] = true
		}
	}
}

// Holders, one behind a pooler, stop while the server is away, go on when it is
// back, and take another term when theirs is released by others.
func TestHoldersOutliveServer(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		s = devpgtest.PrivateLike(t, s, nil)
		url := s.URL(devpg.Superuser)
		pooled := at(t, url, servers.PgBouncer(t, s.Addr(), devpg.Superuser).Addr)
		create(t, url)
		begun(t, open(t, url))
		a, b := newParty(t, open(t, url), "a", 1), newParty(t, open(t, pooled), "b", 1)
		both := func(what string) {
			t.Helper()
			until(t, what, func() bool {
				return a.g.Node() >= 0 && b.g.Node() >= 0 && a.k.Status().Err == nil && b.k.Status().Err == nil
			})
		}
		both("both hold a node")
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		until(t, "both have stopped", func() bool { return a.g.Node() < 0 && b.g.Node() < 0 })
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		both("both hold a node again")
		if _, err := (&lease.Registry{Store: open(t, url)}).Release(t.Context(), a.g.Node(), false); err != nil && !errors.As(err, new(*lease.FreeError)) {
			t.Fatal(err)
		}
		until(t, "a has noticed", func() bool { return a.k.Status().Since.Compare(b.k.Status().Since) > 0 })
		both("both hold a node after a release")
		a.end()
		b.end()
		distinct(t, a, b)
	})
}
