package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/gen"
)

// TestNamesThatAreNoCalls has our names in strings, comments and identifiers.
func TestNamesThatAreNoCalls(t *testing.T) {
	t.Parallel()
	r, c := New(Config{}), benchCatalog()
	for _, text := range []string{
		`SELECT 'next_snowflake()' a, E'it\'s uuidv7()' b, U&'uuidv7()\0021' c, $$next_snowflake()$$ d, $t$ $$ uuidv7() $$ $t$ e,
       1 AS "next_snowflake()", /* o /* i */ next_snowflake() */ 2 AS f, 'a'
       'uuidv7()' AS g -- next_snowflake()
;`,
		"SELECT 1 /* /* */ , next_snowflake() -- */",
		"SELECT 'a' -- next_snowflake()\n  ' next_snowflake()', x$$uuidv7()$$",
	} {
		p := r.Plan(new(Scratch), []byte(text), c, Simple)
		if !Mentions([]byte(text)) || p.Replaces || len(p.Calls()) != 0 {
			t.Errorf("%s: calls %v", text, p.Calls())
		}
	}
}

// TestUnreadable has texts that are not planned: no catalog, or no tokens.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	sc := new(Scratch)
	for _, p := range []*Prepared{
		r.Plan(sc, []byte("select next_snowflake()"), nil, Simple),
		r.Plan(sc, []byte("select next_snowflake(), 'a"), benchCatalog(), Simple),
	} {
		if p.Replaces || p.Snowflakes != 0 || len(p.Calls()) != 0 {
			t.Errorf("planned: %+v", p)
		}
	}
	if n := r.Plans(); n != 0 {
		t.Errorf("%d plans kept", n)
	}
}

// TestEditInPlace holds that every byte beside the calls stays.
func TestEditInPlace(t *testing.T) {
	t.Parallel()
	r, c := New(Config{}), testCatalog()
	for _, text := range []string{
		"INSERT INTO \"Ünï tbl\"(\"name\", id) VALUES ('ß', next_snowflake()) /*trace='00-ab;c'*/ ; /* after */",
		"SELECT next_snowflake() WHERE NOT (1 > 5 AND 1 < 8) /* keep */",
		"\tinsert into t values (next_snowflake(),$2)--\n,(next_snowflake( ),\r$1 ) , (next_snowflake/**/(),$3) ",
	} {
		p := r.Plan(new(Scratch), []byte(text), c, Simple)
		want := text
		for i := range p.Snowflakes {
			for _, call := range []string{"next_snowflake()", "next_snowflake( )", "next_snowflake/**/()"} {
				if n := strings.Index(want, call); n >= 0 {
					want = want[:n] + fmt.Sprintf("%d::int8", i+1) + want[n+len(call):]
					break
				}
			}
		}
		want = strings.Replace(want, "SELECT 1::int8", "SELECT 1::int8 AS next_snowflake", 1)
		if got := render(t, p, Simple, 0); got != want || !p.Replaces {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestAsManyParametersAsFit has a parameter in each of as many rows as one Bind
// may have parameters, and a call in each.
func TestAsManyParametersAsFit(t *testing.T) {
	t.Parallel()
	const rows = 65535
	var b strings.Builder
	b.WriteString("insert into acct (id, a) values ")
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "(next_snowflake(),$%d)", i+1)
	}
	r, sc := New(Config{}), new(Scratch)
	p := r.Plan(sc, []byte(b.String()), benchCatalog(), Extended)
	if !p.Replaces || p.Snowflakes != rows || p.MaxParam != rows {
		t.Fatalf("replaces %t, %d ids, $%d", p.Replaces, p.Snowflakes, p.MaxParam)
	}
	if _, ok := p.Hide(rows); ok {
		t.Error("ids fit beside as many parameters as there may be")
	}
	for params, want := range map[int]struct {
		suffix string
		hidden int
	}{
		0:             {"($65535,$65535)", rows},
		1:             {"(($1025::int8[])[63],$65535)", 1024},
		64511:         {"(($65535::int8[])[63],$65535)", 1024},
		MaxParams / 2: {"(($33791::int8[])[63],$65535)", 1024},
	} {
		h, ok := p.Hide(params)
		if !ok || h.Params() != want.hidden {
			t.Errorf("%d parameters: %d hidden, which fit: %t; want %d", params, h.Params(), ok, want.hidden)
			continue
		}
		edited := string(p.AppendParams(nil, params+1, h))
		if !strings.HasSuffix(edited, want.suffix) {
			t.Errorf("ends in %s, want %s", edited[len(edited)-40:], want.suffix)
		}
		var m PositionMap
		p.Positions(&m)
		if got, want := m.Client(len(edited), false), b.Len(); got != want {
			t.Errorf("the last character is %d, want %d", got, want)
		}
		held := 0
		for i := range h.Snowflakes() {
			from, to := h.Of(i, rows)
			if from != held || to <= from {
				t.Fatalf("parameter %d holds ids %d to %d, want from %d on", i, from, to, held)
			}
			held = to
		}
		if held != rows {
			t.Errorf("%d ids held, want %d", held, rows)
		}
	}
	if h, ok := p.Hide(64512); ok {
		t.Errorf("%d parameters fit behind 64512", h.Params())
	}
}

// TestScratchIsReused plans texts of many sizes with one Scratch.
func TestScratchIsReused(t *testing.T) {
	t.Parallel()
	r, c, sc := New(Config{}), benchCatalog(), new(Scratch)
	for i := range 50 {
		rows := i*7%13 + 1
		text := "insert into acct (id, a) values (next_snowflake(), '')" + strings.Repeat(", (next_snowflake(), 'ü')", rows-1)
		p := r.Plan(sc, []byte(text), c, Simple)
		snow := make([]int64, p.Snowflakes)
		got := string(p.AppendLiterals(nil, snow, []gen.UUID{}))
		if want := strings.ReplaceAll(text, "next_snowflake()", "0::int8"); got != want || len(snow) != rows {
			t.Fatalf("%d rows, %d ids: got %s, want %s", rows, len(snow), got, want)
		}
	}
}
