package main

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDevKeepsItsData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(tempDir(t), "data")
	p := start(t, "dev", "--listen", "127.0.0.1:0", "--data-dir", dir)
	conn := session(t, p.match(t, psqlURL))
	if _, err := conn.Exec(t.Context(), "CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_snowflake(), name text)"); err != nil {
		t.Fatal(err)
	}
	for node(t, conn, "SELECT next_snowflake()") != 0 { // until the catalog has been read again
	}
	for _, sql := range []string{
		"INSERT INTO t (id, name) VALUES (next_snowflake(), 'proxy'), (next_snowflake(), 'proxy too')",
		"INSERT INTO t (name) VALUES ('default')",
		"INSERT INTO t (name) SELECT 'left' FROM t WHERE name = 'proxy'",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for name, want := range map[string]int{"proxy": 0, "proxy too": 0, "default": 0, "left": 1023} {
		if got := node(t, conn, "SELECT id FROM t WHERE name = '"+name+"'"); got != want {
			t.Errorf("%s: got an id of node %d, want %d", name, got, want)
		}
	}
	if got := p.end(t, interrupt); got != exitDone {
		t.Errorf("got exit code %d after Ctrl-C, want 0:\n%s", got, p.output)
	}
	p = start(t, "dev", "--listen", "127.0.0.1:0", "--data-dir", dir)
	if got := node(t, session(t, p.match(t, psqlURL)), "SELECT id FROM t WHERE name = 'left'"); got != 1023 {
		t.Errorf("got an id of node %d from the kept data, want 1023", got)
	}
	if got := p.end(t, syscall.SIGTERM); got != exitDone {
		t.Errorf("got exit code %d after SIGTERM, want 0:\n%s", got, p.output)
	}
}

func TestDevSaysThatItsPortIsTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := start(t, "dev", "--listen", l.Addr().String())
	if got := p.wait(t); got != exitFailed {
		t.Errorf("got exit code %d, want 1", got)
	}
	if got := p.output.String(); !strings.Contains(got, "in use by another program") || !strings.Contains(got, "--listen") {
		t.Errorf("got %q", got)
	}
}

func TestDevEndsWhileItStarts(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(tempDir(t), ".s.PGSQL.1")
	p := start(t, "dev", "--listen", socket)
	// The port opens first of all.
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			break
		}
		time.Sleep(time.Millisecond)
	}
	if got := p.end(t, interrupt); got != exitDone {
		t.Errorf("got exit code %d, want 0:\n%s", got, p.output)
	}
}
