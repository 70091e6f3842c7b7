package wire

import (
	"errors"
	"net"
	"testing"
	"time"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), func(c *Config) { c.DrainTimeout = patience })
	silent := r.dial(t)
	idle, idleServer := signOn(t, r, s)
	busy, busyServer := signOn(t, r, s)
	put(t, busy, []byte(frame('Q', "BEGIN\x00")))
	expect(t, busyServer, frame('Q', "BEGIN\x00"))
	begun := frame('C', "BEGIN\x00") + frame('Z', "T")
	put(t, busyServer, []byte(begun))
	expect(t, busy, begun)
	signing := r.start(t)
	signingServer := s.take(t)
	password := frame('R', "\x00\x00\x00\x03")
	put(t, signingServer, []byte(password))
	expect(t, signing, password)

	r.cancel()
	for _, client := range []net.Conn{idle, signing} {
		if got := readRest(t, client); got != string(shutdownReport) {
			t.Errorf("an idle client is told %q", got)
		}
	}
	if got := readRest(t, silent); got != "" {
		t.Errorf("a client that has sent nothing is told %q", got)
	}
	awaitEnd(t, idleServer)
	awaitEnd(t, signingServer)
	if conn, err := net.Dial("tcp", r.address); err == nil {
		conn.Close()
		t.Error("a new client is let in")
	}
	select {
	case <-r.done:
		t.Error("the transaction was not waited for")
	default:
	}
	put(t, busy, []byte(frame('Q', "COMMIT\x00")))
	expect(t, busyServer, frame('Q', "COMMIT\x00"))
	committed := frame('C', "COMMIT\x00") + frame('Z', "I")
	for i := range committed {
		put(t, busyServer, []byte{committed[i]})
	}
	if got, want := readRest(t, busy), committed+string(shutdownReport); got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
	r.stop(t)
	for range 3 {
		if i := r.finished(t); i.Side != "proxy" || !errors.Is(i.Err, errDrained) {
			t.Errorf("ended by %s: %v", i.Side, i.Err)
		}
	}
}

func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), func(c *Config) { c.DrainTimeout = 20 * time.Millisecond })
	busy, busyServer := signOn(t, r, s)
	put(t, busy, []byte(frame('Q', "SELECT pg_sleep(1000)\x00")))
	expect(t, busyServer, frame('Q', "SELECT pg_sleep(1000)\x00"))
	middle, middleServer := signOn(t, r, s)
	put(t, middle, []byte(frame('Q', "SELECT 1\x00")))
	expect(t, middleServer, frame('Q', "SELECT 1\x00"))
	half := frame('D', "0123456789")[:8]
	put(t, middleServer, []byte(half))
	expect(t, middle, half)
	stuck, stuckServer := signOn(t, r, s)
	put(t, stuck, []byte(frame('Q', "SELECT 1\x00")))
	expect(t, stuckServer, frame('Q', "SELECT 1\x00"))
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		for {
			if _, err := stuckServer.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}()
	r.stop(t)
	if got := readRest(t, busy); got != string(shutdownReport) {
		t.Errorf("a client with a running statement is told %q", got)
	}
	if got := readRest(t, middle); got != "" {
		t.Errorf("into the middle of a message goes %q", got)
	}
	<-filled
}

// TestDrainOverTLS checks that a TLS connection to the server survives being
// woken.
func TestDrainOverTLS(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=require"), func(c *Config) { c.DrainTimeout = patience })
	client := r.start(t)
	server := secure(t, s.take(t), serverTLS(t))
	expect(t, server, string(startPacket))
	put(t, server, []byte(signedOn))
	expect(t, client, signedOn)
	put(t, client, []byte(frame('Q', "SELECT 1\x00")))
	expect(t, server, frame('Q', "SELECT 1\x00"))
	idle := r.start(t)
	idleServer := secure(t, s.take(t), serverTLS(t))
	expect(t, idleServer, string(startPacket))
	put(t, idleServer, []byte(signedOn))
	expect(t, idle, signedOn)
	r.cancel()
	if got := readRest(t, idle); got != string(shutdownReport) {
		t.Errorf("an idle client is told %q", got)
	}
	reply := frame('C', "SELECT 1\x00") + frame('Z', "I")
	put(t, server, []byte(reply))
	if got, want := readRest(t, client), reply+string(shutdownReport); got != want {
		t.Errorf("the client got %q, want %q", got, want)
	}
	r.stop(t)
}

// brokenListener fails as a listener does that somebody else has closed.
type brokenListener struct{ net.Listener }

func (brokenListener) Accept() (net.Conn, error) { return nil, errors.New("broken") }

func TestServeReturnsTheListenersError(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, err := NewServer(Config{Listeners: []net.Listener{brokenListener{l}}, Upstream: mustParse(t, s.url(""))})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(t.Context()); err == nil || err.Error() != "accept clients: broken" {
		t.Errorf("Serve returned %v", err)
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("the listener is still open")
	}
}
