package sql

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// TestFindings makes states that are no danger, one after another.
func TestFindings(t *testing.T) {
	const anothers = " RETURNS bigint LANGUAGE sql AS 'SELECT 42::bigint'"
	tests := []struct {
		check, change, undo string
		level               Level
		want                string
	}{
		{"installed", "UPDATE pgid.config SET version = 2", "UPDATE pgid.config SET version = 3", LevelWarning, "of version 2, this program's of version 3 → Run pgidproxy install."},
		{"installed", "UPDATE pgid.config SET version = 99", "UPDATE pgid.config SET version = 3", LevelWarning, "knows up to 3"},
		{"functions", "ALTER FUNCTION id_to_timestamp(bigint) STABLE", "ALTER FUNCTION id_to_timestamp(bigint) IMMUTABLE", LevelWarning, "public.id_to_timestamp(bigint): it is STABLE instead of IMMUTABLE →"},
		{"functions", "ALTER FUNCTION next_snowflake() PARALLEL SAFE", "ALTER FUNCTION next_snowflake() PARALLEL UNSAFE", LevelWarning, "PARALLEL SAFE instead of PARALLEL UNSAFE"},
		{"functions", "REVOKE EXECUTE ON FUNCTION next_snowflake() FROM PUBLIC", "GRANT EXECUTE ON FUNCTION next_snowflake() TO PUBLIC", LevelWarning, "GRANT EXECUTE ON FUNCTION public.next_snowflake() TO PUBLIC;"},
		{"functions", "ALTER EXTENSION plpgsql ADD FUNCTION next_snowflake()", "ALTER EXTENSION plpgsql DROP FUNCTION next_snowflake()", LevelWarning, "belongs to extension plpgsql"},
		{"functions", "ALTER FUNCTION id_to_timestamp(uuid) OWNER TO pg_monitor", "ALTER FUNCTION id_to_timestamp(uuid) OWNER TO postgres", LevelWarning, "belongs to pg_monitor, but schema pgid to postgres"},
		{"names", "CREATE SCHEMA app; CREATE FUNCTION app.next_snowflake()" + anothers, "DROP SCHEMA app CASCADE", LevelWarning, "app.next_snowflake(): a function of its own, which calls without a schema mean in sessions"},
		{"names", "CREATE SCHEMA app; CREATE DOMAIN app.id_to_timestamp AS text", "DROP SCHEMA app CASCADE", LevelWarning, "app.id_to_timestamp: a type"},
		{"defaults", "CREATE SCHEMA app; CREATE FUNCTION app.next_snowflake()" + anothers + "; CREATE TABLE app.t (id bigint DEFAULT app.next_snowflake())", "DROP SCHEMA app CASCADE",
			LevelWarning, "app.t.id: calls app.next_snowflake(), which is not ours → If ours is meant: ALTER TABLE app.t ALTER COLUMN id SET DEFAULT public.next_snowflake();"},
		{"defaults", "CREATE TABLE t (id text DEFAULT 'o_' || next_snowflake())", "DROP TABLE t", LevelOK, "public.t.id: calls ours, public.next_snowflake(), within an expression"},
		{"json", "CREATE TABLE t (id bigint DEFAULT next_snowflake(), n int); CREATE VIEW v AS SELECT jsonb_build_object('id', id) FROM t; CREATE VIEW w AS SELECT row_to_json(t) FROM t; " +
			"CREATE VIEW fine AS SELECT to_json(n) FROM t; CREATE FUNCTION f() RETURNS json LANGUAGE sql AS 'SELECT json_agg(t) FROM t'; " +
			"CREATE FUNCTION g() RETURNS json LANGUAGE sql BEGIN ATOMIC SELECT json_agg(t) FROM t; END",
			"DROP TABLE t CASCADE; DROP FUNCTION f()", LevelNote, "function public.f(): it makes JSON of rows of public.t, in which a snowflake is a number over 2^53, that JavaScript and others round → Cast the id to text there, or read it as a string or BigInt.\n" +
				"function public.g(): it makes JSON of rows of public.t, in which a snowflake is a number over 2^53, that JavaScript and others round → Cast the id to text there, or read it as a string or BigInt.\n" +
				"view public.v: it makes JSON of rows of public.t, in which a snowflake is a number over 2^53, that JavaScript and others round → Cast the id to text there, or read it as a string or BigInt.\n" +
				"view public.w: it makes JSON"},
		{"copy", "UPDATE pgid.config SET system_identifier = NULL", "UPDATE pgid.config SET system_identifier = (SELECT system_identifier FROM pg_control_system())", LevelNote, "the server's identifier was not recorded"},
		{"registry", "UPDATE pgid.config SET registry = 'A'", "UPDATE pgid.config SET registry = NULL", LevelNote, "registry A, which was not looked at"},
		{"sequences", "SELECT next_snowflake(), nextval('pgid.snowflake_gate')", "SELECT nextval('pgid.snowflake_gate')", LevelNote, "pgid.snowflake_gate: a session died"},
		{"sequences", setAhead(5), "SELECT 1", LevelWarning, "cannot follow a burst of ids; from 15s on INSERT fails"},
		{"event_triggers", "ALTER EVENT TRIGGER pgidproxy_drop DISABLE", "ALTER EVENT TRIGGER pgidproxy_drop ENABLE", LevelNote, "pgidproxy_drop: it is disabled"},
		{"event_triggers", "ALTER FUNCTION pgid.notify_ddl() OWNER TO pg_monitor", "ALTER FUNCTION pgid.notify_ddl() OWNER TO postgres", LevelWarning, "belongs to another role than itself"},
		{"event_triggers", "DROP FUNCTION pgid.notify_ddl() CASCADE", "", LevelNote, "there are none"},
		{"publications", "CREATE PUBLICATION p FOR ALL TABLES", "DROP PUBLICATION p", LevelWarning, "publication p: it carries pgid.config"},
		{"publications", "CREATE PUBLICATION p FOR TABLE pgid.config", "DROP PUBLICATION p", LevelWarning, "ALTER PUBLICATION p DROP"},
		{"grants", "REVOKE USAGE ON SCHEMA public FROM PUBLIC", "GRANT USAGE ON SCHEMA public TO PUBLIC", LevelWarning, "GRANT USAGE ON SCHEMA public TO PUBLIC;"},
		{"grants", "REVOKE SELECT ON pgid.config FROM PUBLIC", "GRANT SELECT ON pgid.config TO PUBLIC", LevelWarning, "not everybody may read what is installed"},
	}
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		for _, tt := range tests {
			if got := diagnose(t, conn, DoctorOptions{}).of(tt.check, tt.level); strings.Contains(got, tt.want) {
				t.Errorf("%s: said without %s: %s", tt.check, tt.change, got)
			}
			exec(t, conn, tt.change)
			if got := diagnose(t, conn, DoctorOptions{}).of(tt.check, tt.level); !strings.Contains(got, tt.want) {
				t.Errorf("%s: after %s\ngot  %s\nwant %s", tt.check, tt.change, got, tt.want)
			}
			if tt.undo != "" {
				exec(t, conn, tt.undo)
			}
		}
		// It is the first look that shows that the events' triggers sleep on these servers.
		if s.Major() >= 18 {
			exec(t, conn, render(uuidv7SQL, InstallOptions{})+grants(InstallOptions{}, functions(0)[4:])+"; CREATE TABLE u (id uuid DEFAULT public.uuidv7())")
			d := diagnose(t, conn, DoctorOptions{})
			if got := d.of("defaults", LevelNote); !strings.Contains(got, "public.u.id: calls public.uuidv7(), ours from before the upgrade") || d.of("functions", LevelNote) == "" {
				t.Errorf("after an upgrade: %s", got)
			}
		}
	})
}

// TestNotInstalledDiagnosis: it is no danger while nothing relies on the functions.
func TestNotInstalledDiagnosis(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn := connect(t, devpgtest.DatabaseOn(t, s))
		d := diagnose(t, conn, DoctorOptions{})
		if d.bad() != "warning installed: : the functions are not installed in this database → Run pgidproxy install." {
			t.Errorf("got %s", d.bad())
		}
		exec(t, conn, "CREATE SCHEMA app; "+render(functionsSQL, InstallOptions{Schema: "app", FunctionNode: 9}))
		if got := diagnose(t, conn, DoctorOptions{}).bad(); !strings.HasPrefix(got, "warning installed: app.next_snowflake(): there, but what it needs in schema pgid is missing") {
			t.Errorf("left over: %s", got)
		}
	})
}

// TestDiagnosisOfOthers: a role without rights is told what it may not see.
func TestDiagnosisOfOthers(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		role := "stranger_" + conn.Config().Database
		exec(t, conn, "CREATE ROLE "+role)
		t.Cleanup(func() { exec(t, conn, "RESET ROLE; DROP ROLE "+role) })
		exec(t, conn, "REVOKE USAGE ON SCHEMA pgid FROM PUBLIC; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC; "+
			"CREATE TABLE t (id bigint DEFAULT next_snowflake()); SET ROLE "+role)
		d := diagnose(t, conn, DoctorOptions{})
		if d.Count(LevelDanger) != 0 || !strings.Contains(d.of("installed", LevelWarning), "GRANT USAGE ON SCHEMA pgid TO PUBLIC") {
			t.Errorf("got %s", d.bad())
		}
		exec(t, conn, "RESET ROLE; GRANT USAGE ON SCHEMA pgid TO PUBLIC; SET ROLE "+role)
		d = diagnose(t, conn, DoctorOptions{Registry: &DoctorRegistry{ID: "A", Nodes: []DoctorNode{{Node: 1023, Functions: true, Holder: "5 of system 6"}}}})
		if d.Count(LevelDanger) != 0 || !strings.Contains(d.of("copy", LevelNote), "GRANT EXECUTE ON FUNCTION pg_control_system()") ||
			!strings.Contains(d.of("node", LevelNote), "may not read whether this is it") || !strings.Contains(d.of("sequences", LevelNote), "may not read how far") {
			t.Errorf("got %v", d.Findings)
		}
		exec(t, conn, "RESET ROLE; GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
	})
}

// TestDoctorRegistry: what is said of the registry where nothing is wrong with the
// database.
func TestDoctorRegistry(t *testing.T) {
	conn, _ := installed(t, devpgtest.Server(t))
	for _, tt := range []struct {
		name, recorded string
		registry       *DoctorRegistry
		level          Level
		want           string
	}{
		{"none", "NULL", nil, LevelNote, "the database records no registry"},
		{"away", "'A'", &DoctorRegistry{Err: "no route"}, LevelWarning, "cannot be read: no route"},
		{"not recorded", "NULL", &DoctorRegistry{ID: "A"}, LevelWarning, "does not record"},
		{"both empty", "NULL", &DoctorRegistry{}, LevelNote, "the registry is empty"},
		{"its own", "'A'", &DoctorRegistry{Implied: true, ID: "A"}, LevelOK, "agree that it is A"},
		{"another in the database", "'A'", &DoctorRegistry{Implied: true, ID: "B"}, LevelNote, "registry A, which was not looked at"},
		{"none in the database", "'A'", &DoctorRegistry{Implied: true, Err: "no such table"}, LevelNote, "registry A, which was not looked at"},
		{"waits", "'A'", &DoctorRegistry{ID: "A", Wait: 10 * time.Second}, LevelNote, "hands out nothing for another 10s"},
		{"ill", "'A'", &DoctorRegistry{ID: "A", Problems: []string{"it forgets"}}, LevelWarning, "the registry: it forgets"},
	} {
		exec(t, conn, "UPDATE pgid.config SET registry = "+tt.recorded)
		d, err := Diagnose(context.Background(), conn, DoctorOptions{Registry: tt.registry})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.of("registry", tt.level); !strings.Contains(got, tt.want) || d.of("registry", LevelDanger) != "" {
			t.Errorf("%s: got %v", tt.name, d.Findings)
		}
	}
}

// TestDoctorSearchPath: for whom a call without a schema does not reach the
// functions.
func TestDoctorSearchPath(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		url := devpgtest.DatabaseOn(t, s)
		conn := connect(t, url)
		database := conn.Config().Database
		role := "path_" + database
		exec(t, conn, "CREATE SCHEMA ids; CREATE ROLE "+role+" LOGIN")
		t.Cleanup(func() { exec(t, conn, "DROP ROLE "+role) })
		if _, err := Install(context.Background(), conn, InstallOptions{Schema: "ids"}); err != nil {
			t.Fatal(err)
		}
		check := func(what, want string) {
			t.Helper()
			got := diagnose(t, connect(t, url), DoctorOptions{}).of("search_path", LevelWarning)
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		check("no path is set", `the server's default: search_path is "$user", public, which does not reach schema ids`)
		exec(t, conn, "ALTER DATABASE "+database+` SET search_path = "$user", "IDS", ids`)
		check("the database's does", "")
		exec(t, conn, "ALTER ROLE "+role+" SET search_path = ''")
		check("a role's does not", "role "+role+`: search_path is "", which`)
		check("a role's does not", "ALTER ROLE "+role+" SET search_path = ids;")
		exec(t, conn, "ALTER ROLE "+role+" IN DATABASE "+database+" SET search_path = public, ids")
		check("it does here", "")
		exec(t, conn, "ALTER ROLE "+role+" IN DATABASE "+database+" SET search_path = a, b")
		check("it does not here", "ALTER ROLE "+role+" IN DATABASE "+database+" SET search_path = a, b, ids;")
		exec(t, conn, "ALTER ROLE "+role+" NOLOGIN")
		check("nobody signs on with it", "")
	})
}

func TestPathNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		``: ``, ` `: ``, `""`: `|`, `"$user", public`: `$user|public|`, `Public ,"A""b",c`: `public|A"b|c|`, `"a, b",c`: `a, b|c|`, `"open`: `open|`, `,a`: `|a|`,
	} {
		got := ""
		for _, name := range pathNames(path) {
			got += name + "|"
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}
