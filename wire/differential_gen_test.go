package wire_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A step is one thing that a client does: it sends a message, or waits until
// the server has nothing more to say.
type step struct {
	note    string // readable form
	data    []byte // the message; nil: wait
	ready   int    // ReadyForQuery messages that it brings where nothing went wrong before
	changes bool
}

// A generator makes the steps of one sequence.
type generator struct {
	*rand.Rand
	steps    []step
	names    map[string]text // what was last parsed under a name
	portals  map[string]text
	copying  bool // copy data may be wanted
	lockstep bool // waits after Sync and Query
	copies   bool // COPY FROM is among the statements
	defines  bool // likewise what changes the meaning of names
	calm     bool // little fails
}

func generate(seed uint64) []step {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), names: map[string]text{}, portals: map[string]text{}}
	g.lockstep, g.copies, g.defines = g.chance(60), g.chance(20), g.chance(35)
	g.calm = g.chance(60)
	for n := 3 + g.IntN(22); len(g.steps) < n; {
		g.next()
	}
	return g.steps
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// wild is the chance of what makes the rest of a cycle or a transaction fail.
func (g *generator) wild(percent int) bool {
	if g.calm {
		percent = percent / 10
	}
	return g.chance(percent)
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) add(typ byte, note string, changes bool, ready int, body ...string) {
	b := strings.Join(body, "")
	data := binary.BigEndian.AppendUint32([]byte{typ}, uint32(len(b)+4))
	g.steps = append(g.steps, step{note: note, data: append(data, b...), ready: ready, changes: changes})
}

func (g *generator) pause(percent int) {
	if g.lockstep && g.chance(percent) {
		g.steps = append(g.steps, step{note: "wait"})
	}
}

func (g *generator) text() text {
	if g.wild(25) {
		return pick(g, failing...)
	}
	switch n := g.IntN(100); {
	case n < 50:
		return pick(g, ours...)
	case n < 65:
		return pick(g, plain...)
	case g.copies && n < 75:
		g.copying = true
		return pick(g, copies...)
	case g.defines && n < 85:
		return pick(g, definitions...)
	default:
		return pick(g, control...)
	}
}

func (g *generator) name() string   { return pick(g, "", "", "", "s1", "s1", "s2", "s3") }
func (g *generator) portal() string { return pick(g, "", "", "", "", "p1", "p2") }

func (g *generator) next() {
	if g.copying && g.chance(50) {
		g.copyStep()
		return
	}
	switch n := g.IntN(100); {
	case n < 30:
		g.cycle()
	case n < 48:
		g.query()
	case g.calm:
		if n < 75 {
			g.sync()
		} else {
			g.cycle()
		}
	case n < 54:
		g.parse(g.name())
	case n < 62:
		g.bind(g.portal(), g.name())
	case n < 67:
		g.describe()
	case n < 73:
		g.execute(g.portal())
	case n < 78:
		g.close()
	case n < 80:
		g.flush()
	case n < 90:
		g.sync()
	case n < 93:
		g.call()
	case n < 95:
		g.malformed()
	case n < 96:
		g.copyStep()
	default:
		g.pause(100)
	}
}

// cycle is what drivers do: a statement parsed or used again, and executed.
func (g *generator) cycle() {
	name, portal := g.name(), g.portal()
	if _, ok := g.names[name]; !ok || g.chance(50) {
		g.parse(name)
		if g.chance(30) {
			g.add('D', "Describe S "+strconv.Quote(name), false, 0, "S", name, "\x00")
		}
		if g.chance(25) {
			g.sync()
		}
	}
	for range 1 + g.IntN(2) {
		g.bind(portal, name)
		if g.chance(40) {
			g.add('D', "Describe P "+strconv.Quote(portal), false, 0, "P", portal, "\x00")
		}
		g.execute(portal)
	}
	if g.chance(80) {
		g.sync()
	}
}

func (g *generator) sync() {
	g.add('S', "Sync", false, 1)
	g.pause(80)
}

func (g *generator) flush() {
	g.add('H', "Flush", false, 0)
	g.pause(40)
}

func (g *generator) query() {
	var sqls []string
	changes := false
	for range pick(g, 1, 1, 1, 2, 3) {
		t := g.text()
		sql := t.sql
		for i, kind := range t.params {
			sql = strings.ReplaceAll(sql, "$"+strconv.Itoa(i+1), g.literal(kind))
		}
		sqls, changes = append(sqls, sql), changes || t.changes
	}
	sql := strings.Join(sqls, pick(g, ";", "; ", ";\n -- next\n"))
	g.add('Q', "Query "+strconv.Quote(sql), changes, 1, sql, "\x00")
	g.pause(80)
}

func (g *generator) literal(kind rune) string {
	switch kind {
	case 's':
		return pick(g, "'a'", "NULL", "'it''s'", "'é'", `'\'`)
	case 'b':
		return pick(g, "true", "false", "NULL")
	}
	return pick(g, "0", "1", "2", "NULL")
}

func (g *generator) parse(name string) {
	t := g.text()
	g.names[name] = t
	var types []uint32
	switch g.IntN(10) {
	case 0, 1, 2:
		for _, kind := range t.params {
			types = append(types, map[rune]uint32{'i': 23, 'l': 20, 's': 25, 'b': 16}[kind])
		}
		if len(types) > 1 && g.chance(30) {
			types[g.IntN(len(types))] = 0
		}
		if len(types) > 1 && g.chance(30) {
			types = types[:1]
		}
	case 3:
		for range g.IntN(4) {
			if g.calm {
				break
			}
			types = append(types, pick[uint32](g, 0, 20, 23, 25, 705, 4711))
		}
	}
	body := binary.BigEndian.AppendUint16(nil, uint16(len(types)))
	for _, oid := range types {
		body = binary.BigEndian.AppendUint32(body, oid)
	}
	g.add('P', fmt.Sprintf("Parse %q %q %v", name, t.sql, types), t.changes, 0, name, "\x00", t.sql, "\x00", string(body))
}

// value is a parameter in text or binary.
func (g *generator) value(kind rune, bin bool) []byte {
	if g.wild(20) {
		return nil
	}
	n := g.IntN(4)
	switch {
	case kind == 's':
		return []byte(pick(g, "a", "é", "", "bad", "12"))
	case g.wild(5):
		return []byte("wrong")
	case kind == 'b' && bin:
		return []byte{byte(n & 1)}
	case kind == 'b':
		return []byte(pick(g, "t", "f"))
	case kind == 'l' && bin:
		return binary.BigEndian.AppendUint64(nil, uint64(n))
	case bin:
		return binary.BigEndian.AppendUint32(nil, uint32(n))
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

func (g *generator) bind(portal, name string) {
	t := g.names[name]
	g.portals[portal] = t
	kinds := t.params
	if g.wild(5) {
		kinds += "i"
	} else if g.wild(4) && kinds != "" {
		kinds = kinds[1:]
	}
	var formats []uint16
	switch g.IntN(4) {
	case 0:
		formats = []uint16{uint16(g.IntN(2))}
		if g.wild(10) {
			formats[0] = 2
		}
	case 1:
		for range kinds {
			formats = append(formats, uint16(g.IntN(2)))
		}
		if g.wild(10) {
			formats = append(formats, 0, 1)
		}
	}
	body := shorts(nil, formats)
	body = binary.BigEndian.AppendUint16(body, uint16(len(kinds)))
	var values []string
	for i, kind := range kinds {
		bin := len(formats) == 1 && formats[0] == 1 || len(formats) > 1 && i < len(formats) && formats[i] == 1
		v := g.value(kind, bin)
		if v == nil {
			body = binary.BigEndian.AppendUint32(body, 0xffffffff)
			values = append(values, "NULL")
			continue
		}
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(v))), v...)
		values = append(values, strconv.Quote(string(v)))
	}
	var results []uint16
	switch g.IntN(5) {
	case 0, 1:
		results = []uint16{uint16(g.IntN(2))}
	case 2:
		for range t.cols {
			results = append(results, uint16(g.IntN(2)))
		}
		if g.wild(10) {
			results = append(results, 1, 0)
		}
	}
	g.add('B', fmt.Sprintf("Bind %q %q %v %v %v", portal, name, formats, values, results), false, 0,
		portal, "\x00", name, "\x00", string(shorts(body, results)))
}

// shorts appends a count and as many 16-bit numbers.
func shorts(dst []byte, list []uint16) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(list)))
	for _, v := range list {
		dst = binary.BigEndian.AppendUint16(dst, v)
	}
	return dst
}

func (g *generator) describe() {
	kind := pick(g, "S", "P")
	name := g.name()
	if kind == "P" {
		name = g.portal()
	}
	g.add('D', fmt.Sprintf("Describe %s %q", kind, name), false, 0, kind, name, "\x00")
}

func (g *generator) execute(portal string) {
	limit := pick[uint32](g, 0, 0, 0, 1, 2)
	g.add('E', fmt.Sprintf("Execute %q %d", portal, limit), g.portals[portal].changes, 0,
		portal, "\x00", string(binary.BigEndian.AppendUint32(nil, limit)))
}

func (g *generator) close() {
	kind := pick(g, "S", "P")
	name := g.name()
	if kind == "P" {
		name = g.portal()
	}
	g.add('C', fmt.Sprintf("Close %s %q", kind, name), false, 0, kind, name, "\x00")
}

// call is a FunctionCall: of int4pl (177 in pg_proc.dat), of one that fails,
// or of none.
func (g *generator) call() {
	oid := pick[uint32](g, 177, 177, 154, 4711)
	arg := "\x00\x00\x00\x04\x00\x00\x00\x02"
	zero := "\x00\x00\x00\x04\x00\x00\x00\x00"
	if oid != 154 { // int4div
		zero = arg
	}
	g.add('F', fmt.Sprintf("FunctionCall %d", oid), false, 1, string(binary.BigEndian.AppendUint32(nil, oid)),
		"\x00\x01\x00\x01\x00\x02", arg, zero, "\x00\x01")
	g.pause(80)
}

// malformed is a message that the server answers with an ordinary error.
func (g *generator) malformed() {
	switch g.IntN(6) {
	case 0:
		g.add('D', "Describe X", false, 0, "X\x00")
	case 1:
		g.add('C', "Close X", false, 0, "X\x00")
	case 2:
		g.add('B', "Bind cut short", false, 0, g.portal(), "\x00", g.name(), "\x00\x00\x00\x00\x01\x00\x00\x00\x09ab")
	case 3:
		g.add('P', "Parse cut short", false, 0, g.name(), "\x00SELECT next_snowflake()\x00\x00\x02\x00")
	case 4:
		g.add('Q', "Query with more behind it", false, 1, "SELECT next_snowflake()\x00 x\x00")
	case 5:
		g.add('E', "Execute cut short", false, 0, g.portal(), "\x00\x00")
	}
}

func (g *generator) copyStep() {
	switch g.IntN(10) {
	case 0, 1, 2, 3:
		line := pick(g, "1\n", "7\n8\n", "5\ta\n", "x\n", "\\.\n", "9", "")
		g.add('d', "CopyData "+strconv.Quote(line), false, 0, line)
	case 4, 5, 6:
		g.copying = g.chance(30)
		g.add('c', "CopyDone", false, 0)
		g.pause(30)
	case 7:
		g.copying = g.chance(30)
		g.add('f', "CopyFail", false, 0, "given up\x00")
	case 8:
		g.flush()
	default:
		g.sync()
	}
}
