package wire

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

// busyCatalog is being read again, for ever.
type busyCatalog struct{ waits chan error }

func (busyCatalog) Current() *rewrite.Catalog { return nil }
func (busyCatalog) Begin()                    {}
func (busyCatalog) End()                      {}

// Fresh reports why it was told to wait no longer.
func (c busyCatalog) Last() *rewrite.Catalog { return nil }
func (c busyCatalog) Fresh(ctx context.Context) {
	<-ctx.Done()
	c.waits <- ctx.Err()
}

func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	question := frame('Q', "SELECT next_snowflake()\x00")
	for _, tc := range []struct {
		name    string
		timeout time.Duration
		end     bool // the server ends the session meanwhile
		want    error
	}{
		{"timeout", 10 * time.Millisecond, false, context.DeadlineExceeded},
		{"session ends", time.Hour, true, context.Canceled},
	} {
		catalog := busyCatalog{waits: make(chan error, 1)}
		s := newScripted(t, "127.0.0.1:0")
		r := serve(t, s.url("sslmode=disable"), func(c *Config) {
			c.WaitTimeout = tc.timeout
			c.Hooks = func(database string) Hooks {
				if database != "d" {
					t.Errorf("%s: hooks for %q", tc.name, database)
				}
				return Hooks{Rewriter: rewrite.New(rewrite.Config{}), Catalog: catalog, Limit: 1 << 20}
			}
		})
		client, server := signOn(t, r, s)
		put(t, client, []byte(frame('Q', "SELECT 1\x00")+question))
		expect(t, server, frame('Q', "SELECT 1\x00"))
		reply := frame('C', "SELECT 1\x00") + frame('Z', "I")
		put(t, server, []byte(reply))
		expect(t, client, reply)
		if tc.end {
			server.Close()
		} else {
			expect(t, server, question)
		}
		if got := <-catalog.waits; got != tc.want {
			t.Errorf("%s: the wait ended with %v, want %v", tc.name, got, tc.want)
		}
	}
}

// shortListener has no descriptor left for the first client.
type shortListener struct {
	net.Listener
	failed *atomic.Bool
}

func (l shortListener) Accept() (net.Conn, error) {
	if l.failed.CompareAndSwap(false, true) {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAcceptGoesOnWithoutDescriptors(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	failed := new(atomic.Bool)
	r := serve(t, s.url("sslmode=disable"), func(c *Config) { c.Listeners[0] = shortListener{c.Listeners[0], failed} })
	signOn(t, r, s)
	if !failed.Load() {
		t.Error("accept did not fail")
	}
}
