package sql

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/rewrite"
)

// watched watches a fresh database with the functions; polls come when the test
// says so.
func watched(t *testing.T, s *devpg.Server) (conn *pgx.Conn, d *Database, tick chan time.Time) {
	conn, url := installed(t, s)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	ws := NewWatchers(config, slog.New(slog.DiscardHandler))
	tick = make(chan time.Time)
	ws.tick = tick
	t.Cleanup(ws.Close)
	d = ws.Database(config.Database)
	return conn, d, tick
}

// fresh waits for a catalog.
func fresh(t *testing.T, d *Database) *rewrite.Catalog {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	d.Fresh(ctx)
	c := d.Current()
	if c == nil {
		t.Fatal("no catalog")
	}
	return c
}

// replaces tells whether a text's calls are replaced with a catalog.
func replaces(c *rewrite.Catalog, text string) bool {
	var sc rewrite.Scratch
	return rewrite.New(rewrite.Config{}).Plan(&sc, []byte(text), c, rewrite.Simple).Replaces
}

func TestCatalogDecides(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		exec(t, conn, `CREATE TABLE plain (id bigint); CREATE TABLE ruled (id bigint);
			CREATE RULE r AS ON INSERT TO ruled DO ALSO INSERT INTO plain VALUES (NEW.id);
			CREATE VIEW v AS SELECT * FROM plain; CREATE TABLE part (id bigint) PARTITION BY HASH (id);
			CREATE TEMP TABLE only_temp (id bigint);
			CREATE FUNCTION sets() RETURNS SETOF int LANGUAGE sql AS 'SELECT 1';
			CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'`)
		tests := []struct {
			text string
			want bool
		}{
			{"INSERT INTO plain VALUES (next_snowflake())", true},
			{"INSERT INTO part VALUES (next_snowflake())", true},
			{"INSERT INTO ruled VALUES (next_snowflake())", false},
			{"INSERT INTO v VALUES (next_snowflake())", false},
			{"INSERT INTO only_temp VALUES (next_snowflake())", false},
			{"SELECT next_snowflake(), sets()", false},
			{"SELECT next_snowflake(), one()", true},
			{"SELECT uuidv7()", true},
			{"SELECT id_to_timestamp(1)", true},
		}
		check := func(what string) {
			t.Helper()
			c, err := LoadCatalog(context.Background(), conn)
			if err != nil {
				t.Fatal(err)
			}
			for _, tt := range tests {
				if got := replaces(c, tt.text); got != tt.want {
					t.Errorf("%s: %s: replaced %v, want %v", what, tt.text, got, tt.want)
				}
			}
		}
		check("fresh")
		exec(t, conn, "DROP RULE r ON ruled; CREATE FUNCTION one(int) RETURNS SETOF int LANGUAGE sql AS 'SELECT 1'")
		tests[2].want, tests[6].want = true, false
		check("rule dropped, overload that returns a set")
		exec(t, conn, "CREATE SCHEMA app; CREATE FUNCTION app.next_snowflake() RETURNS bigint LANGUAGE sql AS 'SELECT 42::bigint'")
		for i := range 7 {
			tests[i].want = false
		}
		check("shadowed")
		exec(t, conn, "DROP SCHEMA app CASCADE; REVOKE EXECUTE ON FUNCTION next_snowflake() FROM PUBLIC")
		check("not open to all")
		exec(t, conn, "GRANT EXECUTE ON FUNCTION next_snowflake() TO PUBLIC; DROP FUNCTION one(int); UPDATE pgid.config SET epoch_ms = 0")
		tests[7].want, tests[8].want = s.Major() >= 18, false
		check("another epoch")
	})
}

func TestWatcher(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, d, tick := watched(t, s)
		const text = "INSERT INTO w VALUES (next_snowflake())"
		first := fresh(t, d)
		if replaces(first, text) {
			t.Error("replaced for a table that is not there")
		}
		exec(t, conn, "CREATE TABLE w (id bigint)")
		tick <- time.Time{}
		tick <- time.Time{} // taken only when the first poll is over
		second := d.Current()
		if !replaces(second, text) || second.Generation() == first.Generation() {
			t.Error("a poll did not see the table")
		}
		tick <- time.Time{}
		tick <- time.Time{}
		if d.Current() != second {
			t.Error("another catalog without a change")
		}

		d.Begin()
		exec(t, conn, "DROP TABLE w")
		tick <- time.Time{}
		if d.Current() != nil {
			t.Error("current while a change is under way")
		}
		d.Begin()
		d.End()
		if d.Current() != nil {
			t.Error("current before the last End")
		}
		d.End()
		if replaces(fresh(t, d), text) {
			t.Error("the drop was not seen")
		}
	})
}

func TestUnreadableCatalog(t *testing.T) {
	s := devpgtest.Server(t)
	_, url := installed(t, s)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.Database = "no_such_database"
	ws := NewWatchers(config, slog.New(slog.DiscardHandler))
	defer ws.Close()
	c := fresh(t, ws.Database(config.Database))
	if c.Known() || replaces(c, "INSERT INTO t VALUES (next_snowflake())") || !replaces(c, "SELECT next_snowflake()") {
		t.Error("an unreadable catalog is not taken as one")
	}
}
