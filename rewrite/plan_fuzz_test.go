package rewrite

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// FuzzBuild wants plans whose edits are in order, cover only the tokens of
// calls, and are explained by Calls.
func FuzzBuild(f *testing.F) {
	for _, file := range []string{"testdata/simple.txt", "testdata/more.txt", "testdata/extended.txt", "testdata/fill.txt"} {
		readTable(f, file, func(_ int, text, _ string, _ []string) { f.Add(text) })
	}
	r := speaker{rand.New(rand.NewPCG(1, 1))}
	for range 100 {
		f.Add(r.statement())
	}
	unknown := NewCatalog(CatalogData{Version: 180000})
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []*Catalog{testCatalog(), unknown} {
			for _, m := range []Mode{Simple, Extended} {
				var sc Scratch
				if sc.shape.Scan([]byte(text)) == nil {
					checkPlan(t, text, sc.shape.Tokens, build([]byte(text), &sc.shape, c, m))
				}
				checkSplice(t, New(Config{}).Plan(&sc, []byte(text), c, m), m)
			}
		}
	})
}

func checkPlan(t *testing.T, text string, tokens []Token, p *Plan) {
	t.Helper()
	at := 0
	for _, e := range p.Edits {
		if e.From < at || e.To < e.From || e.To > len(tokens) || e.From == 0 && e.To == 0 {
			t.Fatalf("%q: edit %+v of %d tokens, behind %d", text, e, len(tokens), at)
		}
		at = e.To
		if e.From == e.To {
			if e.Kind != Text && !strings.HasPrefix(e.Text, ",") {
				t.Fatalf("%q: id put in behind a token: %+v", text, e)
			}
			continue
		}
		if word := tokens[e.From]; e.To == e.From+1 && word.Kind == Ident && (word.isWord([]byte(text), "default") || word.isWord([]byte(text), "values")) {
			continue
		}
		i := slices.IndexFunc(p.Calls, func(c Call) bool { return c.Start == e.From })
		if i < 0 || !p.Calls[i].Replaced || p.Calls[i].Reason != "" {
			t.Fatalf("%q: edit %+v is of no call in %+v", text, e, p.Calls)
		}
		if tokens[e.To-1].Kind != RParen || e.Kind != Text && tokens[e.To-2].Kind != LParen {
			t.Fatalf("%q: edit %+v does not end with the call", text, e)
		}
	}
	for i, c := range p.Calls {
		if !c.Replaced && c.Reason.Sentence() == "" || i > 0 && p.Calls[i-1].Start >= c.Start && c.Column == "" {
			t.Fatalf("%q: call %+v", text, c)
		}
	}
}

// checkSplice wants the edited text to be understood, and to hold the calls that
// are left alone.
func checkSplice(t *testing.T, p *Prepared, m Mode) {
	t.Helper()
	if !p.Replaces {
		return
	}
	edited := render(t, p, m, p.MaxParam+1)
	left := 0
	for _, c := range p.Calls() {
		if !c.Replaced && c.Column == "" {
			left++
		}
	}
	var sc Scratch
	again := New(Config{}).Plan(&sc, []byte(edited), NewCatalog(CatalogData{Known: true}), Simple).Calls()
	for _, c := range again {
		if c.Reason == Unparsed {
			t.Fatalf("%q is no longer understood: %q", p.text, edited)
		}
	}
	if len(again) != left {
		t.Fatalf("%q: %d calls left alone, but %d in %q", p.text, left, len(again), edited)
	}
}
