package wire

import "encoding/binary"

// headerLen is the size of a message's type byte and length word, which every
// message but the start-up packets begins with.
const headerLen = 5

// Message types by direction, as in PostgreSQL's src/include/libpq/protocol.h.
const (
	msgBind         = 'B'
	msgClose        = 'C'
	msgCopyData     = 'd'
	msgCopyDone     = 'c'
	msgCopyFail     = 'f'
	msgDescribe     = 'D'
	msgExecute      = 'E'
	msgFlush        = 'H'
	msgFunctionCall = 'F'
	msgParse        = 'P'
	msgPassword     = 'p'
	msgQuery        = 'Q'
	msgSync         = 'S'
	msgTerminate    = 'X'

	msgAuthentication       = 'R'
	msgBindComplete         = '2'
	msgCloseComplete        = '3'
	msgCommandComplete      = 'C'
	msgCopyBothResponse     = 'W'
	msgCopyInResponse       = 'G'
	msgCopyOutResponse      = 'H'
	msgEmptyQueryResponse   = 'I'
	msgErrorResponse        = 'E'
	msgFunctionCallResponse = 'V'
	msgNoData               = 'n'
	msgNoticeResponse       = 'N'
	msgParameterDescription = 't'
	msgParameterStatus      = 'S'
	msgParseComplete        = '1'
	msgPortalSuspended      = 's'
	msgReadyForQuery        = 'Z'
	msgRowDescription       = 'T'
)

// maxReply bounds the replies that are collected to be read or edited
// (errors, notices, parameter descriptions); a larger one passes as it is.
const maxReply = 1 << 20

// keepBuffer is the largest buffer that a session keeps between two chunks.
const keepBuffer = 4 << 10

// A framer cuts a stream of bytes into messages. It holds the beginning of a
// message whose decision needs more bytes than have come, and the number of
// bytes of a decided message that are still to pass.
type framer struct {
	held []byte // beginning of an undecided message
	base []byte // empty, with the memory that held grows in
	skip int    // bytes of the decided message that are still to come
	drop bool   // those bytes are swallowed
}

// begin is called at the start of a chunk: what take handed out in the last
// one is no longer referred to.
func (f *framer) begin() {
	if len(f.held) > 0 {
		return
	}
	if cap(f.base) > keepBuffer {
		f.base = nil
	}
	f.held = f.base
}

// hold adds bytes to the message that is being collected.
func (f *framer) hold(b []byte) {
	had := cap(f.held)
	f.held = append(f.held, b...)
	if cap(f.held) != had {
		f.base = f.held[:0]
	}
}

// take returns the collected bytes, which stay valid until begin, and starts
// the next collection behind them.
func (f *framer) take() []byte {
	b := f.held
	f.held = f.held[len(f.held):]
	return b
}

// pass lets the rest of the current message through, or drops it, and returns
// how much of in it took.
func (f *framer) pass(in []byte, out *Spans) int {
	n := min(f.skip, len(in))
	if !f.drop {
		out.add(in[:n])
	}
	f.skip -= n
	return n
}

// frameSize is the size of the message that begins with header, type byte
// included. A length below 4 cannot be framed: 0 is returned.
func frameSize(header []byte) int {
	n := binary.BigEndian.Uint32(header[1:])
	if n < 4 || n > 1<<30 {
		return 0
	}
	return int(n) + 1
}

// cString returns the bytes before the first zero of b and what follows it;
// ok is false when there is no zero.
func cString(b []byte) (s, rest []byte, ok bool) {
	for i, c := range b {
		if c == 0 {
			return b[:i], b[i+1:], true
		}
	}
	return nil, nil, false
}
