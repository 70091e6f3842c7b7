//go:build unix

package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// Servers on sockets, or in containers, see the same address as their own. Where
// the role may not read what else tells them apart, their databases still get
// numbers that differ, and each keeps its own.
func TestSameAddress(t *testing.T) {
	t.Parallel()
	registry := registered(t) // which gives 1023 to its own database
	var numbers []string
	for range 2 {
		s := devpgtest.Private(t, nil)
		if err := execSQL(t.Context(), s.URL(devpg.Superuser), `CREATE ROLE weak LOGIN; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC;
			GRANT CREATE ON DATABASE postgres TO weak; ALTER SCHEMA public OWNER TO weak`); err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		database := fmt.Sprintf("host=%s port=%s user=weak dbname=postgres", s.SocketDir(), port)
		for range 2 {
			p := start(t, "install", "--database-url", database, "--registry", registry)
			if p.wait(t) != exitDone {
				t.Fatal(p.output)
			}
			numbers = append(numbers, p.match(t, `they mint under node (\d+)`))
		}
		p := start(t, "serve", "--database-url", database, "--registry", registry, "--listen", "127.0.0.1:0")
		p.match(t, "msg=(ready)")
		if p.lines("level=ERROR") > 0 {
			t.Errorf("the database's number is taken for another's:\n%s", p.output)
		}
		p.end(t, syscall.SIGTERM)
	}
	if got := strings.Join(numbers, " "); got != "1022 1022 1021 1021" {
		t.Errorf("got the numbers %s", got)
	}
}

// A role that may read less than the one that installed the functions does not take
// their number for another's.
func TestLessRights(t *testing.T) {
	t.Parallel()
	s := devpgtest.Private(t, nil)
	owner := s.URL(devpg.Superuser)
	for _, args := range [][]string{{"install", "--database-url", owner}, {"nodes", "init", "--registry", owner}} {
		if p := start(t, args...); p.wait(t) != exitDone {
			t.Fatal(p.output)
		}
	}
	registry := registered(t)
	if p := start(t, "install", "--database-url", owner, "--registry", registry, "--new-function-node"); p.wait(t) != exitDone {
		t.Fatal(p.output)
	}
	if err := execSQL(t.Context(), owner, "CREATE ROLE weak LOGIN; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC"); err != nil {
		t.Fatal(err)
	}
	p, _ := serve(t, s.URL("postgres")+"&user=weak", "--registry", registry)
	if p.lines("level=ERROR") > 0 || p.lines("level=WARN") > 0 {
		t.Errorf("the database's number is taken for another's:\n%s", p.output)
	}
	p.end(t, syscall.SIGTERM)
	p = start(t, "install", "--database-url", owner, "--registry", registry)
	if p.wait(t) != exitDone {
		t.Error(p.output)
	}
}

// A number that no registry knows of may be leased to others, also where a file
// keeps its mark.
func TestNodeOutsideOfRegistry(t *testing.T) {
	t.Parallel()
	direct := registered(t)
	for _, args := range [][]string{{"--node-id", "7"}, {"--node-id", "7", "--state-file", filepath.Join(t.TempDir(), "state")}} {
		p, _ := serve(t, direct, args...)
		if p.lines("level=WARN", "held in no registry", "node=7") != 1 {
			t.Errorf("%v: no warning:\n%s", args, p.output)
		}
		p.end(t, syscall.SIGTERM)
	}
}
