package rewrite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/gen"
)

// prepare applies a plan to a text.
func prepare(t *testing.T, text string, plan Plan) *Prepared {
	t.Helper()
	s := mustScan(t, text)
	p := &Prepared{text: []byte(text), shape: s, plan: &plan, NonASCII: s.NonASCII, MaxParam: s.MaxParam}
	p.count()
	return p
}

// planCalls replaces every next_snowflake() and uuidv7() of the reduced text.
func planCalls(t *testing.T, text string) Plan {
	t.Helper()
	short := mustScan(t, text).reduce(nil, []byte(text))
	tokens := mustScan(t, string(short)).Tokens
	var plan Plan
	for i, tok := range tokens[:max(len(tokens)-2, 0)] {
		if tokens[i+1].Kind != LParen || tokens[i+2].Kind != RParen {
			continue
		}
		switch {
		case tok.isWord(short, "next_snowflake"):
			plan.Edits = append(plan.Edits, Edit{From: i, To: i + 3, Kind: Snowflake})
		case tok.isWord(short, "uuidv7"):
			plan.Edits = append(plan.Edits, Edit{From: i, To: i + 3, Kind: UUID})
		}
	}
	return plan
}

func TestSplice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, literals, params string }{
		{"select 1", "select 1", "select 1"},
		{"select next_snowflake()", "select 1::int8", "select $8"},
		{"select next_snowflake ( /* c */ )AS x", "select 1::int8 AS x", "select $8 AS x"},
		{"select(next_snowflake())||-uuidv7()", "select(1::int8)||-'U01'::uuid", "select($8)||-$9"},
		{"select next_snowflake(),uuidv7(),next_snowflake()", "select 1::int8,'U01'::uuid,2::int8",
			"select $8,$10,$9"},
		{"select u&uuidv7(),1e1,a\"b\"uuidv7()", "select u& 'U01'::uuid,1e1,a\"b\" 'U02'::uuid",
			"select u& $8,1e1,a\"b\" $9"},
		{"values (next_snowflake(),1), (next_snowflake(),2) /*x*/, (next_snowflake(),3)\n,(next_snowflake(),4) -- y",
			"values (1::int8,1), (2::int8,2) /*x*/, (3::int8,3)\n,(4::int8,4) -- y",
			"values ($8,1), ($9,2) /*x*/, ($10,3)\n,($11,4) -- y"},
		{"values (1,uuidv7()),(2,uuidv7()),(3,uuidv7()),(null,uuidv7()),(null,uuidv7()),(null,uuidv7()); select uuidv7()",
			"values (1,'U01'::uuid),(2,'U02'::uuid),(3,'U03'::uuid),(null,'U04'::uuid),(null,'U05'::uuid),(null,'U06'::uuid); select 'U07'::uuid",
			"values (1,$8),(2,$9),(3,$10),(null,$11),(null,$12),(null,$13); select $14"},
	} {
		p := prepare(t, c.text, planCalls(t, c.text))
		if got := render(t, p, Simple, 0); got != c.literals {
			t.Errorf("%s:\n got %s\nwant %s", c.text, got, c.literals)
		}
		if got := render(t, p, Extended, 8); got != c.params {
			t.Errorf("%s:\n got %s\nwant %s", c.text, got, c.params)
		}
	}
}

func TestSpliceInsertions(t *testing.T) {
	t.Parallel()
	p := prepare(t, "select next_snowflake()from t", Plan{Edits: []Edit{
		{From: 1, To: 4, Kind: Snowflake}, {From: 4, To: 4, Kind: Text, Text: "AS next_snowflake"},
	}})
	if got, want := render(t, p, Simple, 0), "select 1::int8  AS next_snowflake from t"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

var putIn = regexp.MustCompile(`-?\d+::int8|'U\d\d'::uuid`)

// FuzzSplice holds that without edits a text stays as it is, byte for byte, and
// that with every call replaced all that changes is the calls: each row of a
// VALUES list gets ids of its own, in the order of the text.
func FuzzSplice(f *testing.F) {
	for _, text := range append(shapeSeeds, "values (next_snowflake()),(next_snowflake()),(next_snowflake()),(uuidv7()),(uuidv7()),(uuidv7()) x") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := []byte(text)
		var s Shape
		if s.Scan(src) != nil || putIn.MatchString(text) {
			return
		}
		p := prepare(t, text, Plan{})
		if got := string(p.AppendLiterals(nil, nil, nil)) + withParams(t, p, 1); got != text+text {
			t.Fatalf("%q: without edits became %q", text, got)
		}
		calls := 0
		p = prepare(t, text, planCalls(t, text))
		for i := range s.Tokens[:max(len(s.Tokens)-2, 0)] {
			name := s.Tokens[i]
			if s.Tokens[i+1].Kind == LParen && s.Tokens[i+2].Kind == RParen && (name.isWord(src, "next_snowflake") || name.isWord(src, "uuidv7")) {
				calls++
			}
		}
		if calls != p.Snowflakes+p.UUIDs {
			t.Fatalf("%q: %d calls, %d and %d ids", text, calls, p.Snowflakes, p.UUIDs)
		}
		edited := render(t, p, Simple, 0)
		var after Shape
		if err := after.Scan([]byte(edited)); err != nil || len(after.Tokens) != len(s.Tokens) {
			t.Fatalf("%q became %q: %v, %d tokens for %d", text, edited, err, len(after.Tokens), len(s.Tokens))
		}
		var m PositionMap
		p.Positions(&m)
		want, _ := positionsByHand(p, edited)
		for _, tok := range after.Tokens {
			if got := m.Client(int(tok.Start)+1, true); got != want[tok.Start] {
				t.Fatalf("%q became %q: byte %d is %d, want %d", text, edited, tok.Start+1, got, want[tok.Start])
			}
		}
	})
}

func TestPositions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"select next_snowflake(), nope",
		"SELECT 'ü', next_snowflake(), nope, uuidv7(), 'é€𝄞', last",
		"insert into ü values (next_snowflake(),'ü'),(next_snowflake(),'€'),(next_snowflake(),'𝄞'),(next_snowflake(),'x') returning nope",
		"select uuidv7 ( -- ü\n )AS x, next_snowflake()y",
	} {
		p := prepare(t, text, planCalls(t, text))
		snow, uuids := make([]int64, p.Snowflakes), make([]gen.UUID, p.UUIDs)
		for i := range snow {
			snow[i] = rand.Int64() >> rand.IntN(60)
		}
		edited := string(p.AppendLiterals(nil, snow, uuids))
		var m PositionMap
		p.Positions(&m)
		wantByte, wantChar := positionsByHand(p, edited)
		for at := range edited {
			chars := len([]rune(edited[:at]))
			if got := m.Client(at+1, true); got != wantByte[at] {
				t.Errorf("%s: byte %d of %q is %d, want %d", text, at+1, edited, got, wantByte[at])
			}
			if got := m.Client(chars+1, false); got != wantChar[at] {
				t.Errorf("%s: character %d of %q is %d, want %d", text, chars+1, edited, got, wantChar[at])
			}
		}
	}
}

// positionsByHand maps each byte of the edited text, by walking both texts.
func positionsByHand(p *Prepared, edited string) (bytes, chars []int) {
	text := string(p.text)
	add := func(at int) {
		bytes = append(bytes, at+1)
		chars = append(chars, len([]rune(text[:at]))+1)
	}
	at := 0
	for _, s := range p.spans {
		for ; at < int(s.start); at++ {
			add(at)
		}
		for range s.now {
			add(int(s.start))
		}
		at = int(s.end)
	}
	for len(bytes) < len(edited) {
		add(at)
		at++
	}
	return bytes, chars
}

func TestPositionMapZero(t *testing.T) {
	t.Parallel()
	var none *PositionMap
	for _, m := range []*PositionMap{none, new(PositionMap)} {
		for _, pos := range []int{-1, 0, 1, 77} {
			if got := m.Client(pos, false); got != pos {
				t.Errorf("%d became %d", pos, got)
			}
		}
	}
}

func TestLargeText(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("insert into acct (id, a) values ")
	for b.Len() < 1<<20-40 {
		fmt.Fprintf(&b, "(next_snowflake(), %d), ", b.Len())
	}
	b.WriteString("(next_snowflake(), 0)")
	text := []byte(b.String())
	rows := bytes.Count(text, []byte("next_snowflake()"))
	p := New(Config{}).Plan(new(Scratch), text, benchCatalog(), Extended)
	if !p.Replaces || p.Snowflakes != rows {
		t.Fatalf("replaces %t, %d ids; want %d", p.Replaces, p.Snowflakes, rows)
	}
	edited := withParams(t, p, 1)
	if want := fmt.Sprintf("($%d, 0)", rows); !strings.HasSuffix(edited, want) {
		t.Errorf("ends in %s", edited[len(edited)-40:])
	}
}
