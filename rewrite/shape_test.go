package rewrite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// mustScan returns the shape of a text.
func mustScan(t *testing.T, text string) *Shape {
	t.Helper()
	s := new(Shape)
	if err := s.Scan([]byte(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return s
}

func TestShapeKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"select 1", "select  /* c */ 234 -- x", true},
		{"select 'a'", "select 'b''c'\n'd'", true},
		{"select $1", "select $27", true},
		{"select 1", "select 1.5", false},
		{"select 'a'", "select E'a'", false},
		{"select 'a'", "select $$a$$", false},
		{"select a", "select b", false},
		{"select a", "SELECT a", false},
		{`select "a"`, `select a`, false},
		{`select "a""b"`, `select "a" "b"`, false},
		{"select a b", "select ab", false},
		{"select a+b", "select a-b", false},
		{"select 1 @+1", "select 1 @ +1", false},
		{"values (1)", "values (1), (2)", false},
		{"values (1), (2)", "values (1), (2), (3), (4)", true},
		{"values (1), (2)", "values (1), ('a')", false},
		{"values (1), (2), (3)", "values (1), (2), (null)", false},
		{"values (1), (2), (3), (null)", "values (1), (2), (null)", true},
		{"select id_to_timestamp(1)", "select id_to_timestamp(2)", false},
		{"select id_to_timestamp('a'), 1", "select id_to_timestamp('a'), 2", true},
		{`select "id_to_timestamp" ((1))`, `select "id_to_timestamp"((2))`, false},
		{`select U&"id\005fto_timestamp"(1)`, `select U&"id\005fto_timestamp"(2)`, false},
		{`select U&"d!0061" UESCAPE '!'`, `select U&"d!0061" uescape '!'`, false},
		{`select U&"d!0061" UESCAPE '!'`, `select U&"d!0061" UESCAPE '?'`, false},
		{`select U&'d!0061' UESCAPE '!'`, `select U&'d!0061' UESCAPE '?'`, true},
		{"values (id_to_timestamp(1)),(id_to_timestamp(2)),(id_to_timestamp(3))", "values (id_to_timestamp(1)),(id_to_timestamp(2))", false},
	} {
		a, b := mustScan(t, c.a), mustScan(t, c.b)
		if got := bytes.Equal(a.Key, b.Key); got != c.same {
			t.Errorf("%s / %s: same key %t, want %t", c.a, c.b, got, c.same)
		}
	}
}

func TestShapeFolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, folds, reduced string }{
		{"values (1)", "[]", "values (1)"},
		{"values (1),(2)", "[]", "values (1),(2)"},
		{"values (1),(2) , (3)", "[{1 3 3}]", "values (1),(2)"},
		{"values (1),(2) /*x*/, (3), /*y*/ (4) returning z", "[{1 3 4}]", "values (1),(2) returning z"},
		{"values (f(1,(2))),(f(3,(4))),(f(5,(6)))", "[{1 10 3}]", "values (f(1,(2))),(f(3,(4)))"},
		{"values (1),(2),(3),(null),(null),(null),(null)", "[{1 3 3} {13 3 4}]", "values (1),(2),(null),(null)"},
		{"values (1),(2),(3),(null); values (4),(5),(6)", "[{1 3 3} {18 3 3}]", "values (1),(2),(null); values (4),(5)"},
		{"values (a),(A),(a)", "[]", "values (a),(A),(a)"},
		{"values ((values (1),(2),(3)))", "[]", "values ((values (1),(2),(3)))"},
		{"select x.values (1),(2),(3)", "[]", "select x.values (1),(2),(3)"},
		{"select (1),(2),(3)", "[]", "select (1),(2),(3)"},
		{"values (1),(2),(3", "[]", "values (1),(2),(3"},
		{"values (1),(2),(3),(values (4),(5),(6)", "[{1 3 3}]", "values (1),(2),(values (4),(5),(6)"},
		{"values (1),(2),(3),", "[{1 3 3}]", "values (1),(2),"},
		{"f(id_to_timestamp(values(1),(2),(3)))", "[]", "f(id_to_timestamp(values(1),(2),(3)))"},
	} {
		s := mustScan(t, c.text)
		if got := fmt.Sprint(s.Folds); got != c.folds {
			t.Errorf("%s: folds %s, want %s", c.text, got, c.folds)
		}
		if got := string(s.reduce(nil, []byte(c.text))); got != c.reduced {
			t.Errorf("%s: reduced to %s, want %s", c.text, got, c.reduced)
		}
	}
}

func TestShapeFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text                string
		param               int
		backslash, nonASCII bool
	}{
		{"select $2, '$11', $$ $12 $$ -- $13", 2, false, false},
		{`select '\'`, 0, true, false},
		{`select E'\\', "\"`, 0, false, false},
		{`select E'\'\'' '\'`, 0, true, false},
		{`select U&'\0041'`, 0, true, false},
		{"select 'aaaaaaaaaaaaaaaaaaü'", 0, false, true},
		{"select $65536", 65536, false, false},
	} {
		s := mustScan(t, c.text)
		if s.MaxParam != c.param || s.Backslash != c.backslash || s.NonASCII != c.nonASCII {
			t.Errorf("%s: MaxParam %d, Backslash %t, NonASCII %t", c.text, s.MaxParam, s.Backslash, s.NonASCII)
		}
	}
}

// TestShapeIsLinear holds that no text takes time beyond its length: these took
// minutes if every VALUES looked for its end.
func TestShapeIsLinear(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"values(", "values(1),(", "((", "values(1),(2),(3),(4,5),", "id_to_timestamp(", "/*", "+", "$a", "'a'\n", "'a' "} {
		var s Shape
		_ = s.Scan([]byte(strings.Repeat(part, 1<<20/len(part))))
	}
}

// unkey reads a key back: the kinds of the tokens, with the bytes of those that
// have any in it.
func unkey(t *testing.T, key []byte) []string {
	t.Helper()
	var parts []string
	raw := func(kind Kind, n int) {
		parts = append(parts, fmt.Sprint(kind, " ", string(key[:n])))
		key = key[n:]
	}
	depth, uident := 0, 0
	for len(key) > 0 {
		kind := Kind(key[0])
		key = key[1:]
		escape := uident == 2 && kind.constant()
		if uident != 1 || kind != Ident {
			uident = 0
		}
		switch {
		case kind == QuotedIdent || kind == UIdent || kind.constant() && (depth > 0 || escape):
			n := int(binary.LittleEndian.Uint32(key))
			key = key[4:]
			raw(kind, n)
			if kind == UIdent {
				uident = 1
			}
			continue
		case kind == Other:
			raw(kind, 1)
			continue
		case kind.named():
			n := 0
			for n < len(key) && key[n] > byte(DollarString) {
				n++
			}
			if uident == 1 && strings.EqualFold(string(key[:n]), "uescape") {
				uident = 2
			}
			raw(kind, n)
			continue
		case kind == LParen:
			if depth > 0 || len(parts) > 0 && foldsParts(parts[len(parts)-1]) {
				depth++
			}
		case kind == RParen:
			depth = max(depth-1, 0)
		}
		parts = append(parts, fmt.Sprint(kind, " "))
	}
	return parts
}

func foldsParts(part string) bool {
	kind, name, _ := strings.Cut(part, " ")
	switch kind {
	case fmt.Sprint(Ident):
		return strings.EqualFold(name, "id_to_timestamp") && len(name) == len("id_to_timestamp")
	case fmt.Sprint(QuotedIdent):
		return name == `"id_to_timestamp"`
	}
	return kind == fmt.Sprint(UIdent)
}

var shapeSeeds = []string{
	shortInsert, "values (1),(2),(3),(a),(a),(a) returning x", "values (id_to_timestamp(1)),(2),(3),(4)",
	`select U&"a" uescape '!', "b""", 'c', $1, id_to_timestamp('a'||(b)) \ {`, "values (values (1),(2),(3)),(4",
	"insert into t values ('ü',1),('ä',2),('ö',3),('ß',4);values(1.5,$2),(2.5,$1),(0.1,$3)",
}

// FuzzShape holds that a key can be read back to the tokens of the reduced text
// — so texts with equal keys have equal tokens but for constants —, that the
// reduced text has the same key and no folds, and that every row that is folded
// looks like its run's first.
func FuzzShape(f *testing.F) {
	for _, text := range shapeSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := []byte(text)
		var s, reduced Shape
		if s.Scan(src) != nil {
			return
		}
		short := s.reduce(nil, src)
		if err := reduced.Scan(short); err != nil {
			t.Fatalf("%q: reduced to %q: %v", text, short, err)
		}
		if len(reduced.Folds) != 0 || !bytes.Equal(s.Key, reduced.Key) {
			t.Fatalf("%q: reduced to %q, which has another key, or folds %v", text, short, reduced.Folds)
		}
		parts := unkey(t, s.Key)
		if len(parts) != len(reduced.Tokens) {
			t.Fatalf("%q: %d tokens in the key, %d in %q", text, len(parts), len(reduced.Tokens), short)
		}
		for i, tok := range reduced.Tokens {
			kind, bytes, _ := strings.Cut(parts[i], " ")
			if kind != fmt.Sprint(tok.Kind) || (bytes != "" || tok.Kind.named()) && bytes != string(tok.text(short)) {
				t.Fatalf("%q: token %d is %s in the key, %v in %q", text, i, parts[i], tok, short)
			}
			if o := s.Tokens[s.original(i)]; o.Kind != tok.Kind || string(o.text(src)) != string(tok.text(short)) {
				t.Fatalf("%q: token %d of %q stands for %v", text, i, short, o)
			}
		}
		for _, fold := range s.Folds {
			for row := range fold.Rows {
				at := fold.First + row*(fold.Len+1)
				if !s.sameRow(src, fold.First, at, fold.Len) || row > 0 && s.Tokens[at-1].Kind != Comma {
					t.Fatalf("%q: row %d of %v", text, row, fold)
				}
			}
		}
	})
}
