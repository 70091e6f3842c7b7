package rewrite

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/pgidproxy/pgidproxy/gen"
)

// A planner makes the plan of one text. PostgreSQL's grammar says what the text
// means; tokens say where it stands.
type planner struct {
	text   []byte
	tokens []Token
	facts  *facts
	edits  []Edit
	calls  []Call
	call   map[int]int // index in calls by the token that a call begins with
	using  []string    // relations relied on
	asked  []dependence
	gaps   map[*pg.InsertStmt]*omission
	local  bool // see Basis

	targets []*pg.ResTarget         // entries of lists whose columns have names
	named   map[*pg.ResTarget]bool  // those
	casts   map[*pg.TypeCast]string // what castType and harmless said
	harms   map[*pg.Node]bool
	stmt    *pg.Node  // the statement at hand
	pending []pending // its calls that may be replaced, if nothing else speaks against it
	filled  bool      // defaults of the statement at hand were filled in
	anyFill bool      // those of any statement were
	escapes bool      // names that are put in are written with escapes
	noFill  bool      // defaults are left to the server: what came of filling them in was not understood
	serials []Serial
}

// pending is a call that is computed exactly once.
type pending struct {
	from, to int // tokens
	kind     EditKind
	risk     bool // something is computed with the value, more than a cast that cannot fail
	fails    bool // that could fail, or is not PostgreSQL's own
}

// maxPlanText bounds the texts, without the rows that repeat, that are parsed:
// the tree of one megabyte takes seconds, which no client should wait for.
const maxPlanText = 64 << 10

// build makes the plan of a text whose rows are folded, with its shape. It
// keeps nothing of text. In a text that the grammar does not understand, and
// with a catalog that does not know our functions, nothing is replaced.
func build(text []byte, sh *Shape, c *Catalog, mode Mode) *Plan {
	plan := buildOnce(text, sh, c, mode, false)
	if plan.filled && !plan.understood(text, sh) {
		plan = buildOnce(text, sh, c, mode, true)
	}
	return plan
}

// understood tells whether the text as the plan edits it is one that the grammar
// understands. The places for columns and values are found by the lexer alone, so
// this is a second opinion.
func (plan *Plan) understood(text []byte, sh *Shape) bool {
	folded := *sh
	folded.Folds = nil
	p := Prepared{text: text, shape: &folded, plan: plan}
	p.count()
	edited := p.AppendLiterals(nil, make([]int64, p.Snowflakes), make([]gen.UUID, p.UUIDs))
	var again Shape
	if again.Scan(edited) != nil {
		return false
	}
	_, err := parse(edited, again.Tokens)
	return err == nil
}

func buildOnce(text []byte, sh *Shape, c *Catalog, mode Mode, noFill bool) *Plan {
	p := &planner{noFill: noFill,
		text: text, tokens: sh.Tokens, facts: c.facts, call: map[int]int{}, named: map[*pg.ResTarget]bool{},
		gaps: map[*pg.InsertStmt]*omission{}, casts: map[*pg.TypeCast]string{}, harms: map[*pg.Node]bool{},
	}
	if len(text) > maxPlanText {
		p.findTokens(TooLong)
		return p.plan()
	}
	tree, err := parse(text, sh.Tokens)
	if err != nil {
		p.findTokens(Unparsed)
		plan := p.plan()
		plan.passing = true
		return plan
	}
	p.local = len(tree.Stmts) == 1 && p.selfContained(tree.Stmts[0].Stmt)
	moved := false // the schema may have changed
	for _, raw := range tree.Stmts {
		first := len(p.calls)
		p.find(raw.Stmt)
		if len(p.calls) > first {
			why := AfterDDL
			switch {
			case mode == Extended && len(tree.Stmts) > 1:
				why = Several
			case mode == Extended && p.longNames():
				why = LongName
			case !moved:
				why = p.statement(raw.Stmt)
			}
			p.leave(p.calls[first:], why)
		}
		moved = moved || changesSchema(raw.Stmt)
	}
	p.nameColumns()
	slices.SortStableFunc(p.edits, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	slices.SortStableFunc(p.calls, func(a, b Call) int { return cmp.Compare(a.Start, b.Start) })
	slices.Sort(p.using)
	return p.plan()
}

// plan returns what was decided.
func (p *planner) plan() *Plan {
	names := false
	for _, t := range p.tokens {
		names = names || !t.Kind.constant() && !isASCII(t.text(p.text))
	}
	return &Plan{
		Edits: p.edits, Calls: p.calls, Relations: slices.Compact(p.using), names: names,
		filled: p.anyFill, escapes: p.escapes, Basis: Basis{frame: p.facts.frame, names: p.asked, local: p.local},
	}
}

// longNames tells whether there is a name that PostgreSQL cuts off, of which a
// client is told each time that the text is parsed.
func (p *planner) longNames() bool {
	for _, t := range p.tokens {
		size := t.End - t.Start
		switch t.Kind {
		case Ident:
		case QuotedIdent, UIdent:
			size -= 2
		default:
			continue
		}
		if size > maxName {
			return true
		}
	}
	return false
}

// relations returns what is known of the relations of a name, and keeps that
// the plan rests on it.
func (p *planner) relations(name string) *named {
	n := p.facts.names[name]
	d := dependence{name, n}
	if !slices.Contains(p.asked, d) {
		p.asked = append(p.asked, d)
	}
	return n
}

// parse reads a text, of any encoding in which ASCII bytes stand for themselves.
// The tree cannot hold strings that are not UTF-8, so such bytes are masked in
// constants, whose value no plan depends on.
func parse(text []byte, tokens []Token) (*pg.ParseResult, error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errNUL
	}
	if utf8.Valid(text) {
		return pg.Parse(string(text))
	}
	masked := bytes.Clone(text)
	for _, t := range tokens {
		if b := t.text(masked); t.Kind.constant() && !utf8.Valid(b) {
			for i, c := range b {
				if c >= utf8.RuneSelf {
					b[i] = '?'
				}
			}
		}
	}
	return pg.Parse(string(masked))
}

// tokenAt returns the first token that begins at byte offset at or behind it.
func (p *planner) tokenAt(at int32) int {
	return sort.Search(len(p.tokens), func(i int) bool { return p.tokens[i].Start >= at })
}

// find lists the calls of our names in a statement, wherever they stand.
func (p *planner) find(n *pg.Node) {
	if f := n.GetFuncCall(); f != nil && isOurName(lastName(f.Funcname)) {
		name, args := lastName(f.Funcname), 0
		if name == IDToTimestamp {
			args = 1
		}
		switch at := p.tokenAt(f.Location); {
		case p.ours(f) == "":
			p.found(at, name, NotOurs)
		case len(f.Args) != args || !plainCall(f):
			p.found(at, name, Arguments)
		default:
			p.found(at, name, "")
		}
	}
	if s := n.GetInsertStmt(); s != nil {
		p.findGaps(s)
	}
	children(n, p.find)
}

// findTokens lists what looks like calls of our names.
func (p *planner) findTokens(why Reason) {
	for i, t := range p.tokens {
		if i+1 < len(p.tokens) && p.tokens[i+1].Kind == LParen && t.Kind <= QuotedIdent {
			if name, _ := identName(t, p.text); isOurName(name) {
				p.found(i, name, why)
			}
		}
	}
}

// found lists a call, once: the tree holds some parts of a text several times.
func (p *planner) found(token int, name string, why Reason) {
	if _, ok := p.call[token]; !ok {
		p.call[token] = len(p.calls)
		p.calls = append(p.calls, Call{Start: token, Name: name, Reason: why})
	}
}

// leave gives calls that nothing was decided on the reason why.
func (p *planner) leave(calls []Call, why Reason) {
	for i := range calls {
		if c := &calls[i]; !c.Replaced && c.Reason == "" {
			c.Reason = why
		}
	}
}

// decline keeps why the call that begins at a token is left alone.
func (p *planner) decline(token int, why Reason) {
	if i, ok := p.call[token]; ok {
		p.calls[i].Reason = why
	}
}

// replace edits the tokens [from, to) of a call, once.
func (p *planner) replace(from, to int, e Edit) {
	i, ok := p.call[from]
	if !ok || p.calls[i].Replaced {
		return
	}
	p.calls[i].Replaced, p.calls[i].Reason = true, ""
	e.From, e.To = from, to
	p.edits = append(p.edits, e)
}

// replaced tells whether the call that begins at a token is replaced.
func (p *planner) replaced(token int) bool {
	i, ok := p.call[token]
	return ok && p.calls[i].Replaced
}

// statement plans one statement and returns why the calls in it that nothing
// was decided on are left alone.
func (p *planner) statement(n *pg.Node) Reason {
	p.stmt, p.pending = n, p.pending[:0]
	switch s := n.GetNode().(type) {
	case *pg.Node_SelectStmt:
		if intoTable(s.SelectStmt) {
			return Stored
		}
		p.foldSelect(s.SelectStmt)
		return p.query(s.SelectStmt.WithClause, nil, func() { p.selectStmt(s.SelectStmt, source{client: true}) })
	case *pg.Node_InsertStmt:
		p.foldInsert(s.InsertStmt)
		return p.query(s.InsertStmt.WithClause, n, func() { p.insert(s.InsertStmt) })
	case *pg.Node_UpdateStmt:
		p.foldUpdate(s.UpdateStmt)
		return p.query(s.UpdateStmt.WithClause, n, nil)
	case *pg.Node_DeleteStmt:
		p.foldDelete(s.DeleteStmt)
		return p.query(s.DeleteStmt.WithClause, n, nil)
	case *pg.Node_MergeStmt:
		return p.query(s.MergeStmt.WithClause, n, nil)
	case *pg.Node_CallStmt, *pg.Node_ExecuteStmt, *pg.Node_ExplainStmt, *pg.Node_CopyStmt:
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
