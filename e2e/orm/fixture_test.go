package orm

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// patience bounds every wait of a test.
const patience = 30 * time.Second

// shared are the server and the proxy of all tests.
var shared struct {
	once   sync.Once
	err    error
	server *devpg.Server
	proxy  *proxy
}

func fixture(tb testing.TB) (*devpg.Server, *proxy) {
	tb.Helper()
	shared.once.Do(func() { shared.err = startShared() })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.server, shared.proxy
}

func startShared() error {
	settings := devpgtest.Settings()
	settings["log_statement"] = "all"
	settings["log_line_prefix"] = "%d> "
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var err error
	if shared.server, err = devpg.Start(ctx, devpg.Config{Settings: settings}); err != nil {
		return err
	}
	shared.proxy, err = startProxy(shared.server.URL(devpg.Superuser))
	return err
}

// side is one of the two ways to a server, with a database of its own.
type side struct {
	name   string // for messages
	url    string
	direct string // the same database past the proxy
	db     string
	filler int // node that must make the ids which a statement leaves out
}

// sides makes two databases with the functions, one to be reached directly and
// one through p.
func sides(t *testing.T, p *proxy) (direct, through side) {
	t.Helper()
	server, _ := fixture(t)
	database := func(name string, filler int) side {
		s := side{name: name, url: devpgtest.DatabaseOn(t, server), filler: filler}
		s.direct = s.url
		u, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		s.db = strings.TrimPrefix(u.Path, "/")
		if err := run("install", "--database-url", s.url, "--function-node", fmt.Sprint(functionNode)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	direct = database("directly", functionNode)
	through = database("through the proxy", proxyNode)
	through.url = p.through(t, through.direct)
	return direct, through
}

// await waits until ids are filled in on this side: after DDL the proxy leaves
// all to the server until it has read the catalog again.
func (s side) await(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	want := functionNode
	if s.url != s.direct {
		want = proxyNode
	}
	for {
		var id int64
		if err := conn.QueryRow(ctx, "SELECT next_snowflake()").Scan(&id); err != nil {
			t.Fatalf("%s: wait for node %d: %v", s.name, want, err)
		}
		if nodeOf(id) == want {
			return
		}
	}
}

func nodeOf(id int64) int { return int(id >> 12 & 1023) }

// query returns the rows of a query sent directly, each as its columns' text
// with blanks between.
func (s side) query(t *testing.T, sql string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.direct)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var rows []string
	for _, row := range results[len(results)-1].Rows {
		columns := make([]string, len(row))
		for i, value := range row {
			columns[i] = string(value)
			if value == nil {
				columns[i] = "NULL"
			}
		}
		rows = append(rows, strings.Join(columns, " "))
	}
	return rows
}

// wantRows compares the rows of a query sent directly.
func (s side) wantRows(t *testing.T, what, sql string, want ...string) {
	t.Helper()
	if got := s.query(t, sql); !slices.Equal(got, want) {
		t.Errorf("%s: %s:\n%s\nwant\n%s", s.name, what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
