package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/postgres"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// A server that restarted is the same, a call that comes next finds it, and what
// was acknowledged survives a crash although commits are not waited for there.
func TestRestart(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		s = devpgtest.PrivateLike(t, s, map[string]string{"synchronous_commit": "off", "wal_writer_delay": "10s"})
		url := s.URL(devpg.Superuser)
		if err := postgres.Create(t.Context(), connect(t, url)); err != nil {
			t.Fatal(err)
		}
		store := open(t, url)
		era := begun(t, store)
		swap(t, store, swapOf(era, "", "t1"), nil)
		for i, end := range []func() error{s.Stop, s.Crash} {
			if err := end(); err != nil {
				t.Fatal(err)
			}
			if err := s.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			swap(t, store, swapOf(era, []string{"t1", "t2"}[i], []string{"t2", "t3"}[i]), nil)
		}
		// Also one that is killed under the connection that is kept.
		exec(t, connect(t, url), "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'pgidproxy registry'")
		swap(t, store, swapOf(era, "t3", "t4"), nil)
		if err := s.Crash(); err != nil {
			t.Fatal(err)
		}
		swapFails(t, store, swapOf(era, "t4", "t5"))
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := token(t, store); got != "t4" {
			t.Errorf("%s is there after a crash, want t4", got)
		}
	})
}

// swapFails wants an error that leaves open what became of the write.
func swapFails(t *testing.T, store lease.Store, w lease.Swap) {
	t.Helper()
	_, err := store.Swap(t.Context(), w)
	var setup *lease.SetupError
	if err == nil || errors.Is(err, lease.ErrChanged) || errors.Is(err, lease.ErrEra) || errors.As(err, &setup) {
		t.Errorf("%s: got %v", w.Token, err)
	}
}

// Settings of a database that would break the registry do not get into it.
func TestSettings(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		url := devpgtest.DatabaseOn(t, s)
		conn := connect(t, url)
		name := ask[string](t, conn, "SELECT current_database()")
		for _, set := range []string{"default_transaction_read_only = on", "default_transaction_isolation = serializable", "datestyle = 'German'",
			"intervalstyle = 'sql_standard'", "extra_float_digits = -15", "search_path = evil, pg_temp, public, pg_catalog", "synchronous_commit = off",
			"standard_conforming_strings = on", "timezone = 'Asia/Kathmandu'"} {
			exec(t, conn, "ALTER DATABASE "+name+" SET "+set)
		}
		exec(t, conn, "CREATE SCHEMA evil; CREATE TYPE evil.pg_lsn AS (x int); CREATE TABLE evil.pg_database (oid oid, datname name)",
			`CREATE FUNCTION evil.never(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
			CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.never)`)
		if err := postgres.Create(t.Context(), connect(t, url)); err != nil {
			t.Fatal(err)
		}
		exec(t, conn, `CREATE TABLE seen (name text);
			CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
			CREATE TRIGGER see AFTER INSERT OR UPDATE ON pgid.node FOR EACH ROW EXECUTE FUNCTION see();
			CREATE TRIGGER see AFTER INSERT OR UPDATE ON pgid.registry FOR EACH ROW EXECUTE FUNCTION see()`)
		for setting, want := range map[string]string{"off": "on", "local": "on", "on": "on", "remote_write": "remote_write", "remote_apply": "remote_apply"} {
			exec(t, conn, "ALTER DATABASE "+name+" SET synchronous_commit = "+setting, "TRUNCATE seen, pgid.registry, pgid.node")
			store := open(t, url)
			before := time.Now()
			era := begun(t, store)
			swap(t, store, swapOf(era, "", "t1"), nil)
			swap(t, store, swapOf(era, "t1", "t2"), nil)
			if got := ask[string](t, conn, "SELECT string_agg(name, ' ') FROM seen"); got != want+" "+want+" "+want {
				t.Errorf("%s: commits waited as with %s", setting, got)
			}
			snap, err := store.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r := snap.Records[0]; r.Since.Sub(before).Abs() > 10*time.Second || r.Until.Sub(r.Since) < 59*time.Second || !r.Live {
				t.Errorf("got %+v", r)
			}
		}
	})
}

// A commit that a synchronous standby has not confirmed is not acknowledged,
// whatever the server's timeouts are.
func TestUnconfirmedCommit(t *testing.T) {
	t.Parallel()
	s := devpgtest.Private(t, map[string]string{"synchronous_standby_names": "nobody", "synchronous_commit": "on"})
	url := s.URL(devpg.Superuser)
	conn := connect(t, url+"&synchronous_commit=local")
	if err := postgres.Create(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	store := open(t, url)
	snap, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "INSERT INTO pgid.registry (id, era, server, floor_ms, wait_ms, ready) VALUES ('r', 'e', '"+snap.Server+"', 0, 0, now())")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // what lease gives
	defer cancel()
	if _, err := store.Swap(ctx, swapOf("e", "", "t1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Swap without a standby: got %v", err)
	}
	until(t, "the write shows", func() bool { return ask[int](t, conn, "SELECT count(*) FROM pgid.node") == 1 })
}

// Locks of others are waited for no longer than the context allows, or than the
// server is told, and leave nothing behind.
func TestLocks(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"record": "SELECT FROM pgid.node FOR UPDATE",
		"table":  "LOCK TABLE pgid.node",
		"head":   "SELECT pg_advisory_xact_lock(x'7067726567'::bigint)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := made(t, devpgtest.Server(t))
			store := open(t, url)
			era := begun(t, store)
			swap(t, store, swapOf(era, "", "t1"), nil)
			unlock := hold(t, url, lock)
			conn := connect(t, url)
			waiting := func() int {
				return ask[int](t, conn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
			}

			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := store.Swap(ctx, swapOf(era, "t1", "t2"))
				done <- err
			}()
			until(t, "it waits", func() bool { return waiting() == 1 })
			short, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer end()
			if _, err := store.Load(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("behind a call that waits: got %v", err)
			}
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			until(t, "it waits no more", func() bool { return waiting() == 0 })

			start := time.Now()
			swapFails(t, store, swapOf(era, "t1", "t3"))
			if d := time.Since(start); d > 4*time.Second {
				t.Errorf("a call without a limit of its own waited for %s", d)
			}
			unlock()
			swap(t, store, swapOf(era, "t1", "t4"), nil)
		})
	}
}

// A write whose acknowledgment is lost has been done, is not reported as somebody
// else's, and can be repeated; the first one's late copy cannot. One that was not
// sent is not done.
func TestReplyLost(t *testing.T) {
	t.Parallel()
	s := devpgtest.Server(t)
	url := made(t, s)
	direct := open(t, url)
	era := begun(t, direct)
	swap(t, direct, swapOf(era, "", "t1"), nil)
	w := newWire(t, s.Addr())
	store := open(t, at(t, url, w.addr))

	first := swapOf(era, "t1", "t2")
	for _, c := range []struct {
		statement string
		applied   bool
		want      string
	}{{"UPDATE pgid.node", true, "t1"}, {"commit\x00", false, "t1"}, {"commit\x00", true, "t2"}} {
		if _, err := store.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.cut(c.statement, c.applied)
		swapFails(t, store, first)
		// The server ends the transaction when it sees that nobody is there.
		until(t, "the transaction ends", func() bool {
			return ask[int](t, connect(t, url), "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())") == 0
		})
		if got := token(t, direct); got != c.want {
			t.Errorf("%+v: the record is of %s", c, got)
		}
	}
	again := first
	again.Expect = []string{"t1", "t2"}
	swap(t, store, again, nil)
	swap(t, store, first, lease.ErrChanged)
	again.Token, again.Expect = "t3", []string{"t1", "t2"}
	swap(t, store, again, nil)
	swap(t, store, again, lease.ErrChanged)

	// The connection that is kept dies unnoticed, before anything of a transaction.
	w.cut("BEGIN", false)
	swap(t, store, swapOf(era, "t3", "t4"), nil)
	w.cut("BEGIN", true)
	swap(t, store, swapOf(era, "t4", "t5"), nil)

	head := lease.Head{ID: "r", Era: "e2", Server: "s"}
	w.cut("commit\x00", true)
	if err := store.Found(t.Context(), era, head, 0); err == nil || errors.Is(err, lease.ErrChanged) {
		t.Errorf("Found: got %v", err)
	}
	if snap, err := store.Load(t.Context()); err != nil || *snap.Head != head {
		t.Errorf("got %+v, %v", snap.Head, err)
	}
}

// A record may be expected to be there or not.
func TestExpectAbsentOrKnown(t *testing.T) {
	t.Parallel()
	store := open(t, made(t, devpgtest.Server(t)))
	w := swapOf(begun(t, store), "", "t1")
	w.Expect = nil
	swap(t, store, w, lease.ErrChanged)
	w.Expect = []string{"t0", ""}
	swap(t, store, w, nil)
	w.Token = "t2"
	swap(t, store, w, lease.ErrChanged)
	w.Expect = []string{"", "t1"}
	swap(t, store, w, nil)
}

// A wire leads to a server, and is cut when a client sends a certain text.
type wire struct {
	addr string
	at   atomic.Pointer[cutAt]
}

type cutAt struct {
	text   []byte
	behind bool // the text gets to the server, and what it replies is lost
}

func (w *wire) cut(text string, behind bool) { w.at.Store(&cutAt{[]byte(text), behind}) }

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	w := &wire{addr: listener.Addr().String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go w.serve(client, to)
		}
	}()
	return w
}

func (w *wire) serve(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	var deaf atomic.Bool
	replied := make(chan bool, 1)
	go func() {
		defer client.Close()
		buf := make([]byte, 1<<16)
		for {
			n, err := server.Read(buf)
			if deaf.Load() {
				replied <- true
				return
			}
			if err != nil {
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		// pgx sends a statement in one piece.
		if c := w.at.Load(); c != nil && bytes.Contains(buf[:n], c.text) && w.at.CompareAndSwap(c, nil) {
			if c.behind {
				deaf.Store(true)
				if _, err := server.Write(buf[:n]); err == nil {
					<-replied
				}
			}
			return
		}
		if _, err := io.Copy(server, bytes.NewReader(buf[:n])); err != nil {
			return
		}
	}
}
