package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// client runs one of PostgreSQL's own programs and returns its output, errors
// among it, and whether it ended with exit code 0.
func client(tb testing.TB, name string, args ...string) (string, bool) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), name, args...)
	cmd.Env = append(os.Environ(), "PGCLIENTENCODING=UTF8", "PSQLRC=/dev/null", "LC_ALL=C")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, exit := err.(*exec.ExitError); err != nil && !exit {
		tb.Fatalf("run %s: %v", name, err)
	}
	return out.String(), err == nil
}

func mustRun(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	out, ok := client(tb, name, args...)
	if !ok {
		tb.Fatalf("%s %q:\n%s", name, args, out)
	}
	return out
}

var (
	processID = regexp.MustCompile(`PID [0-9]+`)
	psqlIDs   = regexp.MustCompile(`\b[0-9]{17,19}\b`)
)

func TestPsql(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		output := func(url string) []string {
			out, _ := client(t, "psql", "-X", "-d", url, "-f", "testdata/psql/session.sql")
			return strings.Split(newMask().text(processID.ReplaceAllString(out, "PID <pid>")), "\n")
		}
		direct := s.URL(newDatabase(t, s))
		_, through := proxied(t, s)
		want, got := output(direct), output(through)
		if d := diff(want, got); d != "" {
			t.Errorf("through the proxy (+) and directly (-):\n%s", d)
		}
		if !strings.Contains(strings.Join(want, "\n"), "<id 8>") {
			t.Errorf("directly, psql shows too few ids:\n%s", strings.Join(want, "\n"))
		}
	})
}

func TestPsqlTwoIDs(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		_, url := proxied(t, s)
		out := mustRun(t, "psql", "-X", "-At", "-d", url, "-v", "ON_ERROR_STOP=1",
			"-c", "INSERT INTO t(id) VALUES (next_snowflake()),(next_snowflake())", "-c", "SELECT id FROM t")
		got := newIDs(t, proxyNode)
		for _, text := range psqlIDs.FindAllString(out, -1) {
			var id int64
			fmt.Sscan(text, &id)
			got.add(id)
		}
		got.want(2)
		if out, ok := client(t, "psql", "-X", "-d", url, "-v", "ON_ERROR_STOP=1", "-c", "SELECT next_snowflake(), nope"); ok || !strings.Contains(out, "nope") {
			t.Errorf("ON_ERROR_STOP: ended well: %v\n%s", ok, out)
		}
	})
}

func TestPgbench(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		script := filepath.Join(t.TempDir(), "script.sql")
		err := os.WriteFile(script, []byte(`\set n random(1, 100000)
BEGIN;
INSERT INTO t(id, id2, u, n) VALUES (next_snowflake(), next_snowflake(), uuidv7(), :n);
INSERT INTO acct(name) VALUES ('bench');
SELECT next_snowflake();
END;
`), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for _, protocol := range []string{"simple", "extended", "prepared"} {
			t.Run(protocol, func(t *testing.T) {
				t.Parallel()
				const clients, transactions = 8, 50
				direct, url := proxied(t, s)
				mustRun(t, "pgbench", "-n", "-M", protocol, "-c", fmt.Sprint(clients), "-j", "2", "-t", fmt.Sprint(transactions), "-f", script, url)
				conn := connectTo(t, direct)
				got := query(t, conn, fmt.Sprintf(`SELECT concat_ws(' ', count(*), count(DISTINCT id), count(DISTINCT id2), count(DISTINCT u),
					bool_and(id >> 12 & 1023 = %d AND id2 >> 12 & 1023 = %[1]d AND id2 > id)) FROM t`, proxyNode))[0]
				if n := clients * transactions; got != fmt.Sprintf("%d %[1]d %[1]d %[1]d t", n) {
					t.Errorf("rows, ids, second ids, uuids, of the proxy's node: %s, want %d each", got, n)
				}
				got = query(t, conn, fmt.Sprintf("SELECT concat_ws(' ', count(*), bool_and(id >> 12 & 1023 = %d)) FROM acct", proxyNode))[0]
				if want := fmt.Sprintf("%d t", clients*transactions); got != want {
					t.Errorf("rows with a default, of the proxy's node: %s, want %s", got, want)
				}
			})
		}
	})
}

// TestDump wants dumps taken through the proxy to be those taken directly, and
// to be restored through it. pg_dump refuses servers newer than itself.
func TestDump(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		var major int
		fmt.Sscanf(mustRun(t, "pg_dump", "--version"), "pg_dump (PostgreSQL) %d", &major)
		if s.Major() > major {
			if out, ok := client(t, "pg_dump", s.URL("postgres")); ok {
				t.Errorf("pg_dump %d dumps a server of version %d:\n%s", major, s.Major(), out)
			}
			return
		}
		direct, url := proxied(t, s)
		fill := `INSERT INTO acct(name) SELECT 'a' || g FROM generate_series(1, 100) g;
			INSERT INTO doc(title) SELECT 'next_snowflake() ' || g FROM generate_series(1, 100) g;
			CREATE VIEW made AS SELECT next_snowflake() AS id, id_to_timestamp(7) AS at;
			CREATE FUNCTION atomic_one() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT next_snowflake(); END;
			CREATE INDEX ON acct (id_to_timestamp(id));
			CREATE TABLE "Ünï" (id bigint DEFAULT next_snowflake(), at timestamptz GENERATED ALWAYS AS (id_to_timestamp(id)) STORED)`
		if err := execAt(url, fill); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		plain := func(name, url string) string {
			file := filepath.Join(dir, name)
			mustRun(t, "pg_dump", "-f", file, url)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		want, got := plain("direct.sql", direct), plain("through.sql", url)
		restrict := regexp.MustCompile(`(?m)^\\(un)?restrict .*$`)
		if d := diff(dumpLines(restrict, want), dumpLines(restrict, got)); d != "" {
			t.Fatalf("plain dumps through the proxy (+) and directly (-):\n%s", d)
		}
		mustRun(t, "pg_dump", "-Fd", "-j2", "-f", filepath.Join(dir, "dir"), url)
		mustRun(t, "pg_dump", "-Fc", "-f", filepath.Join(dir, "custom"), url)

		// Restored, all three dump again to the same text, and the functions work.
		for name, restore := range map[string]func(url string){
			"plain": func(url string) {
				mustRun(t, "psql", "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", filepath.Join(dir, "through.sql"))
			},
			"directory": func(url string) { mustRun(t, "pg_restore", "-j2", "-e", "-d", url, filepath.Join(dir, "dir")) },
			"custom":    func(url string) { mustRun(t, "pg_restore", "-1", "-e", "-d", url, filepath.Join(dir, "custom")) },
		} {
			empty := emptyDatabase(t, s)
			through := fixtureOf(t, s).proxy.databaseURL(empty)
			restore(through)
			if d := diff(dumpLines(restrict, want), dumpLines(restrict, plain(name+".again.sql", s.URL(empty)))); d != "" {
				t.Errorf("%s: dumped again (+), at first (-):\n%s", name, d)
			}
			if err := execAt(through, "SET search_path = ''; INSERT INTO public.acct(name) VALUES ('x'); SELECT public.id_to_timestamp(1), public.atomic_one(); SELECT * FROM public.made"); err != nil {
				t.Errorf("%s: after the restore: %v", name, err)
			}
		}
	})
}

// dumpLines are the lines of a dump without the key that newer versions of
// pg_dump choose at random.
func dumpLines(restrict *regexp.Regexp, dump string) []string {
	return strings.Split(restrict.ReplaceAllString(dump, ""), "\n")
}
