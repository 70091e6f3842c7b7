package rewrite

import (
	"strconv"
	"strings"

	"github.com/pgidproxy/pgidproxy/gen"
)

// Prepared is a plan applied to one text. It belongs to the Scratch that it was
// made with.
type Prepared struct {
	Snowflakes, UUIDs int  // ids that one execution needs
	Replaces          bool // the text is to be changed
	MaxParam          int  // highest $n in the text
	Backslash         bool // see Shape
	NonASCII          bool
	NonASCIINames     bool     // a name is read right in UTF-8 only
	Escapes           bool     // Unicode escapes are put in, which a server in SQL_ASCII does not read
	Relations         []string // names of the relations that the plan relies on
	Basis             Basis
	Serials           []Serial // of PlanSerial

	text  []byte
	shape *Shape
	plan  *Plan
	spans []span // what Append… changed, in order
}

// span is one change: bytes [start, end) of the client's text and the length of
// what stands there instead, which is ASCII.
type span struct{ start, end, now int32 }

// Calls returns every call that was found, and the byte of the text that it
// begins at; of rows that repeat, those of the first two.
func (p *Prepared) Calls() []Found {
	var found []Found
	for _, c := range p.plan.Calls {
		found = append(found, Found{Call: c, Offset: int(p.shape.Tokens[p.shape.original(c.Start)].Start)})
	}
	return found
}

// EachLeft calls do with the reason for every call that is left to the server.
func (p *Prepared) EachLeft(do func(Reason)) {
	for i := range p.plan.Calls {
		if c := &p.plan.Calls[i]; !c.Replaced {
			do(c.Reason)
		}
	}
}

// Offset returns the byte of the text that an auto-increment column's type begins
// at.
func (p *Prepared) Offset(s Serial) int { return int(p.shape.Tokens[s.start].Start) }

// Found is a call and where it stands.
type Found struct {
	Call
	Offset int
}

// each calls do for every edit, in the order of the text, with the tokens of
// the text that it replaces; edits in the second row of a fold also for the
// rows behind it.
func (p *Prepared) each(do func(e *Edit, from, to int)) {
	edits := p.plan.Edits
	shift := 0 // tokens cut so far
	for _, f := range p.shape.Folds {
		second := f.second() - shift // in the reduced text
		n := 0
		for ; n < len(edits) && edits[n].From < second; n++ {
			do(&edits[n], edits[n].From+shift, edits[n].To+shift)
		}
		edits = edits[n:]
		for n = 0; n < len(edits) && edits[n].From < second+f.Len; n++ {
		}
		for row := range f.Rows - 1 {
			by := shift + row*(f.Len+1)
			for k := range edits[:n] {
				do(&edits[k], edits[k].From+by, edits[k].To+by)
			}
		}
		edits = edits[n:]
		shift += f.cut()
	}
	for k := range edits {
		do(&edits[k], edits[k].From+shift, edits[k].To+shift)
	}
}

// count works out how many ids one execution needs, without walking the rows.
func (p *Prepared) count() {
	folds, shift := p.shape.Folds, 0
	for i := range p.plan.Edits {
		e := &p.plan.Edits[i]
		for len(folds) > 0 && e.From >= folds[0].second()-shift+folds[0].Len {
			shift += folds[0].cut()
			folds = folds[1:]
		}
		n := 1
		if len(folds) > 0 && e.From >= folds[0].second()-shift {
			n = folds[0].Rows - 1
		}
		switch e.Kind {
		case Snowflake:
			p.Snowflakes += n
		case UUID:
			p.UUIDs += n
		}
	}
}

// AppendLiterals appends the text with typed literals, which take the ids in
// the order of the text. It wants as many as Snowflakes and UUIDs say.
func (p *Prepared) AppendLiterals(dst []byte, snow []int64, uuids []gen.UUID) []byte {
	s, u := 0, 0
	return p.splice(dst, func(dst []byte, e *Edit) []byte {
		switch e.Kind {
		case Snowflake:
			dst = strconv.AppendInt(append(dst, e.Text...), snow[s], 10)
			s++
			return append(append(dst, "::int8"...), e.After...)
		case UUID:
			dst = append(append(dst, e.Text...), '\'')
			dst = gen.AppendUUID(dst, uuids[u])
			u++
			return append(append(dst, "'::uuid"...), e.After...)
		}
		return append(dst, e.Text...)
	})
}

// AppendParams appends the text with hidden parameters from $first on, which
// hold the ids as h says: those for the snowflakes, behind them those for the
// UUIDs.
func (p *Prepared) AppendParams(dst []byte, first int, h Hidden) []byte {
	second := first + h.Snowflakes()
	s, u := 0, 0
	return p.splice(dst, func(dst []byte, e *Edit) []byte {
		dst = append(dst, e.Text...)
		switch e.Kind {
		case Snowflake:
			dst = h.appendParam(dst, first, s, "::int8[])[")
			s++
		case UUID:
			dst = h.appendParam(dst, second, u, "::uuid[])[")
			u++
		}
		return append(dst, e.After...)
	})
}

// splice appends the text with what put writes in place of each edit. A space
// goes before an insertion, and where a byte beside the new text could join it.
func (p *Prepared) splice(dst []byte, put func([]byte, *Edit) []byte) []byte {
	begin, at := len(dst), int32(0)
	p.spans = p.spans[:0]
	p.each(func(e *Edit, from, to int) {
		var start, end int32
		if from == to {
			start = p.shape.Tokens[from-1].End
			end = start
		} else {
			start, end = p.shape.Tokens[from].Start, p.shape.Tokens[to-1].End
		}
		dst = append(dst, p.text[at:start]...)
		n := len(dst)
		if !strings.HasPrefix(e.Text, ",") && (from == to || n > begin && joins(dst[n-1])) {
			dst = append(dst, ' ')
		}
		dst = put(dst, e)
		if int(end) < len(p.text) && joins(p.text[end]) {
			dst = append(dst, ' ')
		}
		p.spans = append(p.spans, span{start, end, int32(len(dst) - n)})
		at = end
	})
	return append(dst, p.text[at:]...)
}

// joins tells whether a byte may be part of a token that new text beside it
// would run into.
func joins(c byte) bool {
	return classes[c]&classIdent != 0 || c == '\'' || c == '"' || c == '.' || c == '&'
}
