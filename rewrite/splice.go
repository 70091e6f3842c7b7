package rewrite

import (
	"strconv"

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
	Relations         []string // names of the relations that the plan relies on

	text  []byte
	shape *Shape
	plan  *Plan
	spans []span // what Append… changed, in order
}

// span is one change: bytes of the client's text and the length of what stands
// there instead, which is ASCII.
type span struct {
	start, end int32
	now        int32
}

// Calls returns every call that was found, and the byte of the text that it
// begins at; of rows that repeat, those of the first two.
func (p *Prepared) Calls() []Found {
	var found []Found
	for _, c := range p.plan.Calls {
		found = append(found, Found{Call: c, Offset: int(p.shape.Tokens[p.shape.original(c.Start)].Start)})
	}
	return found
}

// Found is a call and where it stands.
type Found struct {
	Call
	Offset int
}

// original returns the index of the token that token i of the reduced text is.
func (s *Shape) original(i int) int {
	for _, f := range s.Folds {
		if i < f.First+2*f.Len+1 {
			break
		}
		i += (f.Rows - 2) * (f.Len + 1)
	}
	return i
}

// each calls do for every edit, in the order of the text, with its first and
// last token; edits in the second row of a fold also for the rows behind it.
func (p *Prepared) each(do func(e *Edit, from, to int)) {
	edits := p.plan.Edits
	shift, fold := 0, 0
	for i := 0; i < len(edits); {
		e := &edits[i]
		if fold == len(p.shape.Folds) {
			do(e, e.From+shift, e.To+shift)
			i++
			continue
		}
		f := p.shape.Folds[fold]
		second := f.First - shift + f.Len + 1 // of the reduced text
		switch {
		case e.From < second:
			do(e, e.From+shift, e.To+shift)
			i++
		case e.From >= second+f.Len:
			shift += (f.Rows - 2) * (f.Len + 1)
			fold++
		default:
			n := i
			for n < len(edits) && edits[n].From < second+f.Len {
				n++
			}
			for row := range f.Rows - 1 {
				by := shift + row*(f.Len+1)
				for k := i; k < n; k++ {
					do(&edits[k], edits[k].From+by, edits[k].To+by)
				}
			}
			i = n
		}
	}
}

// count works out how many ids one execution needs, without walking the rows.
func (p *Prepared) count() {
	for i := range p.plan.Edits {
		e := &p.plan.Edits[i]
		n := 1
		shift := 0
		for _, f := range p.shape.Folds {
			second := f.First - shift + f.Len + 1
			if e.From >= second && e.From < second+f.Len {
				n = f.Rows - 1
			}
			shift += (f.Rows - 2) * (f.Len + 1)
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
// the order of the text.
func (p *Prepared) AppendLiterals(dst []byte, snow []int64, uuids []gen.UUID) []byte {
	s, u := 0, 0
	return p.splice(dst, func(dst []byte, e *Edit) []byte {
		switch e.Kind {
		case Snowflake:
			dst = strconv.AppendInt(dst, snow[s], 10)
			s++
			return append(dst, "::int8"...)
		case UUID:
			dst = append(dst, '\'')
			dst = gen.AppendUUID(dst, uuids[u])
			u++
			return append(dst, "'::uuid"...)
		}
		return append(dst, e.Text...)
	})
}

// AppendParams appends the text with hidden parameters from $first on: one for
// the snowflakes and one for the UUIDs, each an array where there are several.
func (p *Prepared) AppendParams(dst []byte, first int) []byte {
	second := first
	if p.Snowflakes > 0 {
		second++
	}
	s, u := 0, 0
	return p.splice(dst, func(dst []byte, e *Edit) []byte {
		switch e.Kind {
		case Snowflake:
			s++
			return appendParam(dst, first, s, p.Snowflakes, "::int8[])[")
		case UUID:
			u++
			return appendParam(dst, second, u, p.UUIDs, "::uuid[])[")
		}
		return append(dst, e.Text...)
	})
}

func appendParam(dst []byte, param, i, n int, element string) []byte {
	if n == 1 {
		return strconv.AppendInt(append(dst, '$'), int64(param), 10)
	}
	dst = strconv.AppendInt(append(dst, "($"...), int64(param), 10)
	dst = strconv.AppendInt(append(dst, element...), int64(i), 10)
	return append(dst, ']')
}

// splice appends the text with what put writes in place of each edit. A space
// goes in where a byte beside it could join it to another token.
func (p *Prepared) splice(dst []byte, put func([]byte, *Edit) []byte) []byte {
	at := int32(0)
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
		if from == to || start > 0 && joins(p.text[start-1]) {
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

// joins tells whether a byte may be part of a token that inserted text beside
// it would run into.
func joins(c byte) bool {
	return classes[c]&classIdent != 0 || c == '\'' || c == '"' || c == '.' || c == '&'
}
