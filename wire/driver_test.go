package wire

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

func TestStartupIsForwardedAsItIs(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), nil)
	sent := startupPacket(3<<16|9999, "user\x00u\x00_pq_.test_protocol_negotiation\x00on\x00options\x00-c search_path=app -c lock_timeout=5s\x00\x00")
	client := r.dial(t)
	put(t, client, startupPacket(codeGSSENC, ""))
	expect(t, client, "N")
	put(t, client, startupPacket(codeSSL, ""))
	expect(t, client, "N")
	put(t, client, sent)
	server := s.take(t)
	expect(t, server, string(sent))
	negotiate := frame('v', "\x00\x03\x00\x02\x00\x00\x00\x01_pq_.test_protocol_negotiation\x00")
	put(t, server, []byte(negotiate+signedOn))
	expect(t, client, negotiate+signedOn)
	put(t, client, []byte(frame('Q', "SELECT 1\x00")))
	expect(t, server, frame('Q', "SELECT 1\x00"))
}

func TestProbeOpensNothing(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), func(c *Config) { c.StartupTimeout = 50 * time.Millisecond })
	var probes []net.Conn
	for range 100 {
		probes = append(probes, r.dial(t))
	}
	half := r.dial(t)
	put(t, half, startPacket[:9])
	for _, p := range append(probes, half) {
		if got := readRest(t, p); got != "" {
			t.Errorf("a probe is told %q", got)
		}
	}
	s.none(t)
}

func TestFirstBytesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), nil)
	for _, tc := range []struct{ name, sent, want string }{
		{"direct TLS", "\x16\x03\x01\x00\x05hello", string(tlsRefusal)},
		{"web browser", "GET / HTTP/1.1\r\n\r\n", ""},
		{"protocol 4", string(startupPacket(4<<16, "user\x00u\x00\x00")), string(unsupportedProtocol(4 << 16).encode())},
		{"protocol 2", string(startupPacket(2<<16, "")), string(unsupportedProtocol(2 << 16).encode())},
	} {
		client := r.dial(t)
		put(t, client, []byte(tc.sent))
		client.(*net.TCPConn).CloseWrite()
		got := make([]byte, len(tc.want)+1)
		n, _ := client.Read(got)
		if string(got[:n]) != tc.want {
			t.Errorf("%s: told %q, want %q", tc.name, got[:n], tc.want)
		}
	}
	s.none(t)
}

// TestEverySplit sends one session's traffic byte by byte in both directions.
func TestEverySplit(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), nil)
	client, server := signOn(t, r, s)
	requests := frame('P', "\x00SELECT 1\x00\x00\x00") + frame('B', "\x00\x00\x00\x00\x00\x00\x00\x00") +
		frame('E', "\x00\x00\x00\x00\x00") + frame('S', "")
	replies := frame('1', "") + frame('2', "") + frame('D', "\x00\x01\x00\x00\x00\x011") +
		frame('C', "SELECT 1\x00") + frame('Z', "I")
	for i := range requests {
		put(t, client, []byte{requests[i]})
	}
	expect(t, server, requests)
	for i := range replies {
		put(t, server, []byte{replies[i]})
	}
	expect(t, client, replies)
}

// TestLargeTraffic has a server that sends more than the sockets hold to a
// client that does not read yet, and a client that sends as much meanwhile.
func TestLargeTraffic(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), nil)
	client, server := signOn(t, r, s)
	big := []byte(frame('d', strings.Repeat("x", 12<<20)))
	var writers sync.WaitGroup
	for _, conn := range []net.Conn{client, server} {
		writers.Go(func() {
			if _, err := conn.Write(big); err != nil {
				t.Errorf("write: %v", err)
			}
		})
	}
	expect(t, server, string(big))
	expect(t, client, string(big))
	writers.Wait()
}

// scriptedConn is a connection of no type that the driver knows, which gives
// its bytes one by one.
type scriptedConn struct{ net.Conn }

func (c scriptedConn) Read(b []byte) (int, error) { return iotest.OneByteReader(c.Conn).Read(b) }

func TestPlainConnections(t *testing.T) {
	t.Parallel()
	client, clientEnd := net.Pipe()
	server, serverEnd := net.Pipe()
	owned(t, client)
	owned(t, server)
	d := &driver{client: scriptedConn{clientEnd}, server: scriptedConn{serverEnd}, session: NewSession(Hooks{}, SessionOptions{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.run(t.Context())
	}()
	go server.Write([]byte(signedOn))
	expect(t, client, signedOn)
	query := frame('Q', strings.Repeat("x", 3*waitSize)+"\x00")
	go client.Write([]byte(query))
	expect(t, server, query)
	client.Close()
	awaitEnd(t, server)
	<-done
	if d.end != (ending{sideClient, nil}) {
		t.Errorf("ended by %v", d.end)
	}
}

func TestHalfClose(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), nil)
	client, server := signOn(t, r, s)
	put(t, client, []byte(frame('Q', "SELECT 1\x00")))
	client.(*net.TCPConn).CloseWrite()
	if got, want := readRest(t, server), frame('Q', "SELECT 1\x00"); got != want {
		t.Fatalf("the server got %q, want %q", got, want)
	}
	reply := frame('C', "SELECT 1\x00") + frame('Z', "I")
	put(t, server, []byte(reply))
	server.Close()
	if got := readRest(t, client); got != reply {
		t.Errorf("the client got %q, want %q", got, reply)
	}
	if i := r.finished(t); i.Side != "client" || i.Err != nil {
		t.Errorf("ended by %s: %v", i.Side, i.Err)
	}
}

func TestClientReset(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), nil)
	client, server := signOn(t, r, s)
	client.(*net.TCPConn).SetLinger(0)
	client.Close()
	awaitEnd(t, server)
	if i := r.finished(t); i.Side != "client" || i.Err == nil {
		t.Errorf("ended by %s: %v", i.Side, i.Err)
	}
}

// TestServerEnds checks that all bytes of a server that hangs up reach the
// client, although the client keeps on sending.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), nil)
	client, server := signOn(t, r, s)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range 1 << 20 {
			if _, err := client.Write([]byte(frame('Q', "SELECT 1\x00"))); err != nil {
				return
			}
		}
	}()
	expect(t, server, frame('Q', "SELECT 1\x00"))
	last := frame('D', strings.Repeat("x", 1<<20)) + frame('E', "SFATAL\x00C57P01\x00Mterminating\x00\x00")
	put(t, server, []byte(last))
	server.(*net.TCPConn).CloseWrite()
	if got := readRest(t, client); got != last {
		t.Errorf("the client got %d bytes, want %d", len(got), len(last))
	}
	<-sent
	if i := r.finished(t); i.Side != "server" {
		t.Errorf("ended by %s: %v", i.Side, i.Err)
	}
}

func TestUnixSockets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newScripted(t, dir+"/.s.PGSQL.5499")
	front := dir + "/front"
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: front, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	l, err := Listen(front)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(front); err == nil {
		t.Error("a socket in use was taken over")
	}
	r := serve(t, fmt.Sprintf("host=%s port=5499 user=u", dir), func(c *Config) { c.Listeners = append(c.Listeners, l) })
	client, err := net.Dial("unix", front)
	if err != nil {
		t.Fatal(err)
	}
	owned(t, client)
	put(t, client, startPacket)
	server := s.take(t)
	expect(t, server, string(startPacket))
	put(t, server, []byte(signedOn))
	expect(t, client, signedOn)
	client.Close()
	awaitEnd(t, server)
	server.Close()
	r.finished(t)
}
