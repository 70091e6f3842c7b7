package wire

import "github.com/pgidproxy/pgidproxy/rewrite"

// editSerial has add append a message with a text in which auto-increment columns
// are replaced, and returns its position map; nil when there is nothing to
// replace. It is the one edit for which the last reading of the catalog is good
// enough while this session makes one table after the other: it depends on where
// our function is, and on no relation. Otherwise the message waits for a reading,
// and longer than a statement with a call would: what is missed here is missed for
// good.
func (s *Session) editSerial(text []byte, add func(*rewrite.Prepared)) *rewrite.PositionMap {
	r := s.hooks.Rewriter
	if r == nil || !r.ReplacesSerial() || s.hooks.Catalog == nil || !rewrite.MentionsSerial(text) {
		return nil
	}
	c := s.hooks.Catalog.Current()
	switch {
	case s.ddl.wide:
		c = nil
	case s.ddl.dirty:
		c = s.last()
	case c == nil && !s.waited:
		s.wait = s.hooks.Catalog.Fresh
		return nil
	case c == nil:
		c = s.last() // others change it just now
	}
	if c == nil || !c.Known() {
		s.countLeft(rewrite.NoCatalog)
		return nil
	}
	sc := scratches.Get().(*rewrite.Scratch)
	defer scratches.Put(sc)
	p := r.PlanSerial(sc, text, c)
	if !p.Replaces || !s.readable(p) || s.records.shadowed(p.Relations) {
		p.Replaces = false
		s.countSerials(p)
		return nil
	}
	s.countSerials(p)
	add(p)
	pos := new(rewrite.PositionMap)
	p.Positions(pos)
	return pos
}

// countSerials counts what becomes of the columns, and tells of those that are
// too narrow.
func (s *Session) countSerials(p *rewrite.Prepared) {
	o := s.hooks.Observer
	if o != nil && p.Replaces {
		o.Statement(Replaced)
	}
	for _, column := range p.Serials {
		if column.Replaced {
			continue
		}
		if o != nil {
			o.Left(column.Reason)
		}
		if column.Reason == rewrite.Narrow && s.hooks.Serial != nil {
			s.hooks.Serial(column)
		}
	}
}
