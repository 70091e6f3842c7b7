package lease_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

func TestHeartbeat(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		a.mustBegin()
		defer a.end()
		for range 600 {
			time.Sleep(500 * time.Millisecond)
			id := a.mustMint()
			s := a.k.Status()
			if behind := time.Since(timeOf(id)); behind < 0 || behind > time.Millisecond {
				t.Fatalf("an id is %s behind the clock", behind)
			}
			if ahead := time.Until(s.Mark); ahead < 6*time.Second || ahead > 12*time.Second {
				t.Fatalf("the mark is %s ahead of the clock", ahead)
			}
			if s.Node != 0 || s.Err != nil || s.Offset != 0 || !s.Clocked || s.Doubted || s.Registry == "" {
				t.Fatalf("got %+v", s)
			}
		}
		if calls := a.store.Calls(); calls > 300/5+5 {
			t.Errorf("%d calls in 5 minutes", calls)
		}
	})
}

// Case GN-06: the holder stops by itself, another takes its node, and it goes on
// with another one, for each way in which a network or a registry fails.
func TestCutOff(t *testing.T) {
	for _, fate := range []leasetest.Fate{leasetest.Lost, leasetest.Unproven} {
		t.Run(fmt.Sprint(fate), func(t *testing.T) {
			world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
				a, b := newParty(t, "a", registry, ids), newParty(t, "b", registry, ids)
				a.mustBegin()
				defer a.end()
				a.cut(fate)
				start, stopped := time.Now(), time.Duration(0)
				for time.Since(start) < 31*time.Second {
					time.Sleep(10 * time.Millisecond)
					if _, err := a.mint(100); err != nil && stopped == 0 {
						stopped = time.Since(start)
					}
				}
				if fate == leasetest.Lost && (stopped == 0 || stopped > 13*time.Second) {
					t.Errorf("a stopped after %s", stopped)
				}
				b.mustBegin()
				defer b.end()
				want := 0
				if fate == leasetest.Unproven {
					want = 1 // a's heartbeats arrive, so that the registry gives its node to nobody
				}
				if got := nodeOf(b.mustMint()); got != want {
					t.Errorf("b has node %d, want %d", got, want)
				}
				for range 29 {
					time.Sleep(time.Second)
					if _, err := a.mint(100); err == nil {
						t.Error("a mints while it is cut off")
					}
					b.mustMint()
				}
				a.mend()
				time.Sleep(2 * time.Second)
				if got := nodeOf(a.mustMint()); got == want {
					t.Errorf("a has b's node")
				}
				b.mustMint()
			})
		})
	}
}

// A short outage is not noticed.
func TestShortOutage(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		a.mustBegin()
		defer a.end()
		for range 50 {
			a.cut(leasetest.Lost)
			time.Sleep(5500 * time.Millisecond)
			a.mustMint()
			a.mend()
			time.Sleep(1500 * time.Millisecond)
		}
		if s := a.k.Status(); s.Err != nil || s.Node != 0 {
			t.Errorf("got %+v", s)
		}
	})
}

// Kill a holder, set the clock back a minute, start again with the same node: the
// first new id is above the last old one.
func TestRestartAfterStepBack(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		a.config.First, a.config.Last = 7, 7
		a.mustBegin()
		time.Sleep(time.Second)
		last := a.mustMint()
		a.kill()
		a.step(-time.Minute)
		a.mustBegin()
		defer a.end()
		began := time.Now()
		for !a.mints() {
			if time.Since(began) > 2*time.Minute {
				t.Fatal("it never mints again")
			}
			time.Sleep(100 * time.Millisecond)
		}
		if id := a.mustMint(); id <= last || nodeOf(id) != 7 {
			t.Errorf("got %d of node %d after %d", id, nodeOf(id), last)
		}
	})
}

// A holder that is restarted in an orderly way, or is not too often killed, mints
// at once.
func TestRestartMintsAtOnce(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		for range 20 {
			a.mustBegin()
			a.mustMint()
			a.end()
			time.Sleep(1500 * time.Millisecond)
		}
		b := newParty(t, "b", registry, ids)
		b.mustBegin() // one that is always there
		defer b.end()
		// Case GN-08: whatever the number of restarts, its node is nobody else's.
		for range 1100 {
			a.mustBegin()
			if a.mustMint(); nodeOf(a.mustMint()) == nodeOf(b.mustMint()) {
				t.Fatal("a got the node of b")
			}
			a.end()
		}
	})
}

func TestChoice(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		r := &lease.Registry{Store: registry}
		if node, err := r.ClaimFunctions(t.Context(), lease.Functions{Database: "db", Node: 11}); node != 11 || err != nil {
			t.Fatal(node, err)
		}
		begin := func(name string, first, last int) (*party, error) {
			p := newParty(t, name, registry, ids)
			p.config.First, p.config.Last = first, last
			return p, p.begin()
		}
		var all []*party
		for i, want := range []int{10, 12, 13} {
			p, err := begin(fmt.Sprint("p", i), 10, 13)
			if err != nil {
				t.Fatal(err)
			}
			defer p.end()
			all = append(all, p)
			if got := p.k.Status().Node; got != want {
				t.Errorf("got node %d, want the lowest that is free, %d", got, want)
			}
		}
		_, err := begin("one too many", 10, 13)
		var exhausted *lease.ExhaustedError
		if !errors.As(err, &exhausted) || !strings.Contains(err.Error(), "all nodes from 10 to 13 are held (3 leases, 1 databases' functions)") {
			t.Errorf("got %v", err)
		}
		var held *lease.HeldError
		if _, err := begin("the functions' node", 11, 11); !errors.As(err, &held) || !strings.Contains(err.Error(), "node 11 is that of the server functions of a database (db), for good") {
			t.Errorf("got %v", err)
		}
		all[1].end()
		again, err := begin("again", 10, 13)
		if err != nil || again.k.Status().Node != 12 {
			t.Errorf("got %v, want the node that was freed", err)
		}
		again.end()

		// A node whose mark is out of reach is the last choice.
		wrong := newParty(t, "its clock is an hour ahead", registry, ids)
		wrong.config.First, wrong.config.Last = 20, 21
		registry.Step(time.Hour)
		wrong.step(time.Hour)
		wrong.mustBegin()
		wrong.mustMint()
		wrong.end()
		registry.Step(-time.Hour)
		right, err := begin("right", 20, 21)
		if err != nil {
			t.Fatal(err)
		}
		defer right.end()
		if got := nodeOf(right.mustMint()); got != 21 {
			t.Errorf("got node %d, under which nothing can be minted for an hour", got)
		}
	})
}

// Two processes of one static node: the second one is refused as soon as the
// first gives a sign of life; one that is dead is waited for.
func TestStaticNode(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		static := func(name string) *party {
			p := newParty(t, name, registry, ids)
			p.config.First, p.config.Last = 3, 3
			return p
		}
		a, b := static("a"), static("b")
		a.mustBegin()
		began := time.Now()
		err := b.begin()
		var held *lease.HeldError
		if !errors.As(err, &held) || held.Holder != "a" || held.Node != 3 || !strings.Contains(err.Error(), "node 3 is held by a since 2026-12-01T12:00:0") {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d > 7*time.Second {
			t.Errorf("refused after %s", d)
		}
		last := a.mustMint()
		a.kill()
		began = time.Now()
		b.mustBegin()
		defer b.end()
		if d := time.Since(began); d > 15*time.Second || b.mints() {
			t.Errorf("it began after %s, and mints: %t", d, b.mints())
		}
		for !b.mints() {
			time.Sleep(time.Second)
		}
		if d := time.Since(began); d > 36*time.Second || b.mustMint() <= last {
			t.Errorf("it mints after %s", d)
		}
	})
}

func TestLeaseGuard(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		guard := new(gen.Guard)
		hold := func(name string, more bool) (*lease.Keeper, error) {
			g, err := gen.New(gen.Config{Leased: true, Guard: guard, AllowMore: true})
			if err != nil {
				t.Fatal(err)
			}
			return lease.Hold(t.Context(), lease.Config{Registry: &lease.Registry{Store: registry}, Minter: g, Last: 9, Holder: name,
				Guard: guard, AllowMore: more})
		}
		first, err := hold("the first", false)
		if err != nil {
			t.Fatal(err)
		}
		var second *gen.SecondError
		if _, err := hold("the second", false); !errors.As(err, &second) || second.Holder != "the first" || second.What != "lease" {
			t.Errorf("got %v", err)
		}
		other, err := hold("another", true)
		if err != nil || other.Status().Node != 1 {
			t.Errorf("got %v", err)
		}
		for _, k := range []*lease.Keeper{first, other, first} {
			if err := k.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		again, err := hold("again", false)
		if err != nil {
			t.Fatalf("Close did not free the place: %v", err)
		}
		if err := again.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]lease.Config{
		"nodes 5 to 4 are no range within 0 to 1023":    {First: 5, Last: 4},
		"nodes -1 to 4 are no range within 0 to 1023":   {First: -1, Last: 4},
		"nodes 0 to 1024 are no range within 0 to 1023": {Last: 1024},
		"heartbeat 12s, mark-ahead 12s and TTL 30s do not go together: each must be less than the next, and the heartbeat 100ms at least": {Heartbeat: 12 * time.Second},
		"heartbeat 5s, mark-ahead 30s and TTL 30s do not go together: each must be less than the next, and the heartbeat 100ms at least":  {MarkAhead: 30 * time.Second},
		"heartbeat -1s, mark-ahead 12s and TTL 30s do not go together: each must be less than the next, and the heartbeat 100ms at least": {Heartbeat: -time.Second},
		"TTL 1h0m0s is too long: a registry that has lost its data waits for that time, at most 5m0s":                                     {TTL: time.Hour},
	} {
		if _, err := lease.Hold(t.Context(), c); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// With a registry that is away, or hands out nothing yet, the start goes on.
func TestBeginWithoutRegistry(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		a.cut(leasetest.Lost)
		a.mustBegin()
		defer a.end()
		if s := a.k.Status(); a.mints() || s.Node != -1 || !errors.Is(s.Err, leasetest.ErrInjected) {
			t.Errorf("got %+v", s)
		}
		a.mend()
		time.Sleep(2 * time.Second)
		a.mustMint()

		other := newParty(t, "b", registry, ids)
		other.config.Registry.ID = "another"
		var wrong *lease.OtherRegistryError
		if err := other.begin(); !errors.As(err, &wrong) || wrong.Want != "another" || wrong.Got != a.k.Status().Registry {
			t.Errorf("got %v", err)
		}
		other.config.Registry = &lease.Registry{Store: setup{other.store}}
		var s *lease.SetupError
		if err := other.begin(); !errors.As(err, &s) {
			t.Errorf("got %v", err)
		}
	})
}
