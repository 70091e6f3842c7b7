// Package e2e runs the built program against real PostgreSQL servers and real
// clients. The server reached directly is the oracle: whatever is sent through
// the proxy is also sent past it, to a second database made from the same
// template, and everything that comes back must be equal but for the ids. For
// ids the tests know who must have minted them: the proxy (node 7), or the
// server functions (node 1023).
//
//	testdata/parity/*.sql   statements, each run as a simple query and prepared
//	testdata/wire/*.txt     messages, written one by one
//
// The rest are tests in Go: drivers, command line clients, ends of sessions,
// load. Servers come from internal/devpg/devpgtest.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

const (
	proxyNode    = 7
	functionNode = 1023
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stopAll(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

var program struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// buildProgram builds pgidproxy once a test process, with the race detector
// when the tests have it, and returns its path.
func buildProgram() (string, error) {
	program.once.Do(func() {
		program.dir, program.err = os.MkdirTemp("", "pgidproxy-e2e-")
		if program.err != nil {
			return
		}
		program.path = filepath.Join(program.dir, "pgidproxy")
		args := []string{"build", "-o", program.path}
		if raceEnabled {
			args = append(args, "-race")
		}
		out, err := exec.Command("go", append(args, "../cmd/pgidproxy")...).CombinedOutput()
		if err != nil {
			program.err = fmt.Errorf("build pgidproxy: %w\n%s", err, out)
		}
	})
	return program.path, program.err
}

// run runs the program and returns what it wrote to stdout and stderr.
func run(args ...string) (string, error) {
	path, err := buildProgram()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("pgidproxy %q: %w\n%s", args, err, out)
	}
	return string(out), nil
}
