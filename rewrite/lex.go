package rewrite

import (
	"bytes"
	"errors"
	"math"
	"strings"
)

// Errors of the lexer: texts that PostgreSQL's scanner refuses, in one version
// at least. Nothing is replaced in them.
var (
	errUnterminated = errors.New("lex: unterminated comment, string or quoted identifier")
	errJunk         = errors.New("lex: number or parameter runs into a word, or is none")
	errLongOperator = errors.New("lex: operator of more than 63 bytes")
	errEmptyName    = errors.New("lex: quoted identifier without a character")
	errTooLong      = errors.New("lex: text of 2 GiB or more")
)

// A lexer cuts a text into tokens as src/backend/parser/scan.l of PostgreSQL 17
// does while standard_conforming_strings is on. Versions 14 to 18 agree on the
// tokens of every text for which it has no error, except that 14 and 15 take
// 0x1F and 1_000 for a number and a word, and a vertical tab for an error. What
// is inside a constant is not checked: a wrong escape is the server's to refuse.
type lexer struct {
	src       []byte
	pos       int
	err       error // why next gave up
	backslash bool  // a string but E'…' holds a backslash
	maxParam  int   // highest $n
}

// next returns the next token. Its kind is 0 at the end of the text, and when
// err was set.
func (l *lexer) next() Token {
	var buf [1]Token
	if tokens := l.read(buf[:0], 1); len(tokens) == 1 {
		return tokens[0]
	}
	return Token{}
}

// read appends up to n tokens to tokens. It returns fewer at the end of the
// text, and when err was set.
func (l *lexer) read(tokens []Token, n int) []Token {
	src, i := l.src, l.pos
	for uint(i) < uint(len(src)) && n > 0 {
		c := src[i]
		if c == ' ' {
			i++
			continue
		}
		end, kind := i+1, Other
		switch begins[c] {
		case beginSpace:
			i++
			continue
		case beginWord:
			for end < len(src) && classes[src[end]]&classIdent != 0 {
				end++
			}
			kind = Ident
			if end == i+1 && end < len(src) && (src[end] == '\'' || src[end] == '&') {
				end, kind = l.prefixed(i)
			}
		case beginSingle:
			kind = singles[c]
		case beginDigit:
			for end < len(src) && classes[src[end]]&classDigit != 0 {
				end++
			}
			kind = Int
			if end < len(src) && (classes[src[end]]&classIdentStart != 0 || src[end] == '.') {
				end, kind = l.number(i)
			}
		case beginString:
			end, kind = l.quoted(i, String)
		case beginOp:
			kind = Op
			if end < len(src) && classes[src[end]]&classOp != 0 {
				if c == '-' && src[end] == '-' {
					i = lineEnd(src, i)
					continue
				}
				if c == '/' && src[end] == '*' {
					i = l.commentEnd(i)
					continue
				}
				end, kind = l.operator(i)
			}
		default:
			end, kind = l.rare(i)
		}
		if kind == 0 {
			break
		}
		tokens = append(tokens, Token{int32(i), int32(end), kind})
		i = end
		n--
	}
	l.pos = i
	return tokens
}

// rare reads the tokens that begin with none of the bytes that most begin with.
func (l *lexer) rare(i int) (int, Kind) {
	switch begins[l.src[i]] {
	case beginQuoted:
		return l.quotedIdent(i, QuotedIdent)
	case beginDot:
		return l.dot(i)
	case beginColon:
		return colon(l.src, i)
	case beginDollar:
		return l.dollar(i)
	}
	return i + 1, Other
}

// fail notes why the text cannot be read on. The kind that it returns is 0.
func (l *lexer) fail(err error) (int, Kind) {
	l.err = err
	return len(l.src), 0
}

// prefixed reads what begins with a word of one letter and a quote or an
// ampersand: a string of its own kind, U&"…", or just the word.
func (l *lexer) prefixed(i int) (int, Kind) {
	letter := lowerByte(l.src[i])
	if l.src[i+1] == '\'' {
		switch letter {
		case 'e':
			return l.quoted(i+1, EString)
		case 'b':
			return l.quoted(i+1, BString)
		case 'x':
			return l.quoted(i+1, XString)
		case 'n':
			return l.quoted(i+1, NString)
		}
		return i + 1, Ident
	}
	if letter == 'u' && i+2 < len(l.src) {
		switch l.src[i+2] {
		case '\'':
			return l.quoted(i+2, UString)
		case '"':
			return l.quotedIdent(i+2, UIdent)
		}
	}
	return i + 1, Ident
}

// quoted reads a string whose opening quote is at i, with its continuations.
func (l *lexer) quoted(i int, kind Kind) (int, Kind) {
	src := l.src
	for i++; i < len(src); {
		switch c := src[i]; {
		case c == '\\' && kind == EString:
			i += 2
		case c == '\\':
			l.backslash = true
			i++
		case c != '\'':
			for i++; i < len(src) && src[i] != '\'' && src[i] != '\\'; i++ {
			}
		case i+1 < len(src) && src[i+1] == '\'' && kind != BString && kind != XString:
			i += 2
		default:
			next := continuation(src, i+1)
			if next < 0 {
				return i + 1, kind
			}
			i = next + 1
		}
	}
	return l.fail(errUnterminated)
}

// continuation returns the place of the quote with which a string goes on after
// white space that holds a newline, or -1 ({quotecontinue} in scan.l).
func continuation(src []byte, i int) int {
	newline := false
	for i < len(src) {
		c := src[i]
		switch {
		case classes[c]&classSpace != 0:
			newline = newline || classes[c]&classNewline != 0
			i++
		case c == '-' && i+1 < len(src) && src[i+1] == '-':
			i = lineEnd(src, i)
		case c == '\'' && newline:
			return i
		default:
			return -1
		}
	}
	return -1
}

// quotedIdent reads an identifier whose opening quote is at i.
func (l *lexer) quotedIdent(i int, kind Kind) (int, Kind) {
	src := l.src
	begin := i + 1
	for i = begin; ; i += 2 {
		n := bytes.IndexByte(src[i:], '"')
		if n < 0 {
			return l.fail(errUnterminated)
		}
		i += n
		if i+1 < len(src) && src[i+1] == '"' {
			continue
		}
		if i == begin {
			return l.fail(errEmptyName)
		}
		return i + 1, kind
	}
}

// lineEnd returns the end of the comment -- at i.
func lineEnd(src []byte, i int) int {
	for i < len(src) && classes[src[i]]&classNewline == 0 {
		i++
	}
	return i
}

// commentEnd returns the end of the comment /* at i, which may hold others.
func (l *lexer) commentEnd(i int) int {
	src := l.src
	depth := 1
	for i += 2; i+1 < len(src); {
		switch {
		case src[i] == '*' && src[i+1] == '/':
			i += 2
			if depth--; depth == 0 {
				return i
			}
		case src[i] == '/' && src[i+1] == '*':
			depth++
			i += 2
		default:
			i++
		}
	}
	end, _ := l.fail(errUnterminated)
	return end
}

// maxOperator is the number of bytes that PostgreSQL allows an operator.
const maxOperator = 63

// operator reads the operator at i: the longest run of its bytes that holds no
// beginning of a comment and does not end in + or -, unless one of the bytes
// that SQL's own operators do not have allows that. A run too long for an
// operator is refused, also where it would be many signs.
func (l *lexer) operator(i int) (int, Kind) {
	src := l.src
	end := i + 1
	for end < len(src) && classes[src[end]]&classOp != 0 {
		if prev := src[end-1]; prev == '-' && src[end] == '-' || prev == '/' && src[end] == '*' {
			end--
			break
		}
		if end++; end-i > maxOperator {
			return l.fail(errLongOperator)
		}
	}
	if !isSign(src[end-1]) || bytes.ContainsAny(src[i:end], "~!@#^&|`?%") {
		return end, Op
	}
	for end > i+1 && isSign(src[end-1]) {
		end--
	}
	return end, Op
}

func isSign(c byte) bool { return c == '+' || c == '-' }

// number reads a number. One that runs into a word is an error in PostgreSQL 15
// and later, and two tokens before.
func (l *lexer) number(i int) (int, Kind) {
	src := l.src
	if src[i] == '0' && i+1 < len(src) {
		switch lowerByte(src[i+1]) {
		case 'x':
			return l.based(i+2, "0123456789abcdefABCDEF")
		case 'o':
			return l.based(i+2, "01234567")
		case 'b':
			return l.based(i+2, "01")
		}
	}
	kind := Int
	end := i
	if src[i] != '.' {
		end = digitsEnd(src, i)
	}
	if end < len(src) && src[end] == '.' && (end+1 == len(src) || src[end+1] != '.' || end == i) {
		kind = Float
		end++
		if end < len(src) && classes[src[end]]&classDigit != 0 {
			end = digitsEnd(src, end)
		}
	}
	if end < len(src) && lowerByte(src[end]) == 'e' {
		exp, signed := end+1, false
		if exp < len(src) && isSign(src[exp]) {
			exp, signed = exp+1, true
		}
		if exp == len(src) || classes[src[exp]]&classDigit == 0 {
			return l.fail(errJunk)
		}
		end, kind = digitsEnd(src, exp), Float
		if !signed && end < len(src) && src[end] == '$' { // e5$ is a word
			return l.fail(errJunk)
		}
	}
	return l.notWord(end, kind)
}

// based reads the digits of a number in another base, from i on.
func (l *lexer) based(i int, digits string) (int, Kind) {
	begin := i
	for i < len(l.src) {
		if l.src[i] == '_' && i+1 < len(l.src) && strings.IndexByte(digits, l.src[i+1]) >= 0 {
			i++
		} else if strings.IndexByte(digits, l.src[i]) < 0 {
			break
		}
		i++
	}
	if i == begin || i < len(l.src) && classes[l.src[i]]&classIdent != 0 {
		return l.fail(errJunk)
	}
	return i, Int
}

// digitsEnd returns the end of the digits at i, which single underscores may
// part.
func digitsEnd(src []byte, i int) int {
	for i++; i < len(src); i++ {
		if classes[src[i]]&classDigit == 0 &&
			(src[i] != '_' || i+1 == len(src) || classes[src[i+1]]&classDigit == 0) {
			break
		}
	}
	return i
}

func (l *lexer) notWord(end int, kind Kind) (int, Kind) {
	if end < len(l.src) && classes[l.src[end]]&classIdentStart != 0 {
		return l.fail(errJunk)
	}
	return end, kind
}

func (l *lexer) dot(i int) (int, Kind) {
	if i+1 < len(l.src) {
		if l.src[i+1] == '.' {
			return i + 2, DotDot
		}
		if classes[l.src[i+1]]&classDigit != 0 {
			return l.number(i)
		}
	}
	return i + 1, Dot
}

func colon(src []byte, i int) (int, Kind) {
	if i+1 < len(src) {
		switch src[i+1] {
		case ':':
			return i + 2, Cast
		case '=':
			return i + 2, ColonEquals
		}
	}
	return i + 1, Colon
}

// dollar reads a parameter or a dollar-quoted string.
func (l *lexer) dollar(i int) (int, Kind) {
	src := l.src
	end := i + 1
	if end < len(src) && classes[src[end]]&classDigit != 0 {
		return l.param(end)
	}
	if end < len(src) && classes[src[end]]&classIdentStart != 0 {
		for end < len(src) && src[end] != '$' && classes[src[end]]&classIdent != 0 {
			end++
		}
	}
	if end == len(src) || src[end] != '$' {
		return i + 1, Other
	}
	tag := src[i : end+1]
	n := bytes.Index(src[end+1:], tag)
	if n < 0 {
		return l.fail(errUnterminated)
	}
	return end + 1 + n + len(tag), DollarString
}

// param reads the number of a parameter, which begins at i.
func (l *lexer) param(i int) (int, Kind) {
	n := 0
	for ; i < len(l.src) && classes[l.src[i]]&classDigit != 0; i++ {
		if n = n*10 + int(l.src[i]-'0'); n > math.MaxInt32 {
			return l.fail(errJunk)
		}
	}
	l.maxParam = max(l.maxParam, n)
	return l.notWord(i, Param)
}
