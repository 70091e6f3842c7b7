package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/internal/migrate"
	"github.com/pgidproxy/pgidproxy/sql"
)

// A scene is a database in which something is migrated.
type scene struct {
	t      *testing.T
	server *devpg.Server
	url    string
	conn   *pgx.Conn // of the test's own
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func newScene(t *testing.T, s *devpg.Server, setup string) *scene {
	t.Helper()
	url := devpgtest.DatabaseOn(t, s)
	c := &scene{t: t, server: s, url: url, conn: connect(t, url)}
	if _, err := sql.Install(t.Context(), c.conn, sql.InstallOptions{}); err != nil {
		t.Fatal(err)
	}
	c.exec(setup)
	return c
}

func (c *scene) exec(text string) {
	c.t.Helper()
	if _, err := c.conn.Exec(context.Background(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
}

// one gives a query's only value as text.
func (c *scene) one(query string) string {
	c.t.Helper()
	var s *string
	if err := c.conn.QueryRow(context.Background(), "SELECT ("+query+")::text", pgx.QueryExecModeSimpleProtocol).Scan(&s); err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	if s == nil {
		return "NULL"
	}
	return *s
}

func (c *scene) plan(o migrate.Options) *migrate.Plan {
	c.t.Helper()
	conn := connect(c.t, c.url)
	defer conn.Close(context.Background())
	o.Schema = "public"
	p, err := migrate.New(c.t.Context(), conn, o)
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

// run opens the job of a table and calls do with it.
func (c *scene) run(o migrate.Options, tell func(migrate.Progress), do func(*migrate.Runner) error) error {
	conn, err := pgx.Connect(context.Background(), c.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	r := &migrate.Runner{Conn: conn, Tell: tell, Polls: 5 * time.Millisecond}
	job, err := r.Open(context.Background(), o.Table)
	if err != nil {
		return err
	}
	if job == nil {
		o.Schema, o.Table = "public", r.Table
		p, err := migrate.New(context.Background(), conn, o)
		if err != nil {
			return err
		}
		if err := r.Start(context.Background(), p); err != nil {
			return err
		}
	}
	return do(r)
}

func (c *scene) apply(o migrate.Options) {
	c.t.Helper()
	if err := c.run(o, nil, func(r *migrate.Runner) error { return r.Apply(context.Background()) }); err != nil {
		c.t.Fatalf("apply: %v", err)
	}
}

func (c *scene) rollback(o migrate.Options) error {
	return c.run(o, nil, func(r *migrate.Runner) error { return r.Rollback(context.Background()) })
}

func (c *scene) finish(o migrate.Options) {
	c.t.Helper()
	if err := c.run(o, nil, func(r *migrate.Runner) error { return r.Finish(context.Background()) }); err != nil {
		c.t.Fatalf("finish: %v", err)
	}
}

// data gives the contents of tables, named columns only.
func (c *scene) data(queries []string) string {
	c.t.Helper()
	var b strings.Builder
	for _, q := range queries {
		b.WriteString(c.one("SELECT string_agg(x::text, E'\n' ORDER BY x::text) FROM ("+q+") x") + "\n")
	}
	return b.String()
}

// thorough tells whether a version gets all there is of the tests that take long.
func thorough(s *devpg.Server) bool { return s.Major() >= 15 }

// stages applies up to each stride-th step of the plan, and the last ones, and
// goes back from there: the schema and the data are those of the beginning.
func (c *scene) stages(o migrate.Options, data []string, stride int) {
	c.t.Helper()
	p := c.plan(o)
	if len(p.Blockers) > 0 {
		c.t.Fatalf("blocked: %q", p.Blockers)
	}
	schema, rows := snapshot(c.t, c.server, c.url), c.data(data)
	for n := range p.Steps {
		if (n%stride != 0 || !thorough(c.server)) && n < len(p.Steps)-2 {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		err := c.run(o, func(p migrate.Progress) {
			if p.Step == n+1 {
				cancel()
			}
		}, func(r *migrate.Runner) error { return r.Apply(ctx) })
		cancel()
		if n < len(p.Steps)-1 && err == nil {
			c.t.Fatalf("step %d (%s) did not end the run", n, p.Steps[n].Name)
		}
		if err := c.rollback(o); err != nil {
			c.t.Fatalf("rollback from step %d (%s): %v", n, p.Steps[n].Name, err)
		}
		if got := snapshot(c.t, c.server, c.url); got != schema {
			c.t.Fatalf("after a rollback from step %d (%s) the schema differs:%s", n, p.Steps[n].Name, different(got, schema))
		}
		if got := c.data(data); got != rows {
			c.t.Fatalf("after a rollback from step %d (%s) the data differ:%s", n, p.Steps[n].Name, different(got, rows))
		}
	}
}

func (c *scene) equal(query, want string) {
	c.t.Helper()
	if got := c.one(query); got != want {
		c.t.Errorf("%s: got %s, want %s", query, got, want)
	}
}

func wrong(err error) bool {
	var w *migrate.WrongError
	return errors.As(err, &w)
}

func has(list []string, word string) bool {
	return strings.Contains(fmt.Sprint(list), word)
}
