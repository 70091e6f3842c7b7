package rewrite

import pg "github.com/pganalyze/pg_query_go/v6"

// context is where an expression stands below the one that is computed for sure.
type context struct {
	cond  bool // its value may not be needed
	risky bool // and something that could fail is computed with it under that condition
	risk  bool // something that could fail is computed with it
}

// under is the context of an operand of something that could fail.
func (cx context) under(cond bool) context {
	cx.risk = true
	cx.risky = cx.risky || cx.cond
	cx.cond = cx.cond || cond
	return cx
}

// maybe is the context of what is computed under a condition.
func (cx context) maybe() context {
	cx.cond = true
	return cx
}

// expr goes through an expression, collects the calls that are computed exactly
// once with it, and tells whether it is known to return one value. Constants
// are folded when a query is planned, also on a branch that never runs and as
// arguments of a strict function that another argument makes NULL; so under a
// condition nothing that could fail may be computed with a value.
func (p *planner) expr(n *pg.Node, cx context) bool {
	switch e := n.GetNode().(type) {
	case nil, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_SqlvalueFunction, *pg.Node_SubLink:
		return true // what is inside a subquery is not computed once for sure
	case *pg.Node_ColumnRef:
		return !hasStar(e.ColumnRef.Fields)
	case *pg.Node_FuncCall:
		return p.call(e.FuncCall, cx)
	case *pg.Node_TypeCast:
		if isType(e.TypeCast.TypeName, "text", "numeric") {
			return p.expr(e.TypeCast.Arg, cx)
		}
		return p.expr(e.TypeCast.Arg, cx.under(false))
	case *pg.Node_AExpr:
		return p.operator(e.AExpr, cx)
	case *pg.Node_CollateClause:
		return p.expr(e.CollateClause.Arg, cx.under(false))
	case *pg.Node_NullTest:
		return p.expr(e.NullTest.Arg, cx)
	case *pg.Node_BooleanTest:
		return p.expr(e.BooleanTest.Arg, cx.under(false))
	case *pg.Node_AArrayExpr:
		return p.operands(e.AArrayExpr.Elements, cx)
	case *pg.Node_RowExpr:
		return p.operands(e.RowExpr.Args, cx)
	case *pg.Node_MinMaxExpr:
		return p.operands(e.MinMaxExpr.Args, cx)
	case *pg.Node_NamedArgExpr:
		return p.expr(e.NamedArgExpr.Arg, cx)
	case *pg.Node_BoolExpr:
		if e.BoolExpr.Boolop == pg.BoolExprType_NOT_EXPR {
			return p.operands(e.BoolExpr.Args, cx)
		}
		return p.all(e.BoolExpr.Args, cx.maybe())
	case *pg.Node_CoalesceExpr:
		return p.all(e.CoalesceExpr.Args, cx.maybe())
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

func (p *planner) all(nodes []*pg.Node, cx context) bool {
	single := true
	for _, n := range nodes {
		single = p.expr(n, cx) && single
	}
	return single
}

// operands goes through values that something which could fail is computed
// with. One that may be NULL when the query is planned can make a strict
// function NULL without its other arguments being computed.
func (p *planner) operands(nodes []*pg.Node, cx context) bool {
	single := true
	for i, n := range nodes {
		nullable := false
		for j, other := range nodes {
			nullable = nullable || i != j && !p.neverNull(other)
		}
		single = p.expr(n, cx.under(nullable)) && single
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
		name := p.ours(e.FuncCall)
		return name == NextSnowflake || name == UUIDv7
	}
	return false
}

// call goes through a function call.
func (p *planner) call(f *pg.FuncCall, cx context) bool {
	if len(f.Funcname) == 0 {
		return false
	}
	name := lastName(f.Funcname)
	generator := name == NextSnowflake || name == UUIDv7
	if generator && p.ours(f) != "" {
		p.generatorCall(f, name, cx)
		return true
	}
	if generator {
		p.explain(f, NotOurs)
	}
	if !plainCall(f) && !f.FuncVariadic || !p.facts.function(name) {
		p.all(f.Args, cx.under(true))
		return false
	}
	if !builtinFunctions()[name] || generator {
		p.foreign = true
	}
	return p.operands(f.Args, cx)
}

// generatorCall decides on a call of a function of ours that makes ids.
func (p *planner) generatorCall(f *pg.FuncCall, name string, cx context) {
	from, to, ok := p.callTokens(f)
	kind := Snowflake
	if name == UUIDv7 {
		kind = UUID
	}
	switch {
	case !plainCall(f) || len(f.Args) > 0:
		p.explain(f, Arguments)
	case !ok:
		p.explain(f, Follows)
	case cx.cond && cx.risky:
		p.explain(f, Conditional)
	default:
		p.pending = append(p.pending, pending{from: from, to: to, kind: kind, risk: cx.risk})
	}
}

// explain keeps why a call is left alone, at the last part of its name.
func (p *planner) explain(f *pg.FuncCall, why Reason) {
	p.reasons[p.nameToken(p.tokenAt(f.Location))] = why
}

// nameToken returns the last part of the name that begins with token i.
func (p *planner) nameToken(i int) int {
	for i+1 < len(p.tokens) && p.tokens[i+1].Kind != LParen {
		i++
	}
	return i
}

// operator goes through an operator's operands. The forms that the server turns
// into several copies of an operand (IN with a list, BETWEEN) are not looked
// into.
func (p *planner) operator(e *pg.A_Expr, cx context) bool {
	operands := []*pg.Node{e.Lexpr, e.Rexpr}
	if e.Lexpr == nil {
		operands = operands[1:]
	}
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE, pg.A_Expr_Kind_AEXPR_SIMILAR:
		if !p.facts.operator(lastName(e.Name)) {
			return false
		}
		return p.operands(operands, cx)
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return p.operands(operands, cx.maybe())
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		return p.operands(operands, cx.maybe())
	}
	saved := len(p.pending)
	single := p.facts.operator("=") && p.facts.operator("<=") && p.facts.operator(">=") && p.all(operands, cx)
	p.pending = p.pending[:saved]
	return single
}

// caseExpr goes through the arms of a CASE. Its argument is not computed for
// sure, nor are they.
func (p *planner) caseExpr(e *pg.CaseExpr, cx context) bool {
	if e.Arg != nil {
		saved := len(p.pending)
		single := p.expr(e.Arg, cx)
		p.pending = p.pending[:saved]
		if !single {
			return false
		}
	}
	single := true
	for _, n := range e.Args {
		w := n.GetCaseWhen()
		single = p.expr(w.GetExpr(), cx.maybe()) && single
		single = p.expr(w.GetResult(), cx.maybe()) && single
	}
	return p.expr(e.Defresult, cx.maybe()) && single
}
