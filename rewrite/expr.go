package rewrite

import pg "github.com/pganalyze/pg_query_go/v6"

// place is where an expression stands below the one that is computed for sure.
type place struct {
	cond  bool // its value may not be needed
	risky bool // and something that could fail is computed with it under that condition
	risk  bool // something is computed with it
	fails bool // something that could fail with the value of an id, or is not PostgreSQL's own
}

// under is the place of an operand of something that is computed.
func (cx place) under(fails bool) place {
	cx.risk = true
	cx.risky = cx.risky || cx.cond
	cx.fails = cx.fails || fails
	return cx
}

// maybe is the place of what is computed under a condition and then perhaps
// cast to a type that the text does not show.
func (cx place) maybe(coerced bool) place {
	cx.cond = true
	cx.risky = cx.risky || coerced
	return cx
}

// expr goes through an expression, collects the calls that are computed at most
// once with it, and tells whether it is known to return one value. Constants
// are folded when a query is planned, also on a branch that never runs and as
// arguments of a strict function that another argument makes NULL; so under a
// condition nothing that could fail may be computed with a value.
func (p *planner) expr(n *pg.Node, cx place) bool {
	switch e := n.GetNode().(type) {
	case nil, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_SqlvalueFunction:
		return true
	case *pg.Node_ColumnRef:
		return !hasStar(e.ColumnRef.Fields)
	case *pg.Node_SubLink:
		return p.subLink(e.SubLink)
	case *pg.Node_FuncCall:
		return p.funcCall(e.FuncCall, cx)
	case *pg.Node_TypeCast:
		switch p.castType(e.TypeCast) {
		case "":
			cx = cx.under(true)
		case "varchar":
			cx = cx.under(false)
		}
		return p.expr(e.TypeCast.Arg, cx)
	case *pg.Node_AExpr:
		return p.operator(e.AExpr, cx)
	case *pg.Node_AIndirection:
		return p.subscripts(e.AIndirection, cx)
	case *pg.Node_CollateClause:
		return p.expr(e.CollateClause.Arg, cx.under(false))
	case *pg.Node_NullTest:
		return p.expr(e.NullTest.Arg, cx)
	case *pg.Node_BooleanTest:
		return p.expr(e.BooleanTest.Arg, cx.under(false))
	case *pg.Node_AArrayExpr:
		return p.all(e.AArrayExpr.Elements, cx.under(!p.harmlessAll(e.AArrayExpr.Elements)))
	case *pg.Node_RowExpr:
		return p.all(e.RowExpr.Args, cx.under(false))
	case *pg.Node_MinMaxExpr:
		return p.all(e.MinMaxExpr.Args, cx.under(!p.harmlessAll(e.MinMaxExpr.Args)))
	case *pg.Node_NamedArgExpr:
		return p.expr(e.NamedArgExpr.Arg, cx)
	case *pg.Node_BoolExpr:
		if e.BoolExpr.Boolop == pg.BoolExprType_NOT_EXPR {
			return p.all(e.BoolExpr.Args, cx.under(false))
		}
		return p.all(e.BoolExpr.Args, cx.maybe(false))
	case *pg.Node_CoalesceExpr:
		return p.all(e.CoalesceExpr.Args, cx.maybe(!p.harmlessAll(e.CoalesceExpr.Args)))
	case *pg.Node_CaseExpr:
		return p.caseExpr(e.CaseExpr, cx)
	}
	return false
}

func hasStar(fields []*pg.Node) bool {
	for _, f := range fields {
		if f.GetAStar() != nil {
			return true
		}
	}
	return false
}

func (p *planner) all(nodes []*pg.Node, cx place) bool {
	single := true
	for _, n := range nodes {
		single = p.expr(n, cx) && single
	}
	return single
}

// probe tells whether an expression that may be computed several times, or not
// at all, returns one value.
func (p *planner) probe(n *pg.Node) bool {
	saved := len(p.pending)
	single := p.expr(n, place{})
	p.pending = p.pending[:saved]
	return single
}

// probeAll does so for expressions and lists of them.
func (p *planner) probeAll(nodes []*pg.Node) bool {
	single := true
	for _, n := range nodes {
		if l := n.GetList(); l != nil {
			single = p.probeAll(l.Items) && single
		} else {
			single = p.probe(n) && single
		}
	}
	return single
}

// operands goes through what a function or operator is computed with. An
// operand that may be NULL when the query is planned can make a strict function
// NULL without the others being computed.
func (p *planner) operands(nodes []*pg.Node, cx place) bool {
	nullable := 0
	for _, n := range nodes {
		if !p.neverNull(n) {
			nullable++
		}
	}
	single := true
	for _, n := range nodes {
		others := nullable
		if others > 0 && !p.neverNull(n) {
			others--
		}
		below := cx
		below.cond = below.cond || others > 0
		single = p.expr(n, below) && single
	}
	return single
}

// neverNull tells a constant, or a call of ours, from what may be NULL.
func (p *planner) neverNull(n *pg.Node) bool {
	switch e := n.GetNode().(type) {
	case nil:
		return true
	case *pg.Node_AConst:
		return !e.AConst.Isnull
	case *pg.Node_TypeCast:
		return p.neverNull(e.TypeCast.Arg)
	case *pg.Node_FuncCall:
		return p.generator(e.FuncCall) != ""
	}
	return false
}

// funcCall goes through a function call.
func (p *planner) funcCall(f *pg.FuncCall, cx place) bool {
	if name := p.generator(f); name != "" {
		p.generatorCall(f, name, cx)
		return true
	}
	name := lastName(f.Funcname)
	single := p.ours(f) != "" || p.facts.function(name)
	if !single || !plainCall(f) && !f.FuncVariadic {
		return false
	}
	return p.operands(f.Args, cx.under(!totalFunctions[name]))
}

// generatorCall decides on a call of a function of ours that makes ids.
func (p *planner) generatorCall(f *pg.FuncCall, name string, cx place) {
	if !plainCall(f) || len(f.Args) > 0 {
		return
	}
	from, to, ok := p.callTokens(f)
	kind := Snowflake
	if name == UUIDv7 {
		kind = UUID
	}
	switch {
	case !ok:
		p.decline(from, Follows)
	case cx.cond && cx.risky:
		p.decline(from, Conditional)
	default:
		p.pending = append(p.pending, pending{from: from, to: to, kind: kind, risk: cx.risk, fails: cx.fails})
	}
}

// operator goes through an operator's operands. The forms that the server turns
// into several copies of an operand (IN with a list, BETWEEN) are not looked
// into.
func (p *planner) operator(e *pg.A_Expr, cx place) bool {
	operands := []*pg.Node{e.Lexpr, e.Rexpr}
	if e.Lexpr == nil {
		operands = operands[1:]
	}
	name := lastName(e.Name)
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE, pg.A_Expr_Kind_AEXPR_SIMILAR:
		if !p.facts.operator(name) {
			return false
		}
		sign := e.Lexpr == nil && (name == "-" || name == "+")
		cx = cx.under(!sign && !(totalOperators[name] && p.harmlessAll(operands)))
		if e.Lexpr.GetRowExpr() != nil || e.Rexpr.GetRowExpr() != nil {
			return p.all(operands, cx.maybe(true)) // compared column by column, as far as needed
		}
		return p.operands(operands, cx)
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT, pg.A_Expr_Kind_AEXPR_NULLIF:
		return p.facts.operator(name) && p.all(operands, cx.maybe(true))
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL, pg.A_Expr_Kind_AEXPR_IN:
		return p.facts.operator(name) && p.probeAll(operands)
	}
	return between(e) && p.facts.operator("<") && p.facts.operator(">") && p.facts.operator("<=") &&
		p.facts.operator(">=") && p.probeAll(operands)
}

// between tells BETWEEN in all its forms, whose name is not an operator's.
func between(e *pg.A_Expr) bool {
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN, pg.A_Expr_Kind_AEXPR_BETWEEN_SYM,
		pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		return true
	}
	return false
}

// caseExpr goes through the arms of a CASE. Its argument is compared with an
// operator that the text does not show.
func (p *planner) caseExpr(e *pg.CaseExpr, cx place) bool {
	if e.Arg != nil && !(p.facts.operator("=") && p.probe(e.Arg)) {
		return false
	}
	results := []*pg.Node{e.Defresult}
	for _, n := range e.Args {
		results = append(results, n.GetCaseWhen().GetResult())
	}
	coerced := !p.harmlessAll(results)
	single := true
	for _, n := range e.Args {
		w := n.GetCaseWhen()
		single = p.expr(w.GetExpr(), cx.maybe(e.Arg != nil)) && single
		single = p.expr(w.GetResult(), cx.maybe(coerced)) && single
	}
	return p.expr(e.Defresult, cx.maybe(coerced)) && single
}

// subLink goes through what is compared with the rows of a subquery. What is
// inside one is not looked into: it returns one value, or an error.
func (p *planner) subLink(s *pg.SubLink) bool {
	name := "="
	if len(s.OperName) > 0 {
		name = lastName(s.OperName)
	}
	return s.Testexpr == nil || p.facts.operator(name) && p.probe(s.Testexpr)
}

// subscripts goes through a value with subscripts. A field may be a function
// call in disguise, and .* copies what it expands.
func (p *planner) subscripts(e *pg.A_Indirection, cx place) bool {
	for _, n := range e.Indirection {
		i := n.GetAIndices()
		if i == nil || !p.probe(i.Lidx) || !p.probe(i.Uidx) {
			return false
		}
	}
	return p.expr(e.Arg, cx.under(true))
}
