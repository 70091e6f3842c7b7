package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// TestFillMayNotRead inserts as a role that may insert and not read: errors show
// it only the columns that it gave.
func TestFillMayNotRead(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		a, b := newSide(t, s, false, false), newSide(t, s, true, false)
		const role = "e2e_writer"
		setup := "CREATE ROLE " + role + "; GRANT pg_write_all_data TO " + role
		if err := execAt(s.URL("postgres"), "DROP ROLE IF EXISTS "+role, setup); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := execAt(s.URL("postgres"), "DROP ROLE "+role); err != nil {
				t.Error(err)
			}
		})
		for _, side := range []*side{a, b} {
			side.session(t, "main").simple("CREATE TABLE w (id bigint DEFAULT next_snowflake(), name text NOT NULL, n int)")
		}
		b.ready(t)
		for _, sql := range []string{
			"SET ROLE " + role,
			"INSERT INTO w(name, n) VALUES ('a', 1)",
			"INSERT INTO w(n) VALUES (1)",
			"INSERT INTO w(name, n) VALUES (NULL, 1), ('b', 2)",
			"INSERT INTO w DEFAULT VALUES",
			"INSERT INTO w(name) VALUES ('a') RETURNING id",
		} {
			st := step{text: sql, once: true}
			sa, sb := a.session(t, "main"), b.session(t, "main")
			if d := diff(sa.query(st), sb.query(st)); d != "" {
				t.Errorf("%s: through the proxy (+) and directly (-):\n%s", sql, d)
			}
			if d := diff(sa.prepareUnnamed(st), sb.prepareUnnamed(st)); d != "" {
				t.Errorf("%s, prepared: through the proxy (+) and directly (-):\n%s", sql, d)
			}
		}
	})
}

// TestFillSearchPath opens sessions whose search_path, from the start, makes new
// tables temporary.
func TestFillSearchPath(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		for _, name := range []string{"option", "setting", "database"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				direct, through := proxied(t, s)
				u, err := url.Parse(through)
				if err != nil {
					t.Fatal(err)
				}
				q := u.Query()
				switch name {
				case "option":
					q.Set("options", "-c search_path=pg_temp,public")
				case "setting":
					q.Set("search_path", "pg_temp, public")
				case "database":
					if err := execAt(direct, "ALTER DATABASE "+databaseName.FindString(direct)+" SET search_path = pg_temp, public"); err != nil {
						t.Fatal(err)
					}
				}
				u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
				session := openStream(t, u.String(), newMask())
				session.awaitProxy()
				session.simple("CREATE TABLE acct (id bigint DEFAULT 5, name text)")
				session.awaitProxy()
				if got := session.simple("INSERT INTO acct(name) VALUES ('t') RETURNING id"); got[1] != `D "5"` {
					t.Errorf("in front of the permanent table: %v", got)
				}
			})
		}
	})
}

// TestFillEncodings fills columns with names outside ASCII in databases of other
// encodings, for clients of several.
func TestFillEncodings(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		for _, encoding := range []string{"UTF8", "LATIN1", "SQL_ASCII", "EUC_JP"} {
			for _, client := range []string{"UTF8", "LATIN1", "SQL_ASCII", "WIN1252"} {
				if encoding == "EUC_JP" && client != "UTF8" && client != "SQL_ASCII" || encoding == "LATIN1" && client == "WIN1252" {
					continue
				}
				t.Run(encoding+" "+client, func(t *testing.T) {
					t.Parallel()
					name := map[string]string{"UTF8": "ü", "LATIN1": "\xfc", "SQL_ASCII": "ü", "WIN1252": "\xfc"}[client]
					if client == "SQL_ASCII" && encoding == "LATIN1" {
						name = "\xfc"
					}
					if encoding == "EUC_JP" {
						name = map[string]string{"UTF8": "本", "SQL_ASCII": "\xcb\xdc"}[client]
					}
					var sides [2]*stream
					var probe *stream
					for i := range sides {
						db := emptyDatabase(t, s)
						if err := execAt(s.URL("postgres"), "DROP DATABASE "+db, "CREATE DATABASE "+db+" TEMPLATE template0 ENCODING '"+encoding+"' LC_COLLATE 'C' LC_CTYPE 'C'"); err != nil {
							t.Fatal(err)
						}
						if _, err := run("install", "--database-url", s.URL(db), "--function-node", fmt.Sprint(functionNode)); err != nil {
							t.Fatal(err)
						}
						at := s.URL(db)
						if i == 1 {
							at = fixtureOf(t, s).proxy.databaseURL(db)
						}
						u, err := url.Parse(at)
						if err != nil {
							t.Fatal(err)
						}
						q := u.Query()
						q.Set("client_encoding", client)
						u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
						sides[i] = openStream(t, u.String(), newMask())
						probe = openStream(t, at, newMask())
					}
					a, b := sides[0], sides[1]
					for _, sql := range []string{
						`CREATE TABLE plain (id bigint DEFAULT next_snowflake(), name text)`,
						`CREATE TABLE "T?" ("?" text, "id?" bigint DEFAULT next_snowflake(), "u?" uuid DEFAULT uuidv7(), "?2" text DEFAULT 'd')`,
						`CREATE TABLE mixed ("?" text, id bigint DEFAULT next_snowflake(), "?2" int)`,
						`INSERT INTO plain(name) VALUES ('a') RETURNING id, name`,
						`INSERT INTO mixed VALUES ('a') RETURNING id`,
						`INSERT INTO mixed DEFAULT VALUES RETURNING id`,
						`INSERT INTO mixed VALUES ('a', DEFAULT, nope)`,
						`INSERT INTO mixed SELECT 'a' UNION ALL SELECT 'b' RETURNING id`,
						`INSERT INTO plain(name) VALUES ('?') RETURNING id, name`,
						`INSERT INTO plain(name) VALUES ('?'), (nope)`,
						`INSERT INTO "T?"("?") VALUES ('a') RETURNING *`,
						`INSERT INTO "T?"("?2") VALUES ('?') RETURNING *`,
						`INSERT INTO "T?" VALUES ('?') RETURNING *`,
						`INSERT INTO "T?" VALUES ('?', DEFAULT, NULL), ('?', 5, DEFAULT) RETURNING *`,
						`INSERT INTO "T?" DEFAULT VALUES RETURNING *`,
						`INSERT INTO "T?"("?") VALUES ('?'), (nope)`,
						`INSERT INTO "T?"("?") SELECT '?' UNION ALL SELECT 'b' RETURNING *`,
						`INSERT INTO "T?"("nope?") VALUES ('?')`,
						`INSERT INTO "T?" VALUES ('?') RETURNING nope`,
					} {
						if strings.HasPrefix(sql, "INSERT") {
							probe.awaitProxy()
						}
						before := len(b.mask.ids)
						sql = strings.ReplaceAll(sql, "?", name)
						st := step{text: sql, once: true}
						if d := diff(a.query(st), b.query(st)); d != "" {
							t.Fatalf("%s: through the proxy (+) and directly (-):\n%s", sql, d)
						}
						if strings.HasPrefix(sql, "INSERT INTO plain(name) VALUES ('a')") && (len(b.mask.ids) == before || !b.mask.byProxy(b.mask.ids[before])) {
							t.Errorf("%s: not filled", sql)
						}
						if d := diff(a.prepareUnnamed(st), b.prepareUnnamed(st)); d != "" {
							t.Fatalf("%s, prepared: through the proxy (+) and directly (-):\n%s", sql, d)
						}
					}
				})
			}
		}
	})
}
