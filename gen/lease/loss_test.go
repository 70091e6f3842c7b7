package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

// setup is a store whose tables are not there.
type setup struct{ lease.Store }

func (setup) Load(context.Context) (lease.Snapshot, error) {
	return lease.Snapshot{}, &lease.SetupError{Err: errors.New("no table"), Hint: "install"}
}

// A registry that lost its data, or goes on with older data on another server:
// holders stop at their next heartbeat, and nobody is given a node until the
// longest TTL has passed.
func TestRegistryLosesData(t *testing.T) {
	for name, lose := range map[string]func(m *leasetest.Memory) func(){
		"emptied":   func(m *leasetest.Memory) func() { return m.Empty },
		"fail-over": func(m *leasetest.Memory) func() { return m.Save() },
		"set up by others": func(m *leasetest.Memory) func() {
			return func() {
				m.Empty()
				_, _ = (&lease.Registry{Store: m}).Open(context.Background())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
				a, b := newParty(t, "a", registry, ids), newParty(t, "b", registry, ids)
				a.mustBegin()
				defer a.end()
				id := a.k.Status().Registry
				do := lose(registry)
				time.Sleep(time.Minute)
				do()
				lost := time.Now()
				if name == "set up by others" {
					time.Sleep(time.Minute)
					if a.mints() || !errors.As(a.k.Status().Err, new(*lease.OtherRegistryError)) {
						t.Errorf("a goes on with another registry: %v", a.k.Status().Err)
					}
					return
				}
				b.config.Registry.ID = id // as its database records
				b.mustBegin()
				defer b.end()
				if name == "emptied" && !errors.As(b.k.Status().Err, new(*lease.EmptyRegistryError)) {
					// It might be at a wrong URL: a, which has seen the registry there, sets it up.
					t.Errorf("b: got %v", b.k.Status().Err)
				}
				for a.mints() {
					time.Sleep(100 * time.Millisecond)
				}
				if d := time.Since(lost); d > 6*time.Second {
					t.Errorf("a minted for %s without a record", d)
				}
				last := ids.max
				for !a.mints() && !b.mints() {
					if time.Since(lost) > time.Minute {
						t.Fatal("nobody mints any more")
					}
					time.Sleep(100 * time.Millisecond)
				}
				if d := time.Since(lost); d < 29*time.Second {
					t.Errorf("a node was handed out after %s", d)
				}
				time.Sleep(6 * time.Second)
				if x, y := a.mustMint(), b.mustMint(); x <= last || y <= last || nodeOf(x) == nodeOf(y) {
					t.Errorf("%d of node %d, %d of node %d, after %d", x, nodeOf(x), y, nodeOf(y), last)
				}
				if got := a.k.Status().Registry; got != id || b.k.Status().Registry != id {
					t.Errorf("the registry's id was %s and is %s", id, got)
				}
			})
		})
	}
}

// A registry that is released, or set up anew, under a holder's feet.
func TestTakenAway(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a, b := newParty(t, "a", registry, ids), newParty(t, "b", registry, ids)
		a.mustBegin()
		defer a.end()
		a.mustMint()
		r := &lease.Registry{Store: registry}
		if rec, err := r.Release(t.Context(), 0, false); err != nil || rec.Holder != "a" || !rec.Live {
			t.Fatalf("got %+v, %v", rec, err)
		}
		b.mustBegin()
		defer b.end()
		if got := nodeOf(b.mustMint()); got != 0 {
			t.Errorf("b has node %d", got)
		}
		var free *lease.FreeError
		if _, err := r.Release(t.Context(), 5, false); !errors.As(err, &free) {
			t.Errorf("got %v", err)
		}
		for range 60 { // until a's heartbeat both mint, a below its mark
			time.Sleep(100 * time.Millisecond)
			_, _ = a.mint(10)
			_, _ = b.mint(10)
		}
		if got := nodeOf(a.mustMint()); got != 1 {
			t.Errorf("a has node %d", got)
		}
		if _, err := r.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		for range 120 {
			time.Sleep(100 * time.Millisecond)
			_, _ = a.mint(10)
			_, _ = b.mint(10)
		}
		if x, y := nodeOf(a.mustMint()), nodeOf(b.mustMint()); x == y {
			t.Errorf("both have node %d", x)
		}
	})
}

// What a function's number is, it stays.
func TestFunctions(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		r := &lease.Registry{Store: registry}
		claim := func(database string, node int, fresh bool) (int, error) {
			return r.ClaimFunctions(t.Context(), lease.Functions{Database: database, Node: node, Fresh: fresh})
		}
		for _, c := range []struct {
			database    string
			node        int
			fresh       bool
			want        int
			heldByOther bool
		}{
			{"a", -1, false, 1023, false}, {"a", -1, false, 1023, false}, {"b", -1, false, 1022, false}, {"b", 1023, false, 0, true},
			{"c", 500, false, 500, false}, {"c", -1, false, 500, false}, {"a", -1, true, 1021, false}, {"a", 1023, false, 1023, false},
		} {
			got, err := claim(c.database, c.node, c.fresh)
			var held *lease.HeldError
			if errors.As(err, &held) != c.heldByOther || !c.heldByOther && (err != nil || got != c.want) {
				t.Errorf("%+v: got %d, %v", c, got, err)
			}
		}
		if got, err := r.ClaimFunctions(t.Context(), lease.Functions{Database: "b, upgraded", Was: "b", Node: 1022}); got != 1022 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if _, err := claim("b", 1022, false); !errors.As(err, new(*lease.HeldError)) {
			t.Errorf("got %v", err)
		}
		a := newParty(t, "a", registry, ids)
		a.config.First, a.config.Last = 1020, 1023
		a.mustBegin()
		defer a.end()
		if got := nodeOf(a.mustMint()); got != 1020 {
			t.Errorf("a has node %d", got)
		}
		if _, err := claim("d", 1020, false); !errors.As(err, new(*lease.HeldError)) {
			t.Errorf("a live lease's number was given to functions: %v", err)
		}
		b := newParty(t, "b", registry, ids)
		b.config.First, b.config.Last = 600, 600
		b.mustBegin()
		b.mustMint()
		b.end()
		if _, err := claim("d", 600, false); !errors.As(err, new(*lease.RecentError)) {
			t.Errorf("a number under which ids were just minted was given to functions: %v", err)
		}
		time.Sleep(75 * time.Second)
		if got, err := claim("x", 600, false); got != 600 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if got, err := claim("d", -1, false); got != 1019 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if _, err := r.Release(t.Context(), 1022, false); !errors.As(err, new(*lease.HeldError)) {
			t.Errorf("functions' number was released without being asked: %v", err)
		}
		if _, err := r.Release(t.Context(), 1022, true); err != nil {
			t.Error(err)
		}
		if got, err := claim("e", -1, false); got != 1018 || err != nil {
			t.Errorf("got %d, %v, want a number that was never used", got, err)
		}
		// A new one gives out numbers at once, though no nodes yet; one that has lost its
		// data does not, before somebody says that all databases have theirs again.
		fresh := leasetest.NewMemory()
		r = &lease.Registry{Store: fresh}
		for i, database := range []string{"a", "b"} {
			if got, err := claim(database, -1, false); got != 1023-i || err != nil {
				t.Errorf("%s: got %d, %v", database, got, err)
			}
		}
		s, err := r.Open(t.Context())
		if err != nil || s.Wait <= 0 {
			t.Errorf("a new registry hands out nodes at once: %v, %v", s.Wait, err)
		}
		fresh.Empty()
		r = &lease.Registry{Store: fresh, ID: s.Head.ID}
		if _, err := claim("b", 1022, false); !errors.As(err, new(*lease.EmptyRegistryError)) {
			t.Errorf("got %v", err)
		}
		r.Seen = true
		time.Sleep(time.Hour)
		if _, err := claim("c", -1, false); !errors.As(err, new(*lease.DataLostError)) {
			t.Errorf("got %v", err)
		}
		fresh.Save()()
		if _, err := claim("c", -1, false); !errors.As(err, new(*lease.DataLostError)) {
			t.Errorf("behind a failover: got %v", err)
		}
		for i, database := range []string{"a", "b"} {
			if got, err := claim(database, 1023-i, false); got != 1023-i || err != nil {
				t.Errorf("%s: got %d, %v", database, got, err)
			}
		}
		if s, err = r.Init(t.Context(), false); err != nil || s.Head.ID != r.ID {
			t.Errorf("got %+v, %v", s.Head, err)
		}
		if got, err := claim("c", -1, false); got != 1021 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		r = &lease.Registry{Store: registry}
		// In doubt numbers of other databases may be missing.
		registry.Save()()
		if _, err := claim("f", -1, false); !errors.As(err, new(*lease.WaitError)) {
			t.Errorf("got %v", err)
		}
		if got, err := claim("b", 1016, false); got != 1016 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
}

// Who sets up an emptied registry waits for holders with longer leases too, of
// whom it had read there.
func TestLossWithLongerLeases(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a, b := newParty(t, "a", registry, ids), newParty(t, "b", registry, ids)
		a.config.TTL, a.config.MarkAhead, a.config.Heartbeat = 5*time.Minute, 4*time.Minute, 2*time.Minute
		a.mustBegin()
		defer a.end()
		b.mustBegin()
		defer b.end()
		registry.Empty()
		for range 600 {
			time.Sleep(time.Second)
			_, _ = a.mint(10)
			_, _ = b.mint(10)
		}
		a.mustMint()
		b.mustMint()
	})
}
