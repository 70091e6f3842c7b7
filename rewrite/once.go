package rewrite

import pg "github.com/pganalyze/pg_query_go/v6"

// query plans the data-modifying parts of a WITH clause and then, with main,
// the statement itself. Every relation that the statement writes to must be
// known, since a rule on one copies parts of the statement. target is the
// statement when it writes to a relation itself.
func (p *planner) query(with *pg.WithClause, target *pg.Node, main func()) Reason {
	if with.GetRecursive() {
		return Site
	}
	var using []string
	var inserts []*pg.InsertStmt
	ok := target == nil || p.writable(target, &using)
	for _, n := range with.GetCtes() {
		cte := n.GetCommonTableExpr()
		if cte == nil || cte.SearchClause != nil || cte.CycleClause != nil {
			return Site
		}
		if cte.Ctequery.GetSelectStmt() != nil {
			continue
		}
		ok = ok && p.writable(cte.Ctequery, &using)
		if ins := cte.Ctequery.GetInsertStmt(); ins != nil && ins.WithClause == nil {
			inserts = append(inserts, ins)
		}
	}
	if !ok {
		return Target
	}
	for _, ins := range inserts {
		p.insert(ins)
	}
	if main != nil {
		main()
	}
	if p.settle() {
		p.using = append(p.using, using...)
	}
	return Site
}

// writable tells whether the target of a data-modifying statement is known to
// do nothing but what the statement says, and adds its name to using if it is
// not qualified: then a temporary relation could be meant.
func (p *planner) writable(n *pg.Node, using *[]string) bool {
	var rel *pg.RangeVar
	check := (*named).withoutRules
	switch s := n.GetNode().(type) {
	case *pg.Node_InsertStmt:
		rel, check = s.InsertStmt.Relation, (*named).plain
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
		*using = append(*using, rel.Relname)
	}
	return check(p.relations(rel.Relname), rel.Schemaname)
}

// settle replaces the calls of a statement that nothing speaks against, and
// tells whether anything is replaced or filled in.
func (p *planner) settle() bool {
	replaced, known, loud := p.filled, false, false
	p.filled = false
	for _, c := range p.pending {
		if c.fails && !known {
			known, loud = true, p.loud(p.stmt)
		}
		if c.fails && loud {
			p.decline(c.from, EarlyError)
			continue
		}
		p.replace(c.from, c.to, Edit{Kind: c.kind})
		replaced = true
	}
	return replaced
}

// loud tells whether an expression or statement may run something whose effects
// are seen although the statement fails (a notice, a sequence that moved on):
// anything but PostgreSQL's own functions, operators and types. A value that is
// known when a query is planned is computed with before that runs.
func (p *planner) loud(n *pg.Node) bool {
	switch e := n.GetNode().(type) {
	case *pg.Node_FuncCall:
		if p.ours(e.FuncCall) == "" && !quietFunctions()[lastName(e.FuncCall.Funcname)] {
			return true
		}
	case *pg.Node_AExpr:
		if !between(e.AExpr) && !builtinOperators()[lastName(e.AExpr.Name)] {
			return true
		}
	case *pg.Node_TypeCast:
		if builtinElement(e.TypeCast.TypeName) == "" {
			return true
		}
	case *pg.Node_SubLink:
		if len(e.SubLink.OperName) > 0 && !builtinOperators()[lastName(e.SubLink.OperName)] {
			return true
		}
	}
	loud := false
	children(n, func(child *pg.Node) { loud = loud || p.loud(child) })
	return loud
}

// source says where the rows of a query go.
type source struct {
	client  bool // to the client, one by one as they are computed
	set     bool // through a set operation
	cond    bool // they may not be needed
	coerced bool // through casts that the text does not show, which could fail
}

// insert plans the rows of an INSERT into a known table. The casts to the types
// of its columns are not known.
func (p *planner) insert(s *pg.InsertStmt) {
	p.fill(s)
	if sel := s.SelectStmt.GetSelectStmt(); sel != nil {
		p.selectStmt(sel, source{coerced: true})
	}
}

// selectStmt plans a SELECT, VALUES or set operation whose every row is
// computed at most once.
func (p *planner) selectStmt(s *pg.SelectStmt, src source) {
	if !unordered(s) {
		return
	}
	src.cond = src.cond || s.WhereClause != nil || s.LimitCount != nil || s.LimitOffset != nil
	switch {
	case s.Op != pg.SetOperation_SETOP_NONE:
		if !src.set {
			src.set, src.coerced = true, src.coerced || !p.harmlessArms(s)
		}
		// From PostgreSQL 18 on one arm decides whether the other is computed.
		src.cond = src.cond || s.Op != pg.SetOperation_SETOP_UNION
		p.selectStmt(s.Larg, src)
		p.selectStmt(s.Rarg, src)
	case len(s.ValuesLists) > 0:
		src.coerced = src.coerced || len(s.ValuesLists) > 1 && !p.harmlessArms(s)
		for _, row := range s.ValuesLists {
			p.list(row.GetList().GetItems(), src, len(s.ValuesLists) == 1)
		}
	case oneRow(s):
		exprs := make([]*pg.Node, len(s.TargetList))
		for i, n := range s.TargetList {
			exprs[i] = n.GetResTarget().GetVal()
		}
		p.list(exprs, src, true)
	}
}

// unordered tells a query without the clauses that act on all rows at once.
func unordered(s *pg.SelectStmt) bool {
	return len(s.SortClause) == 0 && len(s.LockingClause) == 0 && s.IntoClause == nil && !s.WithClause.GetRecursive()
}

// oneRow tells a SELECT that gives one row, or none, unless its list holds
// something that returns a set.
func oneRow(s *pg.SelectStmt) bool {
	return len(s.FromClause) == 0 && len(s.DistinctClause) == 0 && len(s.GroupClause) == 0 && s.HavingClause == nil &&
		len(s.WindowClause) == 0
}

// harmlessArms tells whether the columns of all arms of a set operation, and
// all rows of VALUES, are harmless.
func (p *planner) harmlessArms(s *pg.SelectStmt) bool {
	if s.Op != pg.SetOperation_SETOP_NONE {
		return p.harmlessArms(s.Larg) && p.harmlessArms(s.Rarg)
	}
	for _, row := range s.ValuesLists {
		if !p.harmlessAll(row.GetList().GetItems()) {
			return false
		}
	}
	for _, n := range s.TargetList {
		if !p.harmless(n.GetResTarget().GetVal()) {
			return false
		}
	}
	return true
}

// list plans expressions that are computed together. Where one of them may
// return a set, and sets are allowed, all of them are computed again for every
// row of it.
func (p *planner) list(exprs []*pg.Node, src source, sets bool) {
	first := len(p.pending)
	single := true
	for _, e := range exprs {
		if e.GetSetToDefault() == nil {
			single = p.expr(e, place{}) && single
		}
	}
	kept := p.pending[:first]
	for _, c := range p.pending[first:] {
		switch {
		case sets && !single:
			p.decline(c.from, SetReturning)
		case src.cond && (src.coerced || c.risk):
			p.decline(c.from, Conditional)
		case src.client && (src.coerced || c.fails):
			// The description of the rows is sent before the error, unless the
			// error comes when the query is planned.
			p.decline(c.from, EarlyError)
		default:
			kept = append(kept, c)
		}
	}
	p.pending = kept
}
