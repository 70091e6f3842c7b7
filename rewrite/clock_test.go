package rewrite

import "testing"

func TestReadsClock(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"select 'now'":                  true,
		"select ' Today 12:00'":         true,
		"select $$tomorrow$$":           true,
		"select E'yesterday\\n'":        true,
		"select E'n\\x6fw'":             true,
		"select U&'n\\006fw'":           true,
		"select 'no'\n'w'":              true,
		"select 'snow', 'nowhere'":      false,
		"select now(), \"now\", $1":     false,
		"select E'a\\'b', 'it''s'":      false,
		"select 'a'\n' b' -- now":       false,
		"select /* 'now' */ 1, 'know.'": false,
	} {
		p := prepare(t, text, Plan{})
		if got := p.ReadsClock(); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}
