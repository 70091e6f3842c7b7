package e2e

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// command is one line of a wire script. The notation is that of the protocol's
// own letters; strings are Go's:
//
//	> Q "SELECT 1"                            messages to the server, sent together
//	> P "name" "SELECT $1" 25                 Parse, with types
//	> B "portal" "name" f 1 0 v "a" NULL r 1  Bind: formats, values, result formats
//	> D S "name"                              Describe, also D P
//	> E "portal" 2                            Execute
//	> C S "name"                              Close, also C P
//	> H    > S    > X                         Flush, Sync, Terminate
//	> d "x\n" 100    > c    > f "why"         CopyData (100 times), CopyDone, CopyFail
//	> F 2168 f 1 v \x05 r 1                   FunctionCall
//	< Z                                       now send, and receive up to a message of the type
//	< ZZ                                      … and then up to another
//	@ b                                       the session that the following lines are about
//	drip                                      the session sends single bytes from here on
//	mint proxy 2                              ids shown since the last such line: so many, made there
//	                                          (proxy: also ascending; unordered: by the proxy; any: wherever)
//	ready                                     waits until the proxy has read the database again, after DDL
//	repeat 3 … end                            the lines between, three times
//
// A script runs directly and through the proxy; what is received must be equal.
type command struct {
	line    int
	verb    string // ">", "<", "@", "drip", "mint"
	args    []string
	message pgproto3.FrontendMessage
	times   int
}

func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	eachServer(t, func(t *testing.T, s server) {
		for _, file := range files {
			commands := readCommands(t, file)
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
				t.Parallel()
				runCommands(t, s, commands)
			})
		}
	})
}

func readCommands(t *testing.T, file string) []command {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all, body []command
	times := 0
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words, err := splitWords(line)
		if err != nil {
			t.Fatalf("%s:%d: %v", file, i+1, err)
		}
		c := command{line: i + 1, verb: words[0], args: words[1:], times: 1}
		switch c.verb {
		case "repeat":
			if times, err = strconv.Atoi(c.args[0]); err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
			all, body = append(all, body...), nil
			continue
		case "end":
			for range times {
				all = append(all, body...)
			}
			body = nil
			continue
		case ">":
			if c.message, c.times, err = parseMessage(c.args); err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
		case "<", "@", "drip", "mint", "ready":
		default:
			t.Fatalf("%s:%d: unknown word %q", file, i+1, c.verb)
		}
		body = append(body, c)
	}
	return append(all, body...)
}

// splitWords splits a line at spaces outside of strings, which it keeps quoted.
func splitWords(line string) ([]string, error) {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		end := strings.IndexByte(line, ' ')
		if end < 0 {
			end = len(line)
		}
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("string at %q: %w", line, err)
			}
			end = len(quoted)
		}
		words = append(words, line[:end])
		line = line[end:]
	}
	return words, nil
}

// fields reads what follows the letter of a message.
type fields struct {
	words []string
	err   error
}

func (f *fields) next() string {
	if len(f.words) == 0 {
		return ""
	}
	word := f.words[0]
	f.words = f.words[1:]
	if strings.HasPrefix(word, `"`) {
		word, f.err = strconv.Unquote(word)
	}
	return word
}

func (f *fields) number() int {
	word := f.next()
	if word == "" {
		return 0
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		f.err = err
	}
	return n
}

// lists reads f, v and r with what follows each.
func (f *fields) lists() (formats []int16, values [][]byte, results []int16) {
	what := ""
	for len(f.words) > 0 {
		if slices.Contains([]string{"f", "v", "r"}, f.words[0]) {
			what = f.next()
			continue
		}
		switch quoted := f.words[0][0] == '"'; what {
		case "f":
			formats = append(formats, int16(f.number()))
		case "r":
			results = append(results, int16(f.number()))
		default:
			word := f.next()
			if h, ok := strings.CutPrefix(word, `\x`); ok && !quoted {
				b, err := hex.DecodeString(h)
				values, f.err = append(values, b), err
			} else if word == "NULL" && !quoted {
				values = append(values, nil)
			} else {
				values = append(values, []byte(word))
			}
		}
	}
	return formats, values, results
}

func parseMessage(words []string) (msg pgproto3.FrontendMessage, times int, err error) {
	f := &fields{words: words[1:]}
	times = 1
	switch words[0] {
	case "Q":
		msg = &pgproto3.Query{String: f.next()}
	case "P":
		m := &pgproto3.Parse{Name: f.next(), Query: f.next()}
		for len(f.words) > 0 {
			m.ParameterOIDs = append(m.ParameterOIDs, uint32(f.number()))
		}
		msg = m
	case "B":
		m := &pgproto3.Bind{DestinationPortal: f.next(), PreparedStatement: f.next()}
		m.ParameterFormatCodes, m.Parameters, m.ResultFormatCodes = f.lists()
		msg = m
	case "D":
		msg = &pgproto3.Describe{ObjectType: f.next()[0], Name: f.next()}
	case "C":
		msg = &pgproto3.Close{ObjectType: f.next()[0], Name: f.next()}
	case "E":
		msg = &pgproto3.Execute{Portal: f.next(), MaxRows: uint32(f.number())}
	case "H":
		msg = &pgproto3.Flush{}
	case "S":
		msg = &pgproto3.Sync{}
	case "X":
		msg = &pgproto3.Terminate{}
	case "d":
		msg = &pgproto3.CopyData{Data: []byte(f.next())}
		times = max(f.number(), 1)
	case "c":
		msg = &pgproto3.CopyDone{}
	case "f":
		msg = &pgproto3.CopyFail{Message: f.next()}
	case "F":
		m := &pgproto3.FunctionCall{Function: uint32(f.number())}
		formats, values, results := f.lists()
		for _, format := range formats {
			m.ArgFormatCodes = append(m.ArgFormatCodes, uint16(format))
		}
		m.Arguments = values
		if len(results) > 0 {
			m.ResultFormatCode = uint16(results[0])
		}
		msg = m
	default:
		err = fmt.Errorf("unknown message %q", words[0])
	}
	if err == nil {
		err = f.err
	}
	return msg, times, err
}

func runCommands(t *testing.T, s server, commands []command) {
	oracle, subject := newSide(t, s, false, false), newSide(t, s, true, false)
	session := "main"
	subject.ready(t)
	for _, c := range commands {
		a, b := oracle.session(t, session), subject.session(t, session)
		switch c.verb {
		case "@":
			session = c.args[0]
		case "ready":
			subject.ready(t)
		case "drip":
			a.drip, b.drip = true, true
		case ">":
			for range c.times {
				a.queue(c.message)
				b.queue(c.message)
			}
		case "<":
			for _, types := range c.args[0] {
				want, got := a.until(string(types)), b.until(string(types))
				if d := diff(want, got); d != "" {
					t.Fatalf("line %d: through the proxy (+) and directly (-):\n%s", c.line, d)
				}
			}
		case "mint":
			if err := checkCount(c, oracle.fresh(), subject.fresh(), subject.mask); err != nil {
				t.Errorf("line %d: %v", c.line, err)
			}
		}
	}
}

// checkCount holds the ids shown since the last such line against it. Those of
// the proxy must ascend.
func checkCount(c command, want, got []minted, m *mask) error {
	count, err := strconv.Atoi(c.args[1])
	if err != nil {
		return err
	}
	if len(got) != count || len(want) != count {
		return fmt.Errorf("%d ids through the proxy and %d directly, want %d", len(got), len(want), count)
	}
	if c.args[0] == "any" {
		return nil
	}
	last := int64(0)
	for i, id := range got {
		if m.byProxy(id) != (c.args[0] != "server") {
			return fmt.Errorf("id %d of %d, %s: made by the proxy: %v", i+1, count, id.text, m.byProxy(id))
		}
		if n, err := strconv.ParseInt(id.text, 10, 64); err == nil && c.args[0] == "proxy" {
			if n <= last {
				return fmt.Errorf("id %d of %d is %d after %d", i+1, count, n, last)
			}
			last = n
		}
	}
	return nil
}

func (d *side) session(tb testing.TB, name string) *stream {
	tb.Helper()
	s := d.sessions[name]
	if s == nil {
		s = openStream(tb, d.url, d.mask)
		d.sessions[name] = s
	}
	return s
}
