package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Config is what a Server is made from.
type Config struct {
	// Listeners are where clients come in. Serve closes them.
	Listeners []net.Listener

	// Upstream names the server as a connection URL does, made by
	// pgconn.ParseConfig: hosts, ports, TLS and connect_timeout are used.
	// Users, databases and passwords are the clients' own.
	Upstream *pgconn.Config

	// Hooks gives the hooks of a session with that database. It is called
	// before the server has let the client in, so the name may be any, and must
	// not block. Nil: all is relayed.
	Hooks func(database string) Hooks

	// Log gets one line for each session that did not end by the client's
	// leave, and at level debug for each that did.
	Log *slog.Logger

	// StartupTimeout is how long a client may take to send its StartupMessage.
	// Zero: 60 seconds, as PostgreSQL's authentication_timeout.
	StartupTimeout time.Duration

	// DrainTimeout is how long a transaction may go on after the shutdown has
	// begun.
	DrainTimeout time.Duration

	// WaitTimeout bounds how long a message waits for the clock (or the
	// catalog, for which less is enough) before it goes to the server as it is.
	// Zero: 5 seconds.
	WaitTimeout time.Duration

	// Opened and Closed are called at the beginning and the end of each
	// session, Cancelled for each CancelRequest. They may be nil and are called
	// from many goroutines.
	Opened    func(SessionInfo)
	Closed    func(SessionInfo)
	Cancelled func()
}

// SessionInfo describes a session to those who count or log.
type SessionInfo struct {
	Client         net.Addr
	User, Database string
	Began          time.Time
	Ended          time.Time // zero in Opened, and what follows too
	FromClient     int64     // bytes
	FromServer     int64     // bytes
	Side           string    // who ended it: client, server or proxy
	Err            error     // nil: by closing the connection
}

// A Server accepts clients and connects each to a PostgreSQL server.
type Server struct {
	cfg    Config
	dialer *dialer

	clients sync.WaitGroup

	mu       sync.Mutex
	sessions map[*driver]struct{}
	drain    drainState // asked of each session, also of those that come
}

// NewServer checks cfg. Nothing is opened before Serve.
func NewServer(cfg Config) (*Server, error) {
	if len(cfg.Listeners) == 0 || cfg.Upstream == nil {
		return nil, errors.New("a server needs a listener and an upstream")
	}
	d, err := newDialer(cfg.Upstream)
	if err != nil {
		return nil, fmt.Errorf("read upstream: %w", err)
	}
	cfg.StartupTimeout = cmp.Or(cfg.StartupTimeout, time.Minute)
	cfg.WaitTimeout = cmp.Or(cfg.WaitTimeout, 5*time.Second)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Hooks == nil {
		cfg.Hooks = func(string) Hooks { return Hooks{} }
	}
	return &Server{cfg: cfg, dialer: d, sessions: map[*driver]struct{}{}}, nil
}

// Listen opens a listener: on a unix socket when address is the absolute path
// of its file, on TCP otherwise. A socket file that nobody listens on any more
// is replaced.
func Listen(address string) (net.Listener, error) {
	if !strings.HasPrefix(address, "/") {
		return net.Listen("tcp", address)
	}
	l, err := net.Listen("unix", address)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	conn, dialErr := net.DialTimeout("unix", address, time.Second)
	if dialErr == nil {
		conn.Close()
		return nil, err
	}
	if !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, err
	}
	if removeErr := os.Remove(address); removeErr != nil {
		return nil, errors.Join(err, removeErr)
	}
	return net.Listen("unix", address)
}

// Serve accepts clients until ctx is done, then drains and returns nil: it
// accepts nobody, ends idle sessions at once and the others when their
// transaction is over or DrainTimeout has passed. It does the same when a
// listener fails, and returns the listener's error. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var accepting sync.WaitGroup
	for _, l := range s.cfg.Listeners {
		accepting.Go(func() {
			if err := s.accept(ctx, l); err != nil {
				cancel(&acceptError{err})
			}
		})
	}
	<-ctx.Done()
	for _, l := range s.cfg.Listeners {
		l.Close()
	}
	accepting.Wait()
	s.askAll(draining)
	done := make(chan struct{})
	go func() {
		s.clients.Wait()
		close(done)
	}()
	timer := time.NewTimer(s.cfg.DrainTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		s.askAll(forced)
		<-done
	}
	var failed *acceptError
	if errors.As(context.Cause(ctx), &failed) {
		return failed
	}
	return nil
}

// An acceptError is why Serve ended although nobody asked it to.
type acceptError struct{ err error }

func (e *acceptError) Error() string { return "accept clients: " + e.err.Error() }
func (e *acceptError) Unwrap() error { return e.err }

// askAll asks all sessions to end, those that are about to begin included.
func (s *Server) askAll(state drainState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drain = state
	for d := range s.sessions {
		d.askToEnd(state)
	}
}

// accept starts a goroutine for each client of one listener. It returns nil
// once ctx is done.
func (s *Server) accept(ctx context.Context, l net.Listener) error {
	var pause time.Duration
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.clients.Go(func() { s.serveClient(ctx, conn) })
		case ctx.Err() != nil:
			return nil
		case !passing(err):
			return err
		default:
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.cfg.Log.Warn("accept clients", "err", err, "pause", pause)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	}
}

// passing tells the errors of accept that are over when a client has gone.
func passing(err error) bool {
	for _, e := range [...]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.ECONNABORTED, syscall.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// serveClient sees one client through, from its first byte to its last.
func (s *Server) serveClient(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	tune(conn)
	log := s.cfg.Log.With("client", conn.RemoteAddr())
	_ = conn.SetDeadline(time.Now().Add(s.cfg.StartupTimeout))
	var st startup
	err := guard(ctx, conn, func() (err error) {
		st, err = readStartup(conn)
		return err
	})
	if err != nil {
		if err != io.EOF && ctx.Err() == nil {
			log.Info("client refused", "err", err)
		}
		refuse(conn, err)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if st.cancel {
		if s.cfg.Cancelled != nil {
			s.cfg.Cancelled()
		}
		if err := s.dialer.relayCancel(context.WithoutCancel(ctx), st.packet); err != nil {
			log.Warn("cancel request not delivered", "err", err)
		}
		return
	}
	log = log.With("user", st.user, "database", st.database)
	up, err := s.dialer.connect(ctx, st.packet)
	if err != nil {
		log.Warn("connect to server", "err", err)
		refuse(conn, connectReport(ctx, err))
		return
	}
	st.packet = nil
	s.runSession(ctx, log, conn, up, &st)
}

// runSession moves the bytes of a session until its end.
func (s *Server) runSession(ctx context.Context, log *slog.Logger, conn net.Conn, up *upstream, st *startup) {
	defer up.Close()
	defer s.dialer.acquire(up.target)()
	_, secured := up.Conn.(interface{ NetConn() net.Conn })
	d := &driver{
		client: conn,
		server: up.Conn,
		first:  up.first,
		wait:   s.cfg.WaitTimeout,
		session: NewSession(s.cfg.Hooks(st.database), SessionOptions{
			Replication:      st.replication,
			PlainClientOnTLS: secured,
		}),
	}
	up.first = nil
	info := SessionInfo{Client: conn.RemoteAddr(), User: st.user, Database: st.database, Began: time.Now()}
	if s.cfg.Opened != nil {
		s.cfg.Opened(info)
	}
	s.register(d)
	d.run(context.WithoutCancel(ctx))
	s.unregister(d)
	info.Ended = time.Now()
	info.FromClient, info.FromServer = d.fromClient, d.fromServer
	info.Side, info.Err = string(d.end.side), d.end.err
	if s.cfg.Closed != nil {
		s.cfg.Closed(info)
	}
	level := slog.LevelInfo
	if info.Err == nil && (d.terminated || d.end.side == sideClient) {
		level = slog.LevelDebug
	}
	log.Log(ctx, level, "session ended", "side", info.Side, "err", info.Err,
		"seconds", info.Ended.Sub(info.Began).Seconds())
}

func (s *Server) register(d *driver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[d] = struct{}{}
	if s.drain != serving {
		d.askToEnd(s.drain)
	}
}

func (s *Server) unregister(d *driver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, d)
}

// refuse tells the client what err has for it, and hangs up.
func refuse(conn net.Conn, err error) {
	var report []byte
	var f *fatal
	var r *serverRefusal
	switch {
	case errors.As(err, &r):
		report = r.report
	case errors.As(err, &f):
		report = f.encode()
	default:
		return
	}
	_ = conn.SetDeadline(time.Now().Add(lingerTimeout))
	if _, err := conn.Write(report); err != nil || !closeWrite(conn) {
		return
	}
	_, _ = io.Copy(io.Discard, conn)
}

// connectReport makes of a failure to connect what the client is told: neither
// addresses nor anything else of the URL.
func connectReport(ctx context.Context, err error) error {
	var r *serverRefusal
	if errors.As(err, &r) {
		return err
	}
	if ctx.Err() != nil {
		return &fatal{code: cannotConnectNow, message: "the proxy is shutting down"}
	}
	cause := "it cannot be reached"
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(err, errNoTLS):
		cause = errNoTLS.Error()
	case errors.As(err, &dns):
		cause = "its name cannot be resolved"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &op) && op.Timeout():
		cause = "it does not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		cause = "connection refused"
	}
	return &fatal{
		code:    "08006",
		message: "cannot connect to the server: " + cause,
		hint:    "Check --database-url (PGIDPROXY_DATABASE_URL) and whether the server is up; the proxy's log says more.",
	}
}
