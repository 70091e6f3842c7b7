package rewrite

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// A planner makes the plan of one text. PostgreSQL's grammar says what the text
// means; tokens say where it stands.
type planner struct {
	text    []byte
	tokens  []Token
	facts   *facts
	edits   []Edit
	reasons map[int]Reason // why the call that begins with a token is left alone
	changed map[int]bool   // tokens at which a replaced call begins
	targets []*pg.ResTarget
	using   []string // relations relied on

	pending []pending // calls of the list at hand
	foreign bool      // the list at hand runs a function that is not PostgreSQL's own
}

// pending is a call that is replaced once nothing in its list speaks against it.
type pending struct {
	from, to int
	kind     EditKind
	risk     bool // computing with the value could fail
}

// build makes the plan of a text whose rows are folded, with its shape. It
// keeps nothing of text. In a text that the grammar does not understand, and
// with a catalog that does not know our functions, nothing is replaced.
func build(text []byte, sh *Shape, c *Catalog, _ Mode) *Plan {
	p := &planner{text: text, tokens: sh.Tokens, facts: c.facts, reasons: map[int]Reason{}, changed: map[int]bool{}}
	tree, err := pg.Parse(string(text))
	if err != nil {
		return &Plan{Calls: p.calls(Unparsed)}
	}
	ddl := false
	for _, raw := range tree.Stmts {
		from, to := p.statementTokens(raw)
		if ddl {
			p.leave(from, to, AfterDDL)
			continue
		}
		p.leave(from, to, p.statement(raw.Stmt))
		ddl = ddl || changesSchema(raw.Stmt)
	}
	p.nameColumns()
	slices.SortFunc(p.edits, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	slices.Sort(p.using)
	return &Plan{Edits: p.edits, Calls: p.calls(Site), Relations: slices.Compact(p.using)}
}

// statementTokens returns the tokens [from, to) of a statement.
func (p *planner) statementTokens(raw *pg.RawStmt) (from, to int) {
	from = p.tokenAt(raw.StmtLocation)
	if raw.StmtLen == 0 {
		return from, len(p.tokens)
	}
	return from, p.tokenAt(raw.StmtLocation + raw.StmtLen)
}

// tokenAt returns the first token that begins at byte offset at or behind it.
func (p *planner) tokenAt(at int32) int {
	return sort.Search(len(p.tokens), func(i int) bool { return p.tokens[i].Start >= at })
}

// leave gives the calls among the tokens [from, to) that were neither replaced
// nor given a reason their reason.
func (p *planner) leave(from, to int, why Reason) {
	for i := from; i < to && i < len(p.tokens); i++ {
		if _, ok := p.callAt(i); ok && !p.changed[i] && p.reasons[i] == "" {
			p.reasons[i] = why
		}
	}
}

// callAt tells whether the token i is one of our names with a parenthesis
// behind it.
func (p *planner) callAt(i int) (name string, ok bool) {
	t := p.tokens[i]
	if i+1 >= len(p.tokens) || p.tokens[i+1].Kind != LParen || t.Kind != Ident && t.Kind != QuotedIdent {
		return "", false
	}
	name, _ = identName(t, p.text)
	return name, name == NextSnowflake || name == UUIDv7 || name == IDToTimestamp
}

// calls lists every call in the text.
func (p *planner) calls(otherwise Reason) []Call {
	var calls []Call
	for i := range p.tokens {
		name, ok := p.callAt(i)
		if !ok {
			continue
		}
		c := Call{Start: i, Name: name, Replaced: p.changed[i]}
		if !c.Replaced {
			c.Reason = cmp.Or(p.reasons[i], otherwise)
		}
		calls = append(calls, c)
	}
	return calls
}

// statement plans one statement and returns why the calls in it that are not
// decided on are left alone.
func (p *planner) statement(n *pg.Node) Reason {
	switch s := n.GetNode().(type) {
	case *pg.Node_SelectStmt:
		if intoTable(s.SelectStmt) {
			return Stored
		}
		p.foldSelect(s.SelectStmt)
		return p.query(s.SelectStmt.WithClause, nil, func() { p.selectStmt(s.SelectStmt, source{}) })
	case *pg.Node_InsertStmt:
		p.foldInsert(s.InsertStmt)
		return p.query(s.InsertStmt.WithClause, n, func() { p.insert(s.InsertStmt) })
	case *pg.Node_UpdateStmt:
		p.foldUpdate(s.UpdateStmt)
		return cmp.Or(p.query(s.UpdateStmt.WithClause, n, nil), Statement)
	case *pg.Node_DeleteStmt:
		p.foldDelete(s.DeleteStmt)
		return cmp.Or(p.query(s.DeleteStmt.WithClause, n, nil), Statement)
	case *pg.Node_MergeStmt:
		return cmp.Or(p.query(s.MergeStmt.WithClause, n, nil), Statement)
	case *pg.Node_CallStmt, *pg.Node_DoStmt, *pg.Node_ExecuteStmt, *pg.Node_ExplainStmt, *pg.Node_CopyStmt:
		return Statement
	}
	return Stored
}

// intoTable tells SELECT INTO, also in the first arm of a set operation.
func intoTable(s *pg.SelectStmt) bool {
	for ; s != nil; s = s.Larg {
		if s.IntoClause != nil {
			return true
		}
	}
	return false
}

// query plans the data-modifying parts of a WITH clause and then, with main,
// the statement itself. Every relation that the statement writes to must be
// known, since a rule on one copies parts of the statement.
func (p *planner) query(with *pg.WithClause, top *pg.Node, main func()) Reason {
	if with.GetRecursive() {
		return Site
	}
	using := len(p.using)
	inserts := []*pg.InsertStmt{}
	ok := top == nil || p.writable(top)
	for _, n := range with.GetCtes() {
		cte := n.GetCommonTableExpr()
		if cte == nil || cte.SearchClause != nil || cte.CycleClause != nil {
			return Site
		}
		q := cte.Ctequery
		if q.GetSelectStmt() != nil {
			continue
		}
		ok = ok && p.writable(q)
		if ins := q.GetInsertStmt(); ins != nil {
			if ins.WithClause != nil {
				return Site
			}
			inserts = append(inserts, ins)
		}
	}
	if !ok {
		p.using = p.using[:using]
		return Target
	}
	for _, ins := range inserts {
		p.insert(ins)
	}
	if main != nil {
		main()
	}
	return Site
}

// writable tells whether the target of a data-modifying statement is known to
// do nothing but what the statement says.
func (p *planner) writable(n *pg.Node) bool {
	var rel *pg.RangeVar
	check := p.facts.withoutRules
	switch s := n.GetNode().(type) {
	case *pg.Node_InsertStmt:
		rel, check = s.InsertStmt.Relation, p.facts.plain
	case *pg.Node_UpdateStmt:
		rel = s.UpdateStmt.Relation
	case *pg.Node_DeleteStmt:
		rel = s.DeleteStmt.Relation
	case *pg.Node_MergeStmt:
		rel = s.MergeStmt.Relation
	}
	if rel == nil || rel.Catalogname != "" && rel.Catalogname != p.facts.data.Database {
		return false
	}
	if rel.Schemaname == "" {
		p.using = append(p.using, rel.Relname)
	}
	return check(rel.Schemaname, rel.Relname)
}

// source says what the rows of a SELECT are for.
type source struct {
	insert bool // they are inserted
	cond   bool // they may not be needed
}

// insert plans the source of an INSERT into a known table.
func (p *planner) insert(s *pg.InsertStmt) {
	if sel := s.SelectStmt.GetSelectStmt(); sel != nil {
		p.selectStmt(sel, source{insert: true})
	}
}

// selectStmt plans a SELECT, VALUES or set operation whose every row is
// computed once.
func (p *planner) selectStmt(s *pg.SelectStmt, src source) {
	if len(s.SortClause) > 0 || len(s.LockingClause) > 0 || s.IntoClause != nil || s.WithClause.GetRecursive() {
		return
	}
	src.cond = src.cond || s.WhereClause != nil || s.LimitCount != nil || s.LimitOffset != nil
	switch {
	case s.Op != pg.SetOperation_SETOP_NONE:
		p.selectStmt(s.Larg, src)
		p.selectStmt(s.Rarg, src)
	case len(s.ValuesLists) > 0:
		for _, row := range s.ValuesLists {
			p.list(row.GetList().GetItems(), src, len(s.ValuesLists) == 1)
		}
	case len(s.FromClause) == 0 && len(s.DistinctClause) == 0 && len(s.GroupClause) == 0 &&
		s.HavingClause == nil && len(s.WindowClause) == 0:
		exprs := make([]*pg.Node, len(s.TargetList))
		for i, n := range s.TargetList {
			exprs[i] = n.GetResTarget().GetVal()
		}
		p.list(exprs, src, true)
	}
}

// list plans expressions that are computed together. Where one of them may
// return a set, all of them are computed again for every row of it.
func (p *planner) list(exprs []*pg.Node, src source, sets bool) {
	p.pending, p.foreign = p.pending[:0], false
	single := true
	for _, e := range exprs {
		if e.GetSetToDefault() != nil {
			continue
		}
		single = p.expr(e, context{cond: src.cond}) && single
	}
	for _, c := range p.pending {
		switch {
		case sets && !single:
			p.reasons[p.nameToken(c.from)] = SetReturning
		case src.cond && src.insert:
			// The column's own cast is computed with the value, and could fail.
			p.reasons[p.nameToken(c.from)] = Conditional
		case c.risk && p.foreign:
			p.reasons[p.nameToken(c.from)] = EarlyError
		default:
			p.replace(c.from, c.to, c.kind, "")
		}
	}
}

// replace edits the tokens [from, to) of a call. The name's last part carries
// the mark.
func (p *planner) replace(from, to int, kind EditKind, text string) {
	p.edits = append(p.edits, Edit{From: from, To: to, Kind: kind, Text: text})
	p.changed[from] = true
	for i := from; i < to && p.tokens[i].Kind != LParen; i++ {
		p.changed[i] = true
	}
}

// changesSchema tells whether what the planner knows may be wrong after a
// statement.
func changesSchema(n *pg.Node) bool {
	switch s := n.GetNode().(type) {
	case *pg.Node_SelectStmt:
		return intoTable(s.SelectStmt)
	case *pg.Node_TransactionStmt:
		return s.TransactionStmt.Kind == pg.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED
	case *pg.Node_InsertStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt, *pg.Node_MergeStmt, *pg.Node_VariableSetStmt,
		*pg.Node_VariableShowStmt, *pg.Node_FetchStmt, *pg.Node_ClosePortalStmt, *pg.Node_ListenStmt,
		*pg.Node_NotifyStmt, *pg.Node_UnlistenStmt, *pg.Node_LockStmt, *pg.Node_CopyStmt, *pg.Node_DeallocateStmt,
		*pg.Node_PrepareStmt, *pg.Node_DeclareCursorStmt, *pg.Node_TruncateStmt, *pg.Node_VacuumStmt:
		return false
	}
	return true
}

// names returns the parts of a qualified name.
func names(nodes []*pg.Node) []string {
	parts := make([]string, len(nodes))
	for i, n := range nodes {
		parts[i] = n.GetString_().GetSval()
	}
	return parts
}

func lastName(nodes []*pg.Node) string {
	if len(nodes) == 0 {
		return ""
	}
	return nodes[len(nodes)-1].GetString_().GetSval()
}

// ours returns which of our functions a call means, "" for none.
func (p *planner) ours(f *pg.FuncCall) string {
	parts := names(f.Funcname)
	name := parts[len(parts)-1]
	if name != NextSnowflake && name != UUIDv7 && name != IDToTimestamp {
		return ""
	}
	d := &p.facts.data
	builtin := name == UUIDv7 && d.Version >= 180000
	switch {
	case !d.Known:
		if len(parts) == 1 || builtin && parts[0] == "pg_catalog" {
			return name
		}
	case len(parts) == 1 && d.Ours[name]:
		return name
	case len(parts) == 2 && builtin && parts[0] == "pg_catalog":
		return name
	case len(parts) == 2 && !builtin && parts[0] == d.Schema && d.Ours[name]:
		return name
	}
	return ""
}

// callTokens returns the tokens of a call, from its name or schema to its
// closing parenthesis; ok is false where what follows would change the meaning
// of a value with a type in its place.
func (p *planner) callTokens(f *pg.FuncCall) (from, to int, ok bool) {
	from = p.tokenAt(f.Location)
	depth := 0
	for to = from; to < len(p.tokens); to++ {
		switch p.tokens[to].Kind {
		case LParen:
			depth++
		case RParen:
			depth--
		}
		if depth == 0 && p.tokens[to].Kind == RParen {
			break
		}
	}
	to++
	if to > len(p.tokens) {
		return from, to, false
	}
	if to == len(p.tokens) {
		return from, to, true
	}
	next := p.tokens[to]
	return from, to, next.Kind != LBracket && next.Kind != Dot && next.Kind != LParen && !next.isWord(p.text, "array")
}

// plainCall tells a call without any clause.
func plainCall(f *pg.FuncCall) bool {
	return len(f.AggOrder) == 0 && f.AggFilter == nil && f.Over == nil && !f.AggWithinGroup && !f.AggStar &&
		!f.AggDistinct && !f.FuncVariadic
}

// isType tells whether a type name is one of the given built-in types, plain.
func isType(t *pg.TypeName, types ...string) bool {
	if t == nil || t.Setof || t.PctType || len(t.Typmods) > 0 || len(t.ArrayBounds) > 0 {
		return false
	}
	parts := names(t.Names)
	if len(parts) == 2 && parts[0] == "pg_catalog" {
		parts = parts[1:]
	}
	return len(parts) == 1 && slices.Contains(types, strings.ToLower(parts[0])) && parts[0] == strings.ToLower(parts[0])
}
