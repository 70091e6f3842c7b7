package sql

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// code returns the SQLSTATE that a statement fails with, "" where it does not.
func code(tb testing.TB, conn *pgx.Conn, text string) string {
	tb.Helper()
	_, err := conn.Exec(context.Background(), text, pgx.QueryExecModeSimpleProtocol)
	var e *pgconn.PgError
	if err != nil && !errors.As(err, &e) {
		tb.Fatalf("%s: %v", text, err)
	}
	if e == nil {
		return ""
	}
	return e.Code
}

// scan reads the one value of a query.
func scan[T any](tb testing.TB, conn *pgx.Conn, query string) (v T) {
	tb.Helper()
	if err := conn.QueryRow(context.Background(), query, pgx.QueryExecModeSimpleProtocol).Scan(&v); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return v
}

// TestOrdinaryUser: one who may insert needs no other rights, and can neither
// move the state, nor lock the gate, nor have objects of its own called.
func TestOrdinaryUser(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn := connect(t, devpgtest.DatabaseOn(t, s))
		role := "app_" + conn.Config().Database
		exec(t, conn, "CREATE ROLE "+role)
		t.Cleanup(func() { exec(t, conn, "RESET ROLE; DROP OWNED BY "+role+"; DROP ROLE "+role) })
		exec(t, conn, "ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO "+role+"; ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO "+role)
		exec(t, conn, "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
		if _, err := Install(context.Background(), conn, InstallOptions{}); err != nil {
			t.Fatal(err)
		}
		exec(t, conn, "CREATE SCHEMA evil AUTHORIZATION "+role+"; CREATE TABLE acct (id bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7()); GRANT INSERT, SELECT ON acct TO "+role)
		exec(t, conn, "SET ROLE "+role)
		for _, text := range []string{
			"SELECT setval('pgid.snowflake_last', 1)", "SELECT nextval('pgid.snowflake_last')", "SELECT nextval('pgid.snowflake_gate')",
			"BEGIN; LOCK TABLE pgid.snowflake_mover IN SHARE UPDATE EXCLUSIVE MODE", "BEGIN; LOCK TABLE pgid.snowflake_mover IN ACCESS SHARE MODE",
			"UPDATE pgid.config SET function_node = 3", "CREATE OR REPLACE FUNCTION public.next_snowflake() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
		} {
			if got := code(t, conn, text); got != "42501" {
				t.Errorf("%s: SQLSTATE %q, want 42501", text, got)
			}
			exec(t, conn, "ROLLBACK")
		}
		exec(t, conn, hijack)
		exec(t, conn, "SET search_path = evil, pg_temp, pg_catalog, public; SET pgid.node_id = '3'")
		exec(t, conn, "INSERT INTO public.acct DEFAULT VALUES; SELECT pg_catalog.pg_sleep(0.08); INSERT INTO public.acct DEFAULT VALUES")
		exec(t, conn, "SELECT uuidv7('1 day'::interval), public.id_to_timestamp('01940000-0000-7000-8000-000000000001'::pg_catalog.text), "+
			"public.id_to_timestamp('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'::pg_catalog.uuid), public.id_to_timestamp(1::bigint), "+
			"public.id_to_timestamp('01ARZ3NDEKTSV4RRFFQ69G5FAV'::pg_catalog.text)")
		if n := scan[int](t, conn, "SELECT pg_catalog.count(*) FROM public.acct WHERE id OPERATOR(pg_catalog.>>) 12 OPERATOR(pg_catalog.&) 1023::bigint OPERATOR(pg_catalog.=) 1023"); n != 2 {
			t.Errorf("%d ids of the functions' node, want 2", n)
		}
		exec(t, conn, "SET search_path = ''; INSERT INTO public.acct DEFAULT VALUES")
	})
}

// hijack makes functions, operators and types whose use would fail.
const hijack = `
CREATE FUNCTION evil.stop(bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RAISE 'hijacked'; END$$;
CREATE FUNCTION evil.stops(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'hijacked'; END$$;
CREATE FUNCTION evil.stopt(text, text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE 'hijacked'; END$$;
CREATE FUNCTION evil.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE FUNCTION evil.abs(bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RAISE 'hijacked'; END$$;
CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'hijacked'; END$$;
CREATE OPERATOR evil.+ (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.stop);
CREATE OPERATOR evil.- (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.stop);
CREATE OPERATOR evil.* (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.stop);
CREATE OPERATOR evil.& (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.stop);
CREATE OPERATOR evil.| (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.stop);
CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.stops);
CREATE OPERATOR evil.< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.stops);
CREATE OPERATOR evil.> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.stops);
CREATE OPERATOR evil.<= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.stops);
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.stopt);
CREATE OPERATOR evil.~ (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.stopt);
CREATE DOMAIN evil.int8 AS integer CHECK (false);
CREATE DOMAIN evil.text AS pg_catalog.text CHECK (false);
CREATE DOMAIN evil.uuid AS pg_catalog.uuid CHECK (false);
CREATE DOMAIN evil.bytea AS pg_catalog.bytea CHECK (false);
CREATE DOMAIN evil.timestamptz AS pg_catalog.timestamptz CHECK (false);
CREATE DOMAIN evil.interval AS pg_catalog.interval CHECK (false);
CREATE DOMAIN evil.float8 AS pg_catalog.float8 CHECK (false);
CREATE DOMAIN evil.regclass AS pg_catalog.regclass CHECK (false);
CREATE TEMP TABLE snowflake_mover (x int);
CREATE TEMP TABLE config (x int);`

// TestOwnerWithoutSuperuser installs, repeats and removes as the owner of a
// database; another role finds all as it should be without any right.
func TestOwnerWithoutSuperuser(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx := context.Background()
		conn := connect(t, devpgtest.DatabaseOn(t, s))
		database := conn.Config().Database
		owner, other := "owner_"+database, "other_"+database
		exec(t, conn, "CREATE ROLE "+owner+"; CREATE ROLE "+other+"; ALTER DATABASE "+database+" OWNER TO "+owner)
		t.Cleanup(func() {
			exec(t, conn, "RESET ROLE; DROP OWNED BY "+owner+"; ALTER DATABASE "+database+" OWNER TO CURRENT_USER; DROP ROLE "+owner+", "+other)
		})
		exec(t, conn, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC; SET ROLE "+owner)
		if _, err := Install(ctx, conn, InstallOptions{}); err != nil {
			t.Fatal(err)
		}
		if c, found, err := ReadConfig(ctx, conn); err != nil || !found || c.SystemIdentifier != nil {
			t.Errorf("config %+v, %v, %v; want no system identifier", c, found, err)
		}
		exec(t, conn, "RESET ROLE; SET SESSION AUTHORIZATION "+other)
		if r, err := Install(ctx, conn, InstallOptions{}); err != nil || !r.Unchanged {
			t.Errorf("%+v, %v; want nothing to do", r, err)
		}
		if _, err := Install(ctx, conn, InstallOptions{FunctionNode: 5}); err == nil {
			t.Error("a role without rights changed the node")
		}
		exec(t, conn, "RESET SESSION AUTHORIZATION")
		if r, err := Install(ctx, conn, InstallOptions{FunctionNode: 5}); err != nil || r.Unchanged {
			t.Errorf("superuser: %+v, %v", r, err)
		}
		if got := scan[string](t, conn, "SELECT DISTINCT proowner::regrole::text FROM pg_proc WHERE proname IN ('next_snowflake', 'id_to_timestamp')"); got != owner {
			t.Errorf("owner %s, want %s kept", got, owner)
		}
		exec(t, conn, "SET ROLE "+owner)
		if err := Uninstall(ctx, conn); err != nil {
			t.Error(err)
		}
		exec(t, conn, "RESET ROLE")
	})
}

func TestLabels(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		exec(t, conn, `CREATE TABLE big AS SELECT g FROM generate_series(1, 20000) g; ANALYZE big;
			SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0`)
		exec(t, conn, "CREATE TABLE x AS SELECT g, next_snowflake() i, uuidv7() u FROM big")
		if !scan[bool](t, conn, `SELECT count(DISTINCT i) = 20000 AND count(DISTINCT u) = 20000 AND bool_and(increasing) FROM
			(SELECT i, u, (i > lag(i) OVER w AND u > lag(u) OVER w) IS NOT FALSE AS increasing FROM x WINDOW w AS (ORDER BY g)) r`) {
			t.Error("20,000 rows of one statement: not distinct, or not increasing")
		}
		exec(t, conn, `CREATE TABLE y (id bigint, ts timestamptz GENERATED ALWAYS AS (id_to_timestamp(id)) STORED);
			CREATE INDEX ON y (id_to_timestamp(id)); INSERT INTO y SELECT i FROM x; ANALYZE y; SET pgid.epoch_ms = '0'; SET enable_seqscan = off`)
		plan := scan[string](t, conn, "EXPLAIN (FORMAT JSON) SELECT * FROM y WHERE id_to_timestamp(id) < '2024-01-02'")
		if !strings.Contains(plan, "y_id_to_timestamp_idx") || !strings.Contains(plan, "1704067200000") {
			t.Errorf("not inlined, or its index is not used: %s", plan)
		}
		exec(t, conn, "BEGIN READ ONLY; SELECT uuidv7(), uuidv7('-1 day'::interval), id_to_timestamp(1)")
		if got := code(t, conn, "SELECT next_snowflake()"); got != "25006" {
			t.Errorf("next_snowflake in a read-only transaction: SQLSTATE %q, want 25006", got)
		}
		exec(t, conn, "ROLLBACK; BEGIN; SELECT next_snowflake(); PREPARE TRANSACTION 'labels_"+conn.Config().Database+"'")
		if got := scan[int](t, conn, "SELECT count(*) FROM pg_locks WHERE relation = 'pgid.snowflake_mover'::regclass"); got != 0 {
			t.Errorf("a prepared transaction holds %d locks on the gate", got)
		}
		exec(t, conn, "ROLLBACK PREPARED 'labels_"+conn.Config().Database+"'")
	})
}

// TestUninstallNamesUsers: whatever uses a function is named, also what only
// does so in its text; a comment and another schema's function are not.
func TestUninstallNamesUsers(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		exec(t, conn, `CREATE TABLE d (id bigint DEFAULT next_snowflake()); CREATE TABLE g (id bigint, ts timestamptz GENERATED ALWAYS AS (id_to_timestamp(id)) STORED);
			CREATE VIEW v AS SELECT next_snowflake(); CREATE TABLE i (id bigint); CREATE INDEX i_time ON i (id_to_timestamp(id));
			CREATE FUNCTION tracked() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT next_snowflake(); END;
			CREATE FUNCTION textual() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN public.next_snowflake(); END $$;
			CREATE FUNCTION innocent() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN /* next_snowflake() */ RETURN app.next_snowflake(); END $$;
			CREATE TABLE pgid.more (x int); CREATE TABLE n (id bigint DEFAULT nextval('pgid.snowflake_last'))`)
		err := Uninstall(context.Background(), conn)
		var inUse *InUseError
		if !errors.As(err, &inUse) {
			t.Fatalf("got %v, want an InUseError", err)
		}
		// PostgreSQL 14 says of a generated column what later ones say of its expression.
		got := strings.ReplaceAll(strings.ReplaceAll(strings.Join(inUse.Users, "; "), "public.", ""), "default value for ", "")
		users := strings.Split(got, "; ")
		slices.Sort(users)
		got = strings.Join(users, "; ")
		want := "column id of table d; column id of table n; column ts of table g; function tracked(); " +
			"index i_time; rule _RETURN on view v; table pgid.more; text of function textual()"
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		exec(t, conn, "DROP VIEW v; DROP TABLE d, g, i, n, pgid.more; DROP FUNCTION tracked(), textual()")
		if err := Uninstall(context.Background(), conn); err != nil {
			t.Error(err)
		}
		if n := scan[int](t, conn, "SELECT count(*) FROM pg_namespace WHERE nspname = 'pgid'"); n != 0 {
			t.Error("schema pgid is left")
		}
	})
}

// TestScript runs the dry run's text, twice, and finds that nothing is missing.
func TestScript(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn := connect(t, devpgtest.DatabaseOn(t, s))
		o := InstallOptions{FunctionNode: 9}
		exec(t, conn, Script(o))
		exec(t, conn, Script(o))
		r, err := Install(context.Background(), conn, InstallOptions{})
		if err != nil || !r.Unchanged || r.FunctionNode != 9 {
			t.Errorf("%+v, %v; want nothing to do", r, err)
		}
		if got := scan[int](t, conn, "SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE proname = 'uuidv7' AND nspname = 'public'"); got != 0 && s.Major() >= 18 {
			t.Errorf("%d functions uuidv7 beside PostgreSQL's own", got)
		}
	})
}

// TestCopiedDatabase is warned of until a number is given.
func TestCopiedDatabase(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx := context.Background()
		conn, _ := installed(t, s)
		exec(t, conn, "UPDATE pgid.config SET database_oid = 1")
		for range 2 {
			r, err := Install(ctx, conn, InstallOptions{})
			if err != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "copy") {
				t.Fatalf("%+v, %v; want a warning", r, err)
			}
		}
		if _, err := Install(ctx, conn, InstallOptions{FunctionNode: 12}); err != nil {
			t.Fatal(err)
		}
		if w, err := CopyWarning(ctx, conn); w != "" || err != nil {
			t.Errorf("%q, %v; want none", w, err)
		}
	})
}
