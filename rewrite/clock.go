package rewrite

import (
	"bytes"
	"regexp"
)

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
		value := t.text(p.text)
		switch {
		case t.Kind == DollarString:
			tag := bytes.IndexByte(value[1:], '$') + 2
			value = value[tag : len(value)-tag]
		case bytes.Count(value, []byte("'")) > 2:
			value = joined(value)
		}
		if t.Kind == EString && spelled.Match(value) || t.Kind == UString && bytes.IndexByte(value, '\\') >= 0 {
			return true
		}
		for _, word := range momentWords {
			if containsWord(value, word) {
				return true
			}
		}
	}
	return false
}

// spelled matches escapes that may stand for letters.
var spelled = regexp.MustCompile(`\\[xuU0-7]`)

// joined returns a string constant that is written in parts on several lines, or
// with quotes in it, as one.
func joined(s []byte) []byte {
	var value []byte
	for i := bytes.IndexByte(s, '\'') + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			value = append(value, s[i], s[i+1])
			i++
		case s[i] != '\'':
			value = append(value, s[i])
		case i+1 < len(s) && s[i+1] == '\'':
			value = append(value, '\'')
			i++
		default:
			next := bytes.IndexByte(s[i+1:], '\'')
			if next < 0 {
				return value
			}
			i += next + 1
		}
	}
	return value
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
