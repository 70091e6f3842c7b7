package wire

import (
	"context"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
)

// Hooks is what a session asks of others. The zero value relays and replaces
// nothing.
type Hooks struct {
	// Rewriter plans texts. It is shared by all sessions.
	Rewriter *rewrite.Rewriter

	// Mint fills both slices with fresh ids. It never blocks; after an error
	// the text is left to the server.
	Mint func(snow []int64, uuids []gen.UUID) error

	// MintReady blocks until Mint may work again or ctx is done. Nil unless the
	// clock policy is to wait.
	MintReady func(ctx context.Context) error

	// Catalog is that of the session's database.
	Catalog Catalog

	// Limit is the size in bytes up to which a message is read for rewriting.
	Limit int

	// Serial is told of an auto-increment column of 32 bits that was left as it is
	// although such columns are to be replaced; nil: nobody is.
	Serial func(rewrite.Serial)

	// Observer counts what the session does; nil: nobody does.
	Observer Observer
}

// An Observer counts what sessions do. Its methods are called from many
// goroutines; they neither block nor allocate.
type Observer interface {
	// Statement is told of each Query and Parse, and of each Bind of a statement
	// that has something for us: what was done with it.
	Statement(Outcome)

	// Left is told why something for us was left to the server.
	Left(rewrite.Reason)

	// Minted is told of the ids that were put into a statement.
	Minted(snowflakes, uuids int)

	// Refused is told when the generator did not mint.
	Refused()
}

// An Outcome is what was done with a statement.
type Outcome uint8

const (
	// Passed: there was nothing for us in it.
	Passed Outcome = iota
	// Replaced: ids were put in, or are for each Bind.
	Replaced
	// Left: there was something for us, and all of it was left to the server.
	Left
)

// A Catalog describes one database, for all of its sessions: its methods may
// be called at the same time.
type Catalog interface {
	// Current returns what may be relied on now. Nil: the database is being
	// changed or read again, and everything is left to the server.
	Current() *rewrite.Catalog

	// Last returns the last reading, whether it may be relied on or not; nil
	// before the first.
	Last() *rewrite.Catalog

	// Begin and End enclose statements that may change the schema. From the
	// first Begin on Current is nil, until a load that began after the last End
	// has come back.
	Begin()
	End()

	// Fresh waits until Current is not nil or ctx is done, unless that is not to be
	// expected soon.
	Fresh(ctx context.Context)
}

// SessionOptions is what the start-up of a session decides about it.
type SessionOptions struct {
	Replication      bool // commands are not SQL: nothing is read, all passes
	PlainClientOnTLS bool // the server is reached over TLS, the client is not: SCRAM-SHA-256-PLUS is taken out of the offer
}

// A Wait blocks until what a message waits for is there, or ctx is done. The
// driver runs it without holding up the other direction, with a bounded ctx.
type Wait func(ctx context.Context)

// Spans is a list of byte ranges to be written in order. The bytes belong to
// the session and to the chunk that it was given.
type Spans struct {
	Bufs [][]byte
}

// add appends b. Where it goes on in memory behind the last span, that one
// grows instead, so that a chunk without any change is one span.
func (s *Spans) add(b []byte) {
	if len(b) == 0 {
		return
	}
	if n := len(s.Bufs); n > 0 {
		last := s.Bufs[n-1]
		if whole := len(last) + len(b); cap(last) >= whole && &last[:len(last)+1][len(last)] == &b[0] {
			s.Bufs[n-1] = last[:whole]
			return
		}
	}
	s.Bufs = append(s.Bufs, b)
}

// keepSpans is the largest capacity that an emptied list keeps.
const keepSpans = 64

// reset empties the list and lets go of the bytes it referred to.
func (s *Spans) reset() {
	if cap(s.Bufs) > keepSpans {
		s.Bufs = nil
		return
	}
	clear(s.Bufs)
	s.Bufs = s.Bufs[:0]
}
