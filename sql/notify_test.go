package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// notifying is a server on which DDL may notify.
func notifying(t *testing.T, like *devpg.Server) *devpg.Server {
	return devpgtest.PrivateLike(t, like, map[string]string{"max_prepared_transactions": "0"})
}

// An ear is a session that counts the notifications it hears. Its own come
// before the reply to what sent them has ended.
type ear struct {
	*pgx.Conn
	n int
}

func newEar(t *testing.T, url string) *ear {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	e := new(ear)
	config.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { e.n++ }
	if e.Conn, err = pgx.ConnectConfig(context.Background(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })
	exec(t, e.Conn, listen)
	return e
}

// hears runs a text and tells whether it has notified.
func (e *ear) hears(t *testing.T, text string) bool {
	t.Helper()
	e.n = 0
	exec(t, e.Conn, text)
	return e.n > 0
}

func TestNotify(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		s = notifying(t, s)
		t.Run("statements", func(t *testing.T) { testWhatNotifies(t, s) })
		t.Run("anybody", func(t *testing.T) { testAnybodyNotifies(t, s) })
		t.Run("never fails", func(t *testing.T) { testNotifyNeverFails(t, s) })
	})
}

func testWhatNotifies(t *testing.T, s *devpg.Server) {
	_, url := installed(t, s)
	e := newEar(t, url)
	for _, step := range []struct {
		text string
		want bool
	}{
		{"CREATE TABLE w (id bigserial PRIMARY KEY, a text DEFAULT 'x')", true},
		{"INSERT INTO w DEFAULT VALUES; ANALYZE w; TRUNCATE w; CREATE INDEX ON w (a); COMMENT ON TABLE w IS 'w'; DROP INDEX w_a_idx", false},
		{"ALTER TABLE w ADD b int DEFAULT 1", true},
		{"ALTER TABLE w ALTER b DROP DEFAULT", true},
		{"ALTER TABLE w DROP b", true},
		{"BEGIN; ALTER TABLE w ADD c int; ROLLBACK", false},
		{"BEGIN; SAVEPOINT s; ALTER TABLE w ADD c int; ROLLBACK TO s; COMMIT", false},
		{"GRANT INSERT (a) ON w TO PUBLIC", true},
		{"REVOKE ALL ON w FROM PUBLIC", true},
		{"SELECT 1 AS a INTO i; DROP TABLE i", true},
		{"CREATE TABLE i AS SELECT 1 AS a", true},
		{"DROP TABLE i", true},
		{"CREATE VIEW v AS SELECT * FROM w", true},
		{"ALTER VIEW v ALTER a SET DEFAULT 'y'", true},
		{"DROP VIEW v", true},
		{"CREATE MATERIALIZED VIEW m AS SELECT 1 AS a", true},
		{"REFRESH MATERIALIZED VIEW m", false},
		{"DROP MATERIALIZED VIEW m", true},
		{"CREATE SEQUENCE s", true},
		{"SELECT nextval('s'), setval('s', 5)", false},
		{"DROP SEQUENCE s", true},
		{"CREATE RULE r AS ON INSERT TO w DO INSTEAD NOTHING", true},
		{"ALTER RULE r ON w RENAME TO q", true},
		{"DROP RULE q ON w", true},
		{"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", true},
		{"ALTER FUNCTION f() RENAME TO g", true},
		{"DROP FUNCTION g()", true},
		{"CREATE PROCEDURE f() LANGUAGE sql AS 'SELECT 1'", true},
		{"DROP PROCEDURE f()", true},
		{"CREATE AGGREGATE f(int) (SFUNC = int4pl, STYPE = int)", true},
		{"DROP AGGREGATE f(int)", true},
		{"CREATE OPERATOR <+> (LEFTARG = int, RIGHTARG = int, FUNCTION = int4pl)", true},
		{"DROP OPERATOR <+> (int, int)", true},
		{"CREATE SCHEMA app CREATE TABLE x (a int)", true},
		{"CREATE DOMAIN app.d AS int", true},
		{"ALTER DOMAIN app.d SET DEFAULT 1", true},
		{"DROP DOMAIN app.d", true},
		{"CREATE TYPE app.t AS (a int)", true},
		{"DROP TYPE app.t", true},
		{"ALTER TABLE app.x SET SCHEMA public", true},
		{"ALTER SCHEMA app RENAME TO app2", true},
		{"DROP SCHEMA app2", true},
		{"CREATE TABLE p (a int) PARTITION BY LIST (a); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)", true},
		{"ALTER TABLE p DETACH PARTITION p1 CONCURRENTLY", true},
		{"DO $$ BEGIN CREATE TABLE d (a int); DROP TABLE d; END $$", true},

		{"CREATE TEMP TABLE t (id serial PRIMARY KEY, a int DEFAULT 1 CHECK (a > 0))", false},
		{"ALTER TABLE t ADD b int DEFAULT 2; ALTER TABLE t ALTER b DROP DEFAULT; ALTER TABLE t DROP b; CREATE INDEX ON t (a)", false},
		{"CREATE POLICY p ON t; DROP TABLE t", false},
		{"CREATE TEMP TABLE t AS SELECT 1 AS a; DROP TABLE t; SELECT 1 AS a INTO TEMP t", false},
		{"CREATE TEMP VIEW tv AS SELECT 1 AS a; DROP VIEW tv", false},
		{"BEGIN; CREATE TEMP TABLE c (a int) ON COMMIT DROP; COMMIT", false},
		{"CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'; DROP FUNCTION pg_temp.f()", false},
		{"DISCARD TEMP", false},
	} {
		if got := e.hears(t, step.text); got != step.want {
			t.Errorf("%s: notified %v, want %v", step.text, got, step.want)
		}
	}
}

// testAnybodyNotifies: a role needs no right to what the triggers call in
// schema pgid, and nothing that it makes is called in their place.
func testAnybodyNotifies(t *testing.T, s *devpg.Server) {
	conn, url := installed(t, s)
	exec(t, conn, `CREATE ROLE nobody; CREATE SCHEMA evil AUTHORIZATION nobody;
		REVOKE ALL ON SCHEMA pgid FROM PUBLIC; REVOKE ALL ON FUNCTION pgid.notify_ddl() FROM PUBLIC`)
	e := newEar(t, url)
	exec(t, e.Conn, "SET ROLE nobody")
	exec(t, e.Conn, hijack)
	exec(t, e.Conn, `CREATE FUNCTION evil.stopf(float8, float8) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'hijacked'; END$$;
		CREATE OPERATOR evil.> (LEFTARG = float8, RIGHTARG = float8, FUNCTION = evil.stopf);
		CREATE OPERATOR evil.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.stopt);
		CREATE FUNCTION evil.pg_notify(text, text) RETURNS void LANGUAGE sql AS ''`)
	for _, path := range []string{"''", "evil, pg_temp, pg_catalog"} {
		exec(t, e.Conn, "SET search_path = "+path)
		if !e.hears(t, "CREATE TABLE evil.made (a pg_catalog.int4)") || !e.hears(t, "DROP TABLE evil.made") {
			t.Errorf("DDL does not notify with search_path = %s", path)
		}
	}
	exec(t, e.Conn, "RESET ROLE; SET search_path = public; DROP OWNED BY nobody; DROP ROLE nobody")
}

func testNotifyNeverFails(t *testing.T, s *devpg.Server) {
	conn, url := installed(t, s)
	e := newEar(t, url)
	exec(t, conn, "CREATE ROLE nobody; GRANT CREATE ON SCHEMA public TO nobody; REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC")
	exec(t, e.Conn, "SET ROLE nobody")
	if e.hears(t, "BEGIN; CREATE TABLE made (a int); DROP TABLE made; COMMIT") {
		t.Error("notified without the right to")
	}
	exec(t, e.Conn, "RESET ROLE; DROP OWNED BY nobody; DROP ROLE nobody")
	if !e.hears(t, "CREATE TABLE made (a int)") {
		t.Error("not notified")
	}

	usage := "pg_catalog.pg_notification_queue_usage()"
	if !strings.Contains(notifyScript(), usage) {
		t.Fatal("not looked at: " + usage)
	}
	exec(t, conn, strings.ReplaceAll(notifyScript(), usage, "0.6::pg_catalog.float8"))
	if e.hears(t, "DROP TABLE made") {
		t.Error("notified although the queue is half full")
	}
}

// TestNotifyQueueFull fills the queue.
func TestNotifyQueueFull(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		if s.Major() < 17 {
			t.Skip("the queue can be made small from 17 on only")
		}
		s = devpgtest.PrivateLike(t, s, map[string]string{"max_prepared_transactions": "0", "max_notify_queue_pages": "64"})
		conn, url := installed(t, s)
		e := newEar(t, url)
		exec(t, e.Conn, "BEGIN")
		got := ""
		for i := 0; got == "" && i < 1000; i++ {
			got = code(t, conn, fmt.Sprintf("NOTIFY other, '%d%s'", i, strings.Repeat("x", 7000)))
		}
		if got == "" {
			t.Fatal("the queue does not become full")
		}
		exec(t, conn, "CREATE TABLE made (a int)")
		if e.hears(t, "COMMIT") {
			t.Error("notified")
		}
		if exec(t, conn, "DROP TABLE made"); !e.hears(t, "CREATE TABLE made (a int)") {
			t.Error("not notified once there is room")
		}
	})
}

// TestPrepareTransaction: with max_prepared_transactions nothing is notified,
// since what has notified cannot be prepared.
func TestPrepareTransaction(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, url := installed(t, s)
		e := newEar(t, url)
		name := "'notify_" + conn.Config().Database + "'"
		if e.hears(t, "BEGIN; CREATE TABLE made (a int); PREPARE TRANSACTION "+name) || e.hears(t, "COMMIT PREPARED "+name) ||
			e.hears(t, "DROP TABLE made") {
			t.Error("notified")
		}
	})
}

// eventTriggers lists those of a database, with the owners of their functions.
func eventTriggers(t *testing.T, conn *pgx.Conn) string {
	return scan[string](t, conn, `SELECT coalesce(string_agg(concat_ws(' ', evtname, evtenabled, evtfoid::regproc, proowner::regrole), ', ' ORDER BY evtname), '')
		FROM pg_event_trigger JOIN pg_proc p ON p.oid = evtfoid`)
}

const bothTriggers = "pgidproxy_ddl O pgid.notify_ddl postgres, pgidproxy_drop O pgid.notify_ddl postgres"

// TestInstallNotify makes the event triggers where they are missing, old or
// another's, leaves them alone where they are as they should be, and removes
// them.
func TestInstallNotify(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx := context.Background()
		conn, _ := installed(t, s)
		role := "thief_" + conn.Config().Database
		exec(t, conn, "CREATE ROLE "+role)
		t.Cleanup(func() { exec(t, conn, "DROP ROLE "+role) })
		const another = "CREATE OR REPLACE FUNCTION pgid.notify_ddl() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'"
		for _, change := range []string{
			"", // installed afresh
			"DROP EVENT TRIGGER pgidproxy_drop",
			"DROP FUNCTION pgid.notify_ddl() CASCADE",
			another,
			"ALTER FUNCTION pgid.notify_ddl() OWNER TO " + role,
			"DROP EVENT TRIGGER pgidproxy_ddl; CREATE EVENT TRIGGER pgidproxy_ddl ON ddl_command_end EXECUTE FUNCTION pgid.notify_ddl()",
			fmt.Sprintf("UPDATE pgid.config SET version = %d; DROP FUNCTION pgid.notify_ddl() CASCADE", Version-1),
		} {
			exec(t, conn, change)
			r, err := Install(ctx, conn, InstallOptions{})
			if err != nil || r.Unchanged != (change == "") || len(r.Notes) != 0 {
				t.Errorf("%q: %+v, %v", change, r, err)
			}
			if got := eventTriggers(t, conn); got != bothTriggers {
				t.Errorf("%q: event triggers %s", change, got)
			}
			if r, err := Install(ctx, conn, InstallOptions{}); err != nil || !r.Unchanged {
				t.Errorf("%q: again: %+v, %v", change, r, err)
			}
		}
		exec(t, conn, "ALTER EVENT TRIGGER pgidproxy_ddl DISABLE; CREATE EVENT TRIGGER another ON sql_drop EXECUTE FUNCTION pgid.notify_ddl()")
		if r, err := Install(ctx, conn, InstallOptions{}); err != nil || !r.Unchanged {
			t.Errorf("disabled: %+v, %v; want it left so", r, err)
		}
		if err := Uninstall(ctx, conn); err == nil || !strings.Contains(err.Error(), "event trigger another") {
			t.Errorf("got %v, want the other event trigger named", err)
		}
		exec(t, conn, "DROP EVENT TRIGGER another")
		if err := Uninstall(ctx, conn); err != nil {
			t.Error(err)
		}
		if got := eventTriggers(t, conn); got != "" {
			t.Errorf("left: %s", got)
		}
	})
}

// TestInstallNotifyWithoutRights: the owner of a database installs without event
// triggers, is told so, and does not undo or fail over those of a superuser.
func TestInstallNotifyWithoutRights(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx := context.Background()
		conn := connect(t, devpgtest.DatabaseOn(t, s))
		database := conn.Config().Database
		owner := "owns_" + database
		exec(t, conn, "CREATE ROLE "+owner+"; ALTER DATABASE "+database+" OWNER TO "+owner)
		t.Cleanup(func() {
			exec(t, conn, "RESET ROLE; ALTER DATABASE "+database+" OWNER TO CURRENT_USER; DROP OWNED BY "+owner+"; DROP ROLE "+owner)
		})
		install := func(as string, unchanged bool, notes ...string) {
			t.Helper()
			exec(t, conn, "SET ROLE "+as)
			r, err := Install(ctx, conn, InstallOptions{})
			if err != nil || r.Unchanged != unchanged || !slices.Equal(r.Notes, notes) {
				t.Errorf("as %s: %+v, %v; want unchanged %v, notes %q", as, r, err, unchanged, notes)
			}
		}
		install(owner, false, noNotify)
		install(owner, true, noNotify)
		if n := scan[int](t, conn, "SELECT count(*) FROM pg_proc WHERE proname = 'notify_ddl'"); n != 0 {
			t.Error("half of it is there")
		}
		exec(t, conn, "CREATE FUNCTION pgid.notify_ddl() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'")
		install("postgres", false)
		if got := eventTriggers(t, conn); got != bothTriggers {
			t.Errorf("event triggers %s", got)
		}
		install(owner, true)
		exec(t, conn, "RESET ROLE; UPDATE pgid.config SET version = 1; ALTER EVENT TRIGGER pgidproxy_ddl RENAME TO pgidproxy_old")
		install(owner, false, noNotify)
		exec(t, conn, "RESET ROLE; ALTER EVENT TRIGGER pgidproxy_old RENAME TO pgidproxy_ddl; SET ROLE "+owner)
		if err := Uninstall(ctx, conn); err != nil {
			t.Error(err)
		}
		if got := eventTriggers(t, conn); got != "" {
			t.Errorf("left: %s", got)
		}
		exec(t, conn, Script(InstallOptions{}))
		install(owner, true, noNotify)
	})
}
