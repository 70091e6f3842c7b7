package rewrite

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/gen"
)

// testCatalog is a database with a plain table t, a partitioned one p, a view v
// and a table r with an INSERT rule, a function one and an operator +! that
// return one value, others two and +% that return sets. testdata/schema.sql
// makes them.
func testCatalog() *Catalog {
	functions, operators := maps.Clone(builtinFunctions()), maps.Clone(builtinOperators())
	for _, name := range []string{NextSnowflake, UUIDv7, IDToTimestamp, "one"} {
		functions[name] = true
	}
	operators["+!"] = true
	return NewCatalog(CatalogData{
		Database: "db", Version: 150000, Known: true, Schema: "public",
		Ours: map[string]bool{NextSnowflake: true, UUIDv7: true, IDToTimestamp: true},
		Relations: []Relation{
			plain("t"), plain("p"), {"public", "v", false, true, 1, true}, {"public", "r", false, true, 1, true},
			{"public", "u", true, true, 1, true}, plain("two"), {"other", "two", false, false, 1, true}, plain("Ünï tbl"),
			plain("acct"), plain("doc"), plain("duo"), plain("late"), {"public", "ruled", false, true, 1, true},
			plain("granted"), plain("twin"), {"other", "twin", true, false, 1, true}, plain("moved"), plain("hidden"),
			{"public", "written", true, true, 1, true},
		},
		Tables: []Table{
			{"public", "acct", []string{"id", "name", "note"}, []Default{{0, Snowflake}}, true, ""},
			{"public", "doc", []string{"id", "title"}, []Default{{0, UUID}}, true, ""},
			{"public", "duo", []string{"a", "txt", `Ü "\x`, "b"}, []Default{{0, Snowflake}, {2, UUID}, {3, Snowflake}}, true, ""},
			{"public", "late", []string{"name", "note", "id"}, []Default{{2, Snowflake}}, true, ""},
			{"public", "ruled", []string{"id", "name"}, []Default{{0, Snowflake}}, true, Target},
			{"public", "written", []string{"id", "name"}, []Default{{0, Snowflake}}, true, ""},
			{"public", "granted", []string{"id", "name"}, []Default{{0, Snowflake}}, true, Grants},
			{"public", "twin", []string{"id", "name"}, []Default{{0, Snowflake}}, false, ""},
			{"public", "hidden", []string{"id", "name"}, []Default{{0, Snowflake}}, true, ""},
			{"public", "moved", []string{"id", "name"}, []Default{{0, Snowflake}}, true, Migrating},
		},
		Temporary: []string{"hidden"},
		Functions: functions, Operators: operators,
	})
}

func plain(name string) Relation { return Relation{"public", name, true, false, 1, true} }

// render shows what is sent: ids as 1, 2, … and UUIDs ending likewise.
func render(t *testing.T, p *Prepared, m Mode, first int) string {
	t.Helper()
	if m == Extended {
		return withParams(t, p, first)
	}
	snow, uuids := make([]int64, p.Snowflakes), make([]gen.UUID, p.UUIDs)
	for i := range snow {
		snow[i] = int64(i + 1)
	}
	for i := range uuids {
		uuids[i][15] = byte(i + 1)
	}
	s := string(p.AppendLiterals(nil, snow, uuids))
	return strings.ReplaceAll(s, "00000000-0000-0000-0000-0000000000", "U")
}

// withParams returns the text with hidden parameters from $first on.
func withParams(t *testing.T, p *Prepared, first int) string {
	t.Helper()
	h, ok := p.Hide(first - 1)
	if !ok {
		t.Fatal("the parameters do not fit")
	}
	return string(p.AppendParams(nil, first, h))
}

// readTable reads a file of cases: a line "> text", then "= edited text" or
// "= " alone for none, then "! reason" for each call that is left alone.
// Newlines in texts are written \n.
func readTable(t testing.TB, file string, each func(line int, text, want string, reasons []string)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var text, want string
	var reasons []string
	start, line := 0, 0
	flush := func() {
		if text != "" {
			each(start, text, want, reasons)
		}
		text, want, reasons = "", "", nil
	}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line++
		l := strings.ReplaceAll(sc.Text(), `\n`, "\n")
		switch {
		case strings.HasPrefix(l, "> "):
			flush()
			text, start = l[2:], line
		case strings.HasPrefix(l, "= "):
			want = l[2:]
		case strings.HasPrefix(l, "! "):
			reasons = append(reasons, l[2:])
		case l != "" && !strings.HasPrefix(l, "#"):
			t.Fatalf("%s:%d: not understood: %s", file, line, l)
		}
	}
	flush()
}

func testTable(t *testing.T, file string, c *Catalog, m Mode) {
	r := New(Config{})
	var sc Scratch
	readTable(t, file, func(line int, text, want string, reasons []string) {
		for range 2 { // planned, then from the cache
			p := r.Plan(&sc, []byte(text), c, m)
			got := ""
			if p.Replaces {
				got = render(t, p, m, p.MaxParam+1)
			}
			if got != want {
				t.Errorf("%s:%d: %s\n got %s\nwant %s", file, line, text, got, want)
			}
			var left []string
			for _, call := range p.Calls() {
				if !call.Replaced {
					left = append(left, string(call.Reason))
				}
			}
			if g, w := fmt.Sprint(left), fmt.Sprint(reasons); g != w {
				t.Errorf("%s:%d: %s\n left alone for %s\nwant %s", file, line, text, g, w)
			}
		}
	})
}

func TestPlanSimple(t *testing.T) {
	testTable(t, "testdata/simple.txt", testCatalog(), Simple)
	testTable(t, "testdata/more.txt", testCatalog(), Simple)
}

func TestPlanExtended(t *testing.T) { testTable(t, "testdata/extended.txt", testCatalog(), Extended) }

func TestPlanWithoutCatalog(t *testing.T) {
	testTable(t, "testdata/unknown.txt", NewCatalog(CatalogData{Version: 150000}), Simple)
}

func TestPlanFill(t *testing.T) { testTable(t, "testdata/fill.txt", testCatalog(), Simple) }
