package redis_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	c := admin(t, server)
	// A database that is not the first, so that the URL's counts.
	url := "redis://" + server.Addr + "/3"
	leasetest.Run(t, leasetest.Subject{
		New:   func(t *testing.T) lease.Store { do(t, c, "FLUSHALL"); return open(t, url) },
		Again: func(t *testing.T, _ lease.Store) lease.Store { return open(t, url) },
		Empty: func(t *testing.T, _ lease.Store) { do(t, c, "FLUSHALL") },
		Clock: true,
	})
}

func TestRestartedEmpty(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	s := open(t, "redis://"+server.Addr)
	before := leasetest.Begin(t, s)
	server.Kill()
	server.Start()
	if err := leasetest.Put(s, before, "", "a"); !errors.Is(err, lease.ErrEra) {
		t.Errorf("a server that is empty: got %v", err)
	}
	if after := reopen(t, admin(t, server), s, before); len(after.Records) != 0 {
		t.Errorf("got records %+v", after.Records)
	}
}

func TestRestartedWithItsData(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t, "--appendonly", "yes")
	s := open(t, "redis://"+server.Addr)
	before := leasetest.Begin(t, s)
	if err := leasetest.Put(s, before, "", "a"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server.Start()
	if err := leasetest.Put(s, before, "a", "b"); !errors.Is(err, lease.ErrEra) {
		t.Errorf("a server that was restarted: got %v", err)
	}
	after := reopen(t, admin(t, server), s, before)
	if len(after.Records) != 1 || after.Records[0].Token != "a" || after.Records[0].Mark == 0 {
		t.Errorf("got records %+v", after.Records)
	}
}

// replicated is a registry with a record of token a, which a replica has, and one
// of token b, which it has not since the link to it is cut.
func replicated(t *testing.T) (primary, replica *servers.Server, snap lease.Snapshot) {
	t.Helper()
	primary = servers.Redis(t, "--repl-diskless-sync-delay", "0")
	link := servers.NewLink(t, primary.Addr)
	host, port, _ := net.SplitHostPort(link.Addr)
	replica = servers.Redis(t, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	follow(t, primary)
	s := open(t, "redis://"+primary.Addr)
	snap = leasetest.Begin(t, s)
	if err := leasetest.Put(s, snap, "", "a"); err != nil {
		t.Fatal(err)
	}
	follow(t, primary)
	if _, err := open(t, "redis://"+replica.Addr).Load(t.Context()); err == nil || !strings.Contains(err.Error(), "READONLY") {
		t.Errorf("a replica: got %v", err)
	}
	link.Cut()
	if err := leasetest.Put(s, snap, "a", "b"); err != nil {
		t.Fatal(err)
	}
	return primary, replica, snap
}

// follow waits until a replica has all that its primary wrote.
func follow(t *testing.T, primary *servers.Server) {
	t.Helper()
	c := admin(t, primary)
	for deadline := time.Now().Add(20 * time.Second); ; {
		do(t, c, "SET", "another", "value")
		// 0 means that WAIT has no limit of its own, but a replica that comes after
		// it has begun does not end it.
		if n, err := c.Wait(t.Context(), 1, 100*time.Millisecond).Result(); err != nil {
			t.Fatal(err)
		} else if n == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no replica follows")
		}
	}
}

func TestReplicaPromoted(t *testing.T) {
	t.Parallel()
	primary, replica, before := replicated(t)
	primary.Kill()
	c := admin(t, replica)
	do(t, c, "REPLICAOF", "NO", "ONE")
	s := open(t, "redis://"+replica.Addr)
	if err := leasetest.Put(s, before, "b", "c"); !errors.Is(err, lease.ErrEra) {
		t.Errorf("a replica that was promoted: got %v", err)
	}
	if after := reopen(t, c, s, before); len(after.Records) != 1 || after.Records[0].Token != "a" {
		t.Errorf("got records %+v", after.Records)
	}
}

// A primary that was a replica of one with older data is the same process, and
// not the same server.
func TestFailedBack(t *testing.T) {
	t.Parallel()
	primary, replica, before := replicated(t)
	do(t, admin(t, replica), "REPLICAOF", "NO", "ONE")
	c := admin(t, primary)
	do(t, c, "REPLICAOF", "127.0.0.1", replica.Port)
	follow(t, replica)
	do(t, c, "REPLICAOF", "NO", "ONE")
	s := open(t, "redis://"+primary.Addr)
	if err := leasetest.Put(s, before, "a", "c"); !errors.Is(err, lease.ErrEra) {
		t.Errorf("a primary that was a replica: got %v", err)
	}
	reopen(t, c, s, before)
}

func TestScriptsForgotten(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	s := open(t, "redis://"+server.Addr)
	snap := leasetest.Begin(t, s)
	do(t, admin(t, server), "SCRIPT", "FLUSH")
	if err := leasetest.Put(s, snap, "", "a"); err != nil {
		t.Error(err)
	}
}

// The clock was set back by an hour in the middle of a wait.
func TestWaitBeginsAgain(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	s := open(t, "redis://"+server.Addr)
	snap := leasetest.Begin(t, s)
	if err := s.Found(t.Context(), snap.Head.Era, *snap.Head, time.Minute); err != nil {
		t.Fatal(err)
	}
	do(t, admin(t, server), "HINCRBY", "{pgidproxy}:head", "ready", time.Hour.Milliseconds())
	for range 2 {
		if got, err := s.Load(t.Context()); err != nil || got.Wait > time.Minute || got.Wait < 50*time.Second {
			t.Errorf("got %s, %v", got.Wait, err)
		}
	}
	do(t, admin(t, server), "HINCRBY", "{pgidproxy}:head", "ready", -time.Minute.Milliseconds())
	if got, err := s.Load(t.Context()); err != nil || got.Wait != 0 {
		t.Errorf("once it is over: got %s, %v", got.Wait, err)
	}
}

func TestHungServer(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	s := open(t, "redis://"+server.Addr)
	snap := leasetest.Begin(t, s)
	c := admin(t, server)
	do(t, c, "CLIENT", "PAUSE", 60_000, "WRITE") // scripts count as such
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := s.Load(ctx); err == nil || time.Since(began) > 2*time.Second {
		t.Errorf("past the deadline: got %v after %s", err, time.Since(began))
	}
	ctx, cancel = context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := s.Load(ctx)
		failed <- err
	}()
	cancel()
	select {
	case err := <-failed:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: got %v", err)
		}
	case <-time.After(2 * time.Second):
		t.Error("Load does not end when its context does")
	}
	do(t, c, "CLIENT", "UNPAUSE")
	if err := leasetest.Put(s, snap, "", "a"); err != nil {
		t.Error(err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	s := open(t, "redis://:secret@"+server.Addr)
	server.Stop()
	for range 20 { // many more than there are places in the pool
		if _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), server.Addr) || strings.Contains(err.Error(), "secret") || errors.As(err, new(*lease.SetupError)) {
			t.Fatalf("got %v", err)
		}
	}
	server.Start()
	if _, err := s.Load(t.Context()); err != nil {
		t.Errorf("once it is back: %v", err)
	}
}
