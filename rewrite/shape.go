package rewrite

import (
	"encoding/binary"
	"strconv"
)

// A Fold is a run of three or more rows of the same shape behind VALUES.
type Fold struct {
	First int // index of the token that opens the first row
	Len   int // tokens in a row, parentheses included
	Rows  int
}

// A Shape is a text cut into tokens, and what is left of it when constants are
// masked. Texts with the same Key share a plan. The zero Shape is ready; it is
// for one user at a time, who keeps it for its memory.
type Shape struct {
	Tokens    []Token
	Folds     []Fold
	Key       []byte
	MaxParam  int  // highest $n
	Backslash bool // a string but E'…' holds a backslash
	NonASCII  bool
}

// Scan cuts text into tokens and makes the key. It fails where PostgreSQL's
// scanner would, in one version at least.
func (s *Shape) Scan(text []byte) error {
	s.Tokens, s.Folds, s.Key = s.Tokens[:0], s.Folds[:0], s.Key[:0]
	s.MaxParam, s.Backslash, s.NonASCII = 0, false, false
	l := lexer{src: text}
	for {
		t, ok, err := l.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if t.Kind == Param {
			n, err := strconv.Atoi(string(text[t.Start+1 : t.End]))
			if err != nil {
				return err
			}
			s.MaxParam = max(s.MaxParam, n)
		}
		s.Tokens = append(s.Tokens, t)
	}
	s.Backslash = l.backslash
	s.NonASCII = !isASCII(text)
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
// names by their bytes too; constants only where id_to_timestamp may be folded
// with them. Of a run of equal rows it holds two.
func (s *Shape) makeKey(text []byte) {
	raw := 0 // nesting of parentheses behind id_to_timestamp; 0: outside
	for i := 0; i < len(s.Tokens); i++ {
		t := s.Tokens[i]
		s.addToken(text, t, raw > 0)
		switch {
		case raw > 0 && t.Kind == LParen:
			raw++
		case raw > 0 && t.Kind == RParen:
			raw--
		case raw == 0 && t.Kind == LParen && i > 0 && namesFold(text, s.Tokens[i-1]):
			raw = 1
		case raw == 0 && t.Kind == Ident && t.End-t.Start == 6 && t.isWord(text, "values"):
			i = s.addRows(text, i+1) - 1
		}
	}
}

// namesFold tells whether a token names id_to_timestamp.
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

func (s *Shape) addToken(text []byte, t Token, raw bool) {
	s.Key = append(s.Key, byte(t.Kind))
	switch {
	case t.Kind == Ident || t.Kind == Op || t.Kind == Other:
		s.Key = append(s.Key, text[t.Start:t.End]...)
	case t.Kind == QuotedIdent || t.Kind == UIdent || raw && t.Kind.constant():
		s.Key = binary.LittleEndian.AppendUint32(s.Key, uint32(t.End-t.Start))
		s.Key = append(s.Key, text[t.Start:t.End]...)
	}
}

// addRows adds the rows that begin at token i and returns the index behind
// them.
func (s *Shape) addRows(text []byte, i int) int {
	for i < len(s.Tokens) && s.Tokens[i].Kind == LParen {
		n, foldable := s.rowLen(text, i)
		if n == 0 {
			return i
		}
		rows := 1
		next := i + n
		for foldable && next+n < len(s.Tokens) && s.Tokens[next].Kind == Comma && s.sameRow(text, i, next+1, n) {
			rows++
			next += n + 1
		}
		if rows > 2 {
			s.Folds = append(s.Folds, Fold{First: i, Len: n, Rows: rows})
		}
		s.addRow(text, i, n)
		if rows > 1 {
			s.addToken(text, s.Tokens[i+n], false)
			s.addRow(text, i+n+1, n)
		}
		i = next
		if i+1 >= len(s.Tokens) || s.Tokens[i].Kind != Comma || s.Tokens[i+1].Kind != LParen {
			return i
		}
		s.addToken(text, s.Tokens[i], false)
		i++
	}
	return i
}

// addRow adds the n tokens of a row. Where it names id_to_timestamp its
// constants stay.
func (s *Shape) addRow(text []byte, i, n int) {
	raw := 0
	for j := i; j < i+n; j++ {
		t := s.Tokens[j]
		s.addToken(text, t, raw > 0)
		switch {
		case raw > 0 && t.Kind == LParen:
			raw++
		case raw > 0 && t.Kind == RParen:
			raw--
		case raw == 0 && t.Kind == LParen && j > i && namesFold(text, s.Tokens[j-1]):
			raw = 1
		}
	}
}

// rowLen returns the number of tokens of the row that token i opens, 0 when it
// is not closed, and whether its constants may be left out.
func (s *Shape) rowLen(text []byte, i int) (n int, foldable bool) {
	depth := 0
	foldable = true
	for j := i; j < len(s.Tokens); j++ {
		switch t := s.Tokens[j]; t.Kind {
		case LParen:
			depth++
			if j > i && namesFold(text, s.Tokens[j-1]) {
				foldable = false
			}
		case RParen:
			if depth--; depth == 0 {
				return j - i + 1, foldable
			}
		}
	}
	return 0, false
}

// sameRow tells whether the n tokens from b on have the shape of those from a.
func (s *Shape) sameRow(text []byte, a, b, n int) bool {
	x, y := s.Tokens[a:a+n], s.Tokens[b:b+n]
	for k := range x {
		if x[k].Kind != y[k].Kind {
			return false
		}
		switch x[k].Kind {
		case Ident, QuotedIdent, UIdent, Op, Other:
			if string(x[k].text(text)) != string(y[k].text(text)) {
				return false
			}
		}
	}
	return true
}

// reduce appends to dst the text without the rows that repeat: of each fold the
// first two stay.
func (s *Shape) reduce(dst, text []byte) []byte {
	at := 0
	for _, f := range s.Folds {
		second := s.Tokens[f.First+2*f.Len].End
		last := s.Tokens[f.First+f.Rows*(f.Len+1)-2].End
		dst = append(dst, text[at:second]...)
		at = int(last)
	}
	return append(dst, text[at:]...)
}
