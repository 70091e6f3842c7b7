package rewrite

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// An omission is an INSERT into a table with defaults of ours, and the places
// where the statement leaves a value to one of them.
type omission struct {
	table *Table
	gaps  []gap
}

// A gap is such a place.
type gap struct {
	call   int // index in the planner's calls
	column int // index in the table's columns
	kind   EditKind
	token  int // DEFAULT; -1: the column is not given
}

// findGaps lists what an INSERT leaves to defaults of ours, with the reason why
// it is left to the server where that is known.
func (p *planner) findGaps(s *pg.InsertStmt) {
	if p.gaps[s] != nil || s.Relation == nil {
		return
	}
	n := p.relations(s.Relation.Relname)
	table, why := n.table(s.Relation.Schemaname)
	if table == nil {
		return
	}
	if c := s.Relation.Catalogname; c != "" && c != p.facts.data.Database {
		why = Target
	}
	o := &omission{table: table}
	p.gaps[s] = o
	for _, d := range table.Defaults {
		given := givenAt(s, table, d.Column)
		if given < 0 {
			p.gap(o, d, p.targetName(s), -1, why)
			continue
		}
		if given < len(s.Cols) && len(s.Cols[given].GetResTarget().GetIndirection()) > 0 {
			continue
		}
		for _, row := range valuesRows(s) {
			if items := row.GetList().GetItems(); given < len(items) {
				if def := items[given].GetSetToDefault(); def != nil {
					at := p.tokenAt(def.Location)
					p.gap(o, d, at, at, why)
				}
			}
		}
	}
}

func (p *planner) gap(o *omission, d Default, start, token int, why Reason) {
	name := NextSnowflake
	if d.Kind == UUID {
		name = UUIDv7
	}
	o.gaps = append(o.gaps, gap{len(p.calls), d.Column, d.Kind, token})
	p.calls = append(p.calls, Call{Start: start, Name: name, Column: o.table.Columns[d.Column], Reason: why})
}

// table returns the table with defaults of ours that a name means, nil when none
// can be meant, and why its defaults are left to the server.
func (n *named) table(schema string) (*Table, Reason) {
	if n == nil {
		return nil, ""
	}
	for i := range n.tables {
		t := &n.tables[i]
		switch {
		case schema == t.Schema:
			return t, t.Why
		case schema == "" && !t.Unique:
			return t, Ambiguous
		case schema == "" && n.temporary:
			return t, Temporary
		case schema == "":
			return t, t.Why
		}
	}
	return nil, ""
}

// valuesRows returns the rows of INSERT … VALUES, in which DEFAULT may stand: none
// where the server takes VALUES for a query (transformInsertStmt in
// src/backend/parser/analyze.c).
func valuesRows(s *pg.InsertStmt) []*pg.Node {
	q := s.SelectStmt.GetSelectStmt()
	if q == nil || len(q.SortClause) > 0 || q.LimitOffset != nil || q.LimitCount != nil || len(q.LockingClause) > 0 || q.WithClause != nil {
		return nil
	}
	return q.ValuesLists
}

// givenAt returns the place in a row at which an INSERT gives a column, -1 when
// it does not.
func givenAt(s *pg.InsertStmt, t *Table, column int) int {
	if len(s.Cols) > 0 {
		for i, c := range s.Cols {
			if c.GetResTarget().GetName() == t.Columns[column] {
				return i
			}
		}
		return -1
	}
	if column < rowWidth(s.SelectStmt.GetSelectStmt()) {
		return column
	}
	return -1
}

// rowWidth is the number of values in the first row of a query.
func rowWidth(q *pg.SelectStmt) int {
	switch {
	case q == nil:
		return 0
	case q.Op != pg.SetOperation_SETOP_NONE:
		return rowWidth(q.Larg)
	case len(q.ValuesLists) > 0:
		return len(q.ValuesLists[0].GetList().GetItems())
	}
	return len(q.TargetList)
}

// fill puts values in the places of an INSERT that are left to defaults of ours,
// or keeps why not. The values have the types of their columns, so that nothing
// is computed with them.
func (p *planner) fill(s *pg.InsertStmt) {
	o := p.gaps[s]
	if o == nil || len(o.gaps) == 0 || p.calls[o.gaps[0].call].Reason != "" {
		return
	}
	why := p.fillable(s, o)
	var at insertSites
	if why == "" {
		var ok bool
		if at, ok = p.insertSites(s); !ok {
			why = Form
		}
	}
	for _, g := range o.gaps {
		p.calls[g.call].Reason, p.calls[g.call].Replaced = why, why == ""
	}
	if why != "" {
		return
	}
	p.filled, p.anyFill = true, true
	p.fillGaps(s, o, at)
}

// fillable tells why an INSERT into a table with defaults of ours is not filled,
// "" when it is.
func (p *planner) fillable(s *pg.InsertStmt, o *omission) Reason {
	t := o.table
	if p.noFill {
		return Form
	}
	for _, name := range o.added(s) {
		if !utf8.ValidString(name) {
			return Form
		}
		p.escapes = p.escapes || !isASCII([]byte(name))
	}
	q := s.SelectStmt.GetSelectStmt()
	if q == nil {
		if len(s.Cols) > 0 {
			return Form
		}
		return ""
	}
	width := len(s.Cols)
	if len(q.ValuesLists) > 0 {
		if len(valuesRows(s)) == 0 {
			return Form
		}
		for _, row := range q.ValuesLists {
			items := row.GetList().GetItems()
			if n := len(items); width > 0 && n != width || n > len(t.Columns) || n != rowWidth(q) {
				return Counts
			}
			for _, item := range items {
				if item.GetSetToDefault() == nil && !p.probe(item) {
					return SetReturning
				}
			}
		}
		return ""
	}
	return p.fillableArm(q, width, rowWidth(q), t)
}

// added returns the names of columns that are put into the text of an INSERT: those
// that it does not give, and, where it has no list, before them those that it does.
func (o *omission) added(s *pg.InsertStmt) []string {
	var names []string
	for _, g := range o.gaps {
		if g.token < 0 {
			names = append(names, o.table.Columns[g.column])
		}
	}
	if len(names) == 0 || len(s.Cols) > 0 {
		return names
	}
	width := min(rowWidth(s.SelectStmt.GetSelectStmt()), len(o.table.Columns))
	return append(slices.Clone(o.table.Columns[:width]), names...)
}

// fillableArm does so for the SELECT of an INSERT, or an arm of it.
func (p *planner) fillableArm(q *pg.SelectStmt, width, first int, t *Table) Reason {
	switch {
	case !unordered(q):
		return Site
	case q.Op != pg.SetOperation_SETOP_NONE:
		if q.Op != pg.SetOperation_SETOP_UNION || !q.All {
			return SetOperation
		}
		if why := p.fillableArm(q.Larg, width, first, t); why != "" {
			return why
		}
		return p.fillableArm(q.Rarg, width, first, t)
	case len(q.ValuesLists) > 0:
		return Form
	case !oneRow(q):
		return Site
	}
	n := len(q.TargetList)
	if n == 0 || width > 0 && n != width || n > len(t.Columns) || n != first {
		return Counts
	}
	for _, target := range q.TargetList {
		if !p.probe(target.GetResTarget().GetVal()) {
			return SetReturning
		}
	}
	return ""
}

// insertSites are the tokens of an INSERT between which columns and values go.
type insertSites struct {
	target   int   // behind the target and its alias
	list     int   // the parenthesis that closes the list of columns; 0: there is none
	defaults int   // DEFAULT VALUES; 0: there is none
	rows     []int // behind the last value of each row
}

// insertSites finds them; ok is false where the text is not of the usual form.
func (p *planner) insertSites(s *pg.InsertStmt) (at insertSites, ok bool) {
	i := p.targetName(s) + 1
	if s.Relation.Alias != nil {
		if !p.word(i, "as") || !p.kindIn(i+1, Ident, QuotedIdent) {
			return at, false
		}
		i += 2
	}
	at.target = i
	if len(s.Cols) > 0 {
		end := p.closing(i)
		if end == 0 {
			return at, false
		}
		at.list, i = end, end+1
	}
	if p.word(i, "overriding") {
		i += 3
	}
	q := s.SelectStmt.GetSelectStmt()
	switch {
	case q == nil:
		at.defaults = i
		return at, p.word(i, "default") && p.word(i+1, "values")
	case len(q.ValuesLists) == 0:
		at.rows = p.armEnds(q, nil)
		return at, true
	}
	for p.kind(i) == LParen {
		i++
	}
	if !p.word(i, "values") {
		return at, false
	}
	for range q.ValuesLists {
		end := p.closing(i + 1)
		if end == 0 {
			return at, false
		}
		at.rows = append(at.rows, end)
		i = end + 1
	}
	return at, p.kind(i) != Comma
}

// armEnds appends the tokens behind the lists of a SELECT, or of its arms.
func (p *planner) armEnds(q *pg.SelectStmt, ends []int) []int {
	if q.Op != pg.SetOperation_SETOP_NONE {
		return p.armEnds(q.Rarg, p.armEnds(q.Larg, ends))
	}
	return append(ends, p.targetEnd(q.TargetList[len(q.TargetList)-1].GetResTarget()))
}

// targetName returns the last token of the name of an INSERT's target.
func (p *planner) targetName(s *pg.InsertStmt) int {
	i := p.nameEnd(p.tokenAt(s.Relation.Location))
	for p.kind(i+1) == Dot {
		i = p.nameEnd(i + 2)
	}
	return i
}

// nameEnd returns the last token of the name that begins at token i: of
// U&"…" UESCAPE '…' the third.
func (p *planner) nameEnd(i int) int {
	if p.kind(i) == UIdent && p.word(i+1, "uescape") {
		return i + 2
	}
	return i
}

// word tells whether token i is an unquoted word.
func (p *planner) word(i int, lower string) bool {
	return i < len(p.tokens) && p.tokens[i].isWord(p.text, lower)
}

func (p *planner) kindIn(i int, kinds ...Kind) bool {
	for _, k := range kinds {
		if p.kind(i) == k {
			return true
		}
	}
	return false
}

// closing returns the parenthesis that closes the one at token i, 0 where there
// is none.
func (p *planner) closing(i int) int {
	if p.kind(i) != LParen {
		return 0
	}
	for depth := 0; i < len(p.tokens); i++ {
		switch p.tokens[i].Kind {
		case LParen:
			depth++
		case RParen:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// fillGaps makes the edits.
func (p *planner) fillGaps(s *pg.InsertStmt, o *omission, at insertSites) {
	var kinds []EditKind
	for _, g := range o.gaps {
		if g.token >= 0 {
			p.edits = append(p.edits, Edit{From: g.token, To: g.token + 1, Kind: g.kind})
			continue
		}
		kinds = append(kinds, g.kind)
	}
	var columns []string
	for _, name := range o.added(s) {
		columns = append(columns, quoteIdent(name))
	}
	switch list := strings.Join(columns, ", "); {
	case len(kinds) == 0:
		return
	case at.list > 0:
		p.edits = append(p.edits, Edit{From: at.list, To: at.list, Kind: Text, Text: ", " + list})
	default:
		p.edits = append(p.edits, Edit{From: at.target, To: at.target, Kind: Text, Text: "(" + list + ")"})
	}
	if d := at.defaults; d > 0 {
		p.edits = append(p.edits, Edit{From: d, To: d + 1, Kind: Text, Text: "VALUES"})
		for i, kind := range kinds {
			e := Edit{From: d + 2, To: d + 2, Kind: kind, Text: ", "}
			if i == 0 {
				e.From, e.Text = d+1, "("
			}
			if i == len(kinds)-1 {
				e.After = ")"
			}
			p.edits = append(p.edits, e)
		}
	}
	for _, row := range at.rows {
		for _, kind := range kinds {
			p.edits = append(p.edits, Edit{From: row, To: row, Kind: kind, Text: ", "})
		}
	}
}

// quoteIdent writes a name as a quoted identifier, in ASCII.
func quoteIdent(name string) string {
	if isASCII([]byte(name)) {
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	var b strings.Builder
	b.WriteString(`U&"`)
	for _, r := range name {
		switch {
		case r == '"':
			b.WriteString(`""`)
		case r == '\\':
			b.WriteString(`\\`)
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\+%06X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Concerns tells whether a text may have something for us: a call, or an INSERT
// into a table whose defaults are filled in. It is a scan, not a parse, and
// allocates nothing.
func (c *Catalog) Concerns(text []byte) bool {
	return Mentions(text) || c.facts.fills && c.facts.insertsInto(text)
}

// Inserts tells whether a text may hold an INSERT.
func Inserts(text []byte) bool { return findInsert(text) >= 0 }

func findInsert(text []byte) int { return indexFold(text, "insert", 2, 3) }

// insertsInto looks at what follows each INSERT in a text, also where it is none.
func (f *facts) insertsInto(text []byte) bool {
	for {
		i := findInsert(text)
		if i < 0 {
			return false
		}
		text = text[i+len("insert"):]
		l := lexer{src: text}
		if !l.next().isWord(text, "into") {
			continue
		}
		t := l.next()
		for dot := l; dot.next().Kind == Dot; {
			l = dot
			t = l.next()
			dot = l
		}
		if l.err != nil || f.hasDefaults(t, text) {
			return true
		}
	}
}

// hasDefaults tells whether a token may name a table whose defaults are filled
// in, as far as can be told without a copy of the name.
func (f *facts) hasDefaults(t Token, text []byte) bool {
	var buf [maxName]byte
	name := t.text(text)
	switch {
	case t.Kind == QuotedIdent:
		name = name[1 : len(name)-1]
		for _, c := range name {
			if c == '"' {
				return true
			}
		}
	case t.Kind != Ident:
		return t.Kind == UIdent
	}
	if len(name) > maxName {
		return true
	}
	lower := append(buf[:0], name...)
	if t.Kind == Ident {
		for i, c := range lower {
			lower[i] = lowerByte(c)
		}
	}
	n := f.names[string(lower)]
	return n != nil && len(n.tables) > 0
}
