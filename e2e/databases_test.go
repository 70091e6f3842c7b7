package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestDatabaseWithoutFunctions wants a database that we are not installed in,
// or no longer, to behave as it does directly.
func TestDatabaseWithoutFunctions(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		for name, make := range map[string]func() string{
			"never installed": func() string { return emptyDatabase(t, s) },
			"uninstalled": func() string {
				db := newDatabase(t, s)
				// What uses the functions goes first.
				if err := execAt(s.URL(db), "DROP TABLE acct, doc"); err != nil {
					t.Fatal(err)
				}
				if _, err := run("uninstall", "--database-url", s.URL(db)); err != nil {
					t.Fatal(err)
				}
				return db
			},
			"a function of the user's own": func() string {
				db := emptyDatabase(t, s)
				if err := execAt(s.URL(db), "CREATE FUNCTION next_snowflake() RETURNS text LANGUAGE sql AS 'SELECT ''own'''"); err != nil {
					t.Fatal(err)
				}
				return db
			},
		} {
			a := openStream(t, s.URL(make()), newMask())
			b := openStream(t, fixtureOf(t, s).proxy.databaseURL(make()), newMask())
			for _, sql := range []string{
				"SELECT 'ü', next_snowflake()",
				"SELECT public.next_snowflake()",
				"CREATE TABLE x (id bigint DEFAULT next_snowflake(), name text)",
				"CREATE TABLE x (id text, name text)",
				"INSERT INTO x VALUES (next_snowflake(), 'a'), (next_snowflake(), 'b') RETURNING *",
				"SELECT id_to_timestamp(7)",
				"SELECT id_to_timestamp('01940000-0000-7000-8000-000000000001'::uuid)",
				"SELECT 1",
			} {
				if d := diff(a.simple(sql), b.simple(sql)); d != "" {
					t.Errorf("%s: %s: through the proxy (+) and directly (-):\n%s", name, sql, d)
				}
				st := step{text: sql, once: true}
				if d := diff(a.prepareUnnamed(st), b.prepareUnnamed(st)); d != "" {
					t.Errorf("%s: %s, prepared: through the proxy (+) and directly (-):\n%s", name, sql, d)
				}
			}
			for _, id := range b.mask.ids {
				if b.mask.byProxy(id) {
					t.Errorf("%s: the proxy made %s", name, id.text)
				}
			}
		}
	})
}

// FN-06: an ordinary user cannot move what the functions keep, directly or
// through the proxy.
func TestOrdinaryUserCannotMoveState(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		direct, through := proxied(t, s)
		sequences := query(t, connectTo(t, direct), "SELECT oid::regclass FROM pg_class WHERE relkind = 'S' AND relnamespace = 'pgid'::regnamespace")
		tables := query(t, connectTo(t, direct), "SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND relnamespace = 'pgid'::regnamespace")
		if len(sequences)+len(tables) == 0 {
			t.Fatal("the functions keep nothing in schema pgid")
		}
		a, b := openStream(t, direct, newMask()), openStream(t, through, newMask())
		a.simple("SET ROLE e2e_app")
		b.simple("SET ROLE e2e_app")
		var attempts []string
		for _, seq := range sequences {
			attempts = append(attempts, fmt.Sprintf("SELECT setval('%s', 1)", seq), fmt.Sprintf("SELECT nextval('%s')", seq), "ALTER SEQUENCE "+seq+" RESTART")
		}
		for _, table := range tables {
			attempts = append(attempts, "LOCK TABLE "+table, "DELETE FROM "+table, "DROP TABLE "+table, "LOCK TABLE "+table+" IN ACCESS SHARE MODE NOWAIT")
		}
		attempts = append(attempts, "CREATE OR REPLACE FUNCTION next_snowflake() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'", "CREATE TABLE pgid.mine (x int)")
		for _, sql := range attempts {
			want, got := a.simple(sql), b.simple(sql)
			if d := diff(want, got); d != "" {
				t.Errorf("%s: through the proxy (+) and directly (-):\n%s", sql, d)
			}
			refused := slices.ContainsFunc(want, func(line string) bool { return strings.HasPrefix(line, "E") })
			if !refused {
				t.Errorf("%s: an ordinary user may: %v", sql, want)
			}
		}
	})
}
