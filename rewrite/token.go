package rewrite

// Kind is the kind of a token.
type Kind uint8

// Kinds of tokens. A string that is continued on a further line is one token.
const (
	Ident        Kind = iota + 1 // unquoted word: identifier or keyword
	QuotedIdent                  // "…"
	UIdent                       // U&"…"
	Op                           // operator of any length, single characters too
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
	UString                      // U&'…'
	BString                      // B'…'
	XString                      // X'…'
	NString                      // N'…'
	DollarString                 // $tag$…$tag$
	Other                        // a byte that no token begins with
)

// constant tells the kinds whose value the shape of a text leaves out.
func (k Kind) constant() bool { return k >= Int && k <= DollarString }

// A Token is a piece of a text, from byte Start up to End.
type Token struct {
	Start, End int32
	Kind       Kind
}

// text returns the token's bytes.
func (t Token) text(src []byte) []byte { return src[t.Start:t.End] }

// isWord tells whether a token is the unquoted word w, given in lower case.
func (t Token) isWord(src []byte, w string) bool {
	return t.Kind == Ident && foldEqual(t.text(src), w)
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
	classOp // part of an operator
	classNewline
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

var singles = [256]Kind{
	'(': LParen, ')': RParen, '[': LBracket, ']': RBracket, ',': Comma, ';': Semicolon,
}
