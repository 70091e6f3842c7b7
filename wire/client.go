package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

// Client takes bytes from the client and adds to out what the server is to get.
// The spans are valid until the next call of Client, and only while in is. It
// returns how much of in it took. With a Wait, the driver sends out what it
// got, runs the Wait without holding up Server, and calls again with the rest,
// also when that is empty: the message that waits is then handled in any case.
func (s *Session) Client(in []byte, out *Spans) (int, Wait) {
	s.client.begin()
	if cap(s.toServer) > keepBuffer {
		s.toServer = nil
	}
	s.toServer = s.toServer[:0]
	if s.passive && len(s.client.held) > 0 { // since the last chunk
		s.ready = 0
		out.add(s.client.take())
	}
	if s.ready > 0 {
		total := s.ready
		s.ready, s.waited = 0, true
		msg := s.client.take()
		s.handle(msg, total, out)
		s.waited = false
		if w := s.wait; w != nil {
			s.client.hold(msg)
			s.ready, s.wait = total, nil
			return 0, w
		}
	}
	i := 0
	for i < len(in) {
		switch {
		case s.raw || s.passive:
			out.add(in[i:])
			i = len(in)
		case s.client.skip > 0:
			i += s.client.pass(in[i:], out)
		case len(s.client.held) == 0:
			i += s.clientFrame(in[i:], out)
		default:
			i += s.clientCollect(in[i:], out)
		}
		if s.wait != nil {
			w := s.wait
			s.wait = nil
			return i, w
		}
	}
	return i, nil
}

// clientFrame handles the message that begins at in[0], or holds what there is
// of it. It returns how much of in it took.
func (s *Session) clientFrame(in []byte, out *Spans) int {
	if len(in) < headerLen {
		s.client.hold(in)
		return len(in)
	}
	total := frameSize(in)
	if total == 0 {
		s.raw = true
		return 0
	}
	seen := in[:min(len(in), total)]
	need := s.clientNeed(seen, total)
	if need > len(seen) {
		s.client.hold(seen)
		return len(seen)
	}
	s.handle(seen[:need], total, out)
	if s.wait != nil {
		s.client.hold(seen[:need])
		s.ready = total
	}
	return need
}

// clientCollect goes on with a message whose beginning is held.
func (s *Session) clientCollect(in []byte, out *Spans) int {
	i := 0
	for {
		held := s.client.held
		need, total := headerLen, 0
		if len(held) >= headerLen {
			if total = frameSize(held); total == 0 {
				s.raw = true
				out.add(s.client.take())
				return i
			}
			need = s.clientNeed(held, total)
		}
		if total > 0 && need <= len(held) {
			break
		}
		n := min(need-len(held), len(in)-i)
		if n == 0 {
			return i
		}
		s.client.hold(in[i : i+n])
		i += n
	}
	total := frameSize(s.client.held)
	s.handle(s.client.held, total, out)
	if s.wait != nil {
		s.ready = total
		return i
	}
	s.client.take()
	return i
}

// clientNeed tells how many bytes of a message the session must see before it
// can handle it: all of it, its beginning (the rest then streams through), or
// one more than there are.
func (s *Session) clientNeed(seen []byte, total int) int {
	if s.skipping {
		return headerLen
	}
	small := total <= s.hooks.Limit
	switch seen[0] {
	case msgQuery:
		if small {
			return total
		}
		return headerLen
	case msgParse:
		if small {
			return total
		}
		return needNames(seen, 1, total)
	case msgBind:
		need := needNames(seen, 2, total)
		if need <= len(seen) && small && s.planned(seen[headerLen:need]) {
			return total
		}
		return need
	case msgDescribe, msgClose, msgExecute:
		return total
	}
	return headerLen
}

// needNames tells how much of a message must be seen to have its first n
// strings.
func needNames(seen []byte, n, total int) int {
	end := headerLen
	for range n {
		i := bytes.IndexByte(seen[min(end, len(seen)):], 0)
		if i < 0 {
			return min(len(seen)+1, total)
		}
		end += i + 1
	}
	return end
}

// planned tells whether a Bind that begins with names is for a statement that
// has, or may turn out to have, something for us.
func (s *Session) planned(names []byte) bool {
	_, rest, _ := cString(names)
	name, _, _ := cString(rest)
	st := s.records.lookup(name)
	return st != nil && st.plannable || len(name) == 0 && s.unsure()
}

// handle sends one message on its way: what has been seen of it now, the rest
// as it comes. When it sets s.wait it has done nothing.
func (s *Session) handle(seen []byte, total int, out *Spans) {
	whole := len(seen) == total
	if s.awaitSignOn(seen[0]) {
		return
	}
	if s.passive {
		s.forward(seen, total, out)
		return
	}
	if s.skipping && seen[0] != msgSync {
		s.forward(seen, total, out)
		return
	}
	if s.ddl.dirty && seen[0] != msgFlush {
		s.beginDDL()
	}
	if s.copyIn {
		defer func(had int) {
			for i := had; i < s.queue.size; i++ {
				s.queue.at(i).afterCopy = true
			}
		}(s.queue.size)
	}
	switch seen[0] {
	case msgQuery:
		s.handleQuery(seen, total, out)
	case msgParse:
		s.handleParse(seen, total, out)
	case msgBind:
		s.handleBind(seen, total, out)
	case msgDescribe:
		s.handleDescribe(seen, total, whole, out)
	case msgExecute:
		s.handleExecute(seen, total, out)
	case msgClose:
		s.handleClose(seen, total, out)
	case msgSync:
		s.skipping = false
		s.queue.push(reqSync).doubtful = s.copyIn
		s.forward(seen, total, out)
	case msgFunctionCall:
		e := s.queue.push(reqCall)
		s.note(e, &rewrite.Effects{Settings: true})
		s.forward(seen, total, out)
	case msgCopyDone, msgCopyFail:
		if s.copyIn || s.queue.size > 0 {
			s.copyIn = false
			s.queue.push(reqCopyEnd)
		}
		s.forward(seen, total, out)
	default:
		s.forward(seen, total, out)
	}
}

// forward passes a message on as it is.
func (s *Session) forward(seen []byte, total int, out *Spans) {
	out.add(seen)
	s.client.skip = total - len(seen)
}

// send adds what the session has made for the server, in s.toServer from an index
// on. Of a client's message that it stands for nothing may be left to come.
func (s *Session) send(out *Spans, from int) { out.add(s.toServer[from:]) }

// handleQuery plans a simple query. The server forgets the unnamed statement
// whatever the text.
func (s *Session) handleQuery(msg []byte, total int, out *Spans) {
	text, ok := queryText(msg, total)
	eff := anyEffects
	if ok {
		eff = s.effects(text)
	}
	from := len(s.toServer)
	var pos *rewrite.PositionMap
	if ok {
		if pos = s.editSerial(text, s.appendQuery); pos == nil && s.wait == nil {
			pos = s.editQuery(text)
		}
		if s.wait != nil {
			return
		}
	}
	e := s.queue.push(reqQuery)
	e.pos = pos
	e.unnamed = true
	if s.records.unnamed != nil {
		e.undo = s.records.assign("", nil)
	}
	s.note(e, &eff)
	if pos == nil {
		s.forward(msg, total, out)
		return
	}
	s.send(out, from)
}

// anyEffects are those of a text that was not read.
var anyEffects = rewrite.Effects{Schema: true, TempAny: true, Settings: true, DropAll: true}

// queryText returns the text of a Query message that was seen whole and holds
// nothing behind its string.
func queryText(msg []byte, total int) ([]byte, bool) {
	if len(msg) != total {
		return nil, false
	}
	text, rest, ok := cString(msg[headerLen:])
	return text, ok && len(rest) == 0
}

// editQuery appends to s.toServer a Query with literals in place of the calls,
// and returns its position map; nil when the text is to go as it is.
func (s *Session) editQuery(text []byte) *rewrite.PositionMap {
	c, concerned := s.concerned(text)
	if !concerned || s.wait != nil {
		return nil
	}
	if c == nil {
		s.countLeft(rewrite.NoCatalog)
		return nil
	}
	sc := scratches.Get().(*rewrite.Scratch)
	defer scratches.Put(sc)
	p := s.hooks.Rewriter.Plan(sc, text, c, rewrite.Simple)
	why := s.insertable(p)
	switch {
	case s.wait != nil:
		return nil
	case why != "":
		s.countLeft(why)
		return nil
	}
	s.count(p)
	if !p.Replaces {
		return nil
	}
	s.appendQuery(p)
	pos := new(rewrite.PositionMap)
	p.Positions(pos)
	return pos
}

// appendQuery appends to s.toServer a Query with literals.
func (s *Session) appendQuery(p *rewrite.Prepared) {
	start := len(s.toServer)
	s.toServer = append(s.toServer, msgQuery, 0, 0, 0, 0)
	s.toServer = append(p.AppendLiterals(s.toServer, s.snow, s.uuids), 0)
	binary.BigEndian.PutUint32(s.toServer[start+1:], uint32(len(s.toServer)-start-1))
}

// insertable mints the ids for a simple query that wants some, or tells why all in
// it is left to the server.
func (s *Session) insertable(p *rewrite.Prepared) rewrite.Reason {
	switch {
	case !p.Replaces:
	case !s.readable(p):
		return rewrite.Settings
	case s.records.shadowed(p.Relations):
		return rewrite.Temporary
	case !s.mint(p.Snowflakes, p.UUIDs):
		return rewrite.Unminted
	}
	return ""
}

// handleDescribe lets a Describe pass; of the unnamed statement whose text was
// rewritten the reply is cut back to the client's parameters.
func (s *Session) handleDescribe(msg []byte, total int, whole bool, out *Spans) {
	name, _, ok := cString(msg[min(headerLen+1, len(msg)):])
	ok = ok && whole && msg[headerLen] == 'S'
	if ok && len(name) == 0 && s.awaitUnnamed() {
		return
	}
	s.closeGarbage(out)
	e := s.queue.push(reqDescribe)
	if ok {
		if st := s.records.lookup(name); st != nil && st.inPlace {
			e.hidden, e.pos = st.hidden(), &st.pos
		}
	}
	s.forward(msg, total, out)
}

// handleExecute notes what the portal's statement may change.
func (s *Session) handleExecute(msg []byte, total int, out *Spans) {
	name, _, _ := cString(msg[headerLen:])
	st := s.portals[string(name)]
	if st != nil && (st.eff.Settings || st.eff.Constant) {
		if s.awaitUnnamed() {
			return
		}
		s.restoreUnnamed(out)
	}
	e := s.queue.push(reqExecute)
	if st != nil {
		if st.inPlace || st.twin != "" || st.edited {
			e.st, e.pos = st, &st.pos
		}
		s.note(e, &st.eff)
	}
	s.forward(msg, total, out)
}

// handleClose forgets a statement or portal. The twin of a statement is closed
// once the server has confirmed.
func (s *Session) handleClose(msg []byte, total int, out *Spans) {
	s.closeGarbage(out)
	e := s.queue.push(reqClose)
	if name, _, ok := cString(msg[min(headerLen+1, len(msg)):]); ok {
		if msg[headerLen] == 'S' {
			e.unnamed = len(name) == 0
			e.undo = s.records.assign(string(name), nil)
		} else {
			delete(s.portals, string(name))
		}
	}
	s.forward(msg, total, out)
}

// closeGarbage sends a Close for each twin that is no longer needed. Close
// never fails, and is only sent in front of a message that a Sync follows.
func (s *Session) closeGarbage(out *Spans) {
	for _, twin := range s.records.garbage {
		s.sendClose(twin, out)
	}
	s.records.garbage = s.records.garbage[:0]
}

// sendClose closes a twin. The reply is swallowed.
func (s *Session) sendClose(twin string, out *Spans) {
	from := len(s.toServer)
	s.toServer = append(s.toServer, msgClose, 0, 0, 0, byte(4+1+len(twin)+1), 'S')
	s.toServer = append(append(s.toServer, twin...), 0)
	s.send(out, from)
	e := s.queue.push(reqClose)
	e.swallow = true
	e.st = &statement{twin: twin}
}
