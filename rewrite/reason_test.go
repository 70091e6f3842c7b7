package rewrite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// TestReasonsAreAll reads the constants from the source, so that a new one
// without a sentence shows.
func TestReasonsAreAll(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []Reason
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := v.Type.(*ast.Ident); ok && of.Name == "Reason" {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, Reason(text))
		}
		return true
	})
	slices.Sort(want)
	if got := Reasons(); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, r := range Reasons() {
		if r.Sentence() == "" {
			t.Errorf("%s has no sentence", r)
		}
	}
}
