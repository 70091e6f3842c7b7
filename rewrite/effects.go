package rewrite

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// Effects is what running a text may change of what a session must know. It is
// found by leading words, without a parse. What the functions do that a text
// calls is not looked into, except for a set_config written out.
type Effects struct {
	Schema   bool        // what the catalog describes, for other sessions too
	Tables   bool        // of the schema nothing but tables, views, indexes and sequences
	Temp     []string    // names of temporary relations that are made
	Renamed  [][2]string // old and new names of relations, which may be temporary ones
	TempAny  bool        // temporary relations of any name
	Settings bool        // settings that decide how a text is read or what its names mean
	Constant bool        // settings that may decide what a constant in a text means, such as DateStyle
	Reverts  bool        // settings that the open transaction has changed
	Runs     []string    // prepared statements that are executed
	DropAll  bool        // all prepared statements end
	Drop     []string    // prepared statements that end, or are made by SQL
}

var anything = Effects{Schema: true, TempAny: true, Settings: true, DropAll: true}

// EffectsOf returns the effects of all statements of a text. What it does not
// know may do anything. For a single statement that only reads or writes rows
// it costs a scan of the text and allocates nothing.
func EffectsOf(text []byte) Effects {
	if n := bytes.IndexByte(text, ';'); n < 0 || isBlank(text[n+1:]) {
		return effectsOfOne(text)
	}
	var all Effects
	l := lexer{src: text}
	start, end := 0, 0 // of the statement at hand
	for {
		t := l.next()
		if l.err != nil {
			return anything
		}
		if t.Kind != 0 && t.Kind != Semicolon {
			end = int(t.End)
			continue
		}
		if end > start {
			all.add(effectsOfOne(text[start:end]))
		}
		if t.Kind == 0 {
			return all
		}
		start, end = int(t.End), int(t.End)
	}
}

func isBlank(b []byte) bool {
	for _, c := range b {
		if classes[c]&classSpace == 0 {
			return false
		}
	}
	return true
}

func (e *Effects) add(o Effects) {
	e.Tables = (e.Tables || !e.Schema) && (o.Tables || !o.Schema) && (e.Tables || o.Tables)
	e.Runs = append(e.Runs, o.Runs...)
	e.Schema = e.Schema || o.Schema
	e.TempAny = e.TempAny || o.TempAny
	e.Settings = e.Settings || o.Settings
	e.Constant = e.Constant || o.Constant
	e.Reverts = e.Reverts || o.Reverts
	e.DropAll = e.DropAll || o.DropAll
	e.Temp = append(e.Temp, o.Temp...)
	e.Renamed = append(e.Renamed, o.Renamed...)
	e.Drop = append(e.Drop, o.Drop...)
}

// statementClass says what a statement does, by its first word.
type statementClass uint8

const (
	classUnknown     statementClass = iota
	classHarmless                   // changes nothing of what Effects tells
	classRows                       // runs a query or writes rows
	classQuery                      // the same, and may be SELECT INTO
	classSet                        // SET, RESET
	classReverts                    // takes back what a transaction has set
	classExecute                    // runs what a client prepared
	classCommit                     // COMMIT
	classPrepare                    // PREPARE
	classDeallocate                 // DEALLOCATE
	classDiscard                    // DISCARD
	classCreate                     // CREATE
	classAlter                      // ALTER
	classSchema                     // changes the schema in other ways
	classExplain                    // EXPLAIN
	classProcedure                  // DO, CALL
	maxStatementWord = 16           // longer words begin no statement
)

// classify returns the class of the statement that a word, in lower case,
// begins.
func classify(word []byte) statementClass {
	switch string(word) {
	case "insert", "update", "delete", "merge", "copy", "declare":
		return classRows
	case "select", "with", "values", "table":
		return classQuery
	case "begin", "start", "end", "savepoint", "release", "show", "fetch", "move", "close", "listen", "notify",
		"unlisten", "lock", "analyze", "analyse", "vacuum", "checkpoint", "truncate", "refresh", "cluster",
		"reindex", "comment":
		return classHarmless
	case "set", "reset":
		return classSet
	case "rollback", "abort":
		return classReverts
	case "execute":
		return classExecute
	case "commit":
		return classCommit
	case "prepare":
		return classPrepare
	case "deallocate":
		return classDeallocate
	case "discard":
		return classDiscard
	case "create":
		return classCreate
	case "alter":
		return classAlter
	case "drop", "grant", "revoke", "security", "reassign", "import":
		return classSchema
	case "explain":
		return classExplain
	case "do", "call":
		return classProcedure
	}
	return classUnknown
}

// effectsOfOne is EffectsOf for one statement.
func effectsOfOne(text []byte) Effects {
	l := lexer{src: text}
	t := l.next()
	for t.Kind == LParen {
		t = l.next()
	}
	if t.Kind == 0 && l.err == nil || t.Kind == Semicolon {
		return Effects{}
	}
	if t.Kind != Ident || t.End-t.Start > maxStatementWord {
		return anything
	}
	var buf [maxStatementWord]byte
	word := buf[:0]
	for _, c := range t.text(text) {
		word = append(word, lowerByte(c))
	}
	switch classify(word) {
	case classHarmless:
		return Effects{}
	case classRows:
		return effectsOfRows(text)
	case classQuery:
		return effectsOfQuery(text)
	case classSet:
		return effectsOfSet(&l)
	case classReverts:
		return Effects{Reverts: true}
	case classExecute:
		return effectsOfExecute(&l)
	case classCommit: // COMMIT PREPARED brings in what another transaction did
		return Effects{Schema: l.next().isWord(text, "prepared")}
	case classPrepare:
		return effectsOfPrepare(&l)
	case classDeallocate:
		return effectsOfDeallocate(&l)
	case classDiscard:
		all := l.next().isWord(text, "all")
		return Effects{DropAll: all, Settings: all}
	case classCreate:
		return effectsOfCreate(&l)
	case classAlter:
		return effectsOfAlter(&l)
	case classSchema:
		return Effects{Schema: true, Tables: namesTables(l.next(), text) && bytes.EqualFold(word, []byte("drop"))}
	case classExplain:
		return effectsOfExplain(text)
	case classProcedure:
		return Effects{Schema: true, TempAny: true, Settings: true}
	}
	return anything
}

// namesTables tells the words by which DROP and ALTER name relations.
func namesTables(t Token, src []byte) bool {
	for _, word := range [...]string{"table", "view", "index", "sequence", "materialized"} {
		if t.isWord(src, word) {
			return true
		}
	}
	return false
}

// effectsOfExecute reads EXECUTE name, which runs what PREPARE or a Parse message
// has prepared: also what only the latter can.
func effectsOfExecute(l *lexer) Effects {
	name, ok := identName(l.next(), l.src)
	if !ok {
		return anything
	}
	return Effects{Settings: true, Runs: []string{name}}
}

// Add takes in the effects of something else that runs.
func (e *Effects) Add(o Effects) { e.add(o) }

// effectsOfAlter reads the new name of a relation: a temporary one may be given
// the name of another.
func effectsOfAlter(l *lexer) Effects {
	look := *l
	e := Effects{Schema: true, Tables: namesTables(look.next(), l.src)}
	var last, name Token // name is the one before last, without a star
	for {
		t := l.next()
		switch {
		case l.err != nil:
			return anything
		case t.Kind == 0:
			return e
		case t.isWord(l.src, "to") && last.isWord(l.src, "rename"):
			from, known := identName(name, l.src)
			to, ok := identName(l.next(), l.src)
			switch {
			case !ok:
				e.TempAny = true
			case !known:
				e.Temp = append(e.Temp, to)
			default:
				e.Renamed = append(e.Renamed, [2]string{from, to})
			}
			return e
		}
		if last.Kind != Op {
			name = last
		}
		last = t
	}
}

// effectsOfRows looks for set_config, which changes settings.
func effectsOfRows(text []byte) Effects {
	if !containsFold(text, "set_config", 3, 4) {
		return Effects{}
	}
	return Effects{Settings: true, TempAny: namesTempSchema(text)}
}

// namesTempSchema tells whether the schema of temporary relations is written
// out: put in the search_path, it is where new relations go.
func namesTempSchema(text []byte) bool { return containsFold(text, "pg_temp", 2, 6) }

// effectsOfQuery is effectsOfRows for what may also be SELECT INTO, which makes
// a table.
func effectsOfQuery(text []byte) Effects {
	e := effectsOfRows(text)
	if !containsFold(text, "into", 0, 3) {
		return e
	}
	if made, ok := selectsInto(text); !ok {
		return anything
	} else if made {
		e.Schema, e.TempAny = true, true
	}
	return e
}

// selectsInto tells whether a text has an INTO behind a SELECT within the same
// parentheses, which is neither INSERT INTO nor MERGE INTO; ok is false when
// the text cannot be read.
func selectsInto(text []byte) (made, ok bool) {
	const maxDepth = 64
	l := lexer{src: text}
	selects := uint64(0) // by depth of parentheses: a SELECT was seen
	depth := 0
	for t := l.next(); t.Kind != 0; t = l.next() {
		switch t.Kind {
		case LParen:
			if depth++; depth == maxDepth {
				return false, false
			}
			selects &^= 1 << depth
		case RParen:
			depth = max(depth-1, 0)
		case Ident:
			if t.isWord(text, "select") {
				selects |= 1 << depth
			}
			if t.isWord(text, "into") && selects&(1<<depth) != 0 {
				return true, true
			}
		}
	}
	return false, l.err == nil
}

// effectsOfExplain tells EXPLAIN ANALYZE, which runs the statement, from others.
func effectsOfExplain(text []byte) Effects {
	if !containsFold(text, "analy", 0, 4) {
		return Effects{}
	}
	e := effectsOfQuery(text)
	if containsFold(text, "create", 0, 4) {
		e.Schema, e.TempAny = true, true
	}
	e.Settings = e.Settings || containsFold(text, "execute", 1, 4)
	return e
}

// plainSettings are common ones that decide nothing about a text.
var plainSettings = map[string]bool{
	"transaction": true, "constraints": true, "application_name": true, "statement_timeout": true, "lock_timeout": true,
	"idle_in_transaction_session_timeout": true, "idle_session_timeout": true, "transaction_timeout": true, "work_mem": true,
	"maintenance_work_mem": true, "synchronous_commit": true, "client_min_messages": true, "extra_float_digits": true,
	"bytea_output": true, "plan_cache_mode": true, "default_transaction_isolation": true, "default_transaction_read_only": true,
}

// effectsOfSet reads SET and RESET. The settings named here are all of
// PostgreSQL's own that decide how a text is read and what its names mean.
func effectsOfSet(l *lexer) Effects {
	t := l.next()
	for t.isWord(l.src, "local") || t.isWord(l.src, "session") {
		if t = l.next(); t.isWord(l.src, "characteristics") {
			return Effects{}
		}
	}
	if t.Kind == Ident {
		switch name := strings.ToLower(string(t.text(l.src))); name {
		default:
			return Effects{Constant: !plainSettings[name]}
		case "standard_conforming_strings", "backslash_quote", "client_encoding", "names", "search_path", "schema",
			"role", "session_authorization", "authorization", "all":
		}
	}
	return Effects{Settings: true, TempAny: namesTempSchema(l.src)}
}

// effectsOfPrepare reads PREPARE name …; PREPARE TRANSACTION ends a transaction
// and the settings that were local to it.
func effectsOfPrepare(l *lexer) Effects {
	t := l.next()
	name, ok := identName(t, l.src)
	if !ok {
		return Effects{DropAll: true}
	}
	if t.isWord(l.src, "transaction") && l.next().Kind.constant() {
		return Effects{Settings: true}
	}
	return Effects{Drop: []string{name}}
}

// effectsOfDeallocate reads DEALLOCATE [PREPARE] name | ALL.
func effectsOfDeallocate(l *lexer) Effects {
	t := l.next()
	if t.isWord(l.src, "prepare") {
		if next := l.next(); next.Kind != 0 && next.Kind != Semicolon {
			t = next
		}
	}
	name, ok := identName(t, l.src)
	if !ok || t.isWord(l.src, "all") {
		return Effects{DropAll: true}
	}
	return Effects{Drop: []string{name}}
}

// effectsOfCreate tells temporary relations, which no other session sees, from
// all else that is made. A view of a temporary relation is temporary too.
func effectsOfCreate(l *lexer) Effects {
	temp := false
	settings := containsFold(l.src, "set_config", 3, 4)
	for {
		t := l.next()
		if t.Kind != Ident {
			return anything
		}
		switch strings.ToLower(string(t.text(l.src))) {
		case "or", "replace", "local", "global", "recursive", "unlogged":
			continue
		case "temp", "temporary":
			temp = true
			continue
		case "view":
			if !temp {
				return Effects{Schema: true, Tables: true, Temp: createdName(l), Settings: settings}
			}
		case "table", "sequence":
			if !temp {
				return Effects{Schema: true, Tables: true, TempAny: namesTempSchema(l.src), Settings: settings}
			}
		case "index", "unique":
			return Effects{Schema: true, Tables: true, Settings: settings}
		default:
			return Effects{Schema: true, TempAny: temp || namesTempSchema(l.src), Settings: settings}
		}
		names := createdName(l)
		return Effects{Temp: names, TempAny: names == nil, Settings: settings}
	}
}

// createdName reads [IF NOT EXISTS] [schema.]name, and returns the name alone;
// nil where it cannot be read.
func createdName(l *lexer) []string {
	t := l.next()
	if t.isWord(l.src, "if") {
		l.next()
		l.next()
		t = l.next()
	}
	name, ok := identName(t, l.src)
	for ok {
		if l.next().Kind != Dot {
			return []string{name}
		}
		name, ok = identName(l.next(), l.src)
	}
	return nil
}

// maxName is the number of bytes that PostgreSQL keeps of a name.
const maxName = 63

// identName returns the name that an identifier means: folded, or without its
// quotes, and cut to the length that PostgreSQL keeps.
func identName(t Token, src []byte) (string, bool) {
	var name []byte
	switch t.Kind {
	case Ident:
		name = bytes.Clone(t.text(src))
		for i, c := range name {
			name[i] = lowerByte(c)
		}
	case QuotedIdent:
		name = bytes.ReplaceAll(src[t.Start+1:t.End-1], []byte(`""`), []byte(`"`))
	default:
		return "", false
	}
	if len(name) > maxName {
		end := maxName
		for end > 0 && !utf8.RuneStart(name[end]) {
			end--
		}
		name = name[:end]
	}
	return string(name), true
}

// containsFold tells whether text holds word, which is in lower case, in any
// case. It looks first for the bytes at a and b of word, a before b: the ones
// that a text holds least often at that distance.
func containsFold(text []byte, word string, a, b int) bool { return indexFold(text, word, a, b) >= 0 }

// indexFold returns where word stands first, -1 for nowhere.
func indexFold(text []byte, word string, a, b int) int {
	const size = 8
	i := 0
	for ; i+b+size <= len(text); i += size {
		x := binary.LittleEndian.Uint64(text[i+a:]) | eachByte*0x20
		y := binary.LittleEndian.Uint64(text[i+b:]) | eachByte*0x20
		if equalBytes(x, word[a]|0x20)&equalBytes(y, word[b]|0x20) == 0 {
			continue
		}
		for k := i; k < i+size; k++ {
			if hasPrefixFold(text[k:], word) {
				return k
			}
		}
	}
	for ; i+len(word) <= len(text); i++ {
		if hasPrefixFold(text[i:], word) {
			return i
		}
	}
	return -1
}
