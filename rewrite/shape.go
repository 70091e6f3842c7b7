package rewrite

import (
	"bytes"
	"encoding/binary"
	"math"
)

// A Fold is a run of three or more rows of the same shape behind VALUES.
type Fold struct {
	First int // index of the token that opens the first row
	Len   int // tokens in a row, parentheses included
	Rows  int
}

// second returns the index of the token that opens the second row.
func (f Fold) second() int { return f.First + f.Len + 1 }

// cut returns the number of tokens that the reduced text is shorter by.
func (f Fold) cut() int { return (f.Rows - 2) * (f.Len + 1) }

// A Shape is a text cut into tokens, and what is left of it when constants are
// masked. Texts with the same Key share a plan. The zero Shape is ready; it is
// for one user at a time, who keeps it for its memory.
//
// The reduced text is the text without the rows of each Fold from the third on:
// the second one stands for them. Key is that of the reduced text too.
type Shape struct {
	Tokens    []Token
	Folds     []Fold // in the order of the text
	Key       []byte
	MaxParam  int  // highest $n
	Backslash bool // a string but E'…' holds a backslash
	NonASCII  bool
}

// Scan cuts text into tokens and makes the key. It fails where PostgreSQL's
// scanner would fail for a number, a name, or something unterminated, in one
// version at least. It keeps nothing of text, and is linear in it.
func (s *Shape) Scan(text []byte) error {
	s.Tokens, s.Folds, s.Key = s.Tokens[:0], s.Folds[:0], s.Key[:0]
	s.MaxParam, s.Backslash, s.NonASCII = 0, false, false
	if len(text) > math.MaxInt32 {
		return errTooLong
	}
	l := lexer{src: text}
	s.Tokens = l.read(s.Tokens, math.MaxInt)
	if l.err != nil {
		return l.err
	}
	s.MaxParam, s.Backslash, s.NonASCII = l.maxParam, l.backslash, !isASCII(text)
	s.makeKey(text)
	return nil
}

func isASCII(text []byte) bool {
	for ; len(text) >= 8; text = text[8:] {
		if binary.LittleEndian.Uint64(text)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// makeKey writes the key: each token by its kind; words, operators and quoted
// names by their bytes too; constants only where the plan may depend on them.
// Of a run of equal rows it holds two.
func (s *Shape) makeKey(text []byte) {
	i := 0
	for i < len(s.Tokens) {
		i = s.add(text, i, len(s.Tokens), true)
		if i == len(s.Tokens) {
			return
		}
		next, closed := s.addRows(text, i)
		if !closed {
			s.add(text, next, len(s.Tokens), false)
			return
		}
		i = next
	}
}

// add adds the tokens [i, end) to the key and returns end, or with stop the
// place behind the first VALUES that rows follow. Constants inside the
// parentheses of id_to_timestamp, which may be folded with them, and behind
// U&"…" UESCAPE, which decides what name is meant, are added with their value.
func (s *Shape) add(text []byte, i, end int, stop bool) int {
	key, tokens := s.Key, s.Tokens[:end]
	depth := 0 // of parentheses behind id_to_timestamp
	for ; i < len(tokens); i++ {
		t := tokens[i]
		key = append(key, byte(t.Kind))
		switch {
		case t.Kind == Ident:
			key = append(key, text[t.Start:t.End]...)
			if stop && depth == 0 && s.beginsRows(text, i) {
				s.Key = key
				return i + 1
			}
		case t.Kind == LParen:
			if depth > 0 || i > 0 && namesFold(text, tokens[i-1]) {
				depth++
			}
		case t.Kind == RParen:
			depth = max(depth-1, 0)
		case t.Kind == QuotedIdent || t.Kind == UIdent || t.Kind.constant() && (depth > 0 || s.escapes(text, i)):
			key = binary.LittleEndian.AppendUint32(key, uint32(t.End-t.Start))
			key = append(key, text[t.Start:t.End]...)
		case t.Kind.named():
			key = append(key, text[t.Start:t.End]...)
		}
	}
	s.Key = key
	return end
}

// beginsRows tells whether token i is a VALUES with a row behind it. Behind a
// dot it is a name.
func (s *Shape) beginsRows(text []byte, i int) bool {
	t := s.Tokens[i]
	return t.End-t.Start == 6 && text[t.Start]|0x20 == 'v' && t.isWord(text, "values") &&
		i+1 < len(s.Tokens) && s.Tokens[i+1].Kind == LParen && (i == 0 || s.Tokens[i-1].Kind != Dot)
}

// escapes tells whether token i is the string behind U&"…" UESCAPE.
func (s *Shape) escapes(text []byte, i int) bool {
	return i >= 2 && s.Tokens[i-2].Kind == UIdent && s.Tokens[i-1].isWord(text, "uescape")
}

// namesFold tells whether a token may name id_to_timestamp.
func namesFold(text []byte, t Token) bool {
	const name = "id_to_timestamp"
	switch t.Kind {
	case Ident:
		return t.isWord(text, name)
	case QuotedIdent:
		return string(text[t.Start+1:t.End-1]) == name
	}
	return t.Kind == UIdent
}

// addRows adds the rows that begin at token i, and finds the runs of equal ones
// among them. It returns the index behind the rows; closed is false when the
// parentheses of a row are not, and then that row was not added.
func (s *Shape) addRows(text []byte, i int) (next int, closed bool) {
	for {
		n, foldable := s.rowLen(text, i)
		if n == 0 {
			return i, false
		}
		rows, next := 1, i+n
		for foldable && next+n < len(s.Tokens) && s.Tokens[next].Kind == Comma && s.sameRow(text, i, next+1, n) {
			rows++
			next += n + 1
		}
		if rows > 2 {
			s.Folds = append(s.Folds, Fold{First: i, Len: n, Rows: rows})
		}
		s.add(text, i, i+n, false)
		if rows > 1 {
			s.add(text, i+n, i+2*n+1, false)
		}
		if next+1 >= len(s.Tokens) || s.Tokens[next].Kind != Comma || s.Tokens[next+1].Kind != LParen {
			return next, true
		}
		s.add(text, next, next+1, false)
		i = next + 1
	}
}

// rowLen returns the number of tokens of the row that token i opens, 0 when it
// is not closed, and whether its constants do not matter.
func (s *Shape) rowLen(text []byte, i int) (n int, foldable bool) {
	depth := 0
	foldable = true
	for j := i; j < len(s.Tokens); j++ {
		switch t := s.Tokens[j]; t.Kind {
		case LParen:
			depth++
			foldable = foldable && !namesFold(text, s.Tokens[j-1])
		case RParen:
			if depth--; depth == 0 {
				return j - i + 1, foldable
			}
		case UIdent:
			foldable = false
		}
	}
	return 0, false
}

// sameRow tells whether the n tokens from b on have the shape of those from a.
func (s *Shape) sameRow(text []byte, a, b, n int) bool {
	x, y := s.Tokens[a:a+n], s.Tokens[b:b+n]
	for k, t := range x {
		u := y[k]
		if t.Kind != u.Kind {
			return false
		}
		if t.Kind.named() && !bytes.Equal(text[t.Start:t.End], text[u.Start:u.End]) {
			return false
		}
	}
	return true
}

// reduce appends the reduced text to dst.
func (s *Shape) reduce(dst, text []byte) []byte {
	at := int32(0)
	for _, f := range s.Folds {
		dst = append(dst, text[at:s.Tokens[f.second()+f.Len-1].End]...)
		at = s.Tokens[f.First+f.Rows*(f.Len+1)-2].End
	}
	return append(dst, text[at:]...)
}

// original returns the index of the token that token i of the reduced text is.
func (s *Shape) original(i int) int {
	for _, f := range s.Folds {
		if i < f.second()+f.Len {
			break
		}
		i += f.cut()
	}
	return i
}
