package rewrite

import (
	"strings"
	"testing"
)

// reasonsOf plans a text as a simple query: "replaced" or the reason, for each
// call.
func reasonsOf(c *Catalog, m Mode, text string) string {
	var sc Scratch
	var got []string
	for _, call := range New(Config{}).Plan(&sc, []byte(text), c, m).Calls() {
		if call.Replaced {
			got = append(got, "replaced")
		} else {
			got = append(got, string(call.Reason))
		}
	}
	return strings.Join(got, " ")
}

// TestWhichFunctionIsMeant goes through what a catalog may say of a name.
func TestWhichFunctionIsMeant(t *testing.T) {
	t.Parallel()
	all := map[string]bool{NextSnowflake: true, UUIDv7: true, IDToTimestamp: true}
	const text = "SELECT uuidv7(), public.uuidv7(), pg_catalog.uuidv7(), app.uuidv7(), next_snowflake(), pg_catalog.next_snowflake()"
	single := map[string]bool{NextSnowflake: true, UUIDv7: true}
	for _, c := range []struct {
		name string
		data CatalogData
		want string
	}{
		{"installed", CatalogData{Known: true, Version: 170000, Schema: "public", Ours: all, Functions: single},
			"replaced replaced not_ours not_ours replaced not_ours"},
		{"in a schema of its own", CatalogData{Known: true, Version: 170000, Schema: "app", Ours: all, Functions: single},
			"replaced not_ours not_ours replaced replaced not_ours"},
		{"built in", CatalogData{Known: true, Version: 180000, Schema: "public", Ours: all, Functions: single},
			"replaced not_ours replaced not_ours replaced not_ours"},
		{"built in, the others not installed",
			CatalogData{Known: true, Version: 180000, Ours: map[string]bool{UUIDv7: true}, Functions: single},
			"replaced not_ours replaced not_ours not_ours not_ours"},
		{"shadowed, or not open to all",
			CatalogData{Known: true, Version: 170000, Schema: "public", Ours: map[string]bool{NextSnowflake: true}, Functions: single},
			"not_ours not_ours not_ours not_ours replaced not_ours"},
		{"one of the name gives a set",
			CatalogData{Known: true, Version: 170000, Schema: "public", Ours: all, Functions: map[string]bool{UUIDv7: true}},
			"set_returning set_returning not_ours not_ours set_returning not_ours"},
		{"not installed", CatalogData{Known: true, Version: 170000}, strings.Repeat("not_ours ", 5) + "not_ours"},
	} {
		if got := reasonsOf(NewCatalog(c.data), Simple, text); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	unknown := NewCatalog(CatalogData{Version: 180000})
	for text, want := range map[string]string{
		"SELECT uuidv7(), next_snowflake()":        "replaced replaced",
		"SELECT pg_catalog.uuidv7()":               "replaced",
		"SELECT public.next_snowflake()":           "not_ours",
		"INSERT INTO t VALUES (next_snowflake())":  "target",
		"SELECT next_snowflake(), 1 +! 2":          "set_returning",
		"SELECT next_snowflake(), unnest('{1,2}')": "set_returning",
	} {
		if got := reasonsOf(unknown, Simple, text); got != want {
			t.Errorf("without a catalog: %s\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestRelationsReliedOn holds that only unqualified names of statements with a
// replaced call are listed.
func TestRelationsReliedOn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"INSERT INTO t(id) VALUES (next_snowflake())":                                                "t",
		"INSERT INTO public.t(id) VALUES (next_snowflake())":                                         "",
		"INSERT INTO T(id) VALUES (next_snowflake()); INSERT INTO p(id) VALUES (next_snowflake())":   "p t",
		"INSERT INTO t(id) VALUES (next_snowflake()); INSERT INTO two(id) VALUES (next_snowflake())": "t",
		"INSERT INTO t(id) VALUES (7) RETURNING next_snowflake()":                                    "",
		"WITH i AS (INSERT INTO p(id) VALUES (7)) INSERT INTO t(id) VALUES (next_snowflake())":       "p t",
		"WITH i AS (INSERT INTO p(id) VALUES (next_snowflake())) UPDATE t SET id = 5":                "p t",
		"SELECT next_snowflake()":                             "",
		`INSERT INTO "Ünï tbl"(id) VALUES (next_snowflake())`: "Ünï tbl",
		"INSERT INTO t(id) VALUES (next_snowflake()); INSERT INTO t(ts) VALUES (id_to_timestamp('1'))": "t",
	} {
		var sc Scratch
		p := New(Config{}).Plan(&sc, []byte(text), testCatalog(), Simple)
		if got := strings.Join(p.Relations, " "); got != want {
			t.Errorf("%s: relies on %q, want %q", text, got, want)
		}
	}
}

// TestEncodings holds that bytes of other encodings in constants and comments
// do not matter, and make a name unknown.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"INSERT INTO t(txt, id) VALUES ('caf\xe9', next_snowflake())":          "replaced",
		"INSERT INTO t(id) VALUES (next_snowflake()) -- caf\xe9":               "replaced",
		"INSERT INTO t(txt, id) VALUES ($a$caf\xe9$a$, next_snowflake())":      "replaced",
		"INSERT INTO t(txt, \"caf\xe9\") VALUES ('a', next_snowflake())":       "unparsed",
		"INSERT INTO t(id) VALUES (next_snowflake()) /* \x00 */":               "unparsed",
		"SELECT id_to_timestamp('caf\xe9'), next_snowflake() AS \"caf\u00e9\"": "replaced replaced",
	} {
		if got := reasonsOf(testCatalog(), Simple, text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
