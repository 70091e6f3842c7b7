package postgres_test

import (
	"fmt"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// tool runs one of the client programs, the server's own or those of the PATH.
// pg_dump refuses servers that are newer than itself.
func tool(t *testing.T, s *devpg.Server, name string, args ...string) {
	t.Helper()
	path, err := osexec.LookPath(filepath.Join(s.BinDir(), name))
	if err != nil {
		path, err = osexec.LookPath(name)
	}
	if err != nil {
		t.Fatalf("install PostgreSQL's client programs (postgresql-client): %v", err)
	}
	out, err := osexec.Command(path, "--version").Output()
	var major int
	if _, serr := fmt.Sscanf(string(out), name+" (PostgreSQL) %d", &major); err != nil || serr != nil {
		t.Fatalf("%s --version: %s, %v, %v", name, out, err, serr)
	}
	if major < s.Major() {
		t.Skipf("%s is of version %d, too old for a server of %d", name, major, s.Major())
	}
	if out, err := osexec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// A restore into the same database brings older records back: a new era begins,
// with a wait. What only moves the rows is none.
func TestRestoredInPlace(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		url := made(t, s)
		store := open(t, url)
		r := &lease.Registry{Store: store}
		before, err := r.Init(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		era, conn := before.Head.Era, connect(t, url)
		swap(t, store, swapOf(era, "", "t1"), nil)
		dump := filepath.Join(t.TempDir(), "dump")
		tool(t, s, "pg_dump", "-Fc", "-f", dump, url)
		swap(t, store, swapOf(era, "t1", "t2"), nil)
		for _, harmless := range []string{"VACUUM FULL pgid.registry", "VACUUM FREEZE pgid.registry", "CLUSTER pgid.registry USING registry_pkey",
			"SELECT FROM pgid.registry FOR UPDATE"} {
			exec(t, conn, harmless)
			if got, err := r.Open(t.Context()); err != nil || *got.Head != *before.Head {
				t.Errorf("%s: %+v, %v", harmless, got.Head, err)
			}
		}
		swap(t, store, swapOf(era, "t2", "t3"), nil)

		for _, args := range [][]string{{"--clean"}, {"--data-only"}} {
			if args[0] == "--data-only" {
				exec(t, conn, "TRUNCATE pgid.registry, pgid.node")
			}
			tool(t, s, "pg_restore", append(args, "-d", url, dump)...)
			if got := token(t, store); got != "t1" {
				t.Fatalf("%s is there, want the older t1", got)
			}
			swap(t, store, swapOf(era, "t1", "t4"), lease.ErrEra)
			after, err := r.Open(t.Context())
			if err != nil || after.Head.ID != before.Head.ID || after.Head.Era == era || after.Wait <= 0 || after.Copied {
				t.Fatalf("after %v: %+v, wait %s, %v", args, after.Head, after.Wait, err)
			}
			if again, err := r.Open(t.Context()); err != nil || *again.Head != *after.Head {
				t.Errorf("the era does not stay: %+v, %v", again.Head, err)
			}
			swap(t, store, swapOf(after.Head.Era, "t1", "t4"), nil)
		}
	})
}

// An era that a program began which recorded no transaction goes on without a
// wait, and is guarded from its next heartbeat on.
func TestEraOfBefore(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		url := made(t, s)
		store, conn := open(t, url), connect(t, url)
		r := &lease.Registry{Store: store}
		era := begun(t, store)
		exec(t, conn, "UPDATE pgid.registry SET era = split_part(era, '@', 1)")
		if got, err := r.Open(t.Context()); err != nil || got.Head.Era != era || got.Wait != 0 {
			t.Errorf("got %+v, wait %s, %v", got.Head, got.Wait, err)
		}
		swap(t, store, swapOf(era, "", "t1"), nil)
		swap(t, store, swapOf(era, "t1", "t2"), nil)
		exec(t, conn, "CREATE TABLE kept AS TABLE pgid.registry", "DELETE FROM pgid.registry", "INSERT INTO pgid.registry TABLE kept")
		swap(t, store, swapOf(era, "t2", "t3"), lease.ErrEra)
		if got, err := r.Open(t.Context()); err != nil || got.Head.Era == era || got.Wait <= 0 {
			t.Errorf("got %+v, wait %s, %v", got.Head, got.Wait, err)
		}
	})
}
