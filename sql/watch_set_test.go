package sql

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// readers counts the connections that read the database's catalog.
func readers(t *testing.T, conn *pgx.Conn, database string) (n int) {
	t.Helper()
	err := conn.QueryRow(context.Background(), `SELECT count(*) FROM pg_stat_activity
		WHERE application_name = 'pgidproxy catalog' AND datname = $1`, database).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestUnreadable(t *testing.T) {
	s := devpgtest.Server(t)
	conn, url := installed(t, s)
	exec(t, conn, `DO $$ BEGIN
		EXECUTE format('CREATE ROLE %I LOGIN', 'stranger_' || current_database());
		EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', current_database()); END $$`)
	name := conn.Config().Database
	t.Cleanup(func() { exec(t, conn, "DROP ROLE stranger_"+name) })
	tests := []struct{ name, database, user, allow string }{
		{"no such database", "no_such_database", "postgres", ""},
		{"no right to connect", name, "stranger_" + name, "GRANT CONNECT ON DATABASE " + name + " TO PUBLIC"},
		{"no right to read the configuration", name, "stranger_" + name, "GRANT USAGE ON SCHEMA pgid TO PUBLIC"},
	}
	for _, tt := range tests {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		if tt.name == tests[2].name {
			exec(t, conn, "REVOKE USAGE ON SCHEMA pgid FROM PUBLIC")
		}
		config.User = tt.user
		ws, tick := testWatchers(t, config)
		d := ws.Database(tt.database)
		c := fresh(t, d)
		if c.Known() || replaces(c, "INSERT INTO t VALUES (next_snowflake())") || !replaces(c, "SELECT next_snowflake()") {
			t.Errorf("%s: an unreadable catalog is not taken as one", tt.name)
		}
		if tt.allow != "" {
			exec(t, conn, tt.allow)
			poll(tick)
			if c := d.Current(); c == nil || !c.Known() {
				t.Errorf("%s: not read when it was allowed", tt.name)
			}
		}
		ws.Close()
	}
}

func TestServerRestarts(t *testing.T) {
	s := devpgtest.Private(t, nil)
	conn, d, tick := watched(t, s)
	first := fresh(t, d)
	exec(t, conn, "CREATE TABLE w (id bigint)")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	tick <- time.Time{}
	tick <- time.Time{}
	if d.Current() != first {
		t.Error("one failed poll ends a catalog")
	}
	d.w.expire(d.w.confirmed)
	if d.Current() != nil {
		t.Error("a catalog that nobody confirms is relied on")
	}
	d.Fresh(context.Background()) // does not wait for a server that is away
	if err := s.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	for range maxPause {
		if poll(tick); d.Current() != nil {
			break
		}
	}
	if !replaces(fresh(t, d), "INSERT INTO w VALUES (next_snowflake())") {
		t.Error("what the server did before it went is not seen")
	}
}

// A migration that ends drops its tables: a poll that has found them and waits for
// that to commit looks again, and does not fail.
func TestMigrationEndsDuringPoll(t *testing.T) {
	conn, url := installed(t, devpgtest.Server(t))
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "CREATE TABLE pgid.migrations (relation regclass PRIMARY KEY, job regclass)")
	var log bytes.Buffer
	ws := NewWatchers(config, slog.New(slog.NewTextHandler(&log, nil)))
	tick := make(chan time.Time)
	ws.tick, ws.stale = tick, time.Hour
	d := ws.Database(config.Database)
	fresh(t, d)
	oid := relation(t, url)
	exec(t, conn, "BEGIN; DROP TABLE pgid.migrations")
	tick <- time.Time{}
	for waits := false; !waits; {
		if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1)", oid).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	exec(t, conn, "COMMIT")
	poll(tick)
	if c := d.Current(); c == nil || !c.Known() {
		t.Error("the catalog is not relied on")
	}
	ws.Close()
	if log.Len() > 0 {
		t.Errorf("got the log %s", log.String())
	}
}

// relation is the number of pgid.migrations.
func relation(t *testing.T, url string) (oid uint32) {
	t.Helper()
	err := connect(t, url).QueryRow(t.Context(), "SELECT oid FROM pg_class WHERE relname = 'migrations' AND relnamespace = 'pgid'::regnamespace").Scan(&oid)
	if err != nil {
		t.Fatal(err)
	}
	return oid
}

func TestDatabaseIsLeft(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		admin := connect(t, s.URL("postgres"))
		conn, url := installed(t, s)
		conn.Close(context.Background())
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		ws, tick := testWatchers(t, config)
		name := config.Database
		other := ws.Database("postgres")
		gone := func(how string) {
			t.Helper()
			for end := time.Now().Add(10 * time.Second); readers(t, admin, name) > 0; {
				if time.Now().After(end) {
					t.Fatalf("%s: the connection stays", how)
				}
			}
		}

		d := ws.Database(name)
		if readers(t, admin, name) != 0 {
			t.Error("a connection before the first use")
		}
		first := fresh(t, d)
		for range 2 * unusedPolls {
			poll(tick)
		}
		if readers(t, admin, name) != 1 {
			t.Error("no connection while there is a session")
		}
		ws.Release(name)
		for range unusedPolls {
			tick <- time.Time{}
		}
		gone("unused")

		d = ws.Database(name)
		if d.Current() != nil {
			t.Error("current before it is polled again")
		}
		if fresh(t, d) != first {
			t.Error("another catalog although nothing has changed")
		}
		ws.Release(name)
		other.Begin()
		gone("DDL elsewhere")
		exec(t, admin, "ALTER DATABASE "+name+" RENAME TO "+name+"_renamed")
		exec(t, admin, "ALTER DATABASE "+name+"_renamed RENAME TO "+name)
		other.End()

		ws.Close()
		if d.Current() != nil || other.Current() != nil {
			t.Error("current after Close")
		}
	})
}

// TestRoom has many databases come and go.
func TestRoom(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig("postgres://nobody@127.0.0.1:1/")
	if err != nil {
		t.Fatal(err)
	}
	ws := NewWatchers(config, slog.New(slog.DiscardHandler))
	defer ws.Close()
	for i := range 10 * keepUnread {
		name := string(rune('a' + i))
		ws.Database(name)
		ws.Release(name)
	}
	ws.Release("never seen")
	if len(ws.all) != 0 {
		t.Errorf("%d databases that nobody uses are kept", len(ws.all))
	}
}
