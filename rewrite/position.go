package rewrite

// A PositionMap leads from positions in an edited text back to the client's.
// The zero map changes nothing. It may be read by many at a time.
type PositionMap struct{ edits []moved }

// moved is one edit: where it begins and what it covers in the client's text,
// in bytes and in characters, and how long the inserted text is.
type moved struct {
	start, size         int32
	charStart, charSize int32
	now                 int32
}

// Positions fills m for the text that the last Append… made. m keeps nothing of
// p or its text.
func (p *Prepared) Positions(m *PositionMap) {
	m.edits = make([]moved, 0, len(p.spans))
	extra, at := int32(0), int32(0) // bytes before at that begin no character
	for _, s := range p.spans {
		if p.NonASCII {
			extra += continuations(p.text[at:s.start])
		}
		e := moved{start: s.start, size: s.end - s.start, now: s.now, charStart: s.start - extra}
		e.charSize = e.size
		if p.NonASCII {
			inside := continuations(p.text[s.start:s.end])
			e.charSize -= inside
			extra += inside
		}
		m.edits = append(m.edits, e)
		at = s.end
	}
}

// continuations counts the bytes that go on with a character of UTF-8.
func continuations(b []byte) int32 {
	n := int32(0)
	for _, c := range b {
		if c&0xc0 == 0x80 {
			n++
		}
	}
	return n
}

// Client returns the position in the client's text for pos in the edited one,
// both from 1 as in field P of an error; bytes tells what they count, else
// characters of UTF-8. Within inserted text it is the start of the call.
func (m *PositionMap) Client(pos int, bytes bool) int {
	if pos <= 0 {
		return pos
	}
	by := 0 // what the edits before pos have added
	for i := range m.edits {
		e := &m.edits[i]
		start, size := int(e.charStart), int(e.charSize)
		if bytes {
			start, size = int(e.start), int(e.size)
		}
		switch at := pos - 1 - by; {
		case at < start:
			return at + 1
		case at < start+int(e.now):
			return start + 1
		}
		by += int(e.now) - size
	}
	return pos - by
}
