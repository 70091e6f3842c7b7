package wire

import (
	"strings"
	"testing"
)

func TestCancelRequest(t *testing.T) {
	t.Parallel()
	for _, key := range []int{0, 4, 32, 256} {
		for _, mode := range []string{"disable", "require"} {
			s := newScripted(t, "127.0.0.1:0")
			cancelled := make(chan struct{}, 1)
			r := serve(t, s.url("sslmode="+mode), func(c *Config) { c.Cancelled = func() { cancelled <- struct{}{} } })
			request := startupPacket(codeCancel, "pidx"+strings.Repeat("k", key))
			client := r.dial(t)
			put(t, client, startupPacket(codeSSL, ""))
			expect(t, client, "N")
			put(t, client, request)
			c := s.take(t)
			if mode == "require" {
				c = secure(t, c, serverTLS(t))
			}
			expect(t, c, string(request))
			c.Close()
			if got := readRest(t, client); got != "" {
				t.Errorf("key of %d, %s: answered with %q", key, mode, got)
			}
			<-cancelled
			if n := len(r.ended); n != 0 {
				t.Errorf("key of %d, %s: %d sessions", key, mode, n)
			}
		}
	}
}

// TestCancelWithoutServer checks that a request that cannot be delivered is
// not answered either.
func TestCancelWithoutServer(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), nil)
	s.Close()
	client := r.dial(t)
	put(t, client, startupPacket(codeCancel, "12345678"))
	if got := readRest(t, client); got != "" {
		t.Errorf("answered with %q", got)
	}
}
