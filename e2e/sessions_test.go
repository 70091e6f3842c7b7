package e2e

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// eventually waits until a query through conn gives want. It is for what
// another process does in its own time.
func eventually(tb testing.TB, conn *pgx.Conn, want, sql string, args ...any) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	for {
		got := strings.Join(query(tb, conn, sql, args...), ",")
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s %v: got %s, want %s", sql, args, got, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// cancelRequest sends a CancelRequest on a connection of its own and waits for
// the other side to close it. No byte may come back.
func cancelRequest(tb testing.TB, addr string, pid uint32, key []byte) {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	b := binary.BigEndian.AppendUint32(nil, uint32(12+len(key)))
	b = binary.BigEndian.AppendUint32(b, 80877102)
	b = binary.BigEndian.AppendUint32(b, pid)
	if _, err := conn.Write(append(b, key...)); err != nil {
		tb.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(patience))
	if rest, err := io.ReadAll(conn); err != nil && !errors.Is(err, io.EOF) || len(rest) > 0 {
		tb.Errorf("after a cancel request: %q, %v", rest, err)
	}
}

// PX-08.
func TestCancel(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		direct, url := proxied(t, s)
		watch := connectTo(t, direct)
		second := ownProxy(t, s)
		a, b := openStream(t, url, newMask()), openStream(t, url, newMask())
		b.simple("BEGIN; INSERT INTO t(id) VALUES (next_snowflake())")
		addr := fixtureOf(t, s).proxy.addr

		for _, to := range []string{addr, second.addr} {
			a.queue(&pgproto3.Query{String: "SELECT pg_sleep(60), next_snowflake()"})
			a.flush()
			eventually(t, watch, "1", "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'", int32(a.pid))
			// A wrong key has no effect.
			wrong := append([]byte(nil), a.key...)
			wrong[len(wrong)-1]++
			cancelRequest(t, to, a.pid, wrong)
			eventually(t, watch, "1", "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'", int32(a.pid))
			began := time.Now()
			cancelRequest(t, to, a.pid, a.key)
			got := strings.Join(a.until("Z"), "\n")
			if !strings.Contains(got, `C="57014"`) || time.Since(began) > 5*time.Second {
				t.Errorf("cancelled after %v: %s", time.Since(began), got)
			}
			if got := a.simple("SELECT next_snowflake()"); len(got) != 4 {
				t.Errorf("after a cancel: %v", got)
			}
		}
		if got := strings.Join(b.simple("INSERT INTO t(id) VALUES (next_snowflake()); COMMIT"), " "); !strings.HasSuffix(got, "C COMMIT Z I") {
			t.Errorf("the other session: %s", got)
		}
		// A cancel of an idle session does nothing.
		cancelRequest(t, addr, b.pid, b.key)
		if got := b.simple("SELECT 1"); len(got) != 4 {
			t.Errorf("after a cancel of nothing: %v", got)
		}
	})
}

// PX-12 a, b, d: what a session leaves behind.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		direct, url := proxied(t, s)
		watch := connectTo(t, direct)
		backends := "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"

		// A client in a transaction vanishes.
		gone := openStream(t, url, newMask())
		gone.simple("BEGIN; INSERT INTO acct(id, name) VALUES (1, 'locked')")
		gone.net.(*net.TCPConn).SetLinger(0)
		gone.net.Close()
		eventually(t, watch, "0", backends, int32(gone.pid))
		if err := execAt(url, "SET lock_timeout = '5s'; INSERT INTO acct(id, name) VALUES (1, 'free')"); err != nil {
			t.Error(err)
		}

		// A client closes its half after a query.
		half := openStream(t, url, newMask())
		half.queue(&pgproto3.Query{String: "SELECT next_snowflake()"})
		half.flush()
		half.net.(*net.TCPConn).CloseWrite()
		if got := half.until("Z"); len(got) != 4 {
			t.Errorf("after half a close: %v", got)
		}
		if typ, text := half.receive(); typ != 0 {
			t.Errorf("after half a close: %s", text)
		}
		eventually(t, watch, "0", backends, int32(half.pid))

		// A client ends in the middle of a message.
		cut := openStream(t, url, newMask())
		cut.net.Write([]byte{'Q', 0, 0, 1, 0, 'S', 'E'})
		cut.net.Close()
		eventually(t, watch, "0", backends, int32(cut.pid))

		// The backend is terminated while a pipeline waits: one FATAL, then the end.
		killed := openStream(t, url, newMask())
		killed.queue(
			&pgproto3.Parse{Query: "SELECT next_snowflake(), pg_sleep(60)"}, &pgproto3.Bind{}, &pgproto3.Execute{},
			&pgproto3.Parse{Query: "SELECT next_snowflake()"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{})
		killed.flush()
		eventually(t, watch, "1", "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'", int32(killed.pid))
		query(t, watch, "SELECT pg_terminate_backend($1)", int32(killed.pid))
		fatal := 0
		for {
			typ, text := killed.receive()
			if strings.Contains(text, `V="FATAL" C="57P01"`) {
				fatal++
			}
			if typ == 0 {
				break
			}
		}
		if fatal != 1 {
			t.Errorf("%d FATAL messages after pg_terminate_backend, want 1", fatal)
		}

		// Terminate closes both.
		polite := openStream(t, url, newMask())
		polite.queue(&pgproto3.Terminate{})
		if got := polite.until("Z"); len(got) != 1 || got[0] != "closed" {
			t.Errorf("after Terminate: %v", got)
		}
		eventually(t, watch, "0", backends, int32(polite.pid))
	})
}

// PX-12 c: probes take no slot of the server's.
func TestProbes(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		p := ownProxy(t, s)
		watch := connectTo(t, s.URL("postgres"))
		count := "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = $1"
		before := strings.Join(query(t, watch, count, fixtureOf(t, s).home), "")
		var conns []net.Conn
		for range 200 {
			conn, err := net.Dial("tcp", p.addr)
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
		if got := strings.Join(query(t, watch, count, fixtureOf(t, s).home), ""); got > before {
			t.Errorf("%s sessions on the server after bare connections, %s before", got, before)
		}
		conn := connectTo(t, p.databaseURL(fixtureOf(t, s).home))
		if got := query(t, conn, "SELECT 1"); got[0] != "1" {
			t.Errorf("among probes: %v", got)
		}
		conn.Close(context.Background())
		for _, conn := range conns {
			conn.Close()
		}
	})
}

// PX-12 e: a running transaction may finish.
func TestDrain(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		db := newDatabase(t, s)
		p, err := startProxy(s.URL(fixtureOf(t, s).home), "--node-id", "7", "--drain-timeout", "30s")
		if err != nil {
			t.Fatal(err)
		}
		busy, idle := openStream(t, p.databaseURL(db), newMask()), openStream(t, p.databaseURL(db), newMask())
		busy.simple("BEGIN; INSERT INTO t(id, name) VALUES (next_snowflake(), 'drain')")
		idle.simple("SELECT 1")
		stopped := make(chan error, 1)
		go func() { stopped <- p.stop() }()
		// The idle session is closed first, with the message of a server that shuts down.
		typ, text := idle.receive()
		for typ == 'N' {
			typ, text = idle.receive()
		}
		if typ == 'E' && !strings.Contains(text, `C="57P01"`) {
			t.Errorf("idle session: %s", text)
		}
		if conn, err := pgx.Connect(t.Context(), p.databaseURL(db)); err == nil {
			conn.Close(t.Context())
			t.Error("a new session is let in while the proxy drains")
		}
		got := strings.Join(busy.simple("INSERT INTO t(id, name) VALUES (next_snowflake(), 'drain'); COMMIT"), " ")
		if !strings.Contains(got, "C COMMIT") {
			t.Errorf("busy session: %s", got)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if got := query(t, connectTo(t, s.URL(db)), "SELECT count(*) FROM t WHERE name = 'drain'"); got[0] != "2" {
			t.Errorf("%s rows of the transaction, want 2", got[0])
		}
	})
}
