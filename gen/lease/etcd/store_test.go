package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/etcd"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
)

func open(t *testing.T, url string) *etcd.Store {
	t.Helper()
	s, err := etcd.New(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// admin is a connection for what no store does.
func admin(t *testing.T, server *servers.Server, user, password string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr}, Logger: zap.NewNop(), Username: user, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestSuite(t *testing.T) {
	t.Parallel()
	server := servers.Etcd(t)
	c := admin(t, server, "", "")
	var tests atomic.Int64
	url := func() string { return fmt.Sprintf("etcd://%s/test/%d", server.Addr, tests.Load()) }
	leasetest.Run(t, leasetest.Subject{
		New:   func(t *testing.T) lease.Store { tests.Add(1); return open(t, url()) },
		Again: func(t *testing.T, _ lease.Store) lease.Store { return open(t, url()) },
		Empty: func(t *testing.T, _ lease.Store) {
			if _, err := c.Delete(t.Context(), "/test/", clientv3.WithPrefix()); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// What etcd acknowledged it has after a restart, and goes on with.
func TestRestarted(t *testing.T) {
	t.Parallel()
	server := servers.Etcd(t)
	s := open(t, "etcd://"+server.Addr)
	snap := leasetest.Begin(t, s)
	if err := leasetest.Put(s, snap, "", "a"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := leasetest.Put(s, snap, "a", "b"); err == nil || errors.Is(err, lease.ErrChanged) || errors.Is(err, lease.ErrEra) ||
		errors.As(err, new(*lease.SetupError)) {
		t.Errorf("without a server: got %v", err)
	}
	server.Start()
	eventually(t, func() error { return leasetest.Put(s, snap, "a", "b") })
	if got, err := s.Load(t.Context()); err != nil || got.Server != got.Head.Server || len(got.Records) != 1 || !got.Records[0].Live {
		t.Errorf("got %+v, %v", got, err)
	}
}

// eventually tries what depends on a connection that comes back.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if err := try(); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestWiped(t *testing.T) {
	t.Parallel()
	server := servers.Etcd(t)
	s := open(t, "etcd://"+server.Addr)
	before := leasetest.Begin(t, s)
	server.Kill()
	server.Empty()
	server.Start()
	eventually(t, func() error { _, err := s.Load(t.Context()); return err })
	if err := leasetest.Put(s, before, "", "a"); !errors.Is(err, lease.ErrEra) {
		t.Errorf("a server that is empty: got %v", err)
	}
	reopen(t, s, before)
}

// The cluster is set back to a backup, and has the same id.
func TestSetBack(t *testing.T) {
	t.Parallel()
	server := servers.Etcd(t)
	s := open(t, "etcd://"+server.Addr)
	before := leasetest.Begin(t, s)
	if err := leasetest.Put(s, before, "", "a"); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	restore := server.Save()
	server.Start()
	eventually(t, func() error { return leasetest.Put(s, before, "a", "b") })
	server.Stop()
	restore()
	server.Start()
	eventually(t, func() error {
		err := leasetest.Put(s, before, "a", "c")
		if err == nil {
			t.Fatal("what was set back is gone on with")
		} else if errors.Is(err, lease.ErrEra) {
			return nil
		}
		return err
	})
	after := reopen(t, s, before)
	if err := leasetest.Put(s, after, "a", "c"); err != nil {
		t.Error(err)
	}
	if got, err := open(t, "etcd://"+server.Addr).Load(t.Context()); err != nil || got.Server != got.Head.Server {
		t.Errorf("to who comes later it is %q under a head of %q, %v", got.Server, got.Head.Server, err)
	}
}

// reopen opens a registry that is in doubt, and checks that it begins an era with
// a wait.
func reopen(t *testing.T, s lease.Store, before lease.Snapshot) lease.Snapshot {
	t.Helper()
	now := time.Now().UnixMilli()
	after, err := (&lease.Registry{Store: s, ID: before.Head.ID, Seen: true}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.Head.Era == before.Head.Era || after.Head.ID != before.Head.ID || after.Head.Server != after.Server ||
		after.Wait <= lease.DefaultTTL-10*time.Second || after.Wait > lease.DefaultTTL || after.Head.Floor < now+lease.DefaultTTL.Milliseconds() {
		t.Errorf("got %+v, wait %s", after.Head, after.Wait)
	}
	return after
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	s := open(t, "etcd://"+servers.Etcd(t).Addr)
	snap := leasetest.Begin(t, s)
	if err := s.Found(t.Context(), snap.Head.Era, *snap.Head, time.Second); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for wait := time.Second; wait > 0; time.Sleep(50 * time.Millisecond) { // only etcd knows when a lease ends
		got, err := s.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if wait = got.Wait; wait > time.Second || time.Since(began) > 20*time.Second {
			t.Fatalf("the wait is %s after %s", wait, time.Since(began))
		}
	}
	if time.Since(began) < time.Second {
		t.Errorf("the wait was over after %s", time.Since(began))
	}
}

// A record that is renewed has one key and one etcd lease that counts.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	server := servers.Etcd(t)
	c := admin(t, server, "", "")
	s := open(t, "etcd://"+server.Addr)
	snap := leasetest.Begin(t, s)
	for i := range 5 {
		_, err := s.Swap(t.Context(), lease.Swap{Era: snap.Head.Era, Expect: []string{"", "t"}, Kind: lease.KindLease, Token: "t", TTL: time.Second, Renew: i > 0})
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error {
		leases, err := c.Leases(t.Context())
		if err == nil && len(leases.Leases) > 0 {
			err = fmt.Errorf("%d leases are left", len(leases.Leases))
		}
		return err
	})
	all, err := c.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil || len(all.Kvs) != 2 || string(all.Kvs[0].Key) != "/pgidproxy/head" || string(all.Kvs[1].Key) != "/pgidproxy/node/0" {
		t.Errorf("got %v, %v", all, err)
	}
}

func TestCutOff(t *testing.T) {
	t.Parallel()
	server := servers.Etcd(t)
	link := servers.NewLink(t, server.Addr)
	s := open(t, "etcd://"+link.Addr)
	snap := leasetest.Begin(t, s)
	link.Cut()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := s.Load(ctx); err == nil {
		t.Error("Load succeeds without a connection")
	}
	link.Mend()
	eventually(t, func() error { return leasetest.Put(s, snap, "", "a") })
}
