package servers

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A Link is an address whose connections lead to a server, and which can be cut.
type Link struct {
	Addr string
	to   string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// NewLink makes a link to a server, which ends with the test.
func NewLink(t testing.TB, to string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{Addr: listener.Addr().String(), to: to, conns: map[net.Conn]bool{}}
	var all sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		l.Cut()
		all.Wait()
	})
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { l.serve(client) })
		}
	})
	return l
}

// Cut ends all connections and lets no new one through.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for c := range l.conns {
		c.Close()
	}
}

// Mend lets connections through again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

func (l *Link) serve(client net.Conn) {
	defer l.forget(client)
	if !l.remember(client) {
		return
	}
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer l.forget(server)
	if !l.remember(server) {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server) // whatever ends it, both ends go
		client.Close()
	})
	_, _ = io.Copy(server, client)
	server.Close()
	back.Wait()
}

// remember takes a connection among those that can be cut.
func (l *Link) remember(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return false
	}
	l.conns[c] = true
	return true
}

func (l *Link) forget(c net.Conn) {
	c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}
