package wire

import (
	"bytes"
	"context"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
)

// A Session is the state of one client's connection to its server, without any
// I/O: bytes that came from one side go in, spans for the other side come out.
// It begins after the StartupMessage was forwarded and sees authentication too.
//
// A Session is not safe for concurrent use: whoever moves the bytes serialises
// the calls of Client, Server, Idle and Close.
type Session struct {
	hooks   Hooks
	opts    SessionOptions
	passive bool // nothing is read or replaced any more: frames only pass

	queue    queue
	skipping bool // the server drops what it gets, up to Sync
	copyIn   bool // the server reads copy data
	status   byte // of the last ReadyForQuery: 'I', 'T' or 'E'; 0 before the first

	records records
	portals map[string]*statement // open portals of statements that have effects or edits

	settings settings
	ddl      ddl

	client    framer // bytes from the client
	server    framer // bytes from the server
	raw       bool   // the client's bytes cannot be framed: all pass
	rawServer bool   // likewise the server's
	ready     int    // size of a collected message that waits to be handled; 0: none
	waited    bool   // the message at hand has waited already: it does not wait again
	wait      Wait   // set by a handler: do not send the message yet

	known   chan struct{} // closed once it is sure what the unnamed statement is; nil: no message waits for that
	expired bool          // the last such wait came to its bound first
	signed  chan struct{} // closed at the first ReadyForQuery; nil: no message waits for that

	toServer []byte // bytes made for the server in this chunk; owned by Client
	toClient []byte // bytes made for the client in this chunk; owned by Server

	snow  []int64
	uuids []gen.UUID
}

// catalogWait bounds how long a message waits for the catalog to be read.
const catalogWait = 250 * time.Millisecond

// ddl is what a session has done to the schema that others do not know yet.
type ddl struct {
	dirty      bool // statements that may change the schema run, or have run in the open transaction
	wide       bool // dirty, and by more than tables, views, indexes and sequences
	begun      bool // the catalog was told that changes are under way
	awaitFresh bool // the next statement with something for us may wait for the catalog
	count      int  // changes made by this session so far
}

// settings are the server's settings that decide how a text is read, as
// reported by ParameterStatus.
type settings struct {
	conforming byte // standard_conforming_strings: '1' on, '0' off, 0 not reported
	client     encoding
	server     encoding
	changes    int  // times so far that settings may have changed
	pending    bool // by the open transaction, which may take them back
}

// NewSession returns the session of a client whose StartupMessage has been
// forwarded.
func NewSession(h Hooks, o SessionOptions) *Session {
	s := &Session{hooks: h, opts: o, passive: o.Replication}
	s.ddl.awaitFresh = true
	s.queue.push(reqStartup)
	return s
}

// Idle tells whether the session may be ended without taking anything from the
// client: it is signed on, no reply is outstanding, no message half sent, and
// no transaction open.
func (s *Session) Idle() bool {
	return s.status == 'I' && s.outstanding() == 0 && s.client.skip == 0 && len(s.client.held) == 0
}

// Close tells the session that both sides are gone.
func (s *Session) Close() { s.endDDL() }

// outstanding counts the requests that still get a reply.
func (s *Session) outstanding() int {
	n := 0
	for i := range s.queue.size {
		if s.queue.at(i).req != reqCopyEnd {
			n++
		}
	}
	return n
}

// settled tells whether the state of the transaction is known but for the
// requests since the last Sync, after whose failure the server drops what
// follows anyway: only then may a Parse be injected.
func (s *Session) settled() bool { return s.quiet() && s.status != 'E' }

// quiet tells whether the status of the last ReadyForQuery still stands.
func (s *Session) quiet() bool {
	for i := range s.queue.size {
		switch s.queue.at(i).req {
		case reqSync, reqQuery, reqCall, reqStartup:
			return false
		}
	}
	return true
}

// runningNow tells whether statements are under way that may change settings.
func (s *Session) runningNow() bool {
	for i := range s.queue.size {
		if s.queue.at(i).req.running() {
			return true
		}
	}
	return false
}

// beginDDL notes that statements which may change the schema are under way.
func (s *Session) beginDDL() {
	if !s.ddl.begun && s.hooks.Catalog != nil {
		s.ddl.begun = true
		s.hooks.Catalog.Begin()
	}
}

func (s *Session) endDDL() {
	if s.ddl.begun {
		s.ddl.begun = false
		s.hooks.Catalog.End()
	}
}

// effects returns what running a text may change. Where strings are not read as
// the lexer does, one with a backslash may hide anything.
func (s *Session) effects(text []byte) rewrite.Effects {
	if s.settings.conforming == '0' && bytes.IndexByte(text, '\\') >= 0 {
		return anyEffects
	}
	eff := rewrite.EffectsOf(text)
	for _, name := range eff.Runs {
		if st := s.records.named[name]; st != nil {
			eff.Add(st.eff)
		}
	}
	return eff
}

// note takes down what a statement that was just sent may change. e is its
// entry in the queue.
func (s *Session) note(e *entry, eff *rewrite.Effects) {
	if eff.Schema || eff.TempAny {
		// The catalog tells of temporary relations whose names are not known.
		e.schema = true
		s.ddl.wide = s.ddl.wide || !eff.Tables
		s.ddl.dirty = true
		s.ddl.count++
	}
	if s.ddl.dirty {
		s.beginDDL()
	}
	if eff.Settings || eff.Constant || eff.Reverts && s.settings.pending {
		s.settings.changes++
		s.settings.pending = true
	}
	s.records.noteTemp(eff)
	if eff.DropAll || len(eff.Drop) > 0 {
		e.undo = s.records.forget(e.undo, eff)
	}
}

// catalog returns what may be relied on for a statement of this session now:
// nil when nothing may. It asks for a wait once after the session's own DDL.
func (s *Session) catalog() *rewrite.Catalog {
	if s.ddl.dirty || s.hooks.Catalog == nil {
		return nil
	}
	c := s.hooks.Catalog.Current()
	if c == nil && s.ddl.awaitFresh && !s.waited {
		s.wait = func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, catalogWait)
			defer cancel()
			s.hooks.Catalog.Fresh(ctx)
		}
		return nil
	}
	s.ddl.awaitFresh = false
	return c
}

// mint fetches the ids that one execution needs into s.snow and s.uuids. When
// it cannot it returns false; where the clock policy is to wait and the message
// has not waited yet, s.wait is set.
func (s *Session) mint(snow, uuids int) bool {
	if cap(s.snow) < snow || cap(s.snow) > keepBuffer {
		s.snow = make([]int64, snow)
	}
	if cap(s.uuids) < uuids || cap(s.uuids) > keepBuffer {
		s.uuids = make([]gen.UUID, uuids)
	}
	s.snow, s.uuids = s.snow[:snow], s.uuids[:uuids]
	if s.hooks.Mint == nil {
		return false
	}
	o := s.hooks.Observer
	if err := s.hooks.Mint(s.snow, s.uuids); err == nil {
		if o != nil {
			o.Minted(snow, uuids)
		}
		return true
	}
	if o != nil {
		o.Refused()
	}
	if ready := s.hooks.MintReady; ready != nil && !s.waited {
		s.wait = func(ctx context.Context) { _ = ready(ctx) }
	}
	return false
}

// readable tells whether the planner reads a text as the server will: string
// syntax and encoding are known, and nothing under way may change them.
func (s *Session) readable(p *rewrite.Prepared) bool {
	switch {
	case s.settings.conforming == '0', p.Escapes && s.settings.server.is("SQL_ASCII"):
		return false
	case !p.Backslash && !p.NonASCII:
		return true
	case s.runningNow(), p.Backslash && s.settings.conforming != '1':
		return false
	case p.NonASCIINames:
		return s.settings.client.class() == encodingUTF8
	}
	return !p.NonASCII || s.settings.client.class() != encodingUnsafe
}

// countBytes tells how field P counts in this session: bytes where a character
// is one byte to the server or to the client, else characters of UTF-8.
func (s *Session) countBytes() bool {
	if s.settings.server.is("SQL_ASCII") {
		return true
	}
	c := s.settings.client.class()
	if s.settings.client.is("SQL_ASCII") {
		c = s.settings.server.class()
	}
	return c == encodingSingle
}

// An encoding is the name of a character set, as ParameterStatus gives it.
type encoding string

type encodingClass uint8

const (
	encodingUnsafe encodingClass = iota // characters may hold ASCII bytes, or their length is not known here
	encodingSingle                      // a character is a byte
	encodingUTF8
)

func (e encoding) is(name string) bool { return string(e) == name }

// class sorts PostgreSQL's encodings (src/common/encnames.c).
func (e encoding) class() encodingClass {
	switch {
	case e == "UTF8":
		return encodingUTF8
	case e == "SQL_ASCII":
		return encodingSingle
	}
	for _, p := range [...]string{"LATIN", "WIN", "ISO_8859_", "KOI8"} {
		if len(e) >= len(p) && string(e[:len(p)]) == p {
			return encodingSingle
		}
	}
	return encodingUnsafe
}

// parameterStatus keeps the settings that the session depends on.
func (s *Session) parameterStatus(body []byte) {
	name, rest, ok := cString(body)
	if !ok {
		return
	}
	value, _, ok := cString(rest)
	if !ok {
		return
	}
	switch string(name) {
	case "standard_conforming_strings":
		s.settings.conforming = '0'
		if bytes.Equal(value, []byte("on")) {
			s.settings.conforming = '1'
		}
	case "client_encoding":
		s.settings.client = encoding(value)
	case "server_encoding":
		s.settings.server = encoding(value)
	case "DateStyle", "IntervalStyle", "TimeZone":
		s.settings.changes++ // also by what a function does
	}
}
