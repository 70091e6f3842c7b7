package sql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

func diagnose(t *testing.T, conn *pgx.Conn, o DoctorOptions) Diagnosis {
	t.Helper()
	d, err := Diagnose(context.Background(), conn, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// of returns what a check says at a level, a line each.
func (d Diagnosis) of(check string, level Level) string {
	var lines []string
	for _, f := range d.Findings {
		if f.Check == check && f.Level == level {
			lines = append(lines, f.Subject+": "+f.Finding+" → "+f.Advice)
		}
	}
	return strings.Join(lines, "\n")
}

// bad lists what is worse than a note.
func (d Diagnosis) bad() string {
	var lines []string
	for _, c := range checks {
		for _, level := range []Level{LevelWarning, LevelDanger} {
			if s := d.of(c.name, level); s != "" {
				lines = append(lines, fmt.Sprintf("%s %s: %s", level, c.name, s))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// TestHealthy: what was just installed is as it should be, for a superuser, the
// owner and a stranger.
func TestHealthy(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn := connect(t, devpgtest.DatabaseOn(t, s))
		database := conn.Config().Database
		owner, stranger := "owner_"+database, "stranger_"+database
		exec(t, conn, "CREATE ROLE "+owner+" LOGIN; CREATE ROLE "+stranger+" LOGIN; ALTER DATABASE "+database+" OWNER TO "+owner)
		t.Cleanup(func() {
			exec(t, conn, "RESET SESSION AUTHORIZATION; DROP OWNED BY "+owner+"; ALTER DATABASE "+database+" OWNER TO CURRENT_USER; DROP ROLE "+owner+", "+stranger)
		})
		exec(t, conn, "GRANT CREATE ON SCHEMA public TO "+owner)
		for _, who := range []string{"superuser", "owner"} {
			if who == "owner" {
				exec(t, conn, "DROP TABLE t")
				if err := Uninstall(context.Background(), conn); err != nil {
					t.Fatal(err)
				}
				exec(t, conn, "SET SESSION AUTHORIZATION "+owner)
			}
			if _, err := Install(context.Background(), conn, InstallOptions{}); err != nil {
				t.Fatal(err)
			}
			exec(t, conn, "CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_snowflake(), u uuid DEFAULT uuidv7(), parent bigint REFERENCES t); INSERT INTO t DEFAULT VALUES")
			d := diagnose(t, conn, DoctorOptions{})
			if bad := d.bad(); bad != "" {
				t.Errorf("%s:\n%s", who, bad)
			}
			if got := d.of("defaults", LevelOK); !strings.HasPrefix(got, "public.t.id: calls ours, public.next_snowflake() → \npublic.t.u: calls ") {
				t.Errorf("%s: defaults %s", who, got)
			}
			var said []string
			for _, f := range d.Findings {
				said = append(said, f.Check)
			}
			for _, c := range checks {
				if !slices.Contains(said, c.name) {
					t.Errorf("%s: nothing is said of %s", who, c.name)
				}
			}
		}
		exec(t, conn, "SET SESSION AUTHORIZATION DEFAULT; SET SESSION AUTHORIZATION "+stranger)
		if bad := diagnose(t, conn, DoctorOptions{}).bad(); bad != "" {
			t.Errorf("stranger:\n%s", bad)
		}
	})
}

// A danger is a state that a check warns of.
type danger struct {
	name, check string
	setUp       string // before which there is no danger
	change      string // after which there is
	want        string // in what is said
	since       int    // major version from which on there is such a state
	options     func(key string) DoctorOptions
}

var dangers = []danger{
	{name: "schema pgid is lost", check: "installed", setUp: "CREATE TABLE t (id bigint DEFAULT next_snowflake())", change: "DROP SCHEMA pgid CASCADE",
		want: "public.next_snowflake(): the default of columns, but what it needs in schema pgid is missing"},
	{name: "a maker is missing", check: "functions", change: "DROP FUNCTION next_snowflake()", want: "public.next_snowflake(): it is missing"},
	{name: "another text", check: "functions", change: "CREATE OR REPLACE FUNCTION next_snowflake() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT 42::bigint'",
		want: "public.next_snowflake(): its text is not the one that was installed"},
	{name: "not ours", check: "functions", change: "DROP FUNCTION next_snowflake(); CREATE FUNCTION next_snowflake() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT 42::bigint'",
		want: "public.next_snowflake(): it is not the function that was installed"},
	{name: "another node than recorded", check: "functions", change: "UPDATE pgid.config SET function_node = 7",
		want: "public.next_snowflake(): it mints under node 1023, but the database records node 7"},
	{name: "stable", check: "functions", change: "ALTER FUNCTION next_snowflake() STABLE", want: "STABLE instead of VOLATILE: PostgreSQL may compute one id for many rows → ALTER FUNCTION public.next_snowflake() VOLATILE;"},
	{name: "invoker", check: "functions", change: "ALTER FUNCTION next_snowflake() SECURITY INVOKER", want: "SECURITY INVOKER instead of SECURITY DEFINER"},
	{name: "owner without rights", check: "functions", setUp: "CREATE ROLE {role}", change: "ALTER FUNCTION next_snowflake() OWNER TO {role}",
		want: "public.next_snowflake(): it belongs to {role}, who has no rights on its sequences, so that INSERT fails → ALTER FUNCTION public.next_snowflake() OWNER TO postgres;"},
	{name: "may not execute", check: "grants", setUp: "CREATE ROLE {role}; CREATE TABLE t (id bigint DEFAULT next_snowflake()); GRANT INSERT ON t TO {role}",
		change: "REVOKE EXECUTE ON FUNCTION next_snowflake() FROM PUBLIC", want: "{role}: may insert into public.t, but not call its default public.next_snowflake(), so that INSERT fails → GRANT EXECUTE ON FUNCTION public.next_snowflake() TO {role};"},
	{name: "a copy with another node", check: "defaults", setUp: "CREATE SCHEMA app; CREATE TABLE t (id bigint DEFAULT next_snowflake()); {copy 1023}; CREATE TABLE c (id bigint DEFAULT app.next_snowflake())",
		change: "{copy 5}", want: "public.c.id: calls app.next_snowflake(), a copy of ours that mints under node 5, which is not this database's (1023) → ALTER TABLE public.c ALTER COLUMN id SET DEFAULT public.next_snowflake();"},
	{name: "integer", check: "columns", setUp: "CREATE TABLE t (id bigint DEFAULT next_snowflake(), small integer DEFAULT (next_snowflake() % 9)::integer)", change: "ALTER TABLE t ALTER id TYPE integer",
		want: "public.t.id: its default is public.next_snowflake(), but its type integer cannot hold such an id: an INSERT fails, or rounds it → ALTER TABLE public.t ALTER COLUMN id TYPE bigint;"},
	{name: "double precision", check: "columns", setUp: "CREATE TABLE t (id numeric(19) DEFAULT next_snowflake())", change: "ALTER TABLE t ALTER id TYPE double precision", want: "its type double precision"},
	{name: "short text", check: "columns", setUp: "CREATE TABLE t (id varchar(36) DEFAULT uuidv7(), n varchar(19) DEFAULT next_snowflake())", change: "ALTER TABLE t ALTER id TYPE varchar(35)", want: "public.t.id: its default is {uuidv7}, but its type character varying(35)"},
	{name: "small domain", check: "columns", setUp: "CREATE DOMAIN d AS bigint DEFAULT next_snowflake(); CREATE DOMAIN n AS integer; CREATE TABLE t (id bigint)", change: "ALTER TABLE t ADD COLUMN n n DEFAULT next_snowflake()", want: "public.t.n: its default is"},
	{name: "foreign key", check: "columns", setUp: "CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_snowflake()); CREATE TABLE items (of bigint UNIQUE REFERENCES orders, n integer)",
		change: "CREATE TABLE parts (item integer REFERENCES items (of))", want: "public.parts.item: it refers to public.orders.id, but its type integer cannot hold 64 bits"},
	{name: "by name", check: "columns", setUp: `CREATE TABLE orders (id bigint DEFAULT next_snowflake()); CREATE TABLE categories (id bigint DEFAULT next_snowflake()); CREATE TABLE other (id integer PRIMARY KEY);
		CREATE TABLE items (order_id bigint, other_id integer, "categoryId" bigint)`,
		change: `ALTER TABLE items ALTER order_id TYPE integer, ALTER "categoryId" TYPE integer`, want: `public.items."categoryId": by its name it refers to public.categories.id, but its type integer cannot hold 64 bits: ids do not fit → ALTER TABLE public.items ALTER COLUMN "categoryId" TYPE bigint;` +
			"\npublic.items.order_id: by its name it refers to public.orders.id"},
	{name: "another epoch", check: "layout", change: "UPDATE pgid.config SET epoch_ms = 0", want: "count from 1970-01-01T00:00:00Z in layout 41/10/12, this program's from 2024-01-01"},
	{name: "a copy", check: "copy", change: "UPDATE pgid.config SET database_oid = 1", want: "of which this one is a copy: both mint under node 1023 → Run pgidproxy install --new-function-node. If the other is no more (moved, restored, upgraded): pgidproxy install --function-node 1023."},
	{name: "another server", check: "copy", change: "UPDATE pgid.config SET system_identifier = 1", want: "of which this one is a copy"},
	{name: "node out of range", check: "node", change: "UPDATE pgid.config SET function_node = 0", want: "the functions' node 0 is out of range"},
	{name: "another registry", check: "registry", setUp: "UPDATE pgid.config SET registry = 'A'", options: registry("A", 1023, true, ""), change: "UPDATE pgid.config SET registry = 'B'", want: "this is registry A, but the database records registry B"},
	{name: "an empty registry", check: "registry", options: func(string) DoctorOptions { return DoctorOptions{Registry: &DoctorRegistry{}} }, change: "UPDATE pgid.config SET registry = 'B'",
		want: "the registry is empty, but the database records registry B"},
	{name: "not registered", check: "node", setUp: "UPDATE pgid.config SET registry = 'A'", options: registry("A", 1023, true, ""), change: "UPDATE pgid.config SET function_node = 5", want: "node 5, but the registry knows nothing of it"},
	{name: "another's number", check: "node", options: registry("A", 1023, true, "5 of system 6, named shop"), change: "UPDATE pgid.config SET registry = 'A'",
		setUp: "UPDATE pgid.config SET registry = 'B'", want: "node 1023, which the registry has given to another database (5 of system 6, named shop)"},
	{name: "a proxy's number", check: "node", options: registry("A", 1023, false, "a proxy"), change: "UPDATE pgid.config SET registry = 'A'",
		setUp: "UPDATE pgid.config SET registry = 'B'", want: "node 1023, which a proxy holds"},
	{name: "cycle", check: "sequences", change: "ALTER SEQUENCE pgid.snowflake_last CYCLE", want: "pgid.snowflake_last: it is missing, or not as it was made"},
	{name: "cache", check: "sequences", change: "ALTER SEQUENCE pgid.snowflake_last CACHE 20", want: "pgid.snowflake_last: it is missing, or not as it was made"},
	{name: "no sequence", check: "sequences", change: "DROP SEQUENCE pgid.snowflake_gate", want: "pgid.snowflake_gate: it is missing"},
	{name: "unlogged", check: "sequences", change: "ALTER SEQUENCE pgid.snowflake_last SET UNLOGGED", want: "pgid.snowflake_last: it is unlogged", since: 15},
	{name: "the clock has stepped back", check: "sequences", setUp: "SELECT next_snowflake(); " + setAhead(9), change: setAhead(20),
		want: "s ahead of the server's clock, which has stepped back: INSERT fails until it is at most 15s behind"},
	{name: "near the end", check: "sequences", setUp: setAhead(0), change: "SELECT setval('pgid.snowflake_last', 9007199254740990)", want: "within a year of the largest that there can be"},
}

// setAhead puts next_snowflake ahead of the clock.
func setAhead(seconds int) string {
	return fmt.Sprintf("SELECT setval('pgid.snowflake_last', ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1704067200000 + %d000) << 12)", seconds)
}

// registry has given a node to the database's functions, or to another holder.
func registry(id string, node int, functions bool, holder string) func(string) DoctorOptions {
	return func(key string) DoctorOptions {
		nodes := []DoctorNode{{Node: node, Functions: functions, Holder: cmp.Or(holder, key+", named x")}}
		return DoctorOptions{Registry: &DoctorRegistry{ID: id, Nodes: nodes}}
	}
}

// TestDangers makes each state in a transaction that is rolled back, and shows
// that there is no danger without it.
func TestDangers(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		own, err := Identify(context.Background(), conn)
		if err != nil {
			t.Fatal(err)
		}
		uuidv7 := "public.uuidv7()"
		if s.Major() >= 18 {
			uuidv7 = "pg_catalog.uuidv7()"
		}
		copied := func(node int) string {
			return strings.Split(render(functionsSQL, InstallOptions{Schema: "app", FunctionNode: node}), "-- id_to_timestamp")[0]
		}
		fill := strings.NewReplacer("{role}", "role_"+conn.Config().Database, "{uuidv7}", uuidv7, "{copy 1023}", copied(1023), "{copy 5}", copied(5))
		for _, tt := range dangers {
			if s.Major() >= tt.since {
				tt.show(t, conn, own.Key, fill)
			}
		}
	})
}

func (tt danger) show(t *testing.T, conn *pgx.Conn, key string, fill *strings.Replacer) {
	ctx := context.Background()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	var o DoctorOptions
	if tt.options != nil {
		o = tt.options(key)
	}
	after := func(text string) string {
		exec(t, conn, "SET LOCAL search_path = public; "+fill.Replace(text))
		d, err := examine(ctx, tx, o)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		return d.of(tt.check, LevelDanger)
	}
	if got := after(tt.setUp); got != "" {
		t.Errorf("%s: a danger without it: %s", tt.name, got)
	}
	if got, want := after(tt.change), fill.Replace(tt.want); !strings.Contains(got, want) {
		t.Errorf("%s: got  %s\nwant %s", tt.name, got, want)
	}
}

func TestDoctorClock(t *testing.T) {
	conn, _ := installed(t, devpgtest.Server(t))
	for _, tt := range []struct {
		off   time.Duration
		level Level
		want  string
	}{
		{0, LevelOK, "this machine's clock"}, {-3 * time.Second, LevelWarning, "ms behind the server's"},
		{14 * time.Second, LevelWarning, "s ahead of the server's"}, {20 * time.Second, LevelDanger, "more than the 15s that ids may run ahead"},
		{-time.Hour, LevelDanger, "behind the server's"},
	} {
		d := diagnose(t, conn, DoctorOptions{Now: func() time.Time { return time.Now().Add(tt.off) }})
		if got := d.of("clock", tt.level); !strings.Contains(got, tt.want) || tt.level != LevelDanger && d.of("clock", LevelDanger) != "" {
			t.Errorf("%s off: got %q in %v", tt.off, got, d.Findings)
		}
	}
}
