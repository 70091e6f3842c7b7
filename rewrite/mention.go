package rewrite

import "encoding/binary"

// Words of eight equal bytes, for looking at eight bytes of a text at a time.
const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// equalBytes returns a word with the high bit set in each byte of w that is c,
// which is below 0x80, and perhaps in bytes above such a one.
func equalBytes(w uint64, c byte) uint64 {
	w ^= eachByte * uint64(c)
	return (w - eachByte) &^ w & highBits
}

// Mentions tells whether a text may hold a call for us: whether the bytes of
// one of the names stand in it, in any case, or a quoted identifier that may be
// written with escapes. It is a scan, not a parse: strings and comments count.
func Mentions(text []byte) bool {
	const size = 8
	i := 0
	for ; i+size < len(text); i += size {
		w := binary.LittleEndian.Uint64(text[i:])
		hit := equalBytes(w, '_') | equalBytes(w, '7') | equalBytes(w, '&')
		if hit == 0 {
			continue
		}
		// Of the bytes that were found only those matter that have the right
		// neighbour: _s and _t, v7, &".
		next := binary.LittleEndian.Uint64(text[i+1:])
		lower := next | eachByte*0x20
		hit = equalBytes(w, '_')&(equalBytes(lower, 's')|equalBytes(lower, 't')) |
			equalBytes(next, '7')&equalBytes(w|eachByte*0x20, 'v') |
			equalBytes(w, '&')&equalBytes(next, '"')
		if (hit != 0 || text[i] == '7') && mentionsIn(text, i, i+size) {
			return true
		}
	}
	return mentionsIn(text, i, len(text))
}

// mentionsIn tells whether the byte by which a name is found is one of
// text[from:to].
func mentionsIn(text []byte, from, to int) bool {
	for i := from; i < to; i++ {
		switch text[i] {
		case '_':
			if i >= 4 && hasPrefixFold(text[i-4:], "next_snowflake") || i >= 2 && hasPrefixFold(text[i-2:], "id_to_timestamp") {
				return true
			}
		case '7':
			if i >= 5 && hasPrefixFold(text[i-5:], "uuidv7") {
				return true
			}
		case '&':
			if i >= 1 && i+1 < len(text) && text[i+1] == '"' && lowerByte(text[i-1]) == 'u' {
				return true
			}
		}
	}
	return false
}

func hasPrefixFold(b []byte, lower string) bool {
	return len(b) >= len(lower) && foldEqual(b[:len(lower)], lower)
}
