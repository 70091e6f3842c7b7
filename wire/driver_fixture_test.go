package wire

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// patience is how long a test waits for what has to come.
const patience = 20 * time.Second

// A scripted server is a listener whose connections the test plays itself.
type scripted struct {
	net.Listener
}

func newScripted(t testing.TB, address string) *scripted {
	t.Helper()
	l, err := Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &scripted{l}
}

func (s *scripted) url(params string) string {
	return "postgres://secretuser:secretword@" + s.Addr().String() + "/secretdb?" + params
}

// take waits for a connection.
func (s *scripted) take(t testing.TB) net.Conn {
	t.Helper()
	if d, ok := s.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		d.SetDeadline(time.Now().Add(patience))
	}
	conn, err := s.Accept()
	if err != nil {
		t.Fatalf("no connection came: %v", err)
	}
	return owned(t, conn)
}

// none checks that no connection came.
func (s *scripted) none(t testing.TB) {
	t.Helper()
	s.Listener.(*net.TCPListener).SetDeadline(time.Unix(1, 0))
	if conn, err := s.Accept(); err == nil {
		conn.Close()
		t.Error("a connection came that should not")
	}
}

func owned(t testing.TB, conn net.Conn) net.Conn {
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// A running is a Server at work.
type running struct {
	*Server
	address string
	cancel  context.CancelFunc
	done    chan error
	ended   chan SessionInfo
}

// serve starts a Server in front of what url names, and stops it at the end of
// the test.
func serve(t testing.TB, url string, change func(*Config)) *running {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{address: l.Addr().String(), done: make(chan error, 1), ended: make(chan SessionInfo, 2000)}
	cfg := Config{Listeners: []net.Listener{l}, Upstream: mustParse(t, url), Closed: r.note}
	if change != nil {
		change(&cfg)
	}
	if r.Server, err = NewServer(cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		defer close(r.done)
		r.done <- r.Serve(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// note keeps what is known of a session that has ended, as long as there is
// place.
func (r *running) note(i SessionInfo) {
	select {
	case r.ended <- i:
	default:
	}
}

func mustParse(t testing.TB, url string) *pgconn.Config {
	t.Helper()
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func (r *running) dial(t testing.TB) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	return owned(t, conn)
}

// stop waits for Serve to return.
func (r *running) stop(t testing.TB) {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Serve does not return")
	}
}

// finished waits for the end of a session.
func (r *running) finished(t testing.TB) SessionInfo {
	t.Helper()
	select {
	case i := <-r.ended:
		return i
	case <-time.After(patience):
		t.Fatal("the session does not end")
		return SessionInfo{}
	}
}

var startPacket = startupPacket(3<<16, "user\x00u\x00database\x00d\x00\x00")

// signOn opens a session that is signed on and returns both of its ends.
func signOn(t testing.TB, r *running, s *scripted) (client, server net.Conn) {
	t.Helper()
	client = r.dial(t)
	put(t, client, startPacket)
	server = s.take(t)
	expect(t, server, string(startPacket))
	put(t, server, []byte(signedOn))
	expect(t, client, signedOn)
	return client, server
}

var signedOn = frame('R', "\x00\x00\x00\x00") + frame('S', "standard_conforming_strings\x00on\x00") +
	frame('K', "12345678") + frame('Z', "I")

// frame returns a message as it goes over the wire.
func frame(typ byte, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{typ}, uint32(4+len(body)))) + body
}

func put(t testing.TB, conn net.Conn, b []byte) {
	t.Helper()
	if _, err := conn.Write(b); err != nil {
		t.Fatalf("write: %v", err)
	}
}

// expect reads as many bytes as text has, and compares.
func expect(t testing.TB, conn net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text))
	n, err := io.ReadFull(conn, got)
	if string(got[:n]) != text {
		t.Fatalf("read %q (%v), want %q", shorten(string(got[:n])), err, shorten(text))
	}
}

// readRest reads up to the end of the connection.
func readRest(t testing.TB, conn net.Conn) string {
	t.Helper()
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("read to the end: %v (after %q)", err, shorten(string(b)))
	}
	return string(b)
}

func shorten(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

// awaitEnd waits until the other side has closed conn, in whatever way.
func awaitEnd(t testing.TB, conn net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, conn); os.IsTimeout(err) {
		t.Fatal("the connection stays open")
	}
}
