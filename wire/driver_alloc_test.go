package wire

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// exchanger plays one round trip of a session with both of its ends.
type exchanger struct {
	client, server net.Conn
	request, reply []byte
	buf            []byte
}

func newExchanger(tb testing.TB, request, reply string) *exchanger {
	s := newScripted(tb, "127.0.0.1:0")
	r := serve(tb, s.url("sslmode=disable"), nil)
	client, server := signOn(tb, r, s)
	return &exchanger{client, server, []byte(request), []byte(reply), make([]byte, max(len(request), len(reply)))}
}

func (e *exchanger) round(tb testing.TB) {
	for _, way := range [...]struct {
		from, to net.Conn
		bytes    []byte
	}{{e.client, e.server, e.request}, {e.server, e.client, e.reply}} {
		if _, err := way.from.Write(way.bytes); err != nil {
			tb.Fatal(err)
		}
		if _, err := io.ReadFull(way.to, e.buf[:len(way.bytes)]); err != nil {
			tb.Fatal(err)
		}
	}
}

var (
	smallRequest = frame('B', "\x00s\x00\x00\x00\x00\x01\x00\x00\x00\x011\x00\x00") + frame('E', "\x00\x00\x00\x00\x00") + frame('S', "")
	smallReply   = frame('2', "") + frame('D', "\x00\x01\x00\x00\x00\x011") + frame('C', "SELECT 1\x00") + frame('Z', "I")
)

// TestRelayDoesNotAllocate is not run beside other tests, whose allocations
// would count.
func TestRelayDoesNotAllocate(t *testing.T) {
	for _, tc := range []struct{ name, request, reply string }{
		{"small", smallRequest, smallReply},
		{"large", frame('d', strings.Repeat("x", 100_000)), frame('D', strings.Repeat("y", 100_000))},
	} {
		e := newExchanger(t, tc.request, tc.reply)
		got := testing.AllocsPerRun(500, func() { e.round(t) })
		if got != 0 && !raceDetector {
			t.Errorf("%s: %v allocations a round trip, want 0", tc.name, got)
		}
	}
}

// TestNothingIsLeftBehind ends sessions in all ways and looks for goroutines.
func TestNothingIsLeftBehind(t *testing.T) {
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=disable"), nil)
	for range 5 {
		client, server := signOn(t, r, s)
		client.Close()
		awaitEnd(t, server)
		server.Close()
		client, server = signOn(t, r, s)
		server.Close()
		awaitEnd(t, client)
		client.Close()
		client, server = signOn(t, r, s)
		client.(*net.TCPConn).SetLinger(0)
		client.Close()
		awaitEnd(t, server)
		_, server = signOn(t, r, s)
		server.(*net.TCPConn).SetLinger(0)
		server.Close()
		signOn(t, r, s)
		r.dial(t)
	}
	r.stop(t)
	if n := len(r.sessions); n != 0 {
		t.Errorf("%d sessions left", n)
	}
	if n := len(r.dialer.inUse); n != 0 {
		t.Errorf("%d addresses in use", n)
	}
	deadline := time.Now().Add(patience)
	for stacks := ""; ; runtime.Gosched() {
		buf := make([]byte, 1<<20)
		stacks = string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "wire.(*driver)") && !strings.Contains(stacks, "wire.(*Server)") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines left:\n%s", stacks)
		}
	}
}

func BenchmarkRelayRoundTrip(b *testing.B) {
	e := newExchanger(b, smallRequest, smallReply)
	e.round(b)
	b.ReportAllocs()
	for b.Loop() {
		e.round(b)
	}
}

func BenchmarkRelayBulk(b *testing.B) {
	reply := strings.Repeat(frame('D', strings.Repeat("y", 1000)), 1000) + frame('C', "SELECT 1\x00") + frame('Z', "I")
	e := newExchanger(b, smallRequest, reply)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := io.ReadFull(e.server, make([]byte, len(e.request))); err != nil {
				return
			}
			if _, err := e.server.Write(e.reply); err != nil {
				return
			}
		}
	}()
	b.SetBytes(int64(len(reply)))
	for b.Loop() {
		if _, err := e.client.Write(e.request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(e.client, e.buf[:len(e.reply)]); err != nil {
			b.Fatal(err)
		}
	}
	e.client.Close()
	<-done
}

// BenchmarkIdleSession shows the memory that an idle session holds, together
// with the two ends that the benchmark itself has of it.
func BenchmarkIdleSession(b *testing.B) {
	const sessions = 1000
	s := newScripted(b, "127.0.0.1:0")
	r := serve(b, s.url("sslmode=disable"), nil)
	for b.Loop() {
		var before, after runtime.MemStats
		settleMemory(&before)
		var ends []net.Conn
		for range sessions {
			client, server := signOn(b, r, s)
			ends = append(ends, client, server)
			e := exchanger{client, server, []byte(smallRequest), []byte(smallReply), make([]byte, 100)}
			e.round(b)
		}
		settleMemory(&after)
		used := int64(after.HeapAlloc+after.StackInuse) - int64(before.HeapAlloc+before.StackInuse)
		b.ReportMetric(float64(used)/sessions, "B/session")
		for _, conn := range ends {
			conn.Close()
		}
		for range sessions {
			r.finished(b)
		}
	}
}

func settleMemory(m *runtime.MemStats) {
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(m)
}
