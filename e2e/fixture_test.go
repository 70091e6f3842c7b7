package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is what the tests need of a PostgreSQL server.
type server interface {
	URL(db string) string
	Major() int
}

// fixture is what all tests on one server share: a database with the functions
// and the tables of testdata/fixture.sql to make others from, and a proxy.
type fixture struct {
	once     sync.Once
	err      error
	template string
	home     string // the database in the proxy's URL
	proxy    *proxy
	creating sync.Mutex // CREATE DATABASE from one template, one at a time
}

var (
	fixtures   sync.Map // server → *fixture
	databaseNo atomic.Int64

	//go:embed testdata/fixture.sql
	fixtureSQL string
)

func fixtureOf(tb testing.TB, s server) *fixture {
	tb.Helper()
	v, _ := fixtures.LoadOrStore(s, new(fixture))
	f := v.(*fixture)
	f.once.Do(func() { f.err = f.make(s) })
	if f.err != nil {
		tb.Fatal(f.err)
	}
	return f
}

func (f *fixture) make(s server) error {
	f.template, f.home = "e2e_template", "e2e_home"
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + f.template, "DROP DATABASE IF EXISTS " + f.home,
		"DROP ROLE IF EXISTS e2e_app, e2e_evil", "CREATE ROLE e2e_app LOGIN", "CREATE ROLE e2e_evil LOGIN",
		"CREATE DATABASE " + f.template + " TEMPLATE template0 ENCODING 'UTF8'",
	} {
		if err := execAt(s.URL("postgres"), sql); err != nil {
			return err
		}
	}
	if _, err := run("install", "--database-url", s.URL(f.template), "--function-node", fmt.Sprint(functionNode)); err != nil {
		return err
	}
	if err := execAt(s.URL(f.template), fixtureSQL); err != nil {
		return err
	}
	if err := execAt(s.URL("postgres"), "CREATE DATABASE "+f.home+" TEMPLATE "+f.template); err != nil {
		return err
	}
	var err error
	f.proxy, err = startProxy(s.URL(f.home), "--node-id", fmt.Sprint(proxyNode), "--drain-timeout", "5s")
	return err
}

// newDatabase makes a database of the fixture's tables and returns its name.
// It is dropped at the end of the test.
func newDatabase(tb testing.TB, s server) string {
	tb.Helper()
	f := fixtureOf(tb, s)
	f.creating.Lock()
	defer f.creating.Unlock()
	return createDatabase(tb, s, f.template)
}

// emptyDatabase makes a database without anything of ours.
func emptyDatabase(tb testing.TB, s server) string {
	tb.Helper()
	return createDatabase(tb, s, "template0")
}

func createDatabase(tb testing.TB, s server, template string) string {
	tb.Helper()
	name := fmt.Sprintf("e2e_%d", databaseNo.Add(1))
	if err := execAt(s.URL("postgres"), "DROP DATABASE IF EXISTS "+name, "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := execAt(s.URL("postgres"), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return name
}

// proxied makes a database and returns its URLs: directly, and through the
// shared proxy, which has read it.
func proxied(tb testing.TB, s server) (direct, through string) {
	tb.Helper()
	db := newDatabase(tb, s)
	through = fixtureOf(tb, s).proxy.databaseURL(db)
	openStream(tb, through, newMask()).awaitProxy()
	return s.URL(db), through
}

// awaitProxy waits until the proxy has read the session's database: at first,
// and after DDL, it leaves all to the server until then. Past a bound it lets
// the test find out.
func (s *stream) awaitProxy() {
	s.tb.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		before := len(s.mask.ids)
		s.simple("SELECT next_snowflake()")
		if ids := s.mask.ids; len(ids) > before && ids[before].node == proxyNode {
			return
		}
	}
}

func execAt(url string, sqls ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	for _, sql := range sqls {
		if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", strings.SplitN(sql, "\n", 2)[0], err)
		}
	}
	return nil
}

// connectTo opens a pgx connection that is closed with the test.
func connectTo(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// query returns the first column of all rows as text.
func query(tb testing.TB, conn *pgx.Conn, sql string, args ...any) []string {
	tb.Helper()
	rows, err := conn.Query(tb.Context(), sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		return string(row.RawValues()[0]), nil
	})
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	return got
}
