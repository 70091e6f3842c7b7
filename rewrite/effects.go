package rewrite

import (
	"bytes"
	"strings"
)

// Effects is what running a text may change of what a session must know. It is
// found by leading words, without a parse; functions that the text calls are
// not looked into.
type Effects struct {
	Schema   bool     // what the catalog describes, for other sessions too
	Temp     []string // names of temporary relations that are made
	TempAny  bool     // temporary relations of any name
	Settings bool     // settings that decide how a text is read
	DropAll  bool     // all prepared statements end
	Drop     []string // prepared statements that end, or are made by SQL
}

var anything = Effects{Schema: true, TempAny: true, Settings: true, DropAll: true}

// EffectsOf returns the effects of all statements of a text. What it does not
// know may do anything. For a single statement that only reads or writes rows
// it costs a scan and allocates nothing.
func EffectsOf(text []byte) Effects {
	if n := bytes.IndexByte(text, ';'); n < 0 || isBlank(text[n+1:]) {
		return effectsOfOne(text)
	}
	var all Effects
	l := lexer{src: text}
	start := -1
	for {
		t, ok, err := l.next()
		if err != nil {
			return anything
		}
		switch {
		case ok && t.Kind != Semicolon:
			if start < 0 {
				start = int(t.Start)
			}
			continue
		case start >= 0:
			end := len(text)
			if ok {
				end = int(t.Start)
			}
			all.add(effectsOfOne(text[start:end]))
			start = -1
		}
		if !ok {
			return all
		}
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
	e.Schema = e.Schema || o.Schema
	e.TempAny = e.TempAny || o.TempAny
	e.Settings = e.Settings || o.Settings
	e.DropAll = e.DropAll || o.DropAll
	e.Temp = append(e.Temp, o.Temp...)
	e.Drop = append(e.Drop, o.Drop...)
}

// effectsOfOne is EffectsOf for one statement.
func effectsOfOne(text []byte) Effects {
	l := lexer{src: text}
	t, ok, err := l.next()
	for ok && t.Kind == LParen {
		t, ok, err = l.next()
	}
	if err != nil {
		return anything
	}
	if !ok || t.Kind == Semicolon {
		return Effects{}
	}
	var word [16]byte
	if t.Kind != Ident || int(t.End-t.Start) > len(word) {
		return anything
	}
	w := word[:0]
	for _, c := range t.text(text) {
		w = append(w, lowerByte(c))
	}
	switch string(w) {
	case "insert", "update", "delete", "merge", "begin", "start", "end", "savepoint", "release", "show", "fetch",
		"move", "close", "listen", "notify", "unlisten", "lock", "copy", "analyze", "vacuum", "checkpoint",
		"truncate", "declare", "refresh", "cluster", "reindex":
		return Effects{}
	case "select", "with", "values", "table":
		return effectsOfQuery(text)
	case "set", "reset", "rollback", "abort", "execute":
		return Effects{Settings: true}
	case "commit":
		return effectsOfCommit(&l)
	case "prepare", "deallocate":
		return effectsOfPrepare(&l, string(w) == "deallocate")
	case "discard":
		return effectsOfDiscard(&l)
	case "create":
		return effectsOfCreate(&l)
	case "explain":
		return Effects{Schema: containsFold(text, "create"), Settings: true}
	case "alter", "drop", "grant", "revoke", "comment", "security", "reassign", "import":
		return Effects{Schema: true}
	}
	return anything
}

// effectsOfQuery looks for what a query can do beside returning rows: SELECT
// INTO makes a table, set_config changes settings.
func effectsOfQuery(text []byte) Effects {
	var e Effects
	if containsFold(text, "set_config") {
		e.Settings = true
	}
	if !containsFold(text, "into") {
		return e
	}
	l := lexer{src: text}
	var last Token
	for {
		t, ok, err := l.next()
		if err != nil {
			return anything
		}
		if !ok {
			return e
		}
		if t.isWord(text, "into") && !last.isWord(text, "insert") && !last.isWord(text, "merge") {
			e.Schema, e.TempAny = true, true
		}
		last = t
	}
}

// containsFold tells whether text holds lower, which is in lower case, in any
// case.
func containsFold(text []byte, lower string) bool {
	first := lower[0]
	for i := 0; i+len(lower) <= len(text); i++ {
		if text[i]|0x20 == first && foldEqual(text[i:i+len(lower)], lower) {
			return true
		}
	}
	return false
}

// effectsOfCommit tells COMMIT PREPARED, which may bring in DDL of an earlier
// transaction.
func effectsOfCommit(l *lexer) Effects {
	t, ok, _ := l.next()
	return Effects{Schema: ok && t.isWord(l.src, "prepared")}
}

// effectsOfPrepare reads PREPARE name … and DEALLOCATE [PREPARE] name | ALL.
func effectsOfPrepare(l *lexer, drop bool) Effects {
	t, ok, err := l.next()
	if ok && drop && t.isWord(l.src, "prepare") {
		if next, more, _ := l.next(); more && next.Kind != Semicolon {
			t = next
		}
	}
	if !ok || err != nil {
		return Effects{}
	}
	if drop && t.isWord(l.src, "all") {
		return Effects{DropAll: true}
	}
	if !drop && t.isWord(l.src, "transaction") {
		return Effects{Settings: true}
	}
	if name, ok := identName(t, l.src); ok {
		return Effects{Drop: []string{name}}
	}
	return Effects{DropAll: true}
}

func effectsOfDiscard(l *lexer) Effects {
	if t, ok, _ := l.next(); ok && t.isWord(l.src, "all") {
		return Effects{DropAll: true, Settings: true}
	}
	return Effects{}
}

// effectsOfCreate tells temporary relations, which no other session sees, from
// all else that is made.
func effectsOfCreate(l *lexer) Effects {
	temp := false
	for {
		t, ok, err := l.next()
		if err != nil {
			return anything
		}
		if !ok || t.Kind != Ident {
			return Effects{Schema: true, TempAny: true}
		}
		switch strings.ToLower(string(t.text(l.src))) {
		case "temp", "temporary":
			temp = true
		case "or", "replace", "local", "global", "recursive", "unlogged":
		case "table", "view", "sequence":
			if temp {
				return effectsOfTemp(l)
			}
			return Effects{Schema: true, TempAny: containsFold(l.src, "pg_temp")}
		default:
			return Effects{Schema: true, TempAny: temp || containsFold(l.src, "pg_temp")}
		}
	}
}

// effectsOfTemp reads [IF NOT EXISTS] [schema.]name of a temporary relation.
func effectsOfTemp(l *lexer) Effects {
	name, dot := "", true
	for {
		t, ok, err := l.next()
		if err != nil {
			return anything
		}
		if ok && name == "" && (t.isWord(l.src, "if") || t.isWord(l.src, "not") || t.isWord(l.src, "exists")) {
			continue
		}
		if ok && t.Kind == Dot {
			dot = true
			continue
		}
		n, isName := "", false
		if ok {
			n, isName = identName(t, l.src)
		}
		if !isName || !dot {
			break
		}
		name, dot = n, false
	}
	if name == "" {
		return Effects{TempAny: true}
	}
	return Effects{Temp: []string{name}}
}

// identName returns the name that an identifier means: folded, or without its
// quotes.
func identName(t Token, src []byte) (string, bool) {
	switch t.Kind {
	case Ident:
		name := bytes.Clone(t.text(src))
		for i, c := range name {
			name[i] = lowerByte(c)
		}
		return string(name), true
	case QuotedIdent:
		return strings.ReplaceAll(string(src[t.Start+1:t.End-1]), `""`, `"`), true
	}
	return "", false
}
