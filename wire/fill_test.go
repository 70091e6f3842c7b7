package wire

import (
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

// defaults is the catalog of a table acct with a default of ours in column id, and
// of one called other, each of a version.
func defaults(generation uint64, acct, other int64, before *rewrite.Catalog) *rewrite.Catalog {
	d := rewrite.CatalogData{
		Database: "db", Generation: generation, Version: 150000, Known: true, Schema: "public",
		Ours: map[string]bool{"next_snowflake": true},
		Relations: []rewrite.Relation{
			{Schema: "public", Name: "acct", Plain: true, Version: acct, Builtin: true}, {Schema: "public", Name: "other", Plain: true, Version: other, Builtin: true},
		},
	}
	d.Tables = []rewrite.Table{{Schema: "public", Name: "acct", Columns: []string{"id", "name"}, Defaults: []rewrite.Default{{Column: 0}}, Unique: true}}
	c := rewrite.NewCatalog(d)
	if before != nil {
		c = c.After(before)
	}
	return c
}

const omitting = "INSERT INTO acct(name) VALUES ($1)"

func TestFillSimple(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.catalog.now = defaults(1, 1, 1, nil)
		want(t, "omitted", h.client(query("INSERT INTO acct(name) VALUES ('a'), ('b')")), `Q INSERT INTO acct(name, "id") VALUES ('a', 1::int8), ('b', 2::int8)|`)
		h.server(msg('C', "INSERT 0 2"), ready('I'))
		h.broken = true
		want(t, "not minted", h.client(query("INSERT INTO acct(name) VALUES ('a')")), "Q INSERT INTO acct(name) VALUES ('a')|")
		h.server(msg('C', "INSERT 0 1"), ready('I'))
		h.broken = false
		want(t, "minted again", h.client(query("INSERT INTO acct(name) VALUES ('a')")), `Q INSERT INTO acct(name, "id") VALUES ('a', 3::int8)|`)
		h.server(msg('C', "INSERT 0 1"), ready('I'))
		want(t, "another table", h.client(query("INSERT INTO other(name) VALUES ('a')")), "Q INSERT INTO other(name) VALUES ('a')|")
	})
}

// TestStaleOnlyByItsOwn holds that a statement which was prepared before the
// schema changed is filled unless the change was of its own relation, or it is not
// known that it was not.
func TestStaleOnlyByItsOwn(t *testing.T) {
	t.Parallel()
	first := defaults(1, 1, 1, nil)
	for _, c := range []struct {
		name   string
		text   string
		parse  func(h *harness) // before Parse
		after  func(h *harness) // between Parse and Bind
		filled bool
	}{
		{"no change", omitting, nil, nil, true},
		{"another relation", omitting, nil, func(h *harness) { h.catalog.now = defaults(2, 1, 2, first) }, true},
		{"its own relation", omitting, nil, func(h *harness) { h.catalog.now = defaults(2, 2, 1, first) }, false},
		{"another frame", omitting, nil, func(h *harness) { h.catalog.now = defaults(2, 1, 1, nil) }, false},
		{"types that follow from other things too", "INSERT INTO acct(name) VALUES (f($1))", nil, func(h *harness) { h.catalog.now = defaults(2, 1, 2, first) }, false},
		{"prepared while being read", omitting, func(h *harness) { h.catalog.begun++ }, func(h *harness) { h.catalog.begun-- }, true},
		{"prepared while being read, another relation changed", omitting, func(h *harness) { h.catalog.begun++ },
			func(h *harness) { h.catalog.begun--; h.catalog.now = defaults(2, 1, 2, first) }, true},
		{"prepared while being read, its own changed", omitting, func(h *harness) { h.catalog.begun++ },
			func(h *harness) { h.catalog.begun--; h.catalog.now = defaults(2, 2, 1, first) }, false},
		{"settings", omitting, nil, func(h *harness) {
			h.client(query("SET search_path = x"))
			h.server(msg('C', "SET"), ready('I'))
		}, false},
	} {
		h := newHarness(t, 0)
		h.catalog.now = first
		if c.parse != nil {
			c.parse(h)
		}
		h.client(parse("s", c.text), sync1())
		h.server(msg('1'), ready('I'))
		if c.after != nil {
			c.after(h)
		}
		got := h.client(bind("s", nil, "x"), execute(), sync1())
		if filled := strings.Contains(got, "twin"); filled != c.filled {
			t.Errorf("%s: filled %t, want %t:\n%s", c.name, filled, c.filled, got)
		}
	}
}

// TestDefaultGoes uses one statement before and after its default is dropped
// elsewhere, and set again.
func TestDefaultGoes(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		first := defaults(1, 1, 1, nil)
		h.catalog.now = first
		h.client(parse("s", omitting), sync1())
		h.server(msg('1'), ready('I'))
		again := func() string {
			got := h.client(bind("s", nil, "x"), execute(), sync1())
			if strings.Contains(got, "P ") {
				h.server(msg('3'), msg('1'))
			}
			h.server(msg('2'), msg('C', "INSERT 0 1"), ready('I'))
			return strings.SplitN(got[strings.Index(got, "B "):], "\n", 2)[0]
		}
		want(t, "before", again(), `B |pgidproxy_twin_1| formats values "x" "1"`)
		gone := rewrite.NewCatalog(rewrite.CatalogData{Database: "db", Generation: 2, Version: 150000, Known: true, Schema: "public",
			Ours:      map[string]bool{"next_snowflake": true},
			Relations: []rewrite.Relation{{Schema: "public", Name: "acct", Plain: true, Version: 2, Builtin: true}}}).After(first)
		h.catalog.now = gone
		want(t, "without a default", again(), `B |s| formats values "x"`)
		h.catalog.now = defaults(3, 3, 1, gone)
		want(t, "with one again", again(), `B |pgidproxy_twin_1| formats values "x" "2"`)
	})
}
