package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

// startTimeout is how long a target may take until sessions can be opened.
const startTimeout = 15 * time.Second

// A middle knows how to start what stands between client and server.
type middle struct {
	server    *devpg.Server
	dir       string // of files, removed by close
	self      string // this program, which is the relay too
	proxy     string // the built proxy
	pgbouncer string // "": not installed
}

// newMiddle builds the proxy as it is in this tree.
func newMiddle(ctx context.Context, server *devpg.Server) (*middle, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	m := &middle{server: server, dir: dir, proxy: filepath.Join(dir, "pgidproxy")}
	build := exec.CommandContext(ctx, "go", "build", "-o", m.proxy, "github.com/pgidproxy/pgidproxy/cmd/pgidproxy")
	if said, err := build.CombinedOutput(); err != nil {
		m.close()
		return nil, fmt.Errorf("build the proxy: %w\n%s", err, said)
	}
	if m.self, err = os.Executable(); err != nil {
		m.close()
		return nil, err
	}
	if m.pgbouncer, err = m.findPgBouncer(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: PgBouncer is left out:", err)
	}
	return m, nil
}

func (m *middle) close() { os.RemoveAll(m.dir) }

// A target is a way to the server.
type target struct {
	name    string
	port    string    // on 127.0.0.1
	command *exec.Cmd // in the middle; nil: none
}

func (t *target) addr() string { return net.JoinHostPort("127.0.0.1", t.port) }

// startAll starts the targets: direct first, then the relay, the proxy, and
// PgBouncer where it is there. stopAll ends those returned, also with an error.
func (m *middle) startAll(ctx context.Context) ([]*target, error) {
	_, port, err := net.SplitHostPort(m.server.Addr())
	if err != nil {
		return nil, err
	}
	targets := []*target{{name: "direct", port: port}}
	for _, t := range []struct {
		name string
		args func(port string) ([]string, error)
	}{
		{"relay", m.relayArgs}, {"pgidproxy", m.proxyArgs}, {"pgbouncer", m.pgbouncerArgs},
	} {
		if t.name == "pgbouncer" && m.pgbouncer == "" {
			continue
		}
		started, err := start(ctx, t.name, t.args)
		if started != nil {
			targets = append(targets, started)
		}
		if err != nil {
			return targets, fmt.Errorf("start %s: %w", t.name, err)
		}
	}
	return targets, nil
}

func stopAll(targets []*target) {
	for _, t := range targets {
		if t.command != nil {
			_ = t.command.Process.Kill()
			_ = t.command.Wait()
		}
	}
}

// start returns when sessions can be opened. The target is to be stopped also
// when it comes with an error.
func start(ctx context.Context, name string, args func(port string) ([]string, error)) (*target, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	a, err := args(port)
	if err != nil {
		return nil, err
	}
	t := &target{name: name, port: port, command: exec.CommandContext(ctx, a[0], a[1:]...)}
	t.command.Stderr = os.Stderr
	if err := t.command.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(startTimeout); ; time.Sleep(50 * time.Millisecond) {
		conn, err := openSession(ctx, t.addr())
		if err == nil {
			return t, conn.Close()
		}
		if ctx.Err() != nil || time.Now().After(end) {
			return t, err
		}
	}
}

func (m *middle) relayArgs(port string) ([]string, error) {
	return []string{m.self, relayCommand, "127.0.0.1:" + port, m.server.Addr()}, nil
}

func (m *middle) proxyArgs(port string) ([]string, error) {
	return []string{m.proxy, "--log-level", "warn", "serve", "--database-url", m.server.URL(devpg.Superuser),
		"--node-id", "1", "--listen", "127.0.0.1:" + port}, nil
}

func (m *middle) findPgBouncer() (string, error) {
	path, err := exec.LookPath("pgbouncer")
	if errors.Is(err, exec.ErrNotFound) {
		// Where Debian puts it, which is on root's path alone.
		path, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	return path, err
}

// pgbouncerArgs writes PgBouncer's configuration. It refuses to run as root and
// becomes postgres then.
func (m *middle) pgbouncerArgs(port string) ([]string, error) {
	host, upstream, err := net.SplitHostPort(m.server.Addr())
	if err != nil {
		return nil, err
	}
	ini, users := filepath.Join(m.dir, "pgbouncer.ini"), filepath.Join(m.dir, "users.txt")
	text := fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = session
max_client_conn = 5000
default_pool_size = 5000
ignore_startup_parameters = extra_float_digits
logfile = %s
`, host, upstream, port, users, os.DevNull)
	err = errors.Join(os.Chmod(m.dir, 0o755), os.WriteFile(ini, []byte(text), 0o644),
		os.WriteFile(users, []byte(`"`+devpg.Superuser+`" ""`+"\n"), 0o644))
	if err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		return []string{m.pgbouncer, "-q", "-u", "postgres", ini}, nil
	}
	return []string{m.pgbouncer, "-q", ini}, nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// userHz is the unit of CPU times in /proc: 100 a second on Linux, whatever the
// kernel's own.
const userHz = 100

// cpuSeconds returns the user and system time of the process in the middle, 0
// where there is none.
func (t *target) cpuSeconds() (float64, error) {
	if t.command == nil {
		return 0, nil
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(b))
}

// parseStat reads utime and stime, fields 14 and 15 of proc(5)'s /proc/pid/stat.
// The second field is the program's name, which may hold anything.
func parseStat(stat string) (float64, error) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 13 {
		return 0, fmt.Errorf("read CPU time from %q", stat)
	}
	user, err := strconv.Atoi(f[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(f[12])
	return float64(user+system) / userHz, err
}

// residentBytes returns the resident memory of the process in the middle.
func (t *target) residentBytes() (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", t.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0, fmt.Errorf("read memory from %q", b)
	}
	pages, err := strconv.Atoi(f[1])
	return pages * os.Getpagesize(), err
}
