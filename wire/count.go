package wire

import (
	"cmp"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

// concerned tells whether a text may have something for us, and gives the catalog
// to plan it with: nil when nothing may be relied on. With s.wait set, the
// message waits for that.
func (s *Session) concerned(text []byte) (*rewrite.Catalog, bool) {
	mentions := rewrite.Mentions(text)
	if !mentions && !rewrite.Inserts(text) {
		s.passed()
		return nil, false
	}
	c := s.catalog()
	if s.wait != nil || mentions {
		return c, true
	}
	if known := cmp.Or(c, s.last()); known == nil || !known.Concerns(text) {
		s.passed()
		return nil, false
	}
	return c, true
}

// last returns the last reading of the catalog, or nil.
func (s *Session) last() *rewrite.Catalog {
	if s.hooks.Catalog == nil {
		return nil
	}
	return s.hooks.Catalog.Last()
}

// passed counts a text with nothing for us.
func (s *Session) passed() {
	if o := s.hooks.Observer; o != nil {
		o.Statement(Passed)
	}
}

// countLeft counts a text that is left to the server as it is.
func (s *Session) countLeft(why rewrite.Reason) {
	if o := s.hooks.Observer; o != nil {
		o.Statement(Left)
		o.Left(why)
	}
}

// count counts a text that was planned. Of a prepared statement the ids are those
// of its Binds.
func (s *Session) count(p *rewrite.Prepared) {
	o := s.hooks.Observer
	if o == nil {
		return
	}
	found := p.Replaces
	p.EachLeft(func(why rewrite.Reason) {
		found = true
		o.Left(why)
	})
	switch {
	case p.Replaces:
		o.Statement(Replaced)
	case found:
		o.Statement(Left)
	default:
		o.Statement(Passed)
	}
}

// countBind counts a Bind of a statement with something for us, which was left to
// the server for a reason or gets ids.
func (s *Session) countBind(why rewrite.Reason) {
	switch o := s.hooks.Observer; {
	case why != "":
		s.countLeft(why)
	case o != nil:
		o.Statement(Replaced)
	}
}
