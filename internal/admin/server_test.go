package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func testConfig(ready func(context.Context) error) Config {
	return Config{Metrics: NewMetrics(sources()), Ready: ready, Log: slog.New(slog.DiscardHandler)}
}

// started serves on an address and returns the URL by which this machine
// reaches it.
func started(t *testing.T, address string, c Config) (*Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := Start(l, c)
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return s, "http://127.0.0.1:" + port
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestServes(t *testing.T) {
	t.Parallel()
	var reason error
	s, url := started(t, "127.0.0.1:0", testConfig(func(context.Context) error { return reason }))
	for _, tt := range []struct {
		path   string
		reason error
		code   int
		body   string
	}{
		{"/healthz", nil, 200, "ok\n"},
		{"/healthz", errors.New("draining"), 200, "ok\n"},
		{"/readyz", nil, 200, "ok\n"},
		{"/readyz", errors.New("database app:\n\tconnection refused\n"), 503, "database app: connection refused\n"},
		{"/nothing", nil, 404, "404 page not found\n"},
		{"/", nil, 404, "404 page not found\n"},
	} {
		reason = tt.reason
		if code, body := get(t, url+tt.path); code != tt.code || body != tt.body {
			t.Errorf("%s, %v: got %d %q, want %d %q", tt.path, tt.reason, code, body, tt.code, tt.body)
		}
	}
	if code, body := get(t, url+"/metrics"); code != 200 || !strings.Contains(body, "\npgidproxy_node 7\n") {
		t.Errorf("got %d %s", code, body)
	}
	s.Close()
	s.Close()
	if _, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		t.Error("the port is open after Close")
	}
}

// TestReadyIsBounded: whoever asks what is ready must not wait for ever.
func TestReadyIsBounded(t *testing.T) {
	t.Parallel()
	bounded := false
	h := handler(testConfig(func(ctx context.Context) error {
		_, bounded = ctx.Deadline()
		return nil
	}), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/readyz", nil))
	if !bounded {
		t.Error("there is no deadline")
	}
}

// TestCloseEndsRequests closes while a request is under way.
func TestCloseEndsRequests(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	s, url := started(t, "127.0.0.1:0", testConfig(func(ctx context.Context) error {
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	}))
	ended := make(chan error, 1)
	go func() {
		answer, err := http.Get(url + "/readyz")
		if err == nil {
			answer.Body.Close()
		}
		ended <- err
	}()
	<-asked
	s.Close()
	if err := <-ended; err == nil {
		t.Error("the request was answered although it waits for longer")
	}
}

func TestProfilesAreForThisMachine(t *testing.T) {
	t.Parallel()
	c := testConfig(nil)
	tests := []struct {
		listener, remote string
		want             int
	}{
		{"127.0.0.1:9187", "127.0.0.1:50000", 200},
		{"[::1]:9187", "[::1]:50000", 200},
		{"127.0.0.1:9187", "[::ffff:127.0.0.1]:50000", 200},
		{"127.0.0.1:9187", "10.0.0.5:50000", 404},
		{"127.0.0.1:9187", "[2001:db8::1]:50000", 404},
		{"127.0.0.1:9187", "@", 404},
		{"0.0.0.0:9187", "127.0.0.1:50000", 404},
		{"[::]:9187", "[::1]:50000", 404},
		{"10.0.0.5:9187", "127.0.0.1:50000", 404},
	}
	for _, tt := range tests {
		on, err := net.ResolveTCPAddr("tcp", tt.listener)
		if err != nil {
			t.Fatal(err)
		}
		h := handler(c, on)
		for _, path := range []string{"", "heap", "goroutine?debug=1", "symbol", "profile?seconds=1", "trace?seconds=0.001"} {
			want := tt.want
			if strings.HasPrefix(path, "profile") && want == 200 {
				continue // it would take its second
			}
			request := httptest.NewRequest("GET", "/debug/pprof/"+path, nil)
			request.RemoteAddr = tt.remote
			answer := httptest.NewRecorder()
			if h.ServeHTTP(answer, request); answer.Code != want {
				t.Errorf("on %s, from %s, %q: got %d, want %d", tt.listener, tt.remote, path, answer.Code, want)
			}
		}
		request := httptest.NewRequest("GET", "/debug/pprof/cmdline", nil)
		request.RemoteAddr = tt.remote
		answer := httptest.NewRecorder()
		if h.ServeHTTP(answer, request); answer.Code != 404 {
			t.Errorf("on %s, from %s: the command line is shown", tt.listener, tt.remote)
		}
	}
}

// TestProfilesOverASocket takes the addresses that the system gives.
func TestProfilesOverASocket(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]int{"127.0.0.1:0": 200, "localhost:0": 200, "0.0.0.0:0": 404, ":0": 404} {
		_, url := started(t, address, testConfig(nil))
		if code, _ := get(t, url+"/debug/pprof/heap"); code != want {
			t.Errorf("on %s: got %d, want %d", address, code, want)
		}
		if code, _ := get(t, url+"/healthz"); code != 200 {
			t.Errorf("on %s: got %d for the health, want 200", address, code)
		}
	}
}
