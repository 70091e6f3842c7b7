package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// TestBenchInterrupted presses Ctrl-C in the midst of the inserts.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	url := devpgtest.Database(t)
	out := filepath.Join(t.TempDir(), "out")
	p := start(t, "bench", "btree", "--database-url", url, "--keys", "identity,uuidv4,uuidv4_text", "--rows", "2000000", "--out", out)
	conn := session(t, url)
	deadline := time.Now().Add(patience)
	for there := false; !there; {
		if time.Now().After(deadline) {
			t.Fatalf("no batch has begun:\n%s", p.output)
		}
		// The table itself may not be there yet.
		_ = conn.QueryRow(t.Context(), "SELECT count(*) > 0 FROM pgid_bench.batch").Scan(&there)
	}
	if got := p.end(t, interrupt); got != exitFailed {
		t.Errorf("got exit code %d, want 1", got)
	}
	if got := p.output.String(); !strings.Contains(got, "pgidproxy: interrupted\n") {
		t.Errorf("got %q", got)
	}
	var left int
	err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = 'pgid_bench')
		+ (SELECT count(*) FROM pg_extension WHERE extname IN ('pgstattuple', 'pg_walinspect'))`).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("the run has left %d things, %v", left, err)
	}
	// The server may take a moment to notice that a session has ended.
	for sessions := 1; sessions > 0; {
		if time.Now().After(deadline) {
			t.Fatal("a session of the run is still there")
		}
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND pid <> pg_backend_pid() AND backend_type = 'client backend'`).Scan(&sessions); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("there is a report of a run that did not end: %v", err)
	}
}

// TestBenchThroughDev is what the README says to try, on fewer rows.
func TestBenchThroughDev(t *testing.T) {
	t.Parallel()
	dev := start(t, "dev", "--listen", "127.0.0.1:0")
	url := dev.match(t, psqlURL)
	out := filepath.Join(t.TempDir(), "out")
	p := start(t, "bench", "btree", "--database-url", url, "--rows", "20000", "--out", out)
	if got := p.wait(t); got != exitDone {
		t.Fatalf("got exit code %d:\n%s", got, p.output)
	}
	for _, want := range []string{"UUIDv7, random in its ms", "In memory: all 7 indexes", " % of the snowflakes were made by the proxy", "report.html"} {
		if p.lines(want) == 0 {
			t.Errorf("no line has %q:\n%s", want, p.output)
		}
	}
	// By the key and by created_at it is as many rows, although the proxy makes the
	// keys of a statement before the server has its rows.
	text, err := os.ReadFile(filepath.Join(out, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Reads []struct {
			Key, Query, Via string
			Rows            int
		}
	}
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	ranges := make(map[string]int)
	for _, r := range found.Reads {
		if r.Query == "range" {
			ranges[r.Key+" by "+r.Via] = r.Rows
		}
	}
	for _, key := range []string{"snowflake", "uuidv7", "uuidv7_random", "ulid"} {
		if byKey, byTime := ranges[key+" by key"], ranges[key+" by created_at"]; byKey != 200 || byTime > 200 || byTime < 195 {
			t.Errorf("%s: got %d rows by key and %d by created_at, want 200", key, byKey, byTime)
		}
	}
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(page), "<svg"); got != 5 {
		t.Errorf("got %d pictures, want 5", got)
	}
	for _, foreign := range []string{"src=", "<link", "@import", "url(", "<script"} {
		if strings.Contains(string(page), foreign) {
			t.Errorf("the page has %s", foreign)
		}
	}

	p = start(t, "bench", "proxy", "--database-url", url, "--rounds", "2", "--turn", "50ms", "--json")
	if got := p.wait(t); got != exitDone {
		t.Fatalf("got exit code %d:\n%s", got, p.output)
	}
	var r struct {
		Targets []string
		Cells   []struct {
			Results []struct {
				Rate, Ratio, P50US, P99US float64
			}
		}
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(p.output.String(), "_us", "us")), &r); err != nil {
		t.Fatalf("%v:\n%s", err, p.output)
	}
	if len(r.Cells) != 9 || strings.Join(r.Targets, " ") != "direct proxy" {
		t.Fatalf("got %d cells of %v", len(r.Cells), r.Targets)
	}
	for _, c := range r.Cells {
		if direct, proxy := c.Results[0], c.Results[1]; direct.Ratio != 1 || proxy.Rate <= 0 || proxy.Ratio <= 0 || proxy.P50US > proxy.P99US {
			t.Errorf("got %+v", c)
		}
	}
	conn := session(t, url)
	var left bool
	if err := conn.QueryRow(t.Context(), "SELECT to_regnamespace('pgid_bench') IS NOT NULL").Scan(&left); err != nil || left {
		t.Errorf("the runs have left their schema: %t, %v", left, err)
	}
}

// TestBenchProxyPgBouncer has a PgBouncer in transaction mode as a peer: with
// fewer connections to the server than clients, so that prepared statements, if it
// does not take them along, are lost for sure. The second run finds what the first
// one has left in the pooler's connections.
func TestBenchProxyPgBouncer(t *testing.T) {
	t.Parallel()
	url := start(t, "dev", "--listen", "127.0.0.1:0").match(t, psqlURL)
	conn := session(t, url)
	var server string
	if err := conn.QueryRow(t.Context(), "SELECT host(inet_server_addr()) || ':' || inet_server_port()").Scan(&server); err != nil {
		t.Fatal(err)
	}
	peer := servers.PgBouncer(t, server, devpg.Superuser).Addr
	out := filepath.Join(t.TempDir(), "out")
	for range 2 {
		p := start(t, "bench", "proxy", "--database-url", url, "--peer", peer, "--rounds", "2", "--turn", "50ms", "--json", "--out", out)
		if got := p.wait(t); got != exitDone {
			t.Fatalf("got exit code %d:\n%s", got, p.output)
		}
		var r struct {
			Targets []string
			Cells   []struct {
				Workload, Protocol string
				Results            []struct {
					Problem     string
					Rate, Ratio float64
				}
			}
		}
		if err := json.Unmarshal([]byte(p.output.String()), &r); err != nil {
			t.Fatalf("%v:\n%s", err, p.output)
		}
		if text, err := os.ReadFile(filepath.Join(out, "results.json")); err != nil || string(text) != p.output.String() {
			t.Errorf("got results.json %s, %v, which is not what was printed", text, err)
		}
		if got, want := strings.Join(r.Targets, ", "), "direct, proxy, peer "+peer; got != want || len(r.Cells) != 9 {
			t.Fatalf("got %d cells of %s, want 9 of %s", len(r.Cells), got, want)
		}
		for _, c := range r.Cells {
			for i, o := range c.Results {
				lost := o.Problem == "its sessions lose prepared statements"
				// A PgBouncer from 1.21 on may keep them: then for all workloads.
				may := i == 2 && c.Protocol == "prepared" && r.Cells[0].Results[2].Problem != ""
				if lost != may || o.Problem != "" && !lost || (o.Rate > 0 && o.Ratio > 0) == lost {
					t.Errorf("%s, %s, %s: got %+v", c.Workload, c.Protocol, r.Targets[i], o)
				}
			}
		}
	}
	if p := start(t, "bench", "proxy", "--database-url", url, "--peer", "127.0.0.1:1", "--rounds", "1", "--turn", "50ms"); p.wait(t) != exitFailed ||
		!strings.Contains(p.output.String(), "connect to peer 127.0.0.1:1: ") || strings.Contains(p.output.String(), "--database-url") {
		t.Errorf("got %s", p.output)
	}
	var left bool
	if err := conn.QueryRow(t.Context(), "SELECT to_regnamespace('pgid_bench') IS NOT NULL").Scan(&left); err != nil || left {
		t.Errorf("the runs have left their schema: %t, %v", left, err)
	}
}

func TestBenchUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"btree --in-memory --beyond-memory", "opposites"},
		{"btree --cache-ratio 2 --rows 1000", "leave out --rows"},
		{"btree --rows 10", "1000 at least"},
		{"btree --keys uuid4", `no kind of key "uuid4"`},
		{"proxy --clients 0", "positive"},
	} {
		p := start(t, append([]string{"bench"}, strings.Fields(c.args)...)...)
		if got := p.wait(t); got != exitUsage {
			t.Errorf("%s: got exit code %d, want 2", c.args, got)
		}
		if got := p.output.String(); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.args, got, c.want)
		}
	}
}
