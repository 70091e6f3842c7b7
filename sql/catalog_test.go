package sql

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/rewrite"
)

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
			CREATE TABLE updated (id bigint); CREATE RULE u AS ON UPDATE TO updated DO INSTEAD NOTHING;
			CREATE UNLOGGED TABLE unlogged (id bigint); CREATE MATERIALIZED VIEW m AS SELECT * FROM plain;
			CREATE TEMP TABLE only_temp (id bigint);
			CREATE SCHEMA other; CREATE TABLE other.twice (id bigint); CREATE VIEW twice AS SELECT * FROM plain;
			CREATE FUNCTION sets() RETURNS SETOF int LANGUAGE sql AS 'SELECT 1';
			CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1';
			CREATE AGGREGATE agg(int) (SFUNC = int4pl, STYPE = int);
			CREATE FUNCTION sets(int, int) RETURNS SETOF int LANGUAGE sql AS 'SELECT 1';
			CREATE OPERATOR <+> (LEFTARG = int, RIGHTARG = int, FUNCTION = sets);
			CREATE FUNCTION adds(int, int) RETURNS int LANGUAGE sql AS 'SELECT 1';
			CREATE OPERATOR <-+> (LEFTARG = int, RIGHTARG = int, FUNCTION = adds);
			CREATE DOMAIN small AS int; CREATE TEMP VIEW plain AS SELECT 1 AS id`)
		c, err := LoadCatalog(context.Background(), conn)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{
			"INSERT INTO plain VALUES (next_snowflake())":          false, // or the temporary view
			"INSERT INTO public.plain VALUES (next_snowflake())":   true,
			"INSERT INTO part VALUES (next_snowflake())":           true,
			"INSERT INTO unlogged VALUES (next_snowflake())":       true,
			"INSERT INTO updated VALUES (next_snowflake())":        true,
			"INSERT INTO other.twice VALUES (next_snowflake())":    true,
			"INSERT INTO twice VALUES (next_snowflake())":          false, // search_path decides
			"INSERT INTO ruled VALUES (next_snowflake())":          false,
			"INSERT INTO v VALUES (next_snowflake())":              false,
			"INSERT INTO m VALUES (next_snowflake())":              false,
			"INSERT INTO only_temp VALUES (next_snowflake())":      false,
			"INSERT INTO missing VALUES (next_snowflake())":        false,
			"INSERT INTO part VALUES (next_snowflake(), sets())":   false,
			"INSERT INTO part VALUES (next_snowflake(), one())":    true,
			"INSERT INTO part VALUES (next_snowflake(), agg(1))":   false,
			"INSERT INTO part VALUES (next_snowflake(), 1 <+> 2)":  false,
			"INSERT INTO part VALUES (next_snowflake(), 1 <-+> 2)": true,
			"INSERT INTO part VALUES (next_snowflake(), small(1))": false, // no function of that name
			"INSERT INTO part VALUES (next_snowflake(), int8(1))":  true,
			"SELECT next_snowflake(), public.next_snowflake()":     true,
			"SELECT uuidv7()":           true,
			"SELECT id_to_timestamp(1)": true,
		} {
			if got := replaces(c, text); got != want {
				t.Errorf("%s: replaced %v, want %v", text, got, want)
			}
		}
	})
}

// TestOursOrAnothers changes a database in ways that change which function a
// name means.
func TestOursOrAnothers(t *testing.T) {
	const anothers = " RETURNS bigint LANGUAGE sql AS 'SELECT 42::bigint'"
	tests := []struct {
		name, change, undo string
		left               string // the names that are left to the server
	}{
		{"as installed", "", "", ""},
		{"shadowed", "CREATE FUNCTION app.next_snowflake()" + anothers, "DROP FUNCTION app.next_snowflake()", "next_snowflake"},
		{"optional argument", "CREATE FUNCTION app.next_snowflake(int DEFAULT 1)" + anothers, "DROP FUNCTION app.next_snowflake(int)", "next_snowflake"},
		{"other arguments", "CREATE FUNCTION app.next_snowflake(int)" + anothers, "DROP FUNCTION app.next_snowflake(int)", ""},
		{"aggregate", "CREATE AGGREGATE app.next_snowflake(*) (SFUNC = pg_catalog.int8inc, STYPE = bigint, INITCOND = 0)", "DROP AGGREGATE app.next_snowflake(*)", "next_snowflake"},
		{"temporary", "CREATE FUNCTION pg_temp.next_snowflake()" + anothers, "DROP FUNCTION pg_temp.next_snowflake()", ""},
		{"a user's uuidv7", "CREATE FUNCTION app.uuidv7()" + anothers, "DROP FUNCTION app.uuidv7()", "uuidv7"},
		{"overload", "CREATE FUNCTION app.id_to_timestamp(date)" + anothers, "DROP FUNCTION app.id_to_timestamp(date)", "id_to_timestamp"},
		{"overload of two", "CREATE FUNCTION app.id_to_timestamp(int, int)" + anothers, "DROP FUNCTION app.id_to_timestamp(int, int)", ""},
		{"variadic", "CREATE FUNCTION app.id_to_timestamp(int, VARIADIC int[])" + anothers, "DROP FUNCTION app.id_to_timestamp(int, int[])", "id_to_timestamp"},
		{"type", "CREATE DOMAIN app.id_to_timestamp AS text", "DROP DOMAIN app.id_to_timestamp", "id_to_timestamp"},
		{"not open", "REVOKE EXECUTE ON FUNCTION next_snowflake() FROM PUBLIC; GRANT EXECUTE ON FUNCTION next_snowflake() TO postgres",
			"GRANT EXECUTE ON FUNCTION next_snowflake() TO PUBLIC", "next_snowflake"},
		{"one overload not open", "REVOKE EXECUTE ON FUNCTION id_to_timestamp(uuid) FROM PUBLIC",
			"GRANT EXECUTE ON FUNCTION id_to_timestamp(uuid) TO PUBLIC", "id_to_timestamp"},
		{"schema not open", "REVOKE USAGE ON SCHEMA public FROM PUBLIC", "GRANT USAGE ON SCHEMA public TO PUBLIC", "next_snowflake id_to_timestamp uuidv7:17"},
		{"comment", "COMMENT ON FUNCTION next_snowflake() IS 'ids'", "COMMENT ON FUNCTION next_snowflake() IS '" + mark() + "'", ""},
		{"another epoch", "UPDATE pgid.config SET epoch_ms = 0", "UPDATE pgid.config SET epoch_ms = 1704067200000", "next_snowflake id_to_timestamp uuidv7:17"},
		{"dropped", "DROP FUNCTION id_to_timestamp(uuid)", "", "id_to_timestamp"},
		{"another body", "CREATE OR REPLACE FUNCTION next_snowflake()" + anothers, "", "next_snowflake id_to_timestamp"},
	}
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		exec(t, conn, "CREATE SCHEMA app")
		for _, tt := range tests {
			exec(t, conn, tt.change)
			c, err := LoadCatalog(context.Background(), conn)
			if err != nil {
				t.Fatal(err)
			}
			for call, name := range map[string]string{
				"SELECT next_snowflake()": "next_snowflake", "SELECT uuidv7()": "uuidv7", "SELECT id_to_timestamp('1')": "id_to_timestamp",
			} {
				left := strings.Contains(tt.left, name)
				if strings.Contains(tt.left, name+":17") {
					left = s.Major() <= 17 // built in since
				}
				if got := replaces(c, call); got == left {
					t.Errorf("%s: %s: replaced %v, want %v", tt.name, call, got, !left)
				}
			}
			exec(t, conn, tt.undo)
		}
	})
}

func TestNotInstalled(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn := connect(t, devpgtest.DatabaseOn(t, s))
		c, err := LoadCatalog(context.Background(), conn)
		if err != nil {
			t.Fatal(err)
		}
		if replaces(c, "SELECT next_snowflake()") || replaces(c, "SELECT id_to_timestamp(1)") {
			t.Error("replaced what is not there")
		}
		if got, want := replaces(c, "SELECT uuidv7()"), s.Major() >= 18; got != want {
			t.Errorf("uuidv7 replaced %v, want %v", got, want)
		}
	})
}

// TestAfterUpgradeTo18 has the functions of an older server beside the built-in
// one: both give a UUIDv7.
func TestAfterUpgradeTo18(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		exec(t, conn, render(uuidv7SQL, InstallOptions{}))
		c, err := LoadCatalog(context.Background(), conn)
		if err != nil {
			t.Fatal(err)
		}
		if !replaces(c, "SELECT uuidv7()") {
			t.Error("uuidv7 is left alone")
		}
	})
}

func TestCatalogNotes(t *testing.T) {
	s := devpgtest.Server(t)
	conn, _ := installed(t, s)
	ctx := context.Background()
	other := self{node: 5}
	tests := []struct {
		name, change string
		who          self
		replaced     bool
		note         string
	}{
		{"nothing to say", "", other, true, ""},
		{"the proxy's node", "", self{node: DefaultFunctionNode}, false, "node 1023"},
		{"no registry recorded", "", self{node: 5, registry: "A"}, true, ""},
		{"its registry", "UPDATE pgid.config SET registry = 'A'", self{node: 5, registry: "A"}, true, ""},
		{"another registry", "", self{node: 5, registry: "B"}, false, "from registry A, this proxy its own from B"},
		{"its registry is not known", "", other, true, ""},
		{"older functions, known by their mark", "UPDATE pgid.config SET version = 0; CREATE OR REPLACE FUNCTION next_snowflake() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'", other, true, ""},
		{"replaced by a user", fmt.Sprintf("UPDATE pgid.config SET version = %d", Version), other, false, "public.next_snowflake() is not as this program installs it"},
		{"a copy", "UPDATE pgid.config SET database_oid = 1", other, false, "a copy"},
		{"another layout", "UPDATE pgid.config SET layout = '42/9/12'", other, false, "in layout 42/9/12"},
	}
	for _, tt := range tests {
		exec(t, conn, tt.change)
		r, err := readCatalog(ctx, conn, tt.who)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.data.Ours[rewrite.NextSnowflake]; got != tt.replaced {
			t.Errorf("%s: next_snowflake ours %v, want %v", tt.name, got, tt.replaced)
		}
		if got := strings.Join(r.notes, "\n"); !strings.Contains(got, tt.note) || tt.note == "" && got != "" {
			t.Errorf("%s: notes %q, want %q in them", tt.name, got, tt.note)
		}
	}
}

// TestShippedBodies holds the bodies that are looked for against those that are
// installed.
func TestShippedBodies(t *testing.T) {
	bodies := shippedBodies(InstalledConfig{Schema: "public", FunctionNode: 1})
	for _, f := range functions(0) {
		if bodies[f] == "" {
			t.Errorf("no body of %s(%s)", f.name, f.args)
		}
	}
	if len(bodies) != len(functions(0)) {
		t.Errorf("%d bodies, want %d", len(bodies), len(functions(0)))
	}
}

// TestHostileSettings reads a catalog where settings of the database would lead
// names and operators elsewhere.
func TestHostileSettings(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, url := installed(t, s)
		want, err := LoadCatalog(context.Background(), conn)
		if err != nil {
			t.Fatal(err)
		}
		exec(t, conn, `CREATE SCHEMA evil;
			CREATE FUNCTION evil.never(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT false';
			CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.never);
			CREATE TABLE evil.pg_class (oid oid); CREATE TABLE evil.pg_proc (oid oid)`)
		exec(t, conn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = evil, pg_catalog', current_database());
			EXECUTE format('ALTER DATABASE %I SET standard_conforming_strings = off', current_database()); END $$`)
		got, err := LoadCatalog(context.Background(), connect(t, url))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"SELECT next_snowflake()", "SELECT uuidv7()", "SELECT id_to_timestamp('1')", "INSERT INTO evil.pg_class VALUES (next_snowflake())"} {
			if w := replaces(want, text) || strings.HasPrefix(text, "INSERT"); replaces(got, text) != w {
				t.Errorf("%s: replaced %v, want %v", text, !w, w)
			}
		}
	})
}
