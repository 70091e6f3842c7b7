package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// adminURL is where a proxy serves metrics and health.
func (p *process) adminURL(t *testing.T) string {
	t.Helper()
	return "http://" + p.match(t, `msg=ready .*admin=(\S+)`)
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	client := http.Client{Timeout: patience}
	answer, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// scrape returns the proxy's series. A series that is not there is not a number.
func scrape(t *testing.T, admin string) func(series string) float64 {
	t.Helper()
	code, body := get(t, admin+"/metrics")
	if code != http.StatusOK {
		t.Fatalf("got %d: %s", code, body)
	}
	return func(series string) float64 {
		t.Helper()
		for line := range strings.Lines(body) {
			if text, ok := strings.CutPrefix(line, series+" "); ok {
				value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				if err != nil {
					t.Fatal(err)
				}
				return value
			}
		}
		t.Fatalf("there is no %s in:\n%s", series, body)
		return 0
	}
}

// until scrapes until a series has a value.
func until(t *testing.T, admin, series string, want float64) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		got := scrape(t, admin)(series)
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is %v, want %v", series, got, want)
		}
	}
}

func TestAdminCounts(t *testing.T) {
	t.Parallel()
	direct := devpgtest.Database(t)
	if err := execSQL(t.Context(), direct, "CREATE TABLE t (id bigint)"); err != nil {
		t.Fatal(err)
	}
	p, through := serve(t, direct, "--node-id", "5", "--admin-listen", "127.0.0.1:0")
	admin := p.adminURL(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(t, admin+path); code != http.StatusOK || body != "ok\n" {
			t.Errorf("%s: got %d %q", path, code, body)
		}
	}
	config, err := pgx.ParseConfig(through)
	if err != nil {
		t.Fatal(err)
	}
	database := `{database="` + config.Database + `"}`
	conn := watching(t, through)
	before := scrape(t, admin)
	const insert = "INSERT INTO t VALUES (next_snowflake())"
	for _, sql := range []string{"SELECT 1", insert, insert, insert, "UPDATE t SET id = next_snowflake()"} {
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	value := scrape(t, admin)
	for series, want := range map[string]float64{
		`pgidproxy_statements_total{done="passed"}`:   1,
		`pgidproxy_statements_total{done="replaced"}`: 3,
		`pgidproxy_statements_total{done="left"}`:     1,
		`pgidproxy_left_total{reason="site"}`:         1,
		`pgidproxy_left_total{reason="target"}`:       0,
		`pgidproxy_ids_total{kind="snowflake"}`:       3,
		`pgidproxy_ids_total{kind="uuidv7"}`:          0,
		"pgidproxy_mint_refusals_total":               0,
		"pgidproxy_cancels_total":                     1,
		"pgidproxy_plans":                             2,
		`pgidproxy_plan_lookups_total{result="miss"}`: 2,
		`pgidproxy_plan_lookups_total{result="hit"}`:  2,
		"pgidproxy_sessions":                          0,
	} {
		if got := value(series) - before(series); got != want {
			t.Errorf("%s has grown by %v, want %v", series, got, want)
		}
	}
	for series, want := range map[string]float64{
		"pgidproxy_node":                               5,
		"pgidproxy_sessions":                           1,
		"pgidproxy_sessions_opened_total":              1,
		`pgidproxy_session_bytes_total{side="client"}`: 0,
		"pgidproxy_catalog_readable" + database:        1,
		"pgidproxy_catalog_sessions" + database:        1,
	} {
		if got := value(series); got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	relations := value("pgidproxy_catalog_relations" + database)
	if age := value("pgidproxy_catalog_age_seconds" + database); relations == 0 || age < 0 || age > patience.Seconds() {
		t.Errorf("got %v relations and an age of %v s", relations, age)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE one_more (id bigint)"); err != nil {
		t.Fatal(err)
	}
	until(t, admin, "pgidproxy_catalog_relations"+database, relations+1)
	conn.Close(t.Context())
	until(t, admin, "pgidproxy_sessions", 0)
	value = scrape(t, admin)
	for _, side := range []string{"client", "server"} {
		if got := value(`pgidproxy_session_bytes_total{side="` + side + `"}`); got < float64(3*len(insert)) {
			t.Errorf("%v bytes came from the %s", got, side)
		}
	}
	if got := value("pgidproxy_sessions_opened_total"); got != 1 {
		t.Errorf("%v sessions were opened, want 1", got)
	}
}

func TestAdminNamesPassTheLinter(t *testing.T) {
	t.Parallel()
	p, through := serve(t, devpgtest.Database(t), "--node-id", "5", "--admin-listen", "127.0.0.1:0")
	watching(t, through)
	_, body := get(t, p.adminURL(t)+"/metrics")
	problems, err := promlint.New(strings.NewReader(body)).Lint()
	if err != nil || !strings.Contains(body, "\npgidproxy_catalog_readable{") {
		t.Fatalf("%v in:\n%s", err, body)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

func TestAdminThroughADrain(t *testing.T) {
	t.Parallel()
	p, through := serve(t, devpgtest.Database(t), "--node-id", "5", "--admin-listen", "127.0.0.1:0")
	admin := p.adminURL(t)
	conn := session(t, through)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; {
		code, body := get(t, admin+"/readyz")
		if code == http.StatusServiceUnavailable && body == "draining: the port is closed\n" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("got %d %q while draining", code, body)
		}
	}
	if code, _ := get(t, admin+"/healthz"); code != http.StatusOK {
		t.Errorf("got %d for the health while draining, want 200", code)
	}
	if got := scrape(t, admin)("pgidproxy_sessions"); got != 1 {
		t.Errorf("%v sessions while draining, want 1", got)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if code := p.wait(t); code != exitDone {
		t.Errorf("got exit code %d, want 0:\n%s", code, p.output)
	}
}

// watching returns a session whose proxy, node 5, has read its database's
// catalog and goes on watching it.
func watching(t *testing.T, through string) *pgx.Conn {
	t.Helper()
	conn := session(t, through)
	for end := time.Now().Add(patience); node(t, conn, "SELECT next_snowflake()") != 5; {
		if time.Now().After(end) {
			t.Fatal("the proxy replaces nothing")
		}
	}
	return conn
}

func TestAdminWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s := devpgtest.Private(t, nil)
	direct := devpgtest.DatabaseOn(t, s)
	p, through := serve(t, direct, "--node-id", "5", "--admin-listen", "127.0.0.1:0")
	admin := p.adminURL(t)
	watching(t, through)
	if code, body := get(t, admin+"/readyz"); code != http.StatusOK {
		t.Fatalf("got %d %s", code, body)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	p.match(t, "catalog cannot be read")
	if code, body := get(t, admin+"/readyz"); code != http.StatusServiceUnavailable ||
		!strings.Contains(body, "does not answer") || strings.Count(body, "\n") != 1 {
		t.Errorf("got %d %q without the server, want 503 and one line", code, body)
	}
	if code, _ := get(t, admin+"/healthz"); code != http.StatusOK {
		t.Errorf("got %d for the health without the server, want 200", code)
	}
	if err := s.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; {
		code, body := get(t, admin+"/readyz")
		if code == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("got %d %q although the server is back", code, body)
		}
	}
}

// TestAdminWithoutTheCatalog: a role that may not read makes the proxy replace
// less, not unfit for clients.
func TestAdminWithoutTheCatalog(t *testing.T) {
	t.Parallel()
	direct := devpgtest.Database(t)
	asRole, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimPrefix(asRole.Path, "/")
	role := "reader_" + database
	asRole.User = url.User(role)
	if err := execSQL(t.Context(), direct, "CREATE ROLE "+role+" LOGIN"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = execSQL(context.Background(), direct, "DROP ROLE "+role) })
	if p := start(t, "install", "--database-url", direct); p.wait(t) != exitDone {
		t.Fatal(p.output)
	}
	p, through := serve(t, asRole.String(), "--node-id", "5", "--admin-listen", "127.0.0.1:0")
	admin := p.adminURL(t)
	watching(t, through)
	series := `pgidproxy_catalog_readable{database="` + database + `"}`
	if got := scrape(t, admin)(series); got != 1 {
		t.Errorf("%s is %v, want 1", series, got)
	}
	if err := execSQL(t.Context(), direct, "REVOKE USAGE ON SCHEMA pgid FROM PUBLIC"); err != nil {
		t.Fatal(err)
	}
	p.match(t, "catalog cannot be read")
	if got := scrape(t, admin)(series); got != 0 {
		t.Errorf("%s is %v without the right to read, want 0", series, got)
	}
	if code, body := get(t, admin+"/readyz"); code != http.StatusOK {
		t.Errorf("got %d %q without the right to read, want 200", code, body)
	}
}

func TestAdminIsOffUnlessAskedFor(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, devpgtest.Database(t), "--node-id", "5")
	if n := p.lines("msg=ready", "admin="); n != 0 {
		t.Errorf("metrics are served:\n%s", p.output)
	}
}

func TestAdminSaysThatItsPortIsTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	direct := devpgtest.Database(t)
	p := start(t, "serve", "--database-url", direct, "--node-id", "5", "--listen", "127.0.0.1:0", "--admin-listen", l.Addr().String())
	code, out := p.wait(t), p.output.String()
	if code != exitFailed || !strings.Contains(out, "in use by another program") || !strings.Contains(out, "--admin-listen (") {
		t.Errorf("got exit code %d and %q", code, out)
	}
	if strings.Contains(out, "functions installed") {
		t.Errorf("the database was touched first:\n%s", out)
	}
}
