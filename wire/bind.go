package wire

import (
	"encoding/binary"
	"strconv"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
)

// A bindMessage is a Bind cut into its parts; all are slices of the message.
type bindMessage struct {
	portal, name []byte
	formats      []byte // format codes of the parameters, 2 bytes each
	params       int
	values       []byte // the parameters, each with its length word
	results      []byte // count and format codes of the result columns
}

// parseBind cuts a whole Bind message; ok is false when its counts and lengths
// do not fit together.
func parseBind(msg []byte) (b bindMessage, ok bool) {
	rest := msg[headerLen:]
	if b.portal, rest, ok = cString(rest); !ok {
		return b, false
	}
	if b.name, rest, ok = cString(rest); !ok {
		return b, false
	}
	if len(rest) < 2 {
		return b, false
	}
	n := 2 * int(binary.BigEndian.Uint16(rest))
	if len(rest) < 2+n+2 {
		return b, false
	}
	b.formats, rest = rest[2:2+n], rest[2+n:]
	b.params = int(binary.BigEndian.Uint16(rest))
	rest = rest[2:]
	at := 0
	for range b.params {
		if len(rest)-at < 4 {
			return b, false
		}
		size := int32(binary.BigEndian.Uint32(rest[at:]))
		at += 4
		if size == -1 {
			continue
		}
		if size < 0 || len(rest)-at < int(size) {
			return b, false
		}
		at += int(size)
	}
	b.values, b.results = rest[:at], rest[at:]
	if len(b.results) < 2 || len(b.results) != 2+2*int(binary.BigEndian.Uint16(b.results)) {
		return b, false
	}
	return b, true
}

// fits tells whether values can be appended to the Bind of a statement with
// params parameters without changing what the server says to the client's own.
func (b *bindMessage) fits(params int) bool {
	switch n := len(b.formats) / 2; {
	case b.params != params:
		return false
	case n == 1:
		return binary.BigEndian.Uint16(b.formats) <= 1
	default:
		return n == 0 || n == params
	}
}

// binary tells in which format the values behind the client's own are: that of
// all when there is one code, text when there is none. With a code for each
// they get codes of their own.
func (b *bindMessage) binary() bool {
	return len(b.formats) >= 2 && (len(b.formats) > 2 || binary.BigEndian.Uint16(b.formats) == 1)
}

// handleBind sends a Bind where its values can be appended: to the twin of a
// named statement, or to the unnamed one. Otherwise it goes to the client's
// own statement as it is.
func (s *Session) handleBind(msg []byte, total int, out *Spans) {
	portal, rest, _ := cString(msg[headerLen:])
	name, _, ok := cString(rest)
	if ok && len(name) == 0 && s.awaitUnnamed() {
		return
	}
	st := s.records.lookup(name)
	if !ok || st == nil {
		delete(s.portals, string(portal))
		s.closeGarbage(out)
		s.queue.push(reqBind)
		s.forward(msg, total, out)
		return
	}
	b, whole := bindMessage{}, false
	if st.plannable && len(msg) == total {
		b, whole = parseBind(msg)
	}
	use := false
	if st.plannable {
		why := s.bindable(st, &b, whole)
		if s.wait != nil {
			return
		}
		use = why == ""
		s.countBind(why)
	}
	s.closeGarbage(out)
	if s.portals == nil {
		s.portals = map[string]*statement{}
	}
	s.portals[string(portal)] = st
	switch {
	case use && (st.inPlace || s.prepareTwin(st, out)):
		s.sendBind(st, &b, out)
		return
	case !st.inPlace:
		s.queue.push(reqBind)
	case s.status == 'E' && s.quiet():
		// Nothing can be parsed in a failed transaction. The server will refuse
		// this Bind; the values only make its counts come out as they should.
		if whole && b.fits(b.params) {
			s.snow, s.uuids = append(s.snow[:0], make([]int64, st.snow)...), append(s.uuids[:0], make([]gen.UUID, st.uuids)...)
			s.sendBind(st, &b, out)
			s.queue.at(s.queue.size - 1).recount = st.hidden()
			return
		}
		s.bound(st)
	default:
		s.restoreUnnamed(out)
		s.portals[string(portal)] = s.records.unnamed
		s.queue.push(reqBind)
	}
	s.forward(msg, total, out)
}

// bindable mints the ids for a Bind, or tells why it is left to the server.
func (s *Session) bindable(st *statement, b *bindMessage, whole bool) rewrite.Reason {
	if !whole || !b.fits(st.params) {
		return rewrite.Parameters
	}
	if why := s.holds(st); why != "" {
		return why
	}
	if !st.inPlace && !st.ready && !s.settled() {
		return rewrite.Failed
	}
	if !s.mint(st.snow, st.uuids) {
		return rewrite.Unminted
	}
	return ""
}

// bound queues the Bind of a rewritten text.
func (s *Session) bound(st *statement) {
	e := s.queue.push(reqBind)
	e.st, e.pos = st, &st.pos
}

// sendBind sends the client's Bind to the rewritten statement with the ids in
// s.snow and s.uuids appended. The client's values are not copied.
func (s *Session) sendBind(st *statement, b *bindMessage, out *Spans) {
	bin := b.binary()
	dst, from := s.toServer, len(s.toServer)
	dst = append(dst, msgBind, 0, 0, 0, 0)
	dst = append(append(dst, b.portal...), 0)
	dst = append(append(dst, st.twin...), 0)
	codes := len(b.formats) / 2
	if codes > 1 {
		codes += st.hidden()
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(codes))
	dst = append(dst, b.formats...)
	for n := len(b.formats) / 2; n < codes; n++ {
		dst = binary.BigEndian.AppendUint16(dst, 1)
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(b.params+st.hidden()))
	mid := len(dst)
	dst = st.appendSnowflakes(dst, s.snow, bin)
	dst = st.appendUUIDs(dst, s.uuids, bin)
	binary.BigEndian.PutUint32(dst[from+1:], uint32(len(dst)-from-1+len(b.values)+len(b.results)))
	s.toServer = dst
	out.add(dst[from:mid])
	out.add(b.values)
	out.add(dst[mid:])
	out.add(b.results)
	s.bound(st)
}

// appendSnowflakes appends the hidden parameters that hold ids, each an int8 or
// an array of them (array_recv and array_in in src/backend/utils/adt/arrayfuncs.c).
func (st *statement) appendSnowflakes(dst []byte, ids []int64, bin bool) []byte {
	return st.appendHidden(dst, st.layout.Snowflakes(), len(ids), bin, oidInt8, func(dst []byte, i int) []byte {
		if bin {
			return binary.BigEndian.AppendUint64(dst, uint64(ids[i]))
		}
		return strconv.AppendInt(dst, ids[i], 10)
	})
}

// appendUUIDs does the same for UUIDs.
func (st *statement) appendUUIDs(dst []byte, ids []gen.UUID, bin bool) []byte {
	return st.appendHidden(dst, st.layout.UUIDs(), len(ids), bin, oidUUID, func(dst []byte, i int) []byte {
		if bin {
			return append(dst, ids[i][:]...)
		}
		return gen.AppendUUID(dst, ids[i])
	})
}

// appendHidden appends params parameters that hold n ids, which one appends.
func (st *statement) appendHidden(dst []byte, params, n int, bin bool, oid uint32, one func([]byte, int) []byte) []byte {
	for p := range params {
		from, to := st.layout.Of(p, n)
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		if st.layout.Arrays() {
			dst = appendArray(dst, from, to, bin, oid, one)
		} else {
			dst = one(dst, from)
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}

func appendArray(dst []byte, from, to int, bin bool, oid uint32, one func([]byte, int) []byte) []byte {
	if !bin {
		dst = append(dst, '{')
		for i := from; i < to; i++ {
			if i > from {
				dst = append(dst, ',')
			}
			dst = one(dst, i)
		}
		return append(dst, '}')
	}
	dst = binary.BigEndian.AppendUint32(dst, 1) // dimensions
	dst = binary.BigEndian.AppendUint32(dst, 0) // no NULLs
	dst = binary.BigEndian.AppendUint32(dst, oid)
	dst = binary.BigEndian.AppendUint32(dst, uint32(to-from))
	dst = binary.BigEndian.AppendUint32(dst, 1) // lower bound
	for i := from; i < to; i++ {
		at := len(dst)
		dst = one(append(dst, 0, 0, 0, 0), i)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}
