package orm

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// proxy is one running pgidproxy serve.
type proxy struct {
	addr string // where it listens
	cmd  *exec.Cmd
	done chan struct{} // closed when the process and its log have ended
	log  strings.Builder
	err  error // how it ended; this and log are valid once done is closed
}

var listening = regexp.MustCompile(`listen=(127\.0\.0\.1:[0-9]+)`)

// startProxy runs serve in front of the server of databaseURL and returns once
// it listens. The caller stops it.
func startProxy(databaseURL string, flags ...string) (*proxy, error) {
	path, err := buildProgram()
	if err != nil {
		return nil, err
	}
	args := append([]string{"serve", "--database-url", databaseURL, "--listen", "127.0.0.1:0",
		"--node-id", fmt.Sprint(proxyNode), "--install", "never", "--drain-timeout", "5s"}, flags...)
	p := &proxy{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.SysProcAttr = dieWithParent()
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start proxy: %w", err)
	}
	addr := make(chan string, 1)
	go p.follow(stderr, addr)
	select {
	case p.addr = <-addr:
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("proxy ended before it listened: %w\n%s", p.err, p.log.String())
	case <-time.After(30 * time.Second):
		p.cmd.Process.Kill()
		<-p.done
		return nil, fmt.Errorf("proxy does not say where it listens:\n%s", p.log.String())
	}
}

func (p *proxy) follow(stderr io.Reader, addr chan<- string) {
	defer close(p.done)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.log.WriteString(lines.Text() + "\n")
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			select {
			case addr <- m[1]:
			default:
			}
		}
	}
	p.err = p.cmd.Wait()
}

// through is the URL with the proxy in place of the server.
func (p *proxy) through(tb testing.TB, direct string) string {
	tb.Helper()
	u, err := url.Parse(direct)
	if err != nil {
		tb.Fatal(err)
	}
	u.Host = p.addr
	return u.String()
}

// stop ends the proxy with SIGTERM and reports an exit code other than 0 or a
// panic in its log.
func (p *proxy) stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("proxy does not end on SIGTERM:\n%s", p.log.String())
	}
	if p.err != nil || strings.Contains(p.log.String(), "panic") {
		return fmt.Errorf("proxy ended with %v:\n%s", p.err, p.log.String())
	}
	return nil
}
