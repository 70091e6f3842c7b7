package postgres_test

import (
	"context"
	"errors"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
	"github.com/pgidproxy/pgidproxy/gen/lease/postgres"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// standby starts a standby that follows a server by way of an address. It copies
// the data while the server does not run: not all distributions have
// pg_basebackup.
func standby(t *testing.T, primary *devpg.Server, addr string) *devpg.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgidproxy-standby-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	if err := errors.Join(os.Chmod(dir, 0o755), primary.Stop()); err != nil {
		t.Fatal(err)
	}
	if out, err := osexec.Command("cp", "-a", primary.DataDir(), data).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	owner := func(path string) (uid, gid int) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		stat := info.Sys().(*syscall.Stat_t)
		return int(stat.Uid), int(stat.Gid)
	}
	signal := filepath.Join(data, "standby.signal")
	uid, gid := owner(data)
	if err := errors.Join(os.WriteFile(signal, nil, 0o600), os.Chown(signal, uid, gid), os.Remove(filepath.Join(data, "server.log")),
		primary.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	settings := devpgtest.Settings()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	settings["primary_conninfo"] = "host=" + host + " port=" + port + " user=" + devpg.Superuser
	s, err := devpg.Start(t.Context(), devpg.Config{BinDir: primary.BinDir(), DataDir: data, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A standby that lost the last writes is promoted. Who held a node notices, and
// nobody is given one until all holders have stopped.
func TestFailover(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, like *devpg.Server) {
		old := devpgtest.PrivateLike(t, like, nil)
		link := servers.NewLink(t, old.Addr())
		next := standby(t, old, link.Addr)
		oldURL, nextURL := old.URL(devpg.Superuser), next.URL(devpg.Superuser)
		oldConn, nextConn := connect(t, oldURL), connect(t, nextURL)
		if err := postgres.Create(t.Context(), oldConn); err != nil {
			t.Fatal(err)
		}
		// It may be given both servers, in any order.
		both := strings.Replace(nextURL, next.Addr(), next.Addr()+","+old.Addr(), 1)
		holder := open(t, both)
		r := &lease.Registry{Store: holder}
		before, err := r.Init(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		swap(t, holder, swapOf(before.Head.Era, "", "t1"), nil)
		lsn := ask[string](t, oldConn, "SELECT pg_current_wal_lsn()::text")
		until(t, "the standby has it", func() bool {
			return ask[bool](t, nextConn, "SELECT coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)", lsn)
		})
		pooler := servers.PgBouncer(t, next.Addr(), devpg.Superuser)
		direct, pooled := open(t, nextURL), open(t, at(t, nextURL, pooler.Addr))
		for _, s := range []*postgres.Store{direct, pooled} {
			if _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "the server is a standby") {
				t.Errorf("on a standby: got %v", err)
			}
		}

		link.Cut()
		swap(t, holder, swapOf(before.Head.Era, "t1", "t2"), nil) // acknowledged, and lost
		if err := old.Crash(); err != nil {
			t.Fatal(err)
		}
		if !ask[bool](t, nextConn, "SELECT pg_promote()") {
			t.Fatal("the standby is not promoted")
		}
		swap(t, holder, swapOf(before.Head.Era, "t2", "t3"), lease.ErrEra)
		swap(t, holder, swapOf(before.Head.Era, "t1", "t3"), lease.ErrEra)
		// The pooler's connection to the server is one from before.
		for name, s := range map[string]lease.Store{"holder": holder, "direct": direct, "pooled": pooled} {
			snap, err := s.Load(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if *snap.Head != *before.Head || snap.Server == before.Server || snap.Copied || !strings.HasSuffix(snap.Server, "/00000002") ||
				len(snap.Records) != 1 || snap.Records[0].Token != "t1" {
				t.Errorf("%s: got %+v of %+v, before %+v", name, snap, snap.Head, before.Head)
			}
		}
		const ttl = time.Minute // of swapOf
		after, err := (&lease.Registry{Store: pooled, ID: before.Head.ID}).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if after.Head.ID != before.Head.ID || after.Head.Era == before.Head.Era || after.Head.Server != after.Server ||
			after.Wait < ttl-10*time.Second || after.Head.Floor < after.Now+after.Wait.Milliseconds()-1000 {
			t.Errorf("got %+v, wait %s, at %d", after.Head, after.Wait, after.Now)
		}
		again, err := r.Open(t.Context())
		if err != nil || *again.Head != *after.Head {
			t.Errorf("for the holder: got %+v, %v", again.Head, err)
		}
		swap(t, holder, swapOf(before.Head.Era, "t1", "t3"), lease.ErrEra)
		swap(t, holder, swapOf(after.Head.Era, "t1", "t3"), nil)

		// The wait is not longer than it was for a clock that steps back.
		exec(t, nextConn, "UPDATE pgid.registry SET ready = ready + interval '1 day', era = split_part(era, '@', 1)")
		if again, err = r.Open(t.Context()); err != nil || again.Wait != ttl {
			t.Errorf("got a wait of %s, %v", again.Wait, err)
		}
	})
}

// A copy of the database is not the registry.
func TestCopy(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		url := made(t, s)
		store := open(t, url)
		era := begun(t, store)
		swap(t, store, swapOf(era, "", "t1"), nil)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		name := config.Database
		admin := connect(t, s.URL(devpg.Superuser))
		until(t, "nobody uses the database", func() bool {
			return ask[int](t, admin, "SELECT count(CASE WHEN datname = $1 THEN pg_terminate_backend(pid) END) FROM pg_stat_activity", name) == 0
		})
		exec(t, admin, "CREATE DATABASE "+name+"_copy TEMPLATE "+name)
		t.Cleanup(func() { exec(t, admin, "DROP DATABASE "+name+"_copy WITH (FORCE)") })
		copied := open(t, s.URL(name+"_copy"))
		r := &lease.Registry{Store: copied}
		var is *lease.CopiedError
		if _, err := r.Open(t.Context()); !errors.As(err, &is) {
			t.Errorf("Open: got %v", err)
		}
		swap(t, copied, swapOf(era, "t1", "t2"), lease.ErrEra)
		snap, err := r.Init(t.Context(), true)
		if err != nil || snap.Head.ID == is.ID || snap.Copied || snap.Wait != 0 {
			t.Errorf("Init: got %+v, %v", snap.Head, err)
		}
		swap(t, copied, swapOf(snap.Head.Era, "t1", "t2"), nil)
		swap(t, open(t, url), swapOf(era, "t1", "t3"), nil)

		// A new name is none.
		if err := copied.Close(); err != nil {
			t.Fatal(err)
		}
		until(t, "it is renamed", func() bool {
			_, err := admin.Exec(context.Background(), "ALTER DATABASE "+name+"_copy RENAME TO "+name+"_moved")
			return err == nil
		})
		moved := open(t, s.URL(name+"_moved"))
		swap(t, moved, swapOf(snap.Head.Era, "t2", "t3"), nil)
		if err := moved.Close(); err != nil {
			t.Fatal(err)
		}
		until(t, "it is renamed", func() bool {
			_, err := admin.Exec(context.Background(), "ALTER DATABASE "+name+"_moved RENAME TO "+name+"_copy")
			return err == nil
		})
	})
}
