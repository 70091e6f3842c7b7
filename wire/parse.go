package wire

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

// scratches are the planner's work spaces: an idle session holds none.
var scratches = sync.Pool{New: func() any { return new(rewrite.Scratch) }}

// sums identify rewritten texts; a process compares only its own.
var sums = maphash.MakeSeed()

// nothingKnown stands for a catalog that is not there yet, of a generation that no
// reading has: what was prepared then is left to the server.
var nothingKnown = rewrite.NewCatalog(rewrite.CatalogData{})

// handleParse gives a name its meaning. A named statement goes to the server as
// it is; the unnamed one with hidden parameters, where there is something for us.
func (s *Session) handleParse(msg []byte, total int, out *Spans) {
	s.closeGarbage(out)
	from := len(s.toServer)
	st := s.readParse(msg, total)
	if s.wait != nil {
		return
	}
	e := s.queue.push(reqParse)
	if st == nil || !st.worthKeeping() {
		name, _, _ := cString(msg[headerLen:])
		e.unnamed = len(name) == 0
		e.undo = s.records.assign(string(name), nil)
		s.forward(msg, total, out)
		return
	}
	e.unnamed = st.name == ""
	e.undo = s.records.assign(st.name, st)
	switch {
	case st.inPlace:
		e.st, e.pos = st, &st.pos
		s.send(out, from)
	case st.edited:
		e.pos = &st.pos
		s.send(out, from)
	default:
		s.forward(msg, total, out)
	}
}

// readParse returns the record of the statement that a Parse makes, nil for a
// malformed message. Of one too long to be read it tells that running it may do
// anything. For the unnamed statement with something for
// us it also appends the rewritten Parse to s.toServer.
func (s *Session) readParse(msg []byte, total int) *statement {
	name, rest, ok := cString(msg[headerLen:])
	if !ok {
		return nil
	}
	if len(msg) != total {
		return &statement{name: string(name), eff: anyEffects}
	}
	text, types, ok := cString(rest)
	if !ok || len(types) < 2 || len(types) != 2+4*int(binary.BigEndian.Uint16(types)) {
		return nil
	}
	st := &statement{name: string(name), eff: s.effects(text)}
	if pos := s.editSerial(text, func(p *rewrite.Prepared) { s.appendParse(name, p, types) }); pos != nil {
		st.edited, st.pos = true, *pos
		return st
	}
	if s.wait != nil {
		return nil
	}
	c, concerned := s.concerned(text)
	if !concerned || s.wait != nil {
		return st
	}
	if c == nil && (st.name == "" || s.ddl.dirty) {
		s.countLeft(rewrite.NoCatalog)
		return st
	}
	sc := scratches.Get().(*rewrite.Scratch)
	defer scratches.Put(sc)
	then := cmp.Or(c, s.last(), nothingKnown)
	p := s.hooks.Rewriter.Plan(sc, text, then, rewrite.Extended)
	st.types = string(types[2:])
	st.params = max(p.MaxParam, len(st.types)/4)
	if why := s.parseable(st, p, c); why != "" {
		s.countLeft(why)
		return st
	}
	if c != nil {
		s.count(p)
		if !p.Replaces {
			return st
		}
	}
	st.plannable = true
	st.basis = p.Basis
	st.text = string(text)
	// A named statement that came while the catalog was being read is planned at a
	// Bind, if nothing has changed since the reading before.
	st.since = s.epoch(then)
	if st.name == "" {
		st.inPlace = true
		s.appendRewritten(st, p, "")
	}
	return st
}

// appendParse appends to s.toServer a Parse of an edited text without hidden
// parameters.
func (s *Session) appendParse(name []byte, p *rewrite.Prepared, types []byte) {
	start := len(s.toServer)
	s.toServer = append(s.toServer, msgParse, 0, 0, 0, 0)
	s.toServer = append(append(s.toServer, name...), 0)
	s.toServer = append(p.AppendLiterals(s.toServer, nil, nil), 0)
	s.toServer = append(s.toServer, types...)
	binary.BigEndian.PutUint32(s.toServer[start+1:], uint32(len(s.toServer)-start-1))
}

// parseable tells why the calls in a text that is parsed are left to the server,
// and with a catalog makes p its plan otherwise.
func (s *Session) parseable(st *statement, p *rewrite.Prepared, c *rewrite.Catalog) rewrite.Reason {
	switch {
	case !s.readable(p):
		return rewrite.Settings
	case c == nil || !p.Replaces:
		return ""
	case p.ReadsClock():
		return rewrite.Moment
	}
	return s.adopt(st, p, c)
}

// appendRewritten appends to s.toServer the Parse of the rewritten text under a
// name, and keeps how its positions map to the client's text.
func (s *Session) appendRewritten(st *statement, p *rewrite.Prepared, name string) {
	s.toServer = st.appendParse(s.toServer, name, true, func(dst []byte) []byte {
		return p.AppendParams(dst, st.params+1, st.layout)
	})
	p.Positions(&st.pos)
}

// adopt makes p, which replaces something, the statement's plan, or tells why it
// cannot be used: a temporary relation is in the way, the parameters do not fit a
// Bind, or the text is another than that of a plan before.
func (s *Session) adopt(st *statement, p *rewrite.Prepared, c *rewrite.Catalog) rewrite.Reason {
	layout, ok := p.Hide(st.params)
	switch {
	case !ok:
		return rewrite.Parameters
	case s.records.shadowed(p.Relations):
		return rewrite.Temporary
	}
	at := len(s.toServer)
	s.toServer = p.AppendParams(s.toServer, st.params+1, layout)
	sum := maphash.Bytes(sums, s.toServer[at:])
	s.toServer = s.toServer[:at]
	if st.catalog != nil && (sum != st.sum || st.snow != p.Snowflakes || st.uuids != p.UUIDs) {
		return rewrite.Changed
	}
	st.catalog, st.sum = c, sum
	st.snow, st.uuids, st.layout = p.Snowflakes, p.UUIDs, layout
	st.relations = slices.Clone(p.Relations)
	return ""
}

// epoch is the moment in which a text that is sent now is read by the server.
func (s *Session) epoch(c *rewrite.Catalog) epoch {
	return epoch{generation: c.Generation(), ddl: s.ddl.count, settings: s.settings.changes}
}

// unchanged tells whether a text means now what it meant when the statement was
// made of it.
func (s *Session) unchanged(st *statement, c *rewrite.Catalog) bool {
	now := s.epoch(c)
	return st.since == now || st.since.settings == now.settings && c.Types(st.basis)
}

// holds tells why the plan of a statement may not be used for a Bind now, "" when
// it may.
func (s *Session) holds(st *statement) rewrite.Reason {
	switch {
	case st.left:
		return rewrite.Changed
	case s.status == 'E':
		return rewrite.Failed
	}
	c := s.catalog()
	switch {
	case c == nil:
		return rewrite.NoCatalog
	case s.records.shadowed(st.relations):
		return rewrite.Temporary
	case st.name != "" && st.twin == "" && !s.unchanged(st, c):
		// What the text means may have changed since the server made the
		// client's own statement of it, and a twin could differ from it.
		st.left = true
		return rewrite.Changed
	case c == st.catalog:
		return ""
	}
	sc := scratches.Get().(*rewrite.Scratch)
	defer scratches.Put(sc)
	p := s.hooks.Rewriter.Plan(sc, []byte(st.text), c, rewrite.Extended)
	if !p.Replaces {
		return rewrite.Changed
	}
	return s.adopt(st, p, c)
}

// prepareTwin sends the Parse of a named statement's twin, and before it a Close
// of the name, which an earlier user of a pooled connection may have left. The
// replies are swallowed. It tells whether the Bind can go to the twin.
func (s *Session) prepareTwin(st *statement, out *Spans) bool {
	if st.twin != "" {
		return true
	}
	if !s.settled() {
		return false
	}
	sc := scratches.Get().(*rewrite.Scratch)
	defer scratches.Put(sc)
	p := s.hooks.Rewriter.Plan(sc, []byte(st.text), st.catalog, rewrite.Extended)
	if !s.readable(p) {
		return false
	}
	st.twin = s.records.newTwin()
	s.sendClose(st.twin, out)
	from := len(s.toServer)
	s.appendRewritten(st, p, st.twin)
	s.send(out, from)
	e := s.queue.push(reqParse)
	e.swallow, e.st, e.pos = true, st, &st.pos
	return true
}

// restoreUnnamed sends the client's own text as the unnamed statement, so that
// the server answers for it as it would have without the proxy. The reply is
// swallowed.
func (s *Session) restoreUnnamed(out *Spans) {
	st := s.records.unnamed
	if st == nil || !st.inPlace {
		return
	}
	own := *st
	own.inPlace, own.plannable = false, false
	from := len(s.toServer)
	s.toServer = own.appendParse(s.toServer, "", false, func(dst []byte) []byte { return append(dst, st.text...) })
	s.send(out, from)
	e := s.queue.push(reqParse)
	e.swallow, e.unnamed = true, true
	e.undo = s.records.assign("", &own)
}
