package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// proxy is one running pgidproxy serve.
type proxy struct {
	addr string // where it listens
	base string // URL of its server, for databaseURL
	cmd  *exec.Cmd
	done chan struct{} // closed when the process and its log have ended
	err  error         // how it ended; valid once done is closed

	mu    sync.Mutex
	log   bytes.Buffer
	lines chan string // lines of the log for one reader; dropped when nobody reads
}

var listening = regexp.MustCompile(`listen.*?(127\.0\.0\.1:[0-9]+)`)

// startProxy runs serve in front of the server of databaseURL and returns once
// it listens. The caller stops it.
func startProxy(databaseURL string, flags ...string) (*proxy, error) {
	path, err := buildProgram()
	if err != nil {
		return nil, err
	}
	args := append([]string{"serve", "--database-url", databaseURL, "--listen", "127.0.0.1:0"}, flags...)
	p := &proxy{base: databaseURL, cmd: exec.Command(path, args...), done: make(chan struct{}), lines: make(chan string, 64)}
	p.cmd.SysProcAttr = dieWithParent()
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	go p.follow(stderr)
	deadline := time.After(30 * time.Second)
	for {
		select {
		case line := <-p.lines:
			if m := listening.FindStringSubmatch(line); m != nil {
				p.addr = m[1]
				return p, nil
			}
		case <-p.done:
			return nil, fmt.Errorf("proxy ended before it listened: %w\n%s", p.err, p.logged())
		case <-deadline:
			p.cmd.Process.Kill()
			return nil, fmt.Errorf("proxy does not say where it listens:\n%s", p.logged())
		}
	}
}

func (p *proxy) follow(stderr io.Reader) {
	defer close(p.done)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.log.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		select {
		case p.lines <- lines.Text():
		default:
		}
	}
	p.err = p.cmd.Wait()
}

func (p *proxy) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// databaseURL is the URL of a database through the proxy, with the user and
// the settings of the server's URL.
func (p *proxy) databaseURL(db string) string {
	u, err := url.Parse(p.base)
	if err != nil {
		panic(err)
	}
	u.Host = p.addr
	u.Path = "/" + db
	q := u.Query()
	q.Del("host")
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return u.String()
}

// stop ends the proxy with SIGTERM and reports an exit code other than 0, a
// data race or a panic in its log.
func (p *proxy) stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(60 * time.Second):
		p.cmd.Process.Kill()
		return fmt.Errorf("proxy does not end on SIGTERM:\n%s", p.logged())
	}
	log := p.logged()
	if p.err != nil || strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		return fmt.Errorf("proxy ended with %v:\n%s", p.err, log)
	}
	return nil
}

// residentBytes is the proxy's resident memory.
func (p *proxy) residentBytes(tb testing.TB) int {
	tb.Helper()
	out, err := exec.Command("ps", "-o", "rss=", "-p", fmt.Sprint(p.cmd.Process.Pid)).Output()
	if err != nil {
		tb.Fatalf("read memory of the proxy: %v", err)
	}
	var kib int
	fmt.Sscan(string(out), &kib)
	return kib << 10
}

// ownProxy starts a proxy for one test alone.
func ownProxy(tb testing.TB, s server, flags ...string) *proxy {
	tb.Helper()
	f := fixtureOf(tb, s)
	p, err := startProxy(s.URL(f.home), append([]string{"--node-id", fmt.Sprint(proxyNode)}, flags...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.stop(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

// stopAll ends what is shared by all tests.
func stopAll() error {
	var errs []error
	fixtures.Range(func(_, v any) bool {
		if f := v.(*fixture); f.proxy != nil {
			errs = append(errs, f.proxy.stop())
		}
		return true
	})
	if program.dir != "" {
		errs = append(errs, os.RemoveAll(program.dir))
	}
	return errors.Join(errs...)
}

// hostPort is the address of the server in a URL.
func hostPort(tb testing.TB, rawURL string) string {
	tb.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		tb.Fatal(err)
	}
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "5432")
	}
	return u.Host
}
