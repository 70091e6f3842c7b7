package rewrite

import "bytes"

// momentWords are the constants of date and time types that mean another moment
// at each parse (datetktbl in src/backend/utils/adt/datetime.c).
var momentWords = []string{"now", "today", "tomorrow", "yesterday"}

// ReadsClock tells whether a constant in the text may mean the moment at which it
// is parsed: then a text that is parsed again later means something else.
func (p *Prepared) ReadsClock() bool {
	for _, t := range p.shape.Tokens {
		if !t.Kind.constant() {
			continue
		}
		s := t.text(p.text)
		for _, word := range momentWords {
			if containsWord(s, word) {
				return true
			}
		}
		// The word may be written with escapes, or in parts on several lines.
		parts := bytes.IndexByte(s, '\n') >= 0 && bytes.Count(s, []byte("'")) > 2
		if t.Kind != DollarString && (parts || t.Kind != String && bytes.IndexByte(s, '\\') >= 0) {
			return true
		}
	}
	return false
}

// containsWord tells whether a word stands in a constant, with no letter or digit
// beside it.
func containsWord(s []byte, word string) bool {
	for {
		i := indexFold(s, word, 0, 1)
		if i < 0 {
			return false
		}
		before, after := i == 0 || classes[s[i-1]]&classIdent == 0, i+len(word) == len(s) || classes[s[i+len(word)]]&classIdent == 0
		if before && after {
			return true
		}
		s = s[i+1:]
	}
}
