package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"
)

const (
	// readyTimeout bounds how long /readyz waits for the database.
	readyTimeout = 5 * time.Second
	// headerTimeout bounds how long a request may take to come, idleTimeout how
	// long a connection may wait for the next one.
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
	// closeTimeout is how long requests under way may go on after Close.
	closeTimeout = time.Second
)

// Config is what a Server serves.
type Config struct {
	Metrics *Metrics

	// Ready returns nil if clients may be sent here, otherwise the reason not
	// to, which callers are shown. It is called from many goroutines.
	Ready func(ctx context.Context) error

	Log *slog.Logger
}

// A Server serves until Close.
type Server struct {
	http http.Server
	done chan struct{} // closed when Serve has returned
}

// Start serves on l, which Close closes.
func Start(l net.Listener, c Config) *Server {
	s := &Server{
		http: http.Server{
			Handler:           handler(c, l.Addr()),
			ReadHeaderTimeout: headerTimeout,
			IdleTimeout:       idleTimeout,
			ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		},
		done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		// The proxy goes on without: that nobody can look is no reason to stop.
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.Log.Error("metrics and health are not served any more", "err", err)
		}
	}()
	return s
}

// Close ends what Start began.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	<-s.done
}

// handler serves on a listener of that address.
func handler(c Config, on net.Addr) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", c.Metrics.Handler(c.Log))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { ok(w) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := c.Ready(ctx); err != nil {
			http.Error(w, oneLine(err), http.StatusServiceUnavailable)
			return
		}
		ok(w)
	})
	if loopback(on.String()) {
		// Not pprof.Cmdline: the command line may hold a password.
		for path, profile := range map[string]http.HandlerFunc{
			"":        pprof.Index,
			"profile": pprof.Profile,
			"symbol":  pprof.Symbol,
			"trace":   pprof.Trace,
		} {
			mux.Handle("/debug/pprof/"+path, local(profile))
		}
	}
	return mux
}

// local hides a handler from other machines, whom a listener on a loopback
// address does not keep out where packets are forwarded to it.
func local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.RemoteAddr) {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// loopback tells whether a host:port is this machine's own.
func loopback(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().IsLoopback()
}

func ok(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// oneLine is the text of an error, whose causes may have lines of their own.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
