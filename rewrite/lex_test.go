package rewrite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
)

var kindNames = map[Kind]string{
	Ident: "ident", QuotedIdent: "quoted", UIdent: "uident", Op: "op", Other: "other", Cast: "cast",
	LParen: "(", RParen: ")", LBracket: "[", RBracket: "]", Comma: ",", Semicolon: ";", Dot: ".", DotDot: "..",
	Colon: ":", ColonEquals: ":=", Param: "param", Int: "int", Float: "float", String: "string", EString: "e",
	UString: "u", BString: "b", XString: "x", NString: "n", DollarString: "dollar",
}

// lexAll returns the tokens of a text.
func lexAll(text string) ([]Token, error) {
	l := lexer{src: []byte(text)}
	var tokens []Token
	for t := l.next(); t.Kind != 0; t = l.next() {
		tokens = append(tokens, t)
	}
	return tokens, l.err
}

func TestLex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" \t\n\r\f\v", ""},
		{"select Ünï _a1$ b$$c", "ident select|ident Ünï|ident _a1$|ident b$$c"},
		{`"a""b"."c"`, `quoted "a""b"|. .|quoted "c"`},
		{`U&"d\0061t" uescape '!'`, `uident U&"d\0061t"|ident uescape|string '!'`},
		{`u& "a"`, `ident u|op &|quoted "a"`},
		{`u&1 u &'a'`, `ident u|op &|int 1|ident u|op &|string 'a'`},
		{"'it''s' 'a\\'", "string 'it''s'|string 'a\\'"},
		{"'a' 'b'", "string 'a'|string 'b'"},
		{"'a'\n'b'", "string 'a'\n'b'"},
		{"'a' -- x\n  -- y 'z'\n 'b' c", "string 'a' -- x\n  -- y 'z'\n 'b'|ident c"},
		{"'a' -- x", "string 'a'"},
		{"'a' /* x */\n'b'", "string 'a'|string 'b'"},
		{"'a'\n- 'b'", "string 'a'|op -|string 'b'"},
		{`E'a\'b' e'\\' E'a' 'b\'`, `e E'a\'b'|e e'\\'|e E'a'|string 'b\'`},
		{"E'a'\n'\\''", "e E'a'\n'\\''"},
		{`B'01' x'1F' N'a' U&'\0041' nb'x'`, `b B'01'|x x'1F'|n N'a'|u U&'\0041'|ident nb|string 'x'`},
		{"B'0''1' X'f''' ", "b B'0'|string '1'|x X'f'|string ''"},
		{"date'2020-01-01'", "ident date|string '2020-01-01'"},
		{"$$a$b$$ $t$ $$ $t $t$ $_é1$x$_é1$", "dollar $$a$b$$|dollar $t$ $$ $t $t$|dollar $_é1$x$_é1$"},
		{"$1 $23::int $a", "param $1|param $23|cast ::|ident int|other $|ident a"},
		{"1 12.5 .5 1. 1e5 1.5E-3 1_000", "int 1|float 12.5|float .5|float 1.|float 1e5|float 1.5E-3|int 1_000"},
		{"1e+5$", "float 1e+5|other $"},
		{"1..2 1.2.3 1...5", "int 1|.. ..|int 2|float 1.2|float .3|int 1|.. ..|float .5"},
		{"0x1F 0O17 0b1_0 0x_a 00", "int 0x1F|int 0O17|int 0b1_0|int 0x_a|int 00"},
		{"a.b a[1:2] a:=1 a::b", "ident a|. .|ident b|ident a|[ [|int 1|: :|int 2|] ]|ident a|:= :=|int 1|ident a|cast ::|ident b"},
		{"a<>b >=<= a=-1 a*-1", "ident a|op <>|ident b|op >=<=|ident a|op =|op -|int 1|ident a|op *|op -|int 1"},
		{"@-1 a|+-b ?| #>>- +-+", "op @-|int 1|ident a|op |+-|ident b|op ?||op #>>-|op +|op -|op +"},
		{"1+/*c*/-2 3--x\n*/*y*/4", "int 1|op +|op -|int 2|int 3|op *|int 4"},
		{"1 /* a /* b */ c */ 2 /**/ 3 /*/ */4", "int 1|int 2|int 3|int 4"},
		{"/* /* */ next_snowflake() -- */ 1", "int 1"},
		{"-- a\rb--c", "ident b"},
		{"{\\}", "other {|other \\|other }"},
		{"=> != <-", "op =>|op !=|op <|op -"},
	} {
		tokens, err := lexAll(c.text)
		var parts []string
		for _, tok := range tokens {
			parts = append(parts, kindNames[tok.Kind]+" "+c.text[tok.Start:tok.End])
		}
		if got := strings.Join(parts, "|"); got != c.want || err != nil {
			t.Errorf("%q:\n got %s, %v\nwant %s", c.text, got, err, c.want)
		}
	}
}

func TestLexErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"'a", "'a''", "E'a\\'", "E'\\", `"a`, `"a""`, `""`, `U&""`, "/* /* */", "/*/", "$$a$", "$a$ $b$", "'a'\n'b",
		strings.Repeat("=", 64), strings.Repeat("+", 64), "1a", "1_", "1__0", "1._5", "0x", "0xg", "0x1g", "0b2", "0b02", "0x1$", "0o8", "1e", "1e+", "1.5e", "1e5$", "$1a", "$99999999999", "123é",
	} {
		var s Shape
		if err := s.Scan([]byte(text)); err == nil {
			t.Errorf("%q: no error; tokens %v", text, s.Tokens)
		}
	}
}

// pgKind returns the kind that a token of PostgreSQL's own scanner has here.
func pgKind(tok *pg.ScanToken, text string) Kind {
	switch tok.Token {
	case pg.Token_IDENT:
		if text[0] == '"' {
			return QuotedIdent
		}
		return Ident
	case pg.Token_UIDENT:
		return UIdent
	case pg.Token_SCONST:
		switch text[0] {
		case 'e', 'E':
			return EString
		case '$':
			return DollarString
		}
		return String
	case pg.Token_USCONST:
		return UString
	case pg.Token_BCONST:
		return BString
	case pg.Token_XCONST:
		return XString
	case pg.Token_ICONST:
		return Int
	case pg.Token_FCONST:
		if strings.ContainsAny(text, ".") || strings.ContainsAny(text, "eE") && text[1]|0x20 != 'x' {
			return Float
		}
		return Int // too large for an int4
	case pg.Token_PARAM:
		return Param
	case pg.Token_TYPECAST:
		return Cast
	case pg.Token_DOT_DOT:
		return DotDot
	case pg.Token_COLON_EQUALS:
		return ColonEquals
	case pg.Token_Op, pg.Token_NOT_EQUALS, pg.Token_LESS_EQUALS, pg.Token_GREATER_EQUALS, pg.Token_EQUALS_GREATER:
		return Op
	}
	if tok.KeywordKind != pg.KeywordKind_NO_KEYWORD {
		return Ident
	}
	if begins[text[0]] == beginOp {
		return Op
	}
	for kind, name := range kindNames {
		if name == text {
			return kind
		}
	}
	return Other
}

// pgTokens returns what PostgreSQL's own scanner finds in text, as ours would:
// without comments, and with the two tokens of N'…' as one.
func pgTokens(text string) ([]Token, error) {
	res, err := pg.Scan(text)
	if err != nil {
		return nil, err
	}
	var tokens []Token
	for _, tok := range res.Tokens {
		if tok.Token == pg.Token_SQL_COMMENT || tok.Token == pg.Token_C_COMMENT {
			continue
		}
		start, kind := tok.Start, pgKind(tok, text[tok.Start:tok.End])
		if n := len(tokens); kind == String && n > 0 && tokens[n-1].End == start && tokens[n-1].End-tokens[n-1].Start == 1 &&
			tokens[n-1].Kind == Ident && text[start-1]|0x20 == 'n' {
			tokens = tokens[:n-1]
			start, kind = start-1, NString
		}
		tokens = append(tokens, Token{start, tok.End, kind})
	}
	return tokens, nil
}

// valueErrors are those of PostgreSQL's scanner that lie in the value of a
// token, and that the server is left to find.
var valueErrors = []string{
	"invalid Unicode", "invalid byte sequence", "operator too long", "unsafe use of",
}

// patched finds what pg_query's scanner reads otherwise than PostgreSQL's: a
// string that may go on behind a comment, where comments are tokens, and a
// parameter that runs into a word, which is no error there. And it finds signs
// in so long a row that they are refused here.
var patched = regexp.MustCompile(`[-+*/<>=]{63}|'\s*--[^\n\r]*[\n\r]|'\s*[\n\r]\s*--|\$\d+[A-Za-z_\x80-\x{10ffff}]`)

func sameAsPostgres(text string) error {
	if strings.Contains(text, "\x00") || patched.MatchString(text) {
		return nil
	}
	got, err := lexAll(text)
	want, pgErr := pgTokens(text)
	if pgErr != nil {
		for _, allowed := range valueErrors {
			if strings.Contains(pgErr.Error(), allowed) {
				return nil
			}
		}
	}
	if (err == nil) != (pgErr == nil) {
		return fmt.Errorf("error %v, PostgreSQL's %v", err, pgErr)
	}
	if g, w := fmt.Sprint(got), fmt.Sprint(want); err == nil && g != w {
		return fmt.Errorf("tokens %s, PostgreSQL's %s", g, w)
	}
	return nil
}

var lexSeeds = []string{
	shortInsert, "SELECT 'a' \n 'b', E'\\'' U&\"a\" UESCAPE '!'", "1..2 0x1f 1_0 1.e5 $1::int $a$x$a$ $b",
	"a@-1 b+-c ?| /* /* */ */ *-- x\n'q'''", "N'a' n'b'\n'c' b'1' X'f' u&'\\0041' u&x", "\"a\"\"b\" é_$1 ::=:=<>=..",
}

func TestLexAsPostgres(t *testing.T) {
	for _, text := range lexSeeds {
		if err := sameAsPostgres(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzLex holds the lexer against PostgreSQL's own scanner. They differ in: the
// comments, which are tokens there; N'…', which is two tokens there; an integer
// too large for an int4, which is a float there; what patched
// finds; and errors in the value of a
// token, which are not looked for here.
func FuzzLex(f *testing.F) {
	for _, text := range lexSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := sameAsPostgres(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
