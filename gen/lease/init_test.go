package lease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

// Who says that no holder is left does not say that the records are the last ones:
// of a copy, a restored or a failed-over registry they are not, and a program whose
// clock was set back would repeat what came behind them.
func TestInitOfOlderData(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		a.mustBegin()
		a.mustMint()
		restore := registry.Save()
		time.Sleep(time.Hour)
		a.mustMint()
		a.end()
		restore()
		time.Sleep(time.Minute)
		r := &lease.Registry{Store: registry}
		if _, err := r.Init(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		a.step(-time.Minute - 30*time.Second)
		a.mustBegin()
		defer a.end()
		for range 90 { // no id, or one that is new to the world
			_, _ = a.mint(1)
			time.Sleep(time.Second)
		}
		a.step(time.Minute + 30*time.Second)
		time.Sleep(time.Minute)
		a.mustMint()
	})
}

// What an era has said of the past, another Init does not take back.
func TestInitTwice(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, _ *idSet) {
		r := &lease.Registry{Store: registry}
		s, err := r.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		registry.Empty()
		r.ID = s.Head.ID
		want := int64(0)
		for i := range 3 {
			if s, err = r.Init(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			if want == 0 {
				want = time.Now().UnixMilli()
			}
			if s.Head.Floor != want {
				t.Errorf("floor after %d: %s, want %s", i+1, time.UnixMilli(s.Head.Floor), time.UnixMilli(want))
			}
			time.Sleep(time.Second)
		}
		// A floor that a wrong clock put into the future is no reason to wait for it.
		registry.Step(24 * time.Hour)
		registry.Save()()
		if s, err = r.Open(t.Context()); err != nil || time.UnixMilli(s.Head.Floor).Before(time.Now().Add(23*time.Hour)) {
			t.Fatalf("got %+v, %v", s.Head, err)
		}
		registry.Step(-24 * time.Hour)
		if s, err = r.Init(t.Context(), false); err != nil || s.Head.Floor > time.Now().UnixMilli() {
			t.Errorf("got %s, %v", time.UnixMilli(s.Head.Floor), err)
		}
	})
}

// The clock of the server that takes over may be behind that of the one before.
func TestFloorNeverFalls(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, _ *idSet) {
		r := &lease.Registry{Store: registry}
		floor := int64(0)
		for range 3 {
			registry.Save()()
			s, err := r.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Head.Floor < floor {
				t.Errorf("the floor fell from %s to %s", time.UnixMilli(floor), time.UnixMilli(s.Head.Floor))
			}
			floor = s.Head.Floor
			time.Sleep(time.Minute)
			registry.Step(-time.Hour)
		}
	})
}

// Who set up an emptied registry without the id that databases record can still
// give it that id, as long as it has given out nothing.
func TestInitWithRecordedID(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		a.mustBegin()
		defer a.end()
		a.mustMint()
		id := a.k.Status().Registry
		registry.Empty()
		if s, err := (&lease.Registry{Store: registry}).Init(t.Context(), false); err != nil || s.Head.ID == id {
			t.Fatalf("got %+v, %v", s.Head, err)
		}
		time.Sleep(time.Minute)
		if a.mints() || !errors.As(a.k.Status().Err, new(*lease.OtherRegistryError)) {
			t.Fatalf("a goes on with another registry: %v", a.k.Status().Err)
		}
		right := &lease.Registry{Store: registry, ID: id}
		s, err := right.Init(t.Context(), false)
		if err != nil || s.Head.ID != id || s.Head.Floor != time.Now().UnixMilli() {
			t.Fatalf("got %+v, %v", s.Head, err)
		}
		time.Sleep(6 * time.Second)
		a.mustMint()
		wrong := &lease.Registry{Store: registry, ID: "another"}
		if _, err := wrong.Init(t.Context(), false); !errors.As(err, new(*lease.OtherRegistryError)) {
			t.Errorf("a registry that is used got another id: %v", err)
		}
	})
}

// To free a node is no reason to set up an emptied registry under an id that the
// holders of before refuse.
func TestReleaseOfEmptied(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		a.mustBegin()
		defer a.end()
		registry.Empty()
		var free *lease.FreeError
		if _, err := (&lease.Registry{Store: registry}).Release(t.Context(), 3, false); !errors.As(err, &free) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
		a.mustMint()
	})
}
