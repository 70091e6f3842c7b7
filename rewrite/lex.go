package rewrite

import (
	"bytes"
	"errors"
)

// Errors of the lexer: texts that PostgreSQL's scanner refuses, in one version
// at least. Nothing is replaced in them.
var (
	errUnterminated = errors.New("unterminated comment, string or quoted identifier")
	errJunk         = errors.New("number or parameter runs into a word")
)

// A lexer cuts a text into tokens as src/backend/parser/scan.l of PostgreSQL 17
// does while standard_conforming_strings is on; 14 to 18 agree on every text
// for which it has no error.
type lexer struct {
	src       []byte
	pos       int
	backslash bool // a string but E'…' holds a backslash
	high      byte // all bytes of the text or-ed together, where they matter
}

// next returns the next token; ok is false at the end of the text.
func (l *lexer) next() (t Token, ok bool, err error) {
	src := l.src
	i := l.pos
	for {
		for i < len(src) && classes[src[i]]&classSpace != 0 {
			i++
		}
		if i+1 >= len(src) {
			break
		}
		if src[i] == '-' && src[i+1] == '-' {
			i = lineEnd(src, i)
			continue
		}
		if src[i] == '/' && src[i+1] == '*' {
			if i = commentEnd(src, i); i < 0 {
				return t, false, errUnterminated
			}
			continue
		}
		break
	}
	if i >= len(src) {
		l.pos = i
		return t, false, nil
	}
	end, kind, err := l.token(i)
	l.pos = end
	return Token{int32(i), int32(end), kind}, err == nil, err
}

// token returns the end and kind of the token that begins at i.
func (l *lexer) token(i int) (int, Kind, error) {
	src := l.src
	c := src[i]
	class := classes[c]
	switch {
	case class&classIdentStart != 0:
		return l.word(i)
	case class&classDigit != 0:
		return number(src, i)
	case class&classOp != 0:
		return operator(src, i), Op, nil
	case singles[c] != 0:
		return i + 1, singles[c], nil
	}
	switch c {
	case '\'':
		return l.quoted(i, String)
	case '"':
		return quotedIdent(src, i, QuotedIdent)
	case '.':
		if i+1 < len(src) && src[i+1] == '.' {
			return i + 2, DotDot, nil
		}
		if i+1 < len(src) && classes[src[i+1]]&classDigit != 0 {
			return number(src, i)
		}
		return i + 1, Dot, nil
	case ':':
		if i+1 < len(src) && src[i+1] == ':' {
			return i + 2, Cast, nil
		}
		if i+1 < len(src) && src[i+1] == '=' {
			return i + 2, ColonEquals, nil
		}
		return i + 1, Colon, nil
	case '$':
		return dollar(src, i)
	}
	return i + 1, Other, nil
}

// word reads an identifier or keyword, or a string with a letter before it.
func (l *lexer) word(i int) (int, Kind, error) {
	src := l.src
	if i+1 < len(src) {
		switch q := src[i+1]; {
		case q == '\'':
			switch src[i] {
			case 'e', 'E':
				return l.quoted(i+1, EString)
			case 'b', 'B':
				return l.quoted(i+1, BString)
			case 'x', 'X':
				return l.quoted(i+1, XString)
			case 'n', 'N':
				return l.quoted(i+1, NString)
			}
		case q == '&' && (src[i] == 'u' || src[i] == 'U') && i+2 < len(src):
			switch src[i+2] {
			case '\'':
				return l.quoted(i+2, UString)
			case '"':
				return quotedIdent(src, i+2, UIdent)
			}
		}
	}
	for i < len(src) && classes[src[i]]&classIdent != 0 {
		i++
	}
	return i, Ident, nil
}

// quoted reads a string whose opening quote is at i, with its continuations.
func (l *lexer) quoted(i int, kind Kind) (int, Kind, error) {
	src := l.src
	for {
		i++
		for {
			n := bytes.IndexByte(src[i:], '\'')
			if n < 0 {
				return len(src), kind, errUnterminated
			}
			if b := bytes.IndexByte(src[i:i+n], '\\'); b >= 0 {
				if kind == EString {
					i = min(i+b+2, len(src))
					continue
				}
				l.backslash = true
			}
			i += n + 1
			if i < len(src) && src[i] == '\'' {
				i++
				continue
			}
			break
		}
		next := continuation(src, i)
		if next < 0 {
			return i, kind, nil
		}
		i = next
	}
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
			if i == len(src) {
				return -1
			}
		case c == '\'' && newline:
			return i
		default:
			return -1
		}
	}
	return -1
}

func quotedIdent(src []byte, i int, kind Kind) (int, Kind, error) {
	for i++; ; i += 2 {
		n := bytes.IndexByte(src[i:], '"')
		if n < 0 {
			return len(src), kind, errUnterminated
		}
		i += n
		if i+1 >= len(src) || src[i+1] != '"' {
			return i + 1, kind, nil
		}
	}
}

func lineEnd(src []byte, i int) int {
	for i < len(src) && classes[src[i]]&classNewline == 0 {
		i++
	}
	return i
}

// commentEnd returns the end of a comment, which may hold others, or -1.
func commentEnd(src []byte, i int) int {
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
	return -1
}

// operator returns the end of the operator at i: the longest run of its bytes
// that holds no beginning of a comment and does not end in + or -, unless a
// byte in it allows that.
func operator(src []byte, i int) int {
	end := i + 1
	for end < len(src) && classes[src[end]]&classOp != 0 {
		if prev := src[end-1]; prev == '-' && src[end] == '-' || prev == '/' && src[end] == '*' {
			end--
			break
		}
		end++
	}
	for end > i+1 && (src[end-1] == '+' || src[end-1] == '-') &&
		bytes.IndexAny(src[i:end], "~!@#^&|`?%") < 0 {
		end--
	}
	return max(end, i+1)
}

// number reads a number. One that runs into a word is an error in PostgreSQL 15
// and later, and two tokens before.
func number(src []byte, i int) (int, Kind, error) {
	kind := Int
	if src[i] == '0' && i+1 < len(src) {
		if base := lowerByte(src[i+1]); base == 'x' || base == 'o' || base == 'b' {
			end := i + 2
			for end < len(src) && (isHex(src[end]) || src[end] == '_') {
				end++
			}
			if end == i+2 {
				return end, kind, errJunk
			}
			return notWord(src, end, kind)
		}
	}
	end := digits(src, i)
	if end < len(src) && src[end] == '.' && (end+1 >= len(src) || src[end+1] != '.') {
		kind = Float
		end = digits(src, end+1)
	}
	if end < len(src) && lowerByte(src[end]) == 'e' {
		exp := end + 1
		if exp < len(src) && (src[exp] == '+' || src[exp] == '-') {
			exp++
		}
		if exp < len(src) && classes[src[exp]]&classDigit != 0 {
			kind = Float
			end = digits(src, exp)
		}
	}
	return notWord(src, end, kind)
}

func isHex(c byte) bool {
	c = lowerByte(c)
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
}

// digits returns the end of the digits at i, which single underscores may part.
func digits(src []byte, i int) int {
	for i < len(src) {
		if classes[src[i]]&classDigit == 0 {
			if src[i] != '_' || i+1 >= len(src) || classes[src[i+1]]&classDigit == 0 ||
				i == 0 || classes[src[i-1]]&classDigit == 0 {
				break
			}
		}
		i++
	}
	return i
}

func notWord(src []byte, end int, kind Kind) (int, Kind, error) {
	if end < len(src) && classes[src[end]]&classIdentStart != 0 {
		return end, kind, errJunk
	}
	return end, kind, nil
}

// dollar reads a parameter or a dollar-quoted string.
func dollar(src []byte, i int) (int, Kind, error) {
	end := i + 1
	if end < len(src) && classes[src[end]]&classDigit != 0 {
		for end < len(src) && classes[src[end]]&classDigit != 0 {
			end++
		}
		return notWord(src, end, Param)
	}
	if end < len(src) && classes[src[end]]&classIdentStart != 0 {
		for end < len(src) && src[end] != '$' && classes[src[end]]&classIdent != 0 {
			end++
		}
	}
	if end >= len(src) || src[end] != '$' {
		return i + 1, Other, nil
	}
	tag := src[i : end+1]
	n := bytes.Index(src[end+1:], tag)
	if n < 0 {
		return len(src), DollarString, errUnterminated
	}
	return end + 1 + n + len(tag), DollarString, nil
}
