package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience bounds what a test waits for; it is long because machines are busy.
const patience = 3 * time.Minute

// A process is this program at work.
type process struct {
	cmd    *exec.Cmd
	output *output
}

// output collects what a process prints and lets tests wait for a line of it.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	more  chan struct{} // closed and made anew whenever something has come
	ended bool
}

func (o *output) collect(r io.Reader, done *sync.WaitGroup) {
	defer done.Done()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		o.mu.Lock()
		o.text.WriteString(lines.Text() + "\n")
		close(o.more)
		o.more = make(chan struct{})
		o.mu.Unlock()
	}
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs the program. It is killed at the end of the test if it still runs.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startProgram(t, nil, "pgidproxy", args...)
}

// commandOf is one of programs, with variables of its own.
func commandOf(variables []string, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), variables...)
	return cmd
}

func startProgram(t *testing.T, variables []string, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: commandOf(variables, program, args...), output: &output{more: make(chan struct{})}}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	logged, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Add(2)
	go p.output.collect(out, &reading)
	go p.output.collect(logged, &reading)
	go func() {
		reading.Wait()
		p.output.mu.Lock()
		defer p.output.mu.Unlock()
		p.output.ended = true
		close(p.output.more)
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// match waits until the output matches and returns what the pattern's group
// matched.
func (p *process) match(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(patience)
	for {
		p.output.mu.Lock()
		m, more, ended := re.FindStringSubmatch(p.output.text.String()), p.output.more, p.output.ended
		p.output.mu.Unlock()
		if m != nil {
			return m[len(m)-1]
		}
		if ended {
			t.Fatalf("%s ended without %s in:\n%s", p.cmd, pattern, p.output)
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%s has not printed %s, but:\n%s", p.cmd, pattern, p.output)
		}
	}
}

// end sends a signal and returns the exit code.
func (p *process) end(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	return p.wait(t)
}

// wait returns the exit code.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	return p.waitFor(t, patience)
}

// waitFor is wait with another bound.
func (p *process) waitFor(t *testing.T, patience time.Duration) int {
	t.Helper()
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	for {
		p.output.mu.Lock()
		more, ended := p.output.more, p.output.ended
		p.output.mu.Unlock()
		if ended {
			break
		}
		<-more
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func execSQL(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}

// session opens a connection that is closed at the end of the test.
func session(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// node returns the node of the id that a query gives.
func node(t *testing.T, conn *pgx.Conn, sql string) int {
	t.Helper()
	var id int64
	if err := conn.QueryRow(t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&id); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return int(id >> 12 & 1023)
}

// interrupt is what Ctrl-C sends.
const interrupt = syscall.SIGINT

// psqlURL is in the line that dev prints.
const psqlURL = `psql '(postgres://[^']+)'`

// tempDir is one that other users can reach, which t.TempDir's is not for root.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgidproxy-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lines counts lines of the output that hold all of the words.
func (p *process) lines(words ...string) int {
	n := 0
	for line := range strings.Lines(p.output.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			n++
		}
	}
	return n
}
