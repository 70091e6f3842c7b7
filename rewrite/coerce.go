package rewrite

import pg "github.com/pganalyze/pg_query_go/v6"

// castType returns the type of a call of ours that makes ids, or of a cast of
// one that cannot fail; "" for all else.
func (p *planner) castType(c *pg.TypeCast) string {
	if t, ok := p.casts[c]; ok {
		return t
	}
	t := p.cast(c)
	p.casts[c] = t
	return t
}

func (p *planner) cast(c *pg.TypeCast) string {
	from := ""
	switch e := c.Arg.GetNode().(type) {
	case *pg.Node_FuncCall:
		switch p.generator(e.FuncCall) {
		case NextSnowflake:
			from = "int8"
		case UUIDv7:
			from = "uuid"
		}
	case *pg.Node_TypeCast:
		from = p.castType(e.TypeCast)
	}
	to := builtinType(c.TypeName)
	switch {
	case from == "":
	case to == "text", to == "numeric" && from == "int8", to == from:
		return to
	case len(c.TypeName.GetArrayBounds()) == 0 && builtinElement(c.TypeName) == "varchar":
		return "varchar"
	}
	return ""
}

// harmless tells whether an expression has, for sure, a type to which an id
// beside it is not cast in a way that could fail: not oid, nor one that the text
// does not tell. A parameter counts as harmless, since it takes the type of what
// stands beside it if the client does not declare it.
func (p *planner) harmless(n *pg.Node) bool {
	if h, ok := p.harms[n]; ok {
		return h
	}
	h := p.noHarm(n)
	p.harms[n] = h
	return h
}

func (p *planner) noHarm(n *pg.Node) bool {
	switch e := n.GetNode().(type) {
	case nil, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_SqlvalueFunction, *pg.Node_BoolExpr, *pg.Node_NullTest,
		*pg.Node_BooleanTest, *pg.Node_SetToDefault:
		return true
	case *pg.Node_TypeCast:
		return builtinTypes[builtinElement(e.TypeCast.TypeName)]
	case *pg.Node_FuncCall:
		return p.ours(e.FuncCall) != "" || totalFunctions[lastName(e.FuncCall.Funcname)]
	case *pg.Node_CollateClause:
		return p.harmless(e.CollateClause.Arg)
	case *pg.Node_AExpr:
		return e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP && builtinOperators()[lastName(e.AExpr.Name)] &&
			p.harmless(e.AExpr.Lexpr) && p.harmless(e.AExpr.Rexpr)
	case *pg.Node_CoalesceExpr:
		return p.harmlessAll(e.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		return p.harmlessAll(e.MinMaxExpr.Args)
	case *pg.Node_CaseExpr:
		for _, w := range e.CaseExpr.Args {
			if !p.harmless(w.GetCaseWhen().GetResult()) {
				return false
			}
		}
		return p.harmless(e.CaseExpr.Defresult)
	}
	return false
}

func (p *planner) harmlessAll(nodes []*pg.Node) bool {
	for _, n := range nodes {
		if !p.harmless(n) {
			return false
		}
	}
	return true
}
