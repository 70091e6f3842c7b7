package devpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Superuser is the database role that every server has.
const Superuser = "postgres"

// Config says which server is to be started.
type Config struct {
	BinDir   string            // as Find takes it
	DataDir  string            // made if it is not there, and kept; "": a temporary one, removed at Close
	Settings map[string]string // for postgresql.conf's parameters
	Log      io.Writer         // gets the server's log too; nil: only its file does
}

// Server is a PostgreSQL server of our own. Its methods may be called at the
// same time, but for Stop, Crash, Restart and Close.
type Server struct {
	binaries Binaries
	account  account
	config   Config
	root     string // holds all that is ours, to be removed at Close; "" when the data is kept
	data     string
	port     int
	janitor  *janitor

	command *exec.Cmd
	done    chan struct{} // closed when the process has ended; nil before the first start
	logFrom int64         // where in the log file the present process begins

	external func(db string) string // URL of a server that is not ours, see External
}

// Start finds the programs, makes the data directory where it must, and returns
// when the server answers queries. ctx bounds the start only.
func Start(ctx context.Context, config Config) (*Server, error) {
	b, err := Find(config.BinDir)
	if err != nil {
		return nil, err
	}
	s := &Server{binaries: b, config: config}
	if err := s.prepare(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.launch(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// External describes a server that others run, such as one in a container, at
// the URL that url gives for a database. Stop, Crash and Restart fail; Close
// leaves the server running.
func External(major int, url func(db string) string) *Server {
	return &Server{binaries: Binaries{Major: major}, external: url}
}

// errExternal is what the methods that act on the process say without one.
var errExternal = errors.New("the server is run by others")

// Major returns the server's major version.
func (s *Server) Major() int { return s.binaries.Major }

// BinDir returns the directory of the server's programs.
func (s *Server) BinDir() string { return s.binaries.Dir }

// Addr returns host and port.
func (s *Server) Addr() string {
	if s.external != nil {
		u, err := url.Parse(s.external(Superuser))
		if err != nil {
			return ""
		}
		return u.Host
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// URL returns a connection string of the superuser for a database.
func (s *Server) URL(db string) string {
	if s.external != nil {
		return s.external(db)
	}
	u := url.URL{Scheme: "postgres", User: url.User(Superuser), Host: s.Addr(), Path: "/" + db, RawQuery: "sslmode=disable"}
	return u.String()
}

// SocketDir returns the directory of the server's Unix socket, "" without one.
// As root's child the server owns it: only it and root can connect.
func (s *Server) SocketDir() string {
	const longest = len(syscall.RawSockaddrUnix{}.Path) - 1
	if s.external != nil || len(filepath.Join(s.data, ".s.PGSQL.65535")) > longest || strings.ContainsAny(s.data, `,"`) {
		return ""
	}
	return s.data
}

// DataDir returns the data directory.
func (s *Server) DataDir() string { return s.data }

// LogFile returns the path of the server's log.
func (s *Server) LogFile() string { return filepath.Join(s.data, "server.log") }

// Done is closed when the server's process has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop ends the server (fast shutdown: sessions are disconnected, committed
// data is safe). Restart starts it again.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

// Crash ends the server as a crash would (immediate shutdown): WAL that was not
// flushed is lost, and the next start recovers.
func (s *Server) Crash() error { return s.end(syscall.SIGQUIT) }

// Restart stops the server if it runs and starts it on the same port.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.launch(ctx)
}

// Close stops the server and removes a temporary data directory. It may be
// called again.
func (s *Server) Close() error {
	if s.external != nil {
		return nil
	}
	err := s.Stop()
	s.janitor.dismiss()
	s.janitor = nil
	if s.root != "" {
		err = errors.Join(err, os.RemoveAll(s.root))
	}
	return err
}

// patience is how long each step of a shutdown may take before a harder one.
const patience = 10 * time.Second

// end signals the server and waits for its end.
func (s *Server) end(signal syscall.Signal) error {
	if s.external != nil {
		return errExternal
	}
	if s.done == nil {
		return nil
	}
	for _, signal := range []syscall.Signal{signal, syscall.SIGQUIT, syscall.SIGKILL} {
		if err := s.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stop PostgreSQL: %w", err)
		}
		select {
		case <-s.done:
			return nil
		case <-time.After(patience):
		}
	}
	return errors.New("stop PostgreSQL: its process does not end")
}

// arguments are the server's own. What the caller set comes last and wins.
func (s *Server) arguments() []string {
	args := []string{"-D", s.data,
		"-c", "listen_addresses=127.0.0.1",
		"-c", "port=" + strconv.Itoa(s.port),
		"-c", "unix_socket_directories=" + s.SocketDir()}
	for _, name := range slices.Sorted(maps.Keys(s.config.Settings)) {
		args = append(args, "-c", name+"="+s.config.Settings[name])
	}
	return args
}

// freePort returns a port of the loopback interface that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// logTail returns the end of what the present process has logged.
func (s *Server) logTail() string {
	const most = 4 << 10
	f, err := os.Open(s.LogFile())
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, err := f.Seek(s.logFrom, io.SeekStart); err != nil {
		return ""
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.TrimSpace(string(text))
}

// lockedWriter lets the server's two streams share one writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
