package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// step is one block of a parity script. Blocks are separated by empty lines
// and look so:
//
//	# Anything worth saying.
//	proxy on b bind "x" NULL
//	INSERT INTO t(id, name, note) VALUES (next_snowflake(), $1, $2)
//	RETURNING id
//
// The first word says who makes the ids that the step is the first to show:
// same (there are none), proxy, server or any. For server the client's own
// text must reach the server; also for kept, which shows no ids. For fold and
// filled, which show none either, another must (id_to_timestamp of a constant,
// an omitted column); for either it does not matter. Then may follow
//
//	ready           waits first until the proxy has read the database again, so
//	                that it could replace; proxy, fold and filled always do
//	on NAME         the session; "main" if absent
//	simple          only as a simple query
//	extended        only prepared
//	once            not bound several times
//	from N, to N    only on these major versions of PostgreSQL
//	escaped         \xNN in the text is a byte, for other encodings than UTF-8
//	types OID,…     parameter types declared in Parse
//	bind VALUE …    values of the parameters; this ends the line; not run as a simple query
//
// Lines after a line "----" are sent when the server asks for copy data.
type step struct {
	line     int
	mint     string
	session  string
	simple   bool
	extended bool
	once     bool
	ready    bool
	from, to int
	types    []uint32
	values   [][]byte
	text     string
	copy     string
}

// mode is a way to send a statement.
type mode string

const (
	simpleQuery mode = "simple"
	unnamed     mode = "unnamed" // prepared without a name, for each use or for two
	named       mode = "named"   // prepared under a name, bound three times
)

func TestParity(t *testing.T) {
	files, err := filepath.Glob("testdata/parity/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	eachServer(t, func(t *testing.T, s server) {
		for _, file := range files {
			steps := readSteps(t, file)
			for _, m := range []mode{simpleQuery, unnamed, named} {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".sql")+"/"+string(m), func(t *testing.T) {
					t.Parallel()
					runSteps(t, s, steps, m)
				})
			}
		}
	})
}

func readSteps(t *testing.T, file string) []step {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	line := 1
	for block := range strings.SplitSeq(string(b), "\n\n") {
		at := line
		line += strings.Count(block, "\n") + 2
		for {
			if trimmed := strings.TrimPrefix(block, "\n"); trimmed != block {
				block, at = trimmed, at+1
				continue
			}
			if !strings.HasPrefix(block, "#") {
				break
			}
			_, block, _ = strings.Cut(block, "\n")
			at++
		}
		if strings.TrimSpace(block) == "" {
			continue
		}
		header, text, _ := strings.Cut(strings.TrimSuffix(block, "\n"), "\n")
		st, err := parseHeader(header)
		if err != nil {
			t.Fatalf("%s:%d: %v", file, at, err)
		}
		st.line = at
		st.text, st.copy, _ = strings.Cut(text, "\n----\n")
		if st.text, err = unescape(st, header); err != nil {
			t.Fatalf("%s:%d: %v", file, at, err)
		}
		steps = append(steps, st)
	}
	return steps
}

func unescape(st step, header string) (string, error) {
	if !slices.Contains(strings.Fields(header), "escaped") {
		return st.text, nil
	}
	return strconv.Unquote(`"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(st.text) + `"`)
}

func parseHeader(header string) (step, error) {
	st := step{session: "main", from: 0, to: 1000, simple: true, extended: true}
	header, values, binds := strings.Cut(header+" ", " bind ")
	words := strings.Fields(header)
	st.mint = words[0]
	if !slices.Contains([]string{"same", "kept", "proxy", "server", "any", "fold", "filled", "either"}, st.mint) {
		return st, fmt.Errorf("unknown word %q", st.mint)
	}
	st.ready = slices.Contains([]string{"proxy", "fold", "filled"}, st.mint)
	for i := 1; i < len(words); i++ {
		next := func() string { i++; return words[min(i, len(words)-1)] }
		var err error
		switch words[i] {
		case "on":
			st.session = next()
		case "simple":
			st.extended = false
		case "extended":
			st.simple = false
		case "once":
			st.once = true
		case "ready":
			st.ready = true
		case "from":
			st.from, err = strconv.Atoi(next())
		case "to":
			st.to, err = strconv.Atoi(next())
		case "escaped":
		case "types":
			for oid := range strings.SplitSeq(next(), ",") {
				n, e := strconv.Atoi(oid)
				st.types, err = append(st.types, uint32(n)), e
			}
		default:
			err = fmt.Errorf("unknown word %q", words[i])
		}
		if err != nil {
			return st, err
		}
	}
	if binds {
		st.simple = false
		var err error
		st.values, err = parseValues(values)
		return st, err
	}
	return st, nil
}

// parseValues reads Go strings and NULLs.
func parseValues(s string) ([][]byte, error) {
	values := [][]byte{}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if rest, ok := strings.CutPrefix(s, "NULL"); ok {
			values, s = append(values, nil), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return nil, fmt.Errorf("value at %q: %w", s, err)
		}
		v, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		values, s = append(values, []byte(v)), s[len(quoted):]
	}
	return values, nil
}

// runSteps runs a script through the proxy and directly, step by step, each in
// a database of its own, and compares everything that comes back.
func runSteps(t *testing.T, s server, steps []step, m mode) {
	oracle, subject := newSide(t, s, false, true), newSide(t, s, true, true)
	failed := 0
	for i, st := range steps {
		if m == simpleQuery && !st.simple || m != simpleQuery && !st.extended || s.Major() < st.from || s.Major() > st.to {
			continue
		}
		name := fmt.Sprintf("s%d", i)
		if st.ready {
			subject.ready(t)
		}
		want, _ := oracle.step(t, st, m, name)
		got, sent := subject.step(t, st, m, name)
		var problems []string
		if d := diff(want, got); d != "" {
			problems = append(problems, "through the proxy (+) and directly (-):\n"+d)
		}
		problems = append(problems, checkMinted(st, m, oracle.fresh(), subject.fresh(), subject.mask)...)
		problems = append(problems, checkSent(st, m, name, sent)...)
		if len(problems) > 0 {
			t.Errorf("line %d, %s:\n%s\n%s\nthe server was sent:\n%s", st.line, m, st.text, strings.Join(problems, "\n"), sent)
			oracle.mask.last = max(oracle.mask.last, subject.mask.last)
			subject.mask.last = oracle.mask.last
			if failed++; failed >= 4 {
				t.Fatal("too many differences")
			}
		}
	}
}

// checkMinted holds the ids that a step was the first to show against its
// first word.
func checkMinted(st step, m mode, want, got []minted, mask *mask) []string {
	var problems []string
	byProxy, byServer := 0, 0
	for _, id := range got {
		switch {
		case mask.byProxy(id):
			byProxy++
		case id.node == functionNode || id.node < 0:
			byServer++
		default:
			problems = append(problems, fmt.Sprintf("id %s is of node %d", id.text, id.node))
		}
	}
	for _, id := range want {
		if id.node >= 0 && id.node != functionNode {
			problems = append(problems, fmt.Sprintf("directly: id %s is of node %d", id.text, id.node))
		}
	}
	wrong := false
	switch st.mint {
	case "same", "kept", "fold", "filled", "either":
		wrong = len(got) > 0
	case "proxy":
		wrong = byServer > 0 || byProxy == 0
	case "server":
		wrong = byProxy > 0 || byServer == 0
	case "any":
		wrong = len(got) == 0
	}
	if wrong {
		problems = append(problems, fmt.Sprintf("ids of the proxy: %d, of the server: %d", byProxy, byServer))
	}
	return problems
}

// checkSent wants the client's own text to have reached the server where
// nothing was to be replaced, and another one where something was. A statement
// that failed early may not have been logged.
func checkSent(st step, m mode, name, sent string) []string {
	ours := regexp.MustCompile("(?i)snowflake|uuidv7|id_to_timestamp").MatchString(st.text)
	logged := strings.Contains(sent, "statement: ") || strings.Contains(sent, "execute ")
	if slices.Contains([]string{"proxy", "any", "either"}, st.mint) || st.mint == "same" && ours || !logged {
		return nil
	}
	prefix := map[mode]string{simpleQuery: "statement: ", unnamed: "execute <unnamed>: ", named: "execute " + name + ": "}[m]
	same := strings.Contains(sent, prefix+st.text+"\n")
	if same == (st.mint == "fold" || st.mint == "filled") {
		return []string{fmt.Sprintf("client's own text reached the server: %v", same)}
	}
	return nil
}

// side is one of the two ways to the server, with its sessions.
type side struct {
	url      string
	mask     *mask
	sessions map[string]*stream
	shown    int     // ids of the mask that earlier steps have shown
	probe    *stream // for ready
}

// newSide makes a side in a database of its own. With logged its sessions hear
// from the server what that was sent.
func newSide(t *testing.T, s server, through, logged bool) *side {
	t.Helper()
	db := newDatabase(t, s)
	if logged {
		err := execAt(s.URL("postgres"), "ALTER DATABASE "+db+" SET log_statement = 'all'", "ALTER DATABASE "+db+" SET client_min_messages = 'log'")
		if err != nil {
			t.Fatal(err)
		}
	}
	d := &side{url: s.URL(db), mask: newMask(), sessions: map[string]*stream{}}
	if through {
		d.url = fixtureOf(t, s).proxy.databaseURL(db)
	}
	return d
}

// ready waits until the proxy has read the database again.
func (d *side) ready(t *testing.T) {
	t.Helper()
	if d.probe == nil {
		d.probe = openStream(t, d.url, newMask())
	}
	d.probe.awaitProxy()
}

func (d *side) fresh() []minted {
	ids := d.mask.ids[d.shown:]
	d.shown = len(d.mask.ids)
	return ids
}

// step returns what came back, and what the server says it was sent.
func (d *side) step(t *testing.T, st step, m mode, name string) (got []string, sent string) {
	t.Helper()
	session := d.session(t, st.session)
	before := d.mask.sent.Len()
	switch m {
	case simpleQuery:
		got = session.query(st)
	case unnamed:
		got = session.prepareUnnamed(st)
	case named:
		got = session.prepareNamed(st, name)
	}
	return got, d.mask.sent.String()[before:]
}

func (s *stream) query(st step) []string {
	s.tb.Helper()
	s.queue(&pgproto3.Query{String: st.text})
	got := s.until("ZG")
	for strings.HasPrefix(got[len(got)-1], "G") {
		if st.copy == "" {
			s.queue(&pgproto3.CopyFail{Message: "no data"})
		} else {
			s.queue(&pgproto3.CopyData{Data: []byte(st.copy + "\n")}, &pgproto3.CopyDone{})
		}
		got = append(got, s.until("ZG")...)
	}
	return got
}

// repeatable tells whether a statement is worth binding more than once.
func (st step) repeatable() bool {
	word, _, _ := strings.Cut(strings.ToUpper(st.text), " ")
	return !st.once && slices.Contains([]string{"SELECT", "INSERT", "VALUES", "WITH", "UPDATE"}, word)
}

func (s *stream) prepareUnnamed(st step) []string {
	s.tb.Helper()
	s.queue(
		&pgproto3.Parse{Query: st.text, ParameterOIDs: st.types},
		&pgproto3.Describe{ObjectType: 'S'},
		&pgproto3.Bind{Parameters: st.values},
		&pgproto3.Describe{ObjectType: 'P'},
		&pgproto3.Execute{},
		&pgproto3.Sync{})
	got := s.until("Z")
	if st.repeatable() {
		s.queue(&pgproto3.Bind{Parameters: st.values}, &pgproto3.Execute{}, &pgproto3.Sync{})
		got = append(got, s.until("Z")...)
	}
	return got
}

func (s *stream) prepareNamed(st step, name string) []string {
	s.tb.Helper()
	s.queue(&pgproto3.Parse{Name: name, Query: st.text, ParameterOIDs: st.types}, &pgproto3.Sync{})
	got := s.until("Z")
	s.queue(&pgproto3.Describe{ObjectType: 'S', Name: name}, &pgproto3.Sync{})
	got = append(got, s.until("Z")...)
	bind := func(portal string, format ...int16) {
		s.queue(&pgproto3.Bind{DestinationPortal: portal, PreparedStatement: name, Parameters: st.values, ResultFormatCodes: format},
			&pgproto3.Describe{ObjectType: 'P', Name: portal}, &pgproto3.Execute{Portal: portal})
	}
	bind("")
	s.queue(&pgproto3.Sync{})
	got = append(got, s.until("Z")...)
	if st.repeatable() {
		bind("", pgproto3.BinaryFormat)
		bind("p", pgproto3.TextFormat)
		s.queue(&pgproto3.Close{ObjectType: 'P', Name: "p"}, &pgproto3.Sync{})
		got = append(got, s.until("Z")...)
	}
	return got
}
