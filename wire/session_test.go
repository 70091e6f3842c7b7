package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
)

// fakeCatalog is a catalog that tests change under a session.
type fakeCatalog struct {
	now    *rewrite.Catalog
	begun  int
	waited int
}

func (c *fakeCatalog) Current() *rewrite.Catalog {
	if c.begun > 0 {
		return nil
	}
	return c.now
}
func (c *fakeCatalog) Begin()                 { c.begun++ }
func (c *fakeCatalog) End()                   { c.begun-- }
func (c *fakeCatalog) Last() *rewrite.Catalog { return c.now }
func (c *fakeCatalog) Fresh(context.Context)  { c.waited++ }

func newCatalog(generation uint64, relations ...string) *rewrite.Catalog {
	d := rewrite.CatalogData{
		Database: "db", Generation: generation, Version: 150000, Known: true, Schema: "public",
		Ours:      map[string]bool{"next_snowflake": true, "uuidv7": true, "id_to_timestamp": true},
		Functions: map[string]bool{"abs": true}, Operators: map[string]bool{"+": true},
	}
	for _, r := range relations {
		d.Relations = append(d.Relations, rewrite.Relation{Schema: "public", Name: r, Plain: true})
	}
	return rewrite.NewCatalog(d)
}

// harness plays both sides of a session. Ids count up from 1; chunk is how many
// bytes are given at a time, 0 for all.
type harness struct {
	t       testing.TB
	s       *Session
	catalog *fakeCatalog
	chunk   int
	last    int64
	broken  bool // nothing can be minted
}

func newHarness(t testing.TB, chunk int) *harness {
	h := unsigned(t, chunk)
	h.signOn()
	return h
}

// unsigned is a session that the server has not let in yet.
func unsigned(t testing.TB, chunk int) *harness {
	h := &harness{t: t, chunk: chunk, catalog: &fakeCatalog{now: newCatalog(1, "t")}}
	h.s = NewSession(Hooks{
		Rewriter: rewrite.New(rewrite.Config{}),
		Mint: func(snow []int64, uuids []gen.UUID) error {
			if h.broken {
				return errors.New("broken")
			}
			for i := range snow {
				h.last++
				snow[i] = h.last
			}
			for i := range uuids {
				h.last++
				uuids[i][15] = byte(h.last)
			}
			return nil
		},
		Catalog: h.catalog,
		Limit:   1 << 20,
	}, SessionOptions{})
	return h
}

// client gives messages to the session and returns what the server gets.
func (h *harness) client(messages ...[]byte) string {
	h.t.Helper()
	var got bytes.Buffer
	in := bytes.Join(messages, nil)
	for len(in) > 0 || h.s.ready > 0 {
		n := len(in)
		if h.chunk > 0 {
			n = min(n, h.chunk)
		}
		var out Spans
		took, wait := h.s.Client(in[:n], &out)
		for _, b := range out.Bufs {
			got.Write(b)
		}
		in = in[took:]
		if wait != nil {
			wait(context.Background())
			continue
		}
		if took != n {
			h.t.Fatalf("took %d of %d bytes without a wait", took, n)
		}
	}
	return show(h.t, got.Bytes(), true)
}

// server gives replies to the session and returns what the client gets.
func (h *harness) server(messages ...[]byte) string {
	h.t.Helper()
	var got bytes.Buffer
	in := bytes.Join(messages, nil)
	for len(in) > 0 {
		n := len(in)
		if h.chunk > 0 {
			n = min(n, h.chunk)
		}
		var out Spans
		h.s.Server(in[:n], &out)
		for _, b := range out.Bufs {
			got.Write(b)
		}
		in = in[n:]
	}
	return show(h.t, got.Bytes(), false)
}

// msg makes a message of strings (ended with a zero), bytes, and integers of
// 16 and 32 bits.
func msg(typ byte, parts ...any) []byte {
	b := []byte{typ, 0, 0, 0, 0}
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = append(append(b, p...), 0)
		case byte:
			b = append(b, p)
		case []byte:
			b = append(b, p...)
		case int16:
			b = binary.BigEndian.AppendUint16(b, uint16(p))
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		}
	}
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-1))
	return b
}

func status(name, value string) []byte { return msg('S', name, value) }
func ready(s byte) []byte              { return msg('Z', s) }
func query(text string) []byte         { return msg('Q', text) }
func sync1() []byte                    { return msg('S') }
func execute() []byte                  { return msg('E', "", int32(0)) }

func parse(name, text string, types ...int32) []byte {
	parts := []any{name, text, int16(len(types))}
	for _, t := range types {
		parts = append(parts, t)
	}
	return msg('P', parts...)
}

// bind makes a Bind with text values and the given format codes.
func bind(name string, formats []int16, values ...string) []byte {
	parts := []any{"", name, int16(len(formats))}
	for _, f := range formats {
		parts = append(parts, f)
	}
	parts = append(parts, int16(len(values)))
	for _, v := range values {
		parts = append(parts, int32(len(v)), []byte(v))
	}
	return msg('B', append(parts, int16(0))...)
}

func report(typ byte, fields ...string) []byte {
	var parts []any
	for _, f := range fields {
		parts = append(parts, f)
	}
	return msg(typ, append(parts, byte(0))...)
}

// show prints messages one a line: type, then the body with zeros as |.
func show(t testing.TB, b []byte, client bool) string {
	t.Helper()
	var lines []string
	for len(b) > 0 {
		if len(b) < headerLen || len(b) < frameSize(b) || frameSize(b) == 0 {
			t.Fatalf("half a message: %q", b)
		}
		n := frameSize(b)
		body := b[headerLen:n]
		line := string(b[0])
		switch {
		case client && b[0] == 'B':
			line += showBind(body)
		case client && b[0] == 'P' || !client && b[0] == 't':
			line += " " + fmt.Sprintf("%q", body)
			line = strings.ReplaceAll(line, `\x00`, "|")
		default:
			line += " " + strings.ReplaceAll(string(body), "\x00", "|")
		}
		lines = append(lines, strings.TrimRight(line, " "))
		b = b[n:]
	}
	return strings.Join(lines, "\n")
}

func showBind(body []byte) string {
	portal, rest, _ := cString(body)
	name, rest, _ := cString(rest)
	s := fmt.Sprintf(" %s|%s|", portal, name)
	n := int(binary.BigEndian.Uint16(rest))
	s += " formats"
	for i := range n {
		s += fmt.Sprint(" ", binary.BigEndian.Uint16(rest[2+2*i:]))
	}
	rest = rest[2+2*n:]
	n = int(binary.BigEndian.Uint16(rest))
	rest = rest[2:]
	s += " values"
	for range n {
		size := int(binary.BigEndian.Uint32(rest))
		s += fmt.Sprintf(" %q", rest[4:4+size])
		rest = rest[4+size:]
	}
	return s
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %s\nwant %s", what, strings.ReplaceAll(got, "\n", "\n     "), strings.ReplaceAll(want, "\n", "\n     "))
	}
}

// each runs a script with whole chunks and with one byte at a time.
func each(t *testing.T, script func(t *testing.T, h *harness)) {
	for _, chunk := range []int{0, 1, 7} {
		t.Run(fmt.Sprintf("chunk%d", chunk), func(t *testing.T) { script(t, newHarness(t, chunk)) })
	}
}

const insert = "INSERT INTO t VALUES (next_snowflake(), $1)"

func TestSimpleQuery(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		want(t, "query", h.client(query("INSERT INTO t VALUES (next_snowflake())")), "Q INSERT INTO t VALUES (1::int8)|")
		want(t, "reply", h.server(msg('C', "INSERT 0 1"), ready('I')), "C INSERT 0 1|\nZ I")
		want(t, "other", h.client(query("SELECT 1")), "Q SELECT 1|")
		h.server(msg('C', "SELECT 1"), ready('I'))
		h.broken = true
		want(t, "declined", h.client(query("SELECT next_snowflake()")), "Q SELECT next_snowflake()|")
	})
}

func TestErrorPosition(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(query("SELECT 'ü', next_snowflake(), nope"))
		want(t, "error", h.server(report('E', "SERROR", "C42703", "Mno", "P40"), ready('I')), "E SERROR|C42703|Mno|P31||\nZ I")
		h.client(query("SELECT 'ü', next_snowflake(), nope"))
		want(t, "inside", h.server(report('N', "SNOTICE", "P15")), "N SNOTICE|P13||")
		want(t, "before", h.server(report('N', "SNOTICE", "P12", "p7")), "N SNOTICE|P12|p7||")
	})
}

func TestUnnamed(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		want(t, "pipeline", h.client(parse("", insert), msg('D', byte('S'), ""), msg('H')),
			`P "|INSERT INTO t VALUES ($2, $1)||\x02|||||||\x14"`+"\nD S|\nH")
		want(t, "replies", h.server(msg('1'), msg('t', int16(2), int32(25), int32(20)), msg('n')),
			`1`+"\n"+`t "|\x01|||\x19"`+"\nn")
		want(t, "bind", h.client(bind("", nil, "x"), execute(), sync1()), `B || formats values "x" "1"`+"\nE |||||\nS")
	})
}

func TestNamedTwin(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		want(t, "parse", h.client(parse("s", insert, 25), sync1()),
			`P "s|INSERT INTO t VALUES (next_snowflake(), $1)||\x01|||\x19"`+"\nS")
		want(t, "parsed", h.server(msg('1'), ready('I')), "1\nZ I")
		want(t, "bind", h.client(bind("s", []int16{1}, "x"), execute(), sync1()),
			"C Spgidproxy_twin_1|\n"+`P "pgidproxy_twin_1|INSERT INTO t VALUES ($2, $1)||\x02|||\x19|||\x14"`+"\n"+
				`B |pgidproxy_twin_1| formats 1 values "x" "\x00\x00\x00\x00\x00\x00\x00\x01"`+"\nE |||||\nS")
		want(t, "bound", h.server(msg('3'), msg('1'), msg('2'), msg('C', "INSERT 0 1"), ready('I')), "2\nC INSERT 0 1|\nZ I")
		want(t, "again", h.client(bind("s", nil, "x"), sync1()), `B |pgidproxy_twin_1| formats values "x" "2"`+"\nS")
		h.server(msg('2'), ready('I'))
		want(t, "wrong count", h.client(bind("s", nil), sync1()), `B |s| formats values`+"\nS")
		h.server(report('E', "C08P01"), ready('I'))
		h.broken = true
		want(t, "declined", h.client(bind("s", nil, "x"), sync1()), `B |s| formats values "x"`+"\nS")
		h.server(msg('2'), ready('I'))
		h.broken = false
		want(t, "close", h.client(msg('C', byte('S'), "s"), sync1()), "C Ss|\nS")
		h.server(msg('3'), ready('I'))
		want(t, "garbage", h.client(parse("s", "SELECT 1"), sync1()), "C Spgidproxy_twin_1|\n"+`P "s|SELECT 1|||"`+"\nS")
		want(t, "swallowed", h.server(msg('3'), msg('1'), ready('I')), "1\nZ I")
	})
}

func TestPipelineUndo(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("old", insert), sync1())
		h.server(msg('1'), ready('I'))
		h.client(bind("old", nil, "x"), sync1())
		h.server(msg('3'), msg('1'), msg('2'), ready('I'))
		// An error drops the Close behind it: the name keeps its meaning.
		h.client(parse("", "SELEC"), msg('C', byte('S'), "old"), sync1())
		want(t, "error", h.server(report('E', "C42601"), ready('I')), "E C42601||\nZ I")
		want(t, "kept", h.client(bind("old", nil, "x"), sync1()), `B |pgidproxy_twin_1| formats values "x" "2"`+"\nS")
		h.server(msg('2'), ready('I'))
		// DEALLOCATE ALL counts in its place.
		h.client(parse("", "DEALLOCATE ALL"), bind("", nil), execute(), parse("ins", insert), sync1())
		h.server(msg('1'), msg('2'), msg('C', "DEALLOCATE ALL"), msg('1'), ready('I'))
		want(t, "old", h.client(bind("old", nil, "x"), sync1()), "C Spgidproxy_twin_1|\n"+`B |old| formats values "x"`+"\nS")
		want(t, "gone", h.server(msg('3'), report('E', "C26000"), ready('I')), "E C26000||\nZ I")
		want(t, "new", h.client(bind("ins", nil, "x"), sync1()),
			"C Spgidproxy_twin_2|\n"+`P "pgidproxy_twin_2|INSERT INTO t VALUES ($2, $1)||\x02|||||||\x14"`+"\n"+
				`B |pgidproxy_twin_2| formats values "x" "3"`+"\nS")
	})
}

// A twin whose Parse is not answered yet is used in its own segment only: the
// server drops the Parse when something before it fails.
func TestTwinBehindAnError(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("i", insert), sync1())
		h.server(msg('1'), ready('I'))
		const own = `B |i| formats values "y"` + "\nS"
		h.client(parse("", "SELEC"), bind("i", nil, "x"), sync1())
		want(t, "next segment", h.client(bind("i", nil, "y"), sync1()), own)
		want(t, "replies", h.server(report('E', "C42601"), ready('I'), msg('2'), ready('I')), "E C42601||\nZ I\n2\nZ I")
		want(t, "prepared again", h.client(bind("i", nil, "x"), sync1()),
			"C Spgidproxy_twin_1|\nC Spgidproxy_twin_2|\n"+
				`P "pgidproxy_twin_2|INSERT INTO t VALUES ($2, $1)||\x02|||||||\x14"`+"\n"+
				`B |pgidproxy_twin_2| formats values "x" "2"`+"\nS")
	})
}

// A rollback takes back only what the transaction has set.
func TestRollbackBeforeFirstBind(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("s", insert), sync1())
		h.server(msg('1'), ready('I'))
		h.client(query("BEGIN"))
		h.server(msg('C', "BEGIN"), ready('T'))
		h.client(query("ROLLBACK"))
		h.server(msg('C', "ROLLBACK"), ready('I'))
		got := h.client(bind("s", nil, "x"), sync1())
		if !strings.Contains(got, "pgidproxy_twin_1") {
			t.Errorf("left to the server: %s", got)
		}
	})
}

func TestUnnamedFallsBackToItsOwnText(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("", insert), sync1())
		h.server(msg('1'), ready('I'))
		want(t, "wrong count", h.client(bind("", nil, "x", "y"), sync1()),
			`P "|INSERT INTO t VALUES (next_snowflake(), $1)|||"`+"\n"+`B || formats values "x" "y"`+"\nS")
		want(t, "error", h.server(msg('1'), report('E', "C08P01"), ready('I')), "E C08P01||\nZ I")
		want(t, "own", h.client(bind("", nil, "x"), sync1()), `B || formats values "x"`+"\nS")
	})
}

func TestCopyIgnoresSync(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("", "COPY t FROM STDIN"), bind("", nil), execute(), sync1(),
			msg('d', []byte("x\n")), msg('c'), sync1())
		want(t, "replies", h.server(msg('1'), msg('2'), msg('G', byte(0), int16(0)), msg('C', "COPY 1"), ready('I')),
			"1\n2\nG |||\nC COPY 1|\nZ I")
		if !h.s.Idle() {
			t.Error("not idle behind the only ReadyForQuery")
		}
		h.client(query("SELECT next_snowflake()"))
		want(t, "after", h.server(msg('C', "SELECT 1"), ready('I')), "C SELECT 1|\nZ I")
	})
}

func TestDDLInTransaction(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		const text = "INSERT INTO t VALUES (next_snowflake())"
		h.client(query("BEGIN; CREATE RULE x AS ON INSERT TO t DO NOTHING"))
		if h.catalog.Current() != nil {
			t.Error("catalog is current while DDL runs")
		}
		h.server(msg('C', "BEGIN"), msg('C', "CREATE RULE"), ready('T'))
		if h.catalog.Current() != nil {
			t.Error("others rely on the catalog while the transaction is open: theirs may wait for its locks")
		}
		want(t, "inside", h.client(query(text)), "Q "+text+"|")
		h.server(msg('C', "INSERT 0 0"), ready('T'))
		h.client(query("ROLLBACK"))
		h.server(msg('C', "ROLLBACK"), ready('I'))
		want(t, "after", h.client(query(text)), "Q INSERT INTO t VALUES (1::int8)|")
	})
}

func TestWaitsForCatalogAfterOwnDDL(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(query("CREATE TABLE z ()"))
		h.server(msg('C', "CREATE TABLE"), ready('I'))
		h.catalog.begun = 1 // being read again
		h.client(query("SELECT next_snowflake()"))
		h.server(msg('C', "SELECT 1"), ready('I'))
		if h.catalog.waited != 1 {
			t.Errorf("waited %d times, want once", h.catalog.waited)
		}
	})
}

// A statement that is prepared before the catalog was read is left to the server:
// what its text meant then is not known.
func TestPreparedBeforeTheFirstReading(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		first := h.catalog.now
		h.catalog.now = nil
		h.client(parse("s", insert, 25), sync1())
		h.server(msg('1'), ready('I'))
		for range 2 {
			want(t, "prepared before", h.client(bind("s", nil, "x"), sync1()), `B |s| formats values "x"`+"\nS")
			h.server(msg('2'), ready('I'))
			h.catalog.now = first
		}
	})
}

// In a transaction that has changed the schema nothing is waited for: no reading
// of the catalog could tell what only this session sees.
func TestNoWaitWithinOwnDDL(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(query("CREATE TABLE y ()"))
		h.server(msg('C', "CREATE TABLE"), ready('I'))
		h.client(query("BEGIN; CREATE TABLE z ()"))
		h.server(msg('C', "BEGIN"), msg('C', "CREATE TABLE"), ready('T'))
		h.client(query("SELECT next_snowflake()"))
		h.server(msg('C', "SELECT 1"), ready('T'))
		if h.catalog.waited != 0 {
			t.Errorf("waited %d times", h.catalog.waited)
		}
	})
}

func TestTempTableShadows(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(query("CREATE TEMP TABLE IF NOT EXISTS T (id int)"))
		h.server(msg('C', "CREATE TABLE"), ready('I'))
		const text = "INSERT INTO t VALUES (next_snowflake())"
		want(t, "shadowed", h.client(query(text)), "Q "+text+"|")
	})
}

func TestUnsafeEncodings(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.server(status("client_encoding", "SJIS"))
		const text = "SELECT next_snowflake(), 'ü'"
		want(t, "declined", h.client(query(text)), "Q "+text+"|")
		h.server(msg('C', "SELECT 1"), ready('I'))
		h.server(status("client_encoding", "UTF8"), status("standard_conforming_strings", "off"))
		want(t, "declined", h.client(query("SELECT next_snowflake()")), "Q SELECT next_snowflake()|")
	})
}

func TestRelayAllocatesNothing(t *testing.T) {
	h := newHarness(t, 0)
	in := bytes.Join([][]byte{bind("x", nil, "1"), execute(), sync1()}, nil)
	reply := bytes.Join([][]byte{msg('2'), msg('D', int16(1), int32(1), []byte("7")), msg('C', "SELECT 1"), ready('I')}, nil)
	var out, back Spans
	n := testing.AllocsPerRun(100, func() {
		out.reset()
		h.s.Client(in, &out)
		back.reset()
		h.s.Server(reply, &back)
	})
	if n != 0 {
		t.Errorf("%v allocations for a relayed round trip, want 0", n)
	}
}
