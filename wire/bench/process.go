package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

// clockTicks is the unit of CPU times in /proc: USER_HZ, 100 on Linux.
const clockTicks = 100

// cpuSeconds returns user and system time of a process, from /proc/pid/stat.
func cpuSeconds(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return float64(user+system) / clockTicks
}

// residentBytes returns the resident memory of a process.
func residentBytes(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(b))[1])
	return pages * os.Getpagesize()
}

// startTargets starts what stands between client and server: direct first, then
// the relay, the proxy, and PgBouncer where it is there. end stops them.
func startTargets(ctx context.Context, server *devpg.Server) (targets []*target, end func(), err error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, func() {}, err
	}
	var commands []*exec.Cmd
	end = func() {
		for _, c := range commands {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		os.RemoveAll(dir)
	}
	_, port, _ := net.SplitHostPort(server.Addr())
	targets = []*target{{name: "direct", port: port}}
	start := func(name string, args func(port string) []string) error {
		p, err := freePort()
		if err != nil {
			return err
		}
		a := args(p)
		c := exec.CommandContext(ctx, a[0], a[1:]...)
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			return err
		}
		commands = append(commands, c)
		targets = append(targets, &target{name: name, port: p, pid: c.Process.Pid})
		return answers(ctx, net.JoinHostPort("127.0.0.1", p))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, end, err
	}
	if err := start("relay", func(p string) []string { return []string{self, "relay", "127.0.0.1:" + p, server.Addr()} }); err != nil {
		return nil, end, err
	}
	program := filepath.Join(dir, "pgidproxy")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/pgidproxy/pgidproxy/cmd/pgidproxy").CombinedOutput(); err != nil {
		return nil, end, fmt.Errorf("build the proxy: %w\n%s", err, out)
	}
	err = start("pgidproxy", func(p string) []string {
		return []string{program, "serve", "--database-url", server.URL("postgres"), "--node-id", "1", "--listen", "127.0.0.1:" + p}
	})
	if err != nil {
		return nil, end, err
	}
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		if err := start("pgbouncer", func(p string) []string { return bouncer(path, dir, p, server.Addr()) }); err != nil {
			return nil, end, err
		}
	} else {
		fmt.Fprintln(os.Stderr, "bench: no pgbouncer on the path: left out")
	}
	return targets, end, nil
}

// bouncer writes PgBouncer's configuration and returns its command line. It
// refuses to run as root and drops to postgres then.
func bouncer(path, dir, port, upstream string) []string {
	host, upPort, _ := net.SplitHostPort(upstream)
	ini := filepath.Join(dir, "pgbouncer.ini")
	users := filepath.Join(dir, "users.txt")
	text := fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\n"+
		"auth_type = trust\nauth_file = %s\npool_mode = session\nunix_socket_dir =\nlogfile = %s\nmax_client_conn = 2000\n"+
		"default_pool_size = 100\n", host, upPort, port, users, os.DevNull)
	_ = os.Chmod(dir, 0o755)
	_ = os.WriteFile(ini, []byte(text), 0o644)
	_ = os.WriteFile(users, []byte(`"postgres" ""`+"\n"), 0o644)
	args := []string{path, "-q", ini}
	if os.Geteuid() == 0 {
		args = []string{path, "-q", "-u", "postgres", ini}
	}
	return args
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// answers waits until sessions can be opened at an address.
func answers(ctx context.Context, addr string) error {
	var last error
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		conn, err := signOn(ctx, addr)
		if err == nil {
			return conn.Close()
		}
		last = err
	}
	return fmt.Errorf("%s does not answer: %w", addr, last)
}

// signOn opens a session as postgres on database postgres, and reads up to the
// first ReadyForQuery.
func signOn(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	body := "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"
	packet := binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))
	if _, err := conn.Write(append(packet, body...)); err != nil {
		conn.Close()
		return nil, err
	}
	for {
		var header [5]byte
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			conn.Close()
			return nil, err
		}
		reply := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
		if _, err := io.ReadFull(conn, reply); err != nil {
			conn.Close()
			return nil, err
		}
		switch header[0] {
		case 'E':
			conn.Close()
			return nil, errors.New(strings.ReplaceAll(string(reply), "\x00", " "))
		case 'Z':
			return conn, nil
		}
	}
}
