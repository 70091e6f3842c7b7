package rewrite

import "slices"

// A PositionMap leads from positions in an edited text back to the client's.
// The zero map, and nil, change nothing. It may be read by many at a time.
type PositionMap struct {
	bytes []span // the edits, in bytes of the client's text
	chars []span // the same in characters; nil where they are the same
}

// Positions fills m, of which nothing is left, for the text that the last
// Append… made. m keeps nothing of p or its text.
func (p *Prepared) Positions(m *PositionMap) {
	m.bytes = append(slices.Grow(m.bytes[:0], len(p.spans)), p.spans...)
	m.chars = m.chars[:0]
	if !p.NonASCII {
		return
	}
	m.chars = slices.Grow(m.chars, len(p.spans))
	extra, at := int32(0), int32(0) // bytes before at that begin no character
	for _, s := range p.spans {
		extra += continuations(p.text[at:s.start])
		c := span{start: s.start - extra, now: s.now}
		extra += continuations(p.text[s.start:s.end])
		c.end = s.end - extra
		m.chars = append(m.chars, c)
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
	if m == nil || pos <= 0 {
		return pos
	}
	edits := m.bytes
	if !bytes && len(m.chars) > 0 {
		edits = m.chars
	}
	grown := 0 // by the edits before pos
	for _, e := range edits {
		switch at := pos - 1 - grown; {
		case at < int(e.start):
			return at + 1
		case at < int(e.start+e.now):
			return int(e.start) + 1
		}
		grown += int(e.now - (e.end - e.start))
	}
	return pos - grown
}
