package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestFillPgx inserts without an id in all modes of pgx.
func TestFillPgx(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		for _, mode := range execModes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				_, through := proxied(t, s)
				config, err := pgx.ParseConfig(through)
				if err != nil {
					t.Fatal(err)
				}
				config.DefaultQueryExecMode = mode
				conn, err := pgx.ConnectConfig(t.Context(), config)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(context.Background())
				got := newIDs(t, proxyNode)
				one := func(sql string, args ...any) {
					t.Helper()
					var id int64
					if err := conn.QueryRow(t.Context(), sql, args...).Scan(&id); err != nil {
						t.Fatalf("%s: %v", sql, err)
					}
					got.add(id)
				}
				for i := range 100 {
					one("INSERT INTO acct(name) VALUES ($1) RETURNING id", fmt.Sprint("n", i))
					one("INSERT INTO acct(id, name, note) VALUES (DEFAULT, $1, $2) RETURNING id", "n", nil)
					one("INSERT INTO acct DEFAULT VALUES RETURNING id")
				}
				var batch pgx.Batch
				for i := range 100 {
					batch.Queue("INSERT INTO acct(name, note) VALUES ($1, $2) RETURNING id", "batch", strconv.Itoa(i)).QueryRow(func(row pgx.Row) error {
						var id int64
						err := row.Scan(&id)
						got.add(id)
						return err
					})
				}
				if err := conn.SendBatch(t.Context(), &batch).Close(); err != nil {
					t.Fatal(err)
				}
				got.want(400)
				tag, err := conn.Exec(t.Context(), "INSERT INTO acct(name) VALUES ($1), ($2)", "a", "b")
				if err != nil || tag.String() != "INSERT 0 2" {
					t.Errorf("two rows: %s, %v", tag, err)
				}
				var u [16]byte
				if err := conn.QueryRow(t.Context(), "INSERT INTO doc(title) VALUES ($1) RETURNING id", "d").Scan(&u); err != nil || !recent(uuidMillis(u[:])) {
					t.Errorf("doc: %x, %v", u, err)
				}
				if nodes := query(t, conn, "SELECT DISTINCT id >> 12 & 1023 FROM acct"); !slices.Equal(nodes, []string{strconv.Itoa(proxyNode)}) {
					t.Errorf("ids of nodes %v", nodes)
				}
				if n := query(t, conn, "SELECT concat_ws(' ', count(*), count(DISTINCT id)) FROM acct")[0]; n != "402 402" {
					t.Errorf("rows and ids: %s", n)
				}
			})
		}
	})
}

func TestFillPq(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		for _, setting := range []string{"", "&binary_parameters=yes"} {
			t.Run("driver"+setting, func(t *testing.T) {
				t.Parallel()
				_, through := proxied(t, s)
				db, err := sql.Open("postgres", through+setting)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				got := newIDs(t, proxyNode)
				stmt, err := db.Prepare("INSERT INTO acct(name) VALUES ($1) RETURNING id, note")
				if err != nil {
					t.Fatal(err)
				}
				defer stmt.Close()
				for i := range 200 {
					var id int64
					var note string
					if err := stmt.QueryRow(fmt.Sprint("pq", i)).Scan(&id, &note); err != nil || note != "n/a" {
						t.Fatalf("note %q: %v", note, err)
					}
					got.add(id)
					if err := db.QueryRow("INSERT INTO acct(note, id) VALUES ($1, DEFAULT) RETURNING id", "once").Scan(&id); err != nil {
						t.Fatal(err)
					}
					got.add(id)
					if err := db.QueryRow("INSERT INTO acct(name) VALUES ('literal') RETURNING id").Scan(&id); err != nil {
						t.Fatal(err)
					}
					got.add(id)
				}
				got.want(600)
				if _, err := stmt.Exec("a", "b"); err == nil {
					t.Error("a statement of one parameter took two")
				}
				result, err := db.Exec("INSERT INTO acct(name) SELECT $1::text UNION ALL SELECT 'x'", "y")
				if err != nil {
					t.Fatal(err)
				}
				if n, err := result.RowsAffected(); n != 2 || err != nil {
					t.Errorf("%d rows: %v", n, err)
				}
			})
		}
	})
}

// TestFillPsql compares what psql shows, errors among it.
func TestFillPsql(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		direct, through := proxied(t, s)
		output := func(url string) []string {
			out, _ := client(t, "psql", "-X", "-a", "-d", url, "-f", "testdata/psql/fill.sql")
			return strings.Split(newMask().text(out), "\n")
		}
		own := s.URL(newDatabase(t, s))
		want, got := output(own), output(through)
		if d := diff(want, got); d != "" {
			t.Errorf("through the proxy (+) and directly (-):\n%s", d)
		}
		conn := connectTo(t, direct)
		if nodes := query(t, conn, "SELECT DISTINCT id >> 12 & 1023 FROM acct WHERE name NOT LIKE 'server%' OR name IS NULL"); !slices.Equal(nodes, []string{strconv.Itoa(proxyNode)}) {
			t.Errorf("ids of nodes %v", nodes)
		}
	})
}

// TestFillElsewhere changes a table past the proxy: after a moment, inserts
// through it do what they do directly. Until then they do what they did.
func TestFillElsewhere(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		for _, change := range []struct{ name, sql, back, want string }{
			{"default set", "ALTER TABLE x ALTER id SET DEFAULT 9", "ALTER TABLE x ALTER id SET DEFAULT next_snowflake()", "9"},
			{"default dropped", "ALTER TABLE x ALTER id DROP DEFAULT", "ALTER TABLE x ALTER id SET DEFAULT next_snowflake()", "NULL"},
			{"default computed", "ALTER TABLE x ALTER id SET DEFAULT 2 * 21", "ALTER TABLE x ALTER id SET DEFAULT next_snowflake()", "42"},
			{"column swapped", "ALTER TABLE x RENAME id TO old; ALTER TABLE x ADD id bigint DEFAULT 10", "ALTER TABLE x DROP id; ALTER TABLE x RENAME old TO id", "10"},
			{"table swapped", "ALTER TABLE x RENAME TO y; CREATE TABLE x (id bigint DEFAULT 11, name text)", "DROP TABLE x; ALTER TABLE y RENAME TO x", "11"},
			{"view instead", "ALTER TABLE x RENAME TO y; CREATE VIEW x AS SELECT * FROM y; ALTER VIEW x ALTER id SET DEFAULT 12", "DROP VIEW x; ALTER TABLE y RENAME TO x", "12"},
			{"function swapped", "CREATE OR REPLACE FUNCTION next_snowflake() RETURNS bigint LANGUAGE sql AS 'SELECT 13::bigint'", "", "13"},
			{"generated", "ALTER TABLE x DROP id; ALTER TABLE x ADD id bigint GENERATED ALWAYS AS (14) STORED", "ALTER TABLE x DROP id; ALTER TABLE x ADD id bigint DEFAULT next_snowflake()", "14"},
			{"identity", "ALTER TABLE x ALTER id DROP DEFAULT, ALTER id SET NOT NULL; ALTER TABLE x ALTER id ADD GENERATED ALWAYS AS IDENTITY (START 15 CYCLE MINVALUE 15 MAXVALUE 16)", "ALTER TABLE x ALTER id DROP IDENTITY; ALTER TABLE x ALTER id SET DEFAULT next_snowflake()", "15 or 16"},
		} {
			t.Run(change.name, func(t *testing.T) {
				t.Parallel()
				direct, through := proxied(t, s)
				if err := execAt(direct, "CREATE TABLE x (id bigint DEFAULT next_snowflake(), name text)"); err != nil {
					t.Fatal(err)
				}
				session := openStream(t, through, newMask())
				insert := step{text: "INSERT INTO x(name) VALUES ('a') RETURNING id", once: true}
				// became waits until inserts of every kind show what is wanted.
				became := func(want func(line string) bool) {
					t.Helper()
					var last []string
					began := time.Now()
					for n := 0; time.Since(began) < patience; n++ {
						last = nil
						for _, lines := range [][]string{session.query(insert), session.prepareUnnamed(insert), session.prepareNamed(insert, fmt.Sprint("s", change.name, n, time.Now()))} {
							for _, line := range lines {
								if strings.HasPrefix(line, "D ") || strings.HasPrefix(line, "E") {
									last = append(last, line)
								}
							}
						}
						if !slices.ContainsFunc(last, func(line string) bool { return !want(line) }) {
							t.Logf("%v after the change", time.Since(began).Round(time.Millisecond))
							return
						}
						time.Sleep(5 * time.Millisecond)
					}
					t.Fatalf("%v after the change: %v", patience, last)
				}
				minted := func(line string) bool {
					ids := session.mask.ids
					return strings.HasPrefix(line, `D "<id `) && ids[len(ids)-1].node == proxyNode
				}
				became(minted)
				if err := execAt(direct, change.sql); err != nil {
					t.Fatal(err)
				}
				became(func(line string) bool {
					return line == "D "+change.want || line == fmt.Sprintf("D %q", change.want) || change.want == "15 or 16" && (line == `D "15"` || line == `D "16"`)
				})
				if change.back == "" {
					return
				}
				if err := execAt(direct, change.back); err != nil {
					t.Fatal(err)
				}
				became(minted)
			})
		}
	})
}
