package wire

import (
	"context"
	"errors"
)

// The server may hold the unnamed statement with hidden parameters, so what it
// is must be known, not just forgotten, before a message that refers to it. It
// is within a cycle: had an earlier message of the cycle failed, the later one
// would be dropped. Across a Sync that is not answered yet it is not.

// unsure tells whether it depends on replies that are still to come what the
// unnamed statement is, and a rewritten text is among what it may be.
func (s *Session) unsure() bool {
	if s.copyIn {
		return false // the Sync may never be answered
	}
	synced := false
	for i := s.queue.size - 1; i >= 0; i-- {
		e := s.queue.at(i)
		switch {
		case e.req == reqSync:
			synced = true
		case !e.unnamed:
		case !synced:
			return false
		case e.undo != nil && e.undo.unnamed != nil && e.undo.unnamed.inPlace,
			e.req == reqParse && e.st != nil && e.st.inPlace:
			return true
		}
	}
	return false
}

// awaitUnnamed makes the message at hand wait while it is unsure what the unnamed
// statement is. The server answers the messages before it without seeing it.
func (s *Session) awaitUnnamed() bool {
	if s.waited && !s.expired || !s.unsure() {
		return false
	}
	known := make(chan struct{})
	s.known = known
	s.wait = func(ctx context.Context) {
		select {
		case <-known:
		case <-ctx.Done():
		}
		s.expired = errors.Is(ctx.Err(), context.DeadlineExceeded)
	}
	return true
}

// putBackUnnamed makes st the unnamed statement again for the entries from index
// later on: up to the next one that decides anew what it is.
func (s *Session) putBackUnnamed(st *statement, later int) {
	for i := later; i < s.queue.size; i++ {
		e := s.queue.at(i)
		if !e.unnamed {
			continue
		}
		if e.undo == nil {
			e.undo = &undo{}
		}
		e.undo.unnamed, e.undo.hadUnnamed = st, true
		return
	}
	s.records.unnamed = st
}
