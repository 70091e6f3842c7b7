package orm

import (
	"errors"
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
		fmt.Fprintln(os.Stderr, "orm:", err)
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

// buildProgram builds pgidproxy once a test process and returns its path.
func buildProgram() (string, error) {
	program.once.Do(func() {
		program.dir, program.err = os.MkdirTemp("", "pgidproxy-orm-")
		if program.err != nil {
			return
		}
		program.path = filepath.Join(program.dir, "pgidproxy")
		cmd := exec.Command("go", "build", "-o", program.path, "./cmd/pgidproxy")
		cmd.Dir = filepath.Join("..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			program.err = fmt.Errorf("build pgidproxy: %w\n%s", err, out)
		}
	})
	return program.path, program.err
}

// run runs one of the program's commands.
func run(args ...string) error {
	path, err := buildProgram()
	if err != nil {
		return err
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("pgidproxy %q: %w\n%s", args, err, out)
	}
	return nil
}

// stopAll ends what is shared by all tests.
func stopAll() error {
	var errs []error
	if shared.proxy != nil {
		errs = append(errs, shared.proxy.stop())
	}
	if shared.server != nil {
		errs = append(errs, shared.server.Close())
	}
	if program.dir != "" {
		errs = append(errs, os.RemoveAll(program.dir))
	}
	return errors.Join(errs...)
}
