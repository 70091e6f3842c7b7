package lease_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

// Functions go by their server's clock: where that is behind the registry's, what
// proxies have minted a while ago is still to come for them.
func TestFunctionsBehind(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		a.mustBegin()
		a.mustMint()
		a.end()
		time.Sleep(5 * time.Minute)
		r := &lease.Registry{Store: registry}
		f := lease.Functions{Database: "db", Node: 0, Now: time.Now().Add(-10 * time.Minute).UnixMilli()}
		var recent *lease.RecentError
		if _, err := r.ClaimFunctions(t.Context(), f); !errors.As(err, &recent) || recent.Left < 6*time.Minute || recent.Left > 7*time.Minute {
			t.Errorf("got %v", err)
		}
		f.Now = time.Now().UnixMilli()
		if _, err := r.ClaimFunctions(t.Context(), f); err != nil {
			t.Error(err)
		}
	})
}

// Where others may have the same key, only what the database itself records says
// that a number is its own.
func TestWeakKey(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, _ *idSet) {
		r := &lease.Registry{Store: registry}
		s, err := r.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			node, recorded int
			registry       string
			want           int // -1: held by another
		}{
			{-1, 0, "", 1023},
			{-1, 0, "", 1022},              // of another server
			{1023, 1023, s.Head.ID, 1023},  // again
			{1022, 1022, s.Head.ID, 1022},  // again
			{1023, 1023, "", -1},           // installed without a registry
			{1023, 1022, s.Head.ID, -1},    // asked for
			{1023, 1023, "of another", -1}, // moved here
		} {
			f := lease.Functions{Database: "5 of the server at :", Weak: true, Node: c.node, Recorded: c.recorded, Registry: c.registry}
			got, err := r.ClaimFunctions(t.Context(), f)
			if errors.As(err, new(*lease.HeldError)) {
				got, err = -1, nil
			}
			if got != c.want || err != nil {
				t.Errorf("%+v: got %d, %v", c, got, err)
			}
		}
	})
}
