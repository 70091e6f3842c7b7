package rewrite

// Kind is the kind of a token.
type Kind uint8

// Kinds of tokens. A string that is continued on a further line is one token.
const (
	Ident        Kind = iota + 1 // unquoted word: identifier or keyword
	QuotedIdent                  // "…"
	UIdent                       // U&"…", without a UESCAPE behind it
	Op                           // operator of any length, single characters too
	Other                        // a byte that no token begins with
	Cast                         // ::
	LParen                       // (
	RParen                       // )
	LBracket                     // [
	RBracket                     // ]
	Comma                        // ,
	Semicolon                    // ;
	Dot                          // .
	DotDot                       // ..
	Colon                        // :
	ColonEquals                  // :=
	Param                        // $n
	Int                          // integer in any base
	Float                        // number with a point or an exponent
	String                       // '…'
	EString                      // E'…'
	UString                      // U&'…', without a UESCAPE behind it
	BString                      // B'…'
	XString                      // X'…'
	NString                      // N'…'
	DollarString                 // $tag$…$tag$
)

// constant tells the kinds whose value the shape of a text leaves out.
func (k Kind) constant() bool { return k >= Int }

// named tells the kinds whose bytes are part of the shape of a text.
func (k Kind) named() bool { return k <= Other }

// A Token is a piece of a text, from byte Start up to End. The zero Kind stands
// for the end of the text.
type Token struct {
	Start, End int32
	Kind       Kind
}

// text returns the token's bytes.
func (t Token) text(src []byte) []byte { return src[t.Start:t.End] }

// isWord tells whether a token is the unquoted word w, given in lower case.
func (t Token) isWord(src []byte, w string) bool {
	return t.Kind == Ident && int(t.End-t.Start) == len(w) && foldEqual(src[t.Start:t.End], w)
}

// foldEqual compares b with lower, which is in lower case, without regard to
// the case of ASCII letters: all that PostgreSQL folds in UTF-8.
func foldEqual(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if lowerByte(c) != lower[i] {
			return false
		}
	}
	return true
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Classes of bytes, after PostgreSQL's src/backend/parser/scan.l.
const (
	classIdentStart = 1 << iota // begins an identifier
	classIdent                  // goes on with one
	classDigit
	classSpace
	classNewline
	classOp // part of an operator
)

var classes = func() (t [256]uint8) {
	for c := range 256 {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= 0x80:
			t[c] = classIdentStart | classIdent
		case c >= '0' && c <= '9':
			t[c] = classDigit | classIdent
		case c == '$':
			t[c] = classIdent
		}
	}
	for _, c := range []byte(" \t\n\r\f\v") {
		t[c] |= classSpace
	}
	t['\n'] |= classNewline
	t['\r'] |= classNewline
	for _, c := range []byte("~!@#^&|`?+-*/%<>=") {
		t[c] |= classOp
	}
	return t
}()

// What a token may be, by its first byte.
const (
	beginOther uint8 = iota
	beginSpace
	beginWord
	beginDigit
	beginOp
	beginSingle
	beginString
	beginQuoted
	beginDot
	beginColon
	beginDollar
)

var begins = func() (t [256]uint8) {
	for c, class := range classes {
		switch {
		case class&classIdentStart != 0:
			t[c] = beginWord
		case class&classDigit != 0:
			t[c] = beginDigit
		case class&classSpace != 0:
			t[c] = beginSpace
		case class&classOp != 0:
			t[c] = beginOp
		case singles[c] != 0:
			t[c] = beginSingle
		}
	}
	t['\''], t['"'], t['.'], t[':'], t['$'] = beginString, beginQuoted, beginDot, beginColon, beginDollar
	return t
}()

// singles are the tokens of one byte.
var singles = [256]Kind{
	'(': LParen, ')': RParen, '[': LBracket, ']': RBracket, ',': Comma, ';': Semicolon,
}
