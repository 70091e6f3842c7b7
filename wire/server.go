package wire

import "encoding/binary"

// Server takes bytes from the server and adds to out what the client is to get.
// It takes all of in. The spans are valid until the next call of Server, and
// only while in is.
func (s *Session) Server(in []byte, out *Spans) {
	s.server.begin()
	if cap(s.toClient) > keepBuffer {
		s.toClient = nil
	}
	s.toClient = s.toClient[:0]
	for i := 0; i < len(in); {
		switch {
		case s.rawServer:
			out.add(in[i:])
			return
		case s.server.skip > 0:
			i += s.server.pass(in[i:], out)
		case len(s.server.held) == 0:
			i += s.serverFrame(in[i:], out)
		default:
			i += s.serverCollect(in[i:], out)
		}
	}
	s.signOn()
	if s.known != nil && !s.unsure() {
		close(s.known)
		s.known = nil
	}
}

func (s *Session) serverFrame(in []byte, out *Spans) int {
	if len(in) < headerLen {
		s.server.hold(in)
		return len(in)
	}
	total := frameSize(in)
	if total == 0 {
		s.rawServer = true
		return 0
	}
	need := s.serverNeed(in[0], total)
	if need > len(in) {
		s.server.hold(in)
		return len(in)
	}
	s.reply(in[:need], total, out)
	return need
}

func (s *Session) serverCollect(in []byte, out *Spans) int {
	i := 0
	for {
		held := s.server.held
		need := headerLen
		if len(held) >= headerLen {
			total := frameSize(held)
			if total == 0 {
				s.rawServer = true
				out.add(s.server.take())
				return i
			}
			if need = s.serverNeed(held[0], total); need <= len(held) {
				s.reply(s.server.take(), total, out)
				return i
			}
		}
		n := min(need-len(held), len(in)-i)
		if n == 0 {
			return i
		}
		s.server.hold(in[i : i+n])
		i += n
	}
}

// serverNeed tells how many bytes of a reply must be there before it is
// decided on: the header for what only passes, else all of it.
func (s *Session) serverNeed(typ byte, total int) int {
	switch typ {
	case msgReadyForQuery, msgParameterStatus:
		return min(total, maxReply)
	case msgErrorResponse, msgNoticeResponse, msgParameterDescription:
		if total <= maxReply && !s.passive {
			return total
		}
	case msgAuthentication:
		if s.opts.PlainClientOnTLS && total <= maxReply {
			return total
		}
	}
	return headerLen
}

// reply sends one message of the server on its way and takes down what it
// means for the requests that are outstanding.
func (s *Session) reply(seen []byte, total int, out *Spans) {
	typ := seen[0]
	s.server.skip, s.server.drop = total-len(seen), false
	switch typ {
	case 'D', msgCopyData: // DataRow, CopyData: by far the most, and never ours
		out.add(seen)
		return
	case msgParameterStatus:
		s.parameterStatus(seen[headerLen:])
		out.add(seen)
		return
	case msgAuthentication:
		out.add(s.authentication(seen))
		return
	}
	if s.passive {
		if typ == msgReadyForQuery {
			s.status = 0
		}
		out.add(seen)
		return
	}
	s.skipMarkers()
	switch typ {
	case msgNoticeResponse:
		out.add(s.editReport(seen, s.current()))
	case msgErrorResponse:
		out.add(s.editReport(seen, s.current()))
		s.failed(seen)
	case msgReadyForQuery:
		out.add(seen)
		s.readyForQuery(seen)
	case msgCopyInResponse:
		out.add(seen)
		s.copyBegins()
	case msgParameterDescription:
		out.add(s.parameterDescription(seen))
	default:
		if s.completes(typ) {
			s.server.drop = true
			return
		}
		out.add(seen)
	}
}

// current returns the request that the server is answering, or nil.
func (s *Session) current() *entry {
	if s.queue.size == 0 {
		return nil
	}
	return s.queue.at(0)
}

// skipMarkers takes CopyDone and CopyFail off the head of the queue: whatever
// came before them is answered, and they have no reply of their own.
func (s *Session) skipMarkers() {
	for s.queue.size > 0 && s.queue.at(0).req == reqCopyEnd {
		s.queue.pop()
	}
}

// completes pops the request that a reply of that type ends, and tells whether
// the reply is to be swallowed.
func (s *Session) completes(typ byte) bool {
	var ends request
	switch typ {
	case msgParseComplete:
		ends = reqParse
	case msgBindComplete:
		ends = reqBind
	case msgCloseComplete:
		ends = reqClose
	case msgNoData, msgRowDescription:
		ends = reqDescribe
	case msgCommandComplete, msgEmptyQueryResponse, msgPortalSuspended:
		ends = reqExecute
	default:
		return false
	}
	s.dropDoubtfulHead()
	e := s.current()
	if e == nil || e.req != ends {
		if e == nil || e.req != reqQuery && e.req != reqCall && e.req != reqStartup {
			s.lose()
		}
		if typ == msgCommandComplete {
			s.copyEnded(1)
		}
		return false
	}
	if ends == reqExecute {
		s.copyEnded(1)
		e = s.queue.at(0)
	}
	if e.undo != nil {
		s.records.confirm(e.undo)
	}
	swallow := e.swallow
	if ends == reqParse && swallow && e.st != nil {
		e.st.ready = e.st.twin != ""
	}
	s.queue.pop()
	return swallow
}

// lose is the last resort when a reply fits no request, which no server that
// keeps to the protocol sends: nothing is replaced from here on.
func (s *Session) lose() { s.passive = true; s.endDDL() }

// dropDoubtfulHead removes Syncs that the server turns out to have read as
// part of copy data: something else is answered next.
func (s *Session) dropDoubtfulHead() {
	for s.queue.size > 0 && (s.queue.at(0).req == reqSync && s.queue.at(0).doubtful || s.queue.at(0).req == reqCopyEnd) {
		s.queue.pop()
	}
}

// copyBegins is called when the server starts to read copy data: it ignores
// the Syncs up to the end of the data, unless it fails before.
func (s *Session) copyBegins() {
	end := s.queue.find(1, reqCopyEnd)
	s.copyIn = end < 0
	if end < 0 {
		end = s.queue.size
	}
	for i := 1; i < end; i++ {
		e := s.queue.at(i)
		e.doubtful = e.doubtful || e.req == reqSync
		e.afterCopy = true
	}
}

// copyEnded is called when the command at the head of the queue has completed:
// the Syncs among its copy data, if there was any, were ignored.
func (s *Session) copyEnded(from int) {
	for from < s.queue.size {
		e := s.queue.at(from)
		if e.req == reqCopyEnd {
			s.queue.remove(from, 1)
			return
		}
		if e.req != reqSync || !e.doubtful {
			return
		}
		s.queue.remove(from, 1)
	}
}

// failed handles an ErrorResponse. After the failure of an extended request the
// server drops all that follows up to Sync, without a reply (PostgresMain in
// src/backend/tcop/postgres.c).
func (s *Session) failed(report []byte) {
	e := s.current()
	if e == nil {
		return
	}
	wasCopy := s.copyIn || s.queue.size > 1 && s.queue.at(1).afterCopy
	s.copyIn = false
	if wasCopy && errorCode(report) == protocolViolation {
		s.copyInterrupted()
	}
	if !e.req.extended() {
		return
	}
	end := s.queue.find(0, reqSync)
	if end < 0 {
		end = s.queue.size
		s.skipping = true
	}
	for i := end - 1; i >= 0; i-- {
		s.takeBack(s.queue.at(i), i == 0, end)
	}
	s.queue.remove(0, end)
}

// dropAfterCopy is called when it turns out that the last ReadyForQuery was not
// for the Sync it was taken for, which came among copy data that failed, but for
// the next one: what was sent between them was dropped.
func (s *Session) dropAfterCopy() {
	end := s.queue.find(0, reqSync)
	if end < 0 {
		return
	}
	for i := end - 1; i >= 0; i-- {
		s.takeBack(s.queue.at(i), false, end)
	}
	s.queue.remove(0, end+1)
}

// copyInterrupted removes the request that the server read where it expected
// copy data, and answered with the error.
func (s *Session) copyInterrupted() {
	for i := 1; i < s.queue.size; i++ {
		switch e := s.queue.at(i); e.req {
		case reqSync, reqCopyEnd:
			continue
		default:
			s.takeBack(e, false, i+1)
			s.queue.remove(i, 1)
			return
		}
	}
}

// takeBack undoes what a request was assumed to do. failed is true for the one
// that failed, false for those that the server dropped. later is the index of
// the first entry that is not dropped with it.
func (s *Session) takeBack(e *entry, failed bool, later int) {
	if u := e.undo; u != nil {
		if u.hadUnnamed {
			if failed && e.req == reqParse {
				u.unnamed = nil
			}
			s.putBackUnnamed(u.unnamed, later)
		}
		if later+1 < s.queue.size {
			// What follows the Sync may have given the names other meanings.
			s.records.letGo(u)
		} else {
			s.records.takeBack(u)
		}
	}
	switch {
	case !e.swallow:
	case e.req == reqParse && e.st != nil:
		e.st.twin, e.st.ready = "", false
	case e.req == reqClose:
		s.records.garbage = append(s.records.garbage, e.st.twin)
	}
}

// readyForQuery ends the requests up to a Sync or a Query.
func (s *Session) readyForQuery(seen []byte) {
	if len(seen) > headerLen {
		if seen[headerLen] == 'I' && s.settings.pending {
			// What SET LOCAL set, or a transaction that failed, is taken back.
			s.settings.changes++
			s.settings.pending = false
		}
		s.status = seen[headerLen]
	}
	if e := s.current(); e != nil && e.req.extended() && e.afterCopy {
		s.dropAfterCopy()
	}
	e := s.current()
	if e == nil || e.req.extended() || e.req == reqCopyEnd {
		s.lose()
		return
	}
	if e.undo != nil {
		s.records.confirm(e.undo)
	}
	doubtful := e.req == reqSync && e.doubtful
	if e.req == reqQuery {
		s.copyEnded(1)
	}
	s.queue.pop()
	s.copyIn = false
	if doubtful {
		s.skipMarkers()
		if e := s.current(); e != nil && e.req == reqSync {
			e.doubtful = true
		}
	}
	if s.status == 'I' && s.queue.find(0, reqBind) < 0 {
		// The end of the transaction closed all; none of a later one is there yet.
		clear(s.portals)
	}
	s.settleDDL()
}

// settleDDL is called at each ReadyForQuery: once nothing is under way that may
// change the schema, the catalog can be read again, and once the transaction is
// over this session sees what all others see.
func (s *Session) settleDDL() {
	if !s.ddl.dirty {
		return
	}
	for i := range s.queue.size {
		if r := s.queue.at(i).req; r != reqCopyEnd {
			return
		}
	}
	if s.status != 'I' {
		return // others must not rely on the catalog before they see the change
	}
	s.ddl.dirty, s.ddl.wide = false, false
	s.ddl.awaitFresh = true
	s.endDDL()
}

// parameterDescription cuts the hidden parameters off.
func (s *Session) parameterDescription(seen []byte) []byte {
	e := s.current()
	if e == nil || e.req != reqDescribe || len(seen) < headerLen+2 {
		return seen
	}
	n := int(binary.BigEndian.Uint16(seen[headerLen:]))
	if e.hidden == 0 || n < e.hidden || len(seen) != headerLen+2+4*n {
		return seen
	}
	size := headerLen + 2 + 4*(n-e.hidden)
	from := len(s.toClient)
	s.toClient = append(s.toClient, seen[:size]...)
	binary.BigEndian.PutUint32(s.toClient[from+1:], uint32(size-1))
	binary.BigEndian.PutUint16(s.toClient[from+headerLen:], uint16(n-e.hidden))
	return s.toClient[from:]
}
