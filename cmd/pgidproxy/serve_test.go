package main

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// serve runs the proxy in front of a database and returns its URL there.
func serve(t *testing.T, direct string, args ...string) (p *process, through string) {
	t.Helper()
	p = start(t, append([]string{"serve", "--database-url", direct, "--listen", "127.0.0.1:0"}, args...)...)
	addr := p.match(t, `msg=ready listen=(\S+)`)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = addr
	return p, u.String()
}

func TestServeInstallsAndReplaces(t *testing.T) {
	t.Parallel()
	p, through := serve(t, devpgtest.Database(t), "--node-id", "5")
	if n := p.lines("functions installed", "function_node=1023"); n != 1 {
		t.Errorf("got %d lines about the install, want 1:\n%s", n, p.output)
	}
	conn := session(t, through)
	if got := node(t, conn, "SELECT next_snowflake()"); got != 5 {
		t.Errorf("got an id of node %d, want the proxy's", got)
	}
	if got := node(t, conn, "SELECT next_snowflake() FROM generate_series(1, 1)"); got != 1023 {
		t.Errorf("got an id of node %d, want the functions'", got)
	}
	if got := p.end(t, syscall.SIGTERM); got != exitDone {
		t.Errorf("got exit code %d after SIGTERM, want 0:\n%s", got, p.output)
	}
	err := conn.Ping(t.Context())
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "57P01" {
		t.Errorf("got %v in a session that the shutdown ended, want 57P01", err)
	}
}

func TestServeGoesOnWithoutTheFunctions(t *testing.T) {
	t.Parallel()
	direct := devpgtest.Database(t)
	for _, args := range [][]string{{"--node-id", "1023", "--install", "never"}, {"--node-id", "5"}} {
		if args[1] == "5" {
			if err := execSQL(t.Context(), direct, "CREATE FUNCTION next_snowflake() RETURNS int8 LANGUAGE sql AS 'SELECT 7::int8'"); err != nil {
				t.Fatal(err)
			}
		}
		p, through := serve(t, direct, args...)
		if n := p.lines("level=WARN", "pgidproxy install"); n != 1 {
			t.Errorf("%v: got %d warnings, want 1:\n%s", args, n, p.output)
		}
		if err := session(t, through).Ping(t.Context()); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestServeRefusesWhatWouldRepeatIDs(t *testing.T) {
	t.Parallel()
	direct := devpgtest.Database(t)
	refused := func(node, want string) {
		t.Helper()
		p := start(t, "serve", "--database-url", direct, "--listen", "127.0.0.1:0", "--node-id", node)
		if code := p.wait(t); code != exitFailed || !strings.Contains(p.output.String(), want) {
			t.Errorf("node %s: got exit code %d, want 1 and %q:\n%s", node, code, want, p.output)
		}
	}
	refused("1023", "node 1023 is that of the database's functions")
	if p := start(t, "install", "--database-url", direct, "--function-node", "77"); p.wait(t) != exitDone {
		t.Fatal(p.output)
	}
	refused("77", "node 77 is that of the database's functions")
	if err := execSQL(t.Context(), direct, "UPDATE pgid.config SET epoch_ms = 0"); err != nil {
		t.Fatal(err)
	}
	refused("1", "ids of both would not sort or decode together")
}

func TestServeWarnsOfACopiedDatabase(t *testing.T) {
	t.Parallel()
	direct := devpgtest.Database(t)
	if p := start(t, "install", "--database-url", direct); p.wait(t) != exitDone {
		t.Fatal(p.output)
	}
	if err := execSQL(t.Context(), direct, "UPDATE pgid.config SET database_oid = 1"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p, _ := serve(t, direct, "--node-id", "5")
		if n := p.lines("level=WARN", "this one is a copy"); n != 1 {
			t.Errorf("got %d warnings, want 1 at each start:\n%s", n, p.output)
		}
		p.end(t, syscall.SIGTERM)
	}
}

// Who is asked to end while it starts does, without an error.
func TestServeEndsWhileItStarts(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	p := start(t, "serve", "--database-url", "postgres://u@"+silent.Addr().String()+"/d?sslmode=disable", "--listen", "127.0.0.1:0")
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if code := p.end(t, syscall.SIGTERM); code != exitDone {
		t.Errorf("got exit code %d:\n%s", code, p.output)
	}
}
