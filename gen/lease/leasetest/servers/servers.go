// Package servers runs real servers of registries for tests: each on a free port
// of this machine, with its data in a directory of the test's, and ended with the
// test at the latest.
package servers

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// limit is how long a server may take to start or to end.
const limit = 30 * time.Second

// A Server is one that a test runs. Its methods belong to the goroutine of the
// test; they fail the test where they do not succeed.
type Server struct {
	Addr string // host and port of clients; the same after each start
	Port string

	t       testing.TB
	program string
	args    []string
	data    string              // what is lost with Empty
	ready   string              // what the program says when it answers
	as      *syscall.Credential // who runs it; nil: ourselves

	command *exec.Cmd
	ended   chan struct{} // closed when the program has ended
}

// Redis starts a Redis server that writes to disk nothing but what further
// arguments ("--appendonly", "yes") make it write. With a certificate it speaks
// TLS only.
func Redis(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, program: find(t, "redis-server", "redis-server"), ready: "Ready to accept connections"}
	s.first(func(data string, ports []string) []string {
		listen := []string{"--port", ports[0]}
		if slices.Contains(args, "--tls-cert-file") {
			listen = []string{"--port", "0", "--tls-port", ports[0]}
		}
		return slices.Concat([]string{"--bind", "127.0.0.1", "--dir", data, "--save", "", "--daemonize", "no"}, listen, args)
	})
	return s
}

// Etcd starts an etcd cluster of one member. It elects itself within a part of a
// second, and its shortest lease is one of a second. With a certificate it speaks
// TLS only to clients.
func Etcd(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, program: find(t, "etcd", "etcd-server"), ready: "ready to serve client requests"}
	scheme := "http://"
	if slices.Contains(args, "--cert-file") {
		scheme = "https://"
	}
	s.first(func(data string, ports []string) []string {
		client, peer := scheme+"127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
		return append([]string{"--data-dir", data, "--name", "one", "--heartbeat-interval", "20", "--election-timeout", "200",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "one=" + peer}, args...)
	})
	return s
}

func find(t testing.TB, program, of string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%v: apt-get install %s", err, of)
	}
	return path
}

// first starts the server on ports that are free: others if they are taken in
// the meantime.
func (s *Server) first(args func(data string, ports []string) []string) {
	s.t.Helper()
	s.data = filepath.Join(s.t.TempDir(), "data")
	s.t.Cleanup(s.Kill)
	for try := 0; ; try++ {
		s.Empty()
		ports := free(s.t, 2)
		s.Port, s.Addr = ports[0], net.JoinHostPort("127.0.0.1", ports[0])
		s.args = args(s.data, ports)
		err := s.start()
		if err == nil {
			return
		}
		if try == 5 || !strings.Contains(err.Error(), "in use") {
			s.t.Fatal(err)
		}
	}
}

// free finds ports that nobody listens on.
func free(t testing.TB, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports
}

// start runs the program, and returns when it answers.
func (s *Server) start() error {
	log := &lines{want: []byte(s.ready), seen: make(chan struct{})}
	cmd := exec.Command(s.program, s.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	if s.as != nil {
		cmd.Dir = "/" // which every user can read
		cmd.SysProcAttr.Credential = s.as
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	s.command, s.ended = cmd, ended
	go func() {
		_ = cmd.Wait() // a server that is killed says so
		close(ended)
	}()
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	var problem string
	select {
	case <-log.seen:
		return nil
	case <-ended:
		problem = "ended at once"
	case <-timeout.C:
		problem = "is not ready after " + limit.String()
	}
	s.Kill()
	return fmt.Errorf("%s %s:\n%s", filepath.Base(s.program), problem, log)
}

// Start starts the server again, with the data that it has, and waits until it
// answers.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Stop lets the server end in good order.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the server at once. It does nothing where none runs.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

func (s *Server) end(signal syscall.Signal) {
	s.t.Helper()
	if s.command == nil {
		return
	}
	if err := s.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Error(err)
	}
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	select {
	case <-s.ended:
	case <-timeout.C:
		s.t.Errorf("%s does not end", filepath.Base(s.program))
	}
	s.command = nil
}

// Empty loses the data of a server that does not run.
func (s *Server) Empty() {
	s.t.Helper()
	s.replace(func() error { return os.Mkdir(s.data, 0o700) })
}

// Save keeps the data of a server that does not run. The function that it returns
// puts them back, again while it does not run.
func (s *Server) Save() (restore func()) {
	s.t.Helper()
	kept := filepath.Join(s.t.TempDir(), "kept")
	if err := os.CopyFS(kept, os.DirFS(s.data)); err != nil {
		s.t.Fatal(err)
	}
	return func() { s.replace(func() error { return os.CopyFS(s.data, os.DirFS(kept)) }) }
}

func (s *Server) replace(with func() error) {
	s.t.Helper()
	if s.command != nil {
		s.t.Fatal("the server runs")
	}
	if err := errors.Join(os.RemoveAll(s.data), with()); err != nil {
		s.t.Fatal(err)
	}
}

// lines is what a program says, and notes when it says what is waited for.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	want []byte        // nil once it was said
	seen chan struct{} // closed then
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.want != nil {
		l.text.Write(p)
		if bytes.Contains(l.text.Bytes(), l.want) {
			l.want = nil // what comes now nobody reads
			close(l.seen)
		}
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
