package rewrite

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

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
	last := len(text) - 2*size - 1
	if last < 0 {
		for i := range text {
			if nameAt(text, i) {
				return true
			}
		}
		return escapedIdent(text)
	}
	for i := 0; ; i = min(i+2*size, last) {
		t := text[i : i+2*size+1]
		a, b := binary.LittleEndian.Uint64(t), binary.LittleEndian.Uint64(t[size:])
		afterA, afterB := binary.LittleEndian.Uint64(t[1:]), binary.LittleEndian.Uint64(t[size+1:])
		if equalBytes(a, '_')|equalBytes(afterA, '7')|equalBytes(b, '_')|equalBytes(afterB, '7') != 0 &&
			(nameIn(text, i, namePairs(a, afterA)) || nameIn(text, i+size, namePairs(b, afterB))) {
			return true
		}
		if i == last {
			return escapedIdent(text)
		}
	}
}

// namePairs marks the bytes of w that with the one behind, in after, may be _s,
// _t or v7.
func namePairs(w, after uint64) uint64 {
	const fold = eachByte * 0x20
	return equalBytes(w, '_')&(equalBytes(after|fold, 's')|equalBytes(after|fold, 't')) |
		equalBytes(after, '7')&equalBytes(w|fold, 'v')
}

// nameIn tells whether a name stands around one of the bytes behind i that are
// marked.
func nameIn(text []byte, i int, marks uint64) bool {
	for ; marks != 0; marks &= marks - 1 {
		if nameAt(text, i+bits.TrailingZeros64(marks)/8) {
			return true
		}
	}
	return false
}

// nameAt tells whether a name of ours stands around the byte i, which is the
// first underscore or the v in it.
func nameAt(text []byte, i int) bool {
	switch text[i] {
	case '_':
		return i >= 4 && hasPrefixFold(text[i-4:], "next_snowflake") || i >= 2 && hasPrefixFold(text[i-2:], "id_to_timestamp")
	case 'v', 'V':
		return i >= 4 && hasPrefixFold(text[i-4:], "uuidv7")
	}
	return false
}

// escapedIdent tells whether U&" stands in text.
func escapedIdent(text []byte) bool {
	for i := 1; i < len(text)-1; i++ {
		n := bytes.IndexByte(text[i:len(text)-1], '&')
		if n < 0 {
			return false
		}
		if i += n; text[i+1] == '"' && lowerByte(text[i-1]) == 'u' {
			return true
		}
	}
	return false
}

func hasPrefixFold(b []byte, lower string) bool {
	return len(b) >= len(lower) && foldEqual(b[:len(lower)], lower)
}
