//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// registered makes a database with the functions installed, and its registry set
// up.
func registered(t *testing.T) (direct string) {
	t.Helper()
	direct = devpgtest.Database(t)
	for _, args := range [][]string{{"install", "--database-url", direct}, {"nodes", "init", "--registry", direct}} {
		if p := start(t, args...); p.wait(t) != exitDone {
			t.Fatal(p.output)
		}
	}
	return direct
}

// next mints through a connection until the id is of another node than the
// functions', and returns it.
func next(t *testing.T, conn *pgx.Conn) (id int64) {
	t.Helper()
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(50 * time.Millisecond) {
		if err := conn.QueryRow(t.Context(), "SELECT next_snowflake()", pgx.QueryExecModeSimpleProtocol).Scan(&id); err != nil {
			t.Fatal(err)
		}
		if id>>12&1023 != 1023 {
			return id
		}
		if time.Now().After(deadline) {
			t.Fatal("the proxy does not mint")
		}
	}
}

// Replicas that are started alike need no other configuration to be safe.
func TestReplicas(t *testing.T) {
	t.Parallel()
	direct := registered(t)
	var all []*process
	for i := range 3 {
		p, through := serve(t, direct)
		all = append(all, p)
		if got := node(t, session(t, through), "SELECT next_snowflake()"); got != i {
			t.Errorf("replica %d mints under node %d:\n%s", i, got, p.output)
		}
	}
	if code := all[1].end(t, syscall.SIGTERM); code != exitDone {
		t.Errorf("got exit code %d:\n%s", code, all[1].output)
	}
	all[2].end(t, syscall.SIGKILL)
	_, through := serve(t, direct)
	if got := node(t, session(t, through), "SELECT next_snowflake()"); got != 1 {
		t.Errorf("the next replica mints under node %d, want the one that was freed", got)
	}

	p := start(t, "nodes", "list", "--registry", direct, "--json")
	if p.wait(t) != exitDone {
		t.Fatal(p.output)
	}
	var report nodesReport
	if err := json.Unmarshal([]byte(p.output.String()), &report); err != nil {
		t.Fatalf("%v:\n%s", err, p.output)
	}
	var got []string
	for _, n := range report.Nodes {
		got = append(got, fmt.Sprintf("%d %s %s", n.Node, n.Kind, n.State))
	}
	if want := "0 lease held, 1 lease held, 2 lease held, 1023 functions permanent"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	if ahead := time.Until(*report.Nodes[0].Mark); ahead < 0 || ahead > 12*time.Second {
		t.Errorf("the mark is %s ahead", ahead)
	}
	p = start(t, "nodes", "list", "--registry", direct)
	p.wait(t)
	p.match(t, `(?m)^(registry [A-Z0-9]+, served by .*)$`)
	p.match(t, `(?m)^(0 +held +.+, process \d+, port \d+ +20\d\d-.*)$`)
	p.match(t, `(?m)^(1023 +permanent +functions of database .*)$`)

	// What is released, its holder notices, and takes another.
	p = start(t, "nodes", "release", "2", "--registry", direct)
	if code := p.wait(t); code != exitDone || !strings.Contains(p.output.String(), "node 2 is free; it was held by ") {
		t.Errorf("got exit code %d:\n%s", code, p.output)
	}
	for node, want := range map[string]string{"2": "node 2 is free already", "500": "node 500 is free already", "1023": "free it with --functions"} {
		p = start(t, "nodes", "release", node, "--registry", direct)
		if code := p.wait(t); code != exitFailed || !strings.Contains(p.output.String(), want) {
			t.Errorf("got exit code %d:\n%s", code, p.output)
		}
	}
	var was nodeReport
	p = start(t, "nodes", "release", "0", "--registry", direct, "--json")
	if code := p.wait(t); code != exitDone {
		t.Fatalf("got exit code %d:\n%s", code, p.output)
	}
	if err := json.Unmarshal([]byte(p.output.String()), &was); err != nil || was.Node != 0 || was.State != "held" || was.Holder != report.Nodes[0].Holder {
		t.Errorf("got %+v, %v", was, err)
	}
	var begun struct{ Registry string }
	p = start(t, "nodes", "init", "--registry", direct, "--json")
	if code := p.wait(t); code != exitDone {
		t.Fatalf("got exit code %d:\n%s", code, p.output)
	}
	if err := json.Unmarshal([]byte(p.output.String()), &begun); err != nil || begun.Registry != report.Registry {
		t.Errorf("got %+v, %v", begun, err)
	}
}

// Kill a holder, set the clock back a minute, start again with the same node: the
// first new id is above the last old one. With a registry and with a file.
func TestRestartAfterStepBack(t *testing.T) {
	t.Parallel()
	direct := registered(t)
	for name, args := range map[string][]string{
		"registry":   {"--registry", direct, "--lease-ttl", "6s", "--heartbeat", "1s", "--mark-ahead", "3s"},
		"state file": {"--state-file", filepath.Join(t.TempDir(), "state"), "--lease-ttl", "150s", "--run-ahead", "90s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newSharedClock(t, filepath.Join(t.TempDir(), "clock"))
			number := map[string]string{"registry": "7", "state file": "8"}[name]
			args := append([]string{"serve", "--database-url", direct, "--listen", "127.0.0.1:0", "--node-id", number}, args...)
			begin := func() (*process, *pgx.Conn) {
				p := startProgram(t, []string{clockVariable + "=" + clock.path}, "pgidproxy-clocked", args...)
				u, err := url.Parse(direct)
				if err != nil {
					t.Fatal(err)
				}
				u.Host = p.match(t, `msg=ready listen=(\S+)`)
				return p, session(t, u.String())
			}
			p, conn := begin()
			last := next(t, conn)
			p.end(t, syscall.SIGKILL)
			clock.step(-time.Minute)
			_, conn = begin()
			if name == "registry" {
				// Its mark is beyond the run-ahead until the clock is right again.
				if got := node(t, conn, "SELECT next_snowflake()"); got != 1023 {
					t.Errorf("got an id of node %d, want the functions'", got)
				}
				clock.reset()
			}
			if id := next(t, conn); id <= last || fmt.Sprint(id>>12&1023) != number {
				t.Errorf("got %d of node %d after %d", id, id>>12&1023, last)
			}
		})
	}
}

// Two processes with one number: the second is refused, and told who is first.
func TestSecondHolderRefused(t *testing.T) {
	t.Parallel()
	direct := registered(t)
	state := filepath.Join(t.TempDir(), "state")
	for _, args := range [][]string{
		{"--node-id", "7", "--registry", direct, "--heartbeat", "1s"},
		{"--node-id", "8", "--state-file", state},
	} {
		first, _ := serve(t, direct, args...)
		second := start(t, append([]string{"serve", "--database-url", direct, "--listen", "127.0.0.1:0"}, args...)...)
		want := fmt.Sprintf("process %d", first.cmd.Process.Pid)
		if code := second.wait(t); code != exitFailed || !strings.Contains(second.output.String(), want) || second.lines("msg=ready") > 0 {
			t.Errorf("%v: got exit code %d, want 1 and %q:\n%s", args, code, want, second.output)
		}
		first.end(t, syscall.SIGTERM)
		serve(t, direct, args...) // the place is free
	}
}

// refused starts the proxy, which must not come up.
func refused(t *testing.T, direct, want string, args ...string) {
	t.Helper()
	p := start(t, append([]string{"serve", "--database-url", direct, "--listen", "127.0.0.1:0"}, args...)...)
	if code := p.wait(t); code != exitFailed || !strings.Contains(p.output.String(), want) || p.lines("msg=ready") > 0 {
		t.Errorf("%v: got exit code %d, want 1 and %q:\n%s", args, code, want, p.output)
	}
}

func TestLeaseRefused(t *testing.T) {
	t.Parallel()
	direct := registered(t)
	refused(t, direct, "node 1023 is that of the database's functions", "--node-id", "1023", "--registry", direct)
	serve(t, direct, "--node-range", "5-6")
	serve(t, direct, "--node-range", "5-6")
	refused(t, direct, "the pool is exhausted: all nodes from 5 to 6 are held (2 leases, 0 databases' functions)", "--node-range", "5-6")

	// Another database, with the functions' number of this registry and of another.
	shard := devpgtest.Database(t)
	if p := start(t, "install", "--database-url", shard, "--registry", direct); p.wait(t) != exitDone {
		t.Fatal(p.output)
	}
	if p := start(t, "nodes", "list", "--registry", direct); p.wait(t) != exitDone || len(regexp.MustCompile(`(?m)^102[23] +permanent`).FindAllString(p.output.String(), -1)) != 2 {
		t.Errorf("the functions of two databases have no numbers of their own:\n%s", p.output)
	}
	refused(t, shard, "node 1023 is that of the server functions of a database", "--node-id", "1023", "--registry", direct)
	another := registered(t)
	const other = "but the database records registry"
	refused(t, shard, other, "--registry", another)
	refused(t, another, other, "--registry", direct)
	if p := start(t, "install", "--database-url", shard, "--registry", another); p.wait(t) != exitFailed || !strings.Contains(p.output.String(), other) {
		t.Errorf("an install with another registry:\n%s", p.output)
	}
	if p := start(t, "install", "--database-url", shard, "--registry", another, "--new-function-node"); p.wait(t) != exitDone {
		t.Errorf("moved to another registry:\n%s", p.output)
	}
	refused(t, shard, other, "--registry", direct)
	serve(t, shard, "--registry", another)
	if p := start(t, "install", "--database-url", shard, "--registry", another, "--function-node", "1023"); p.wait(t) != exitFailed ||
		!strings.Contains(p.output.String(), "node 1023 is that of the server functions of a database") {
		t.Errorf("another database's number:\n%s", p.output)
	}
}

// A registry that is new, or away, keeps nobody from serving: the server's
// functions mint.
func TestServeWithoutNode(t *testing.T) {
	t.Parallel()
	direct := devpgtest.Database(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := closed.Addr().String()
	closed.Close()
	for _, args := range [][]string{{}, {"--registry", "redis://:secret@" + away}} {
		p, through := serve(t, direct, args...)
		if p.lines("msg=ready", `node="none yet"`) != 1 || p.lines("level=WARN", "no node is held: ids are left to the server's functions") != 1 ||
			strings.Contains(p.output.String(), "secret") {
			t.Errorf("%v:\n%s", args, p.output)
		}
		conn := session(t, through)
		if got := node(t, conn, "SELECT next_snowflake()"); got != 1023 {
			t.Errorf("%v: got an id of node %d, want the functions'", args, got)
		}
		if err := conn.QueryRow(t.Context(), "SELECT uuidv7()").Scan(new(string)); err != nil {
			t.Error(err)
		}
		if len(args) == 0 {
			if q := start(t, "nodes", "init", "--registry", direct); q.wait(t) != exitDone {
				t.Fatal(q.output)
			}
			if got := next(t, conn) >> 12 & 1023; got != 0 {
				t.Errorf("got an id of node %d", got)
			}
		}
		if code := p.end(t, syscall.SIGTERM); code != exitDone {
			t.Errorf("got exit code %d:\n%s", code, p.output)
		}
	}
}

func TestOrdinal(t *testing.T) {
	t.Parallel()
	direct := registered(t)
	ordinal := func(pod string, args ...string) *process {
		return startProgram(t, []string{"POD_NAME=" + pod}, "pgidproxy", append([]string{"serve", "--database-url", direct,
			"--listen", "127.0.0.1:0", "--node-id", "ordinal:POD_NAME"}, args...)...)
	}
	p := ordinal("app-3", "--node-range", "100-199")
	if got := p.match(t, `msg=ready .*node=(\d+)`); got != "103" {
		t.Errorf("got node %s", got)
	}
	// Case GN-08: pods of two sets with one number are noticed where there is a registry.
	first := ordinal("app-0", "--registry", direct, "--heartbeat", "1s")
	first.match(t, "msg=(ready)")
	second := ordinal("jobs-0", "--registry", direct, "--heartbeat", "1s")
	if code := second.wait(t); code != exitFailed || !strings.Contains(second.output.String(), "node 0 is held by") {
		t.Errorf("got exit code %d:\n%s", code, second.output)
	}
	for _, pod := range []string{"app-1024", "app", ""} {
		p := ordinal(pod)
		if code := p.wait(t); code != exitUsage {
			t.Errorf("%q: got exit code %d:\n%s", pod, code, p.output)
		}
	}
}

// A copied database brings its registry along, and both would hand out the same
// numbers.
func TestCopiedRegistry(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{true, false} {
		t.Run(fmt.Sprint("moved ", moved), func(t *testing.T) {
			t.Parallel()
			direct := registered(t)
			u, err := url.Parse(direct)
			if err != nil {
				t.Fatal(err)
			}
			original := u.Path[1:]
			u.Path = "/postgres"
			admin := u.String()
			if err := execSQL(t.Context(), admin, "CREATE DATABASE copy_of_"+original+" TEMPLATE "+original); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := execSQL(context.Background(), admin, "DROP DATABASE copy_of_"+original+" WITH (FORCE)"); err != nil {
					t.Error(err)
				}
			})
			u.Path = "/copy_of_" + original
			copied := u.String()

			refused(t, copied, "came here with a copy of the database that it was made in")
			run := func(args ...string) {
				t.Helper()
				if p := start(t, args...); p.wait(t) != exitDone {
					t.Fatalf("%v:\n%s", args, p.output)
				}
			}
			if moved {
				run("nodes", "init", "--registry", copied)
				run("install", "--database-url", copied, "--function-node", "1023")
			} else {
				run("nodes", "init", "--registry", copied, "--new-registry")
				refused(t, copied, "but the database records registry")
				run("install", "--database-url", copied, "--new-function-node")
			}
			p, through := serve(t, copied)
			conn := session(t, through)
			if got := node(t, conn, "SELECT next_snowflake()"); got != 0 || p.lines("level=WARN") > 0 {
				t.Errorf("got an id of node %d:\n%s", got, p.output)
			}
			want := 1022
			if moved {
				want = 1023
			}
			if got := node(t, conn, "SELECT next_snowflake() FROM generate_series(1, 1)"); got != want {
				t.Errorf("the functions mint under node %d, want %d", got, want)
			}
		})
	}
}
