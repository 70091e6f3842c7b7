package admin

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/rewrite"
	"github.com/pgidproxy/pgidproxy/sql"
	"github.com/pgidproxy/pgidproxy/wire"
)

// sources are those of a proxy at rest.
func sources() Sources {
	return Sources{
		Version: "v1.2.3", Node: func() int { return 7 },
		Lease:     func() *lease.Status { return nil },
		Plans:     func() int { return 3 },
		Lookups:   func() (hits, misses uint64) { return 40, 2 },
		Databases: func() []sql.DatabaseStatus { return nil },
	}
}

// scrape returns our series and their values, as Prometheus would read them.
func scrape(t *testing.T, m *Metrics) map[string]string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	if answer.Code != 200 {
		t.Fatalf("got status %d: %s", answer.Code, answer.Body)
	}
	series := map[string]string{}
	for line := range strings.Lines(answer.Body.String()) {
		if i := strings.LastIndexByte(line, ' '); strings.HasPrefix(line, "pgidproxy_") {
			series[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return series
}

// expect compares series by what changed between two scrapes.
func expect(t *testing.T, name string, before, after, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for s, value := range after {
		if before[s] != value {
			got[s] = value
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
}

// TestNothingHasHappened holds the list of series and that all are there before
// the first event.
func TestNothingHasHappened(t *testing.T) {
	t.Parallel()
	got := scrape(t, NewMetrics(sources()))
	want := map[string]string{
		"pgidproxy_sessions":                           "0",
		"pgidproxy_sessions_opened_total":              "0",
		`pgidproxy_session_bytes_total{side="client"}`: "0",
		`pgidproxy_session_bytes_total{side="server"}`: "0",
		"pgidproxy_cancels_total":                      "0",
		`pgidproxy_statements_total{done="passed"}`:    "0",
		`pgidproxy_statements_total{done="replaced"}`:  "0",
		`pgidproxy_statements_total{done="left"}`:      "0",
		`pgidproxy_ids_total{kind="snowflake"}`:        "0",
		`pgidproxy_ids_total{kind="uuidv7"}`:           "0",
		"pgidproxy_mint_refusals_total":                "0",
		"pgidproxy_plans":                              "3",
		`pgidproxy_plan_lookups_total{result="hit"}`:   "40",
		`pgidproxy_plan_lookups_total{result="miss"}`:  "2",
		"pgidproxy_node":                               "7",
	}
	for _, r := range rewrite.Reasons() {
		want[`pgidproxy_left_total{reason="`+string(r)+`"}`] = "0"
	}
	info := regexp.MustCompile(`^pgidproxy_build_info\{go_version="go1[^"]*",version="v1\.2\.3"\}$`)
	built := 0
	for s, value := range got {
		if info.MatchString(s) && value == "1" {
			built++
			delete(got, s)
		}
	}
	if built != 1 || !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v, and the build", got, want)
	}
}

func TestEventsCount(t *testing.T) {
	t.Parallel()
	m := NewMetrics(sources())
	steps := []struct {
		name string
		do   func()
		want map[string]string
	}{
		{"opened", func() { m.Opened(wire.SessionInfo{}); m.Opened(wire.SessionInfo{}) },
			map[string]string{"pgidproxy_sessions": "2", "pgidproxy_sessions_opened_total": "2"}},
		{"closed", func() { m.Closed(wire.SessionInfo{FromClient: 10, FromServer: 2000}) },
			map[string]string{"pgidproxy_sessions": "1", `pgidproxy_session_bytes_total{side="client"}`: "10", `pgidproxy_session_bytes_total{side="server"}`: "2000"}},
		{"cancelled", m.Cancelled, map[string]string{"pgidproxy_cancels_total": "1"}},
		{"passed", func() { m.Statement(wire.Passed) }, map[string]string{`pgidproxy_statements_total{done="passed"}`: "1"}},
		{"replaced", func() { m.Statement(wire.Replaced) }, map[string]string{`pgidproxy_statements_total{done="replaced"}`: "1"}},
		{"left", func() { m.Statement(wire.Left) }, map[string]string{`pgidproxy_statements_total{done="left"}`: "1"}},
		{"why", func() { m.Left(rewrite.Target) }, map[string]string{`pgidproxy_left_total{reason="target"}`: "1"}},
		{"minted", func() { m.Minted(3, 4); m.Minted(1, 0) },
			map[string]string{`pgidproxy_ids_total{kind="snowflake"}`: "4", `pgidproxy_ids_total{kind="uuidv7"}`: "4"}},
		{"refused", m.Refused, map[string]string{"pgidproxy_mint_refusals_total": "1"}},
		{"not known here", func() { m.Statement(wire.Left + 1); m.Left("news") }, map[string]string{}},
	}
	for _, step := range steps {
		before := scrape(t, m)
		step.do()
		expect(t, step.name, before, scrape(t, m), step.want)
	}
}

func TestEventsAllocateNothing(t *testing.T) {
	m := NewMetrics(sources())
	n := testing.AllocsPerRun(100, func() {
		m.Opened(wire.SessionInfo{})
		m.Statement(wire.Replaced)
		m.Left(rewrite.Conditional)
		m.Minted(1, 1)
		m.Refused()
		m.Cancelled()
		m.Closed(wire.SessionInfo{FromClient: 1})
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEventsFromManySessions(t *testing.T) {
	t.Parallel()
	m := NewMetrics(sources())
	var sessions sync.WaitGroup
	for range 8 {
		sessions.Go(func() {
			for range 1000 {
				m.Left(rewrite.Site)
				m.Minted(2, 0)
			}
		})
	}
	scrape(t, m)
	sessions.Wait()
	got := scrape(t, m)
	if ids, left := got[`pgidproxy_ids_total{kind="snowflake"}`], got[`pgidproxy_left_total{reason="site"}`]; ids != "16000" || left != "8000" {
		t.Errorf("got %s ids and %s left, want 16000 and 8000", ids, left)
	}
}

func TestDatabases(t *testing.T) {
	t.Parallel()
	now := time.Now()
	all := []sql.DatabaseStatus{
		{Database: "app", Sessions: 2, Relations: 30, Confirmed: now.Add(-time.Hour)},
		{Database: "caf\xe9", Sessions: 1, Err: errors.New("permission denied")},
	}
	src := sources()
	src.Databases = func() []sql.DatabaseStatus { return all }
	m := NewMetrics(src)
	got := scrape(t, m)
	const age = `pgidproxy_catalog_age_seconds{database="app"}`
	if !regexp.MustCompile(`^36\d\d(\.|$)`).MatchString(got[age]) {
		t.Errorf("got an age of %q, want an hour", got[age])
	}
	delete(got, age)
	const latin = `{database="\"caf\\xe9\""}`
	expect(t, "two databases", scrape(t, NewMetrics(sources())), got, map[string]string{
		`pgidproxy_catalog_readable{database="app"}`:  "1",
		`pgidproxy_catalog_relations{database="app"}`: "30",
		`pgidproxy_catalog_sessions{database="app"}`:  "2",
		"pgidproxy_catalog_readable" + latin:          "0",
		"pgidproxy_catalog_relations" + latin:         "0",
		"pgidproxy_catalog_sessions" + latin:          "1",
	})
	all = nil
	for s := range scrape(t, m) {
		if strings.HasPrefix(s, "pgidproxy_catalog_") {
			t.Errorf("%s is left of a database that is not watched", s)
		}
	}
}

// TestOneBadSourceHidesNothing: what prometheus refuses costs its own series.
func TestOneBadSourceHidesNothing(t *testing.T) {
	t.Parallel()
	src := sources()
	src.Databases = func() []sql.DatabaseStatus {
		return []sql.DatabaseStatus{{Database: "twice"}, {Database: "twice"}}
	}
	m := NewMetrics(src)
	var log strings.Builder
	answer := httptest.NewRecorder()
	m.Handler(slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(body), "\npgidproxy_sessions 0\n") || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("got status %d and log %q", answer.Code, log.String())
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	src := sources()
	src.Databases = func() []sql.DatabaseStatus {
		return []sql.DatabaseStatus{{Database: "app", Confirmed: time.Now()}}
	}
	m := NewMetrics(src)
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	for _, want := range []string{"go_goroutines", "process_start_time_seconds", "pgidproxy_catalog_age_seconds"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	var status *lease.Status
	src := sources()
	src.Lease = func() *lease.Status { return status }
	m := NewMetrics(src)
	lacks := func(series map[string]string, names ...string) {
		t.Helper()
		for _, name := range names {
			if v, ok := series[name]; ok {
				t.Errorf("%s is %s", name, v)
			}
		}
	}
	before := scrape(t, m)
	lacks(before, "pgidproxy_lease_healthy", "pgidproxy_clock_offset_seconds")
	status = &lease.Status{Node: -1, Err: errors.New("away")}
	waiting := scrape(t, m)
	expect(t, "no node", before, waiting, map[string]string{"pgidproxy_lease_healthy": "0"})
	lacks(waiting, "pgidproxy_lease_mark_seconds", "pgidproxy_lease_renewed_seconds", "pgidproxy_clock_offset_seconds")
	status = &lease.Status{Node: 3, Mark: time.UnixMilli(1_000_500), Renewed: time.UnixMilli(988_250), Clocked: true, Offset: -250 * time.Millisecond}
	expect(t, "held", waiting, scrape(t, m), map[string]string{"pgidproxy_lease_healthy": "1", "pgidproxy_lease_mark_seconds": "1000.5",
		"pgidproxy_lease_renewed_seconds": "988.25", "pgidproxy_clock_offset_seconds": "-0.25"})
	status.Err = errors.New("no reply")
	if got := scrape(t, m)["pgidproxy_lease_healthy"]; got != "0" {
		t.Errorf("with a heartbeat that failed: %s", got)
	}
}
