package rewrite

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// selfContained tells an INSERT in which all types follow from the columns of its
// target, which have types of PostgreSQL's own: the rows hold nothing but constants, parameters, calls of ours and
// casts of these to types of PostgreSQL's own, and what it returns are columns.
func (p *planner) selfContained(n *pg.Node) bool {
	s := n.GetInsertStmt()
	if s == nil || s.WithClause != nil {
		return false
	}
	known := p.relations(s.Relation.GetRelname())
	if known == nil || slices.ContainsFunc(known.relations, func(r Relation) bool { return !r.Builtin }) {
		return false
	}
	for _, c := range s.Cols {
		if len(c.GetResTarget().GetIndirection()) > 0 {
			return false
		}
	}
	if q := s.SelectStmt.GetSelectStmt(); q != nil {
		rows := valuesRows(s)
		if len(rows) == 0 {
			return false
		}
		for _, row := range rows {
			for _, item := range row.GetList().GetItems() {
				if !p.typed(item) {
					return false
				}
			}
		}
	}
	for _, t := range s.ReturningList {
		if t.GetResTarget().GetVal().GetColumnRef() == nil {
			return false
		}
	}
	return s.OnConflictClause == nil || p.selfContainedConflict(s.OnConflictClause)
}

func (p *planner) selfContainedConflict(c *pg.OnConflictClause) bool {
	if c.WhereClause != nil || c.Infer.GetWhereClause() != nil {
		return false
	}
	for _, e := range c.Infer.GetIndexElems() {
		if i := e.GetIndexElem(); i == nil || i.Expr != nil || len(i.Opclass) > 0 || len(i.Collation) > 0 {
			return false
		}
	}
	for _, t := range c.TargetList {
		if v := t.GetResTarget().GetVal(); v.GetColumnRef() == nil && !p.typed(v) {
			return false
		}
	}
	return true
}

// typed tells an expression whose type is its own, or that of the column it is
// put into.
func (p *planner) typed(n *pg.Node) bool {
	switch e := n.GetNode().(type) {
	case *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_SetToDefault, *pg.Node_SqlvalueFunction:
		return true
	case *pg.Node_FuncCall:
		return p.generator(e.FuncCall) != ""
	case *pg.Node_TypeCast:
		return builtinElement(e.TypeCast.TypeName) != "" && p.typed(e.TypeCast.Arg)
	}
	return false
}
