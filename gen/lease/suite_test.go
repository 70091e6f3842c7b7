package lease_test

import (
	"testing"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, leasetest.Subject{
		New:   func(*testing.T) lease.Store { return leasetest.NewMemory() },
		Again: func(_ *testing.T, s lease.Store) lease.Store { return s },
		Empty: func(_ *testing.T, s lease.Store) { s.(*leasetest.Memory).Empty() },
		Clock: true,
	})
}
