package rewrite

import (
	"strconv"
	"strings"
	"time"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pgidproxy/pgidproxy/gen"
)

// id_to_timestamp is immutable, so PostgreSQL itself computes a call with a
// constant when it plans; folding it here is the same at any place that is an
// expression of a statement that runs now. Left out are FROM, and the clauses
// that compare expressions with each other (GROUP BY, ORDER BY, DISTINCT).

func (p *planner) foldSelect(s *pg.SelectStmt) {
	if s == nil {
		return
	}
	p.foldWith(s.WithClause)
	p.foldSelect(s.Larg)
	p.foldSelect(s.Rarg)
	p.foldNodes(s.ValuesLists)
	if len(s.DistinctClause)+len(s.GroupClause)+len(s.SortClause)+len(s.WindowClause) == 0 {
		p.foldTargets(s.TargetList)
	}
	p.foldNode(s.WhereClause)
}

func (p *planner) foldInsert(s *pg.InsertStmt) {
	p.foldWith(s.WithClause)
	p.foldSelect(s.SelectStmt.GetSelectStmt())
	p.foldNodes(s.OnConflictClause.GetTargetList())
	p.foldNode(s.OnConflictClause.GetWhereClause())
	p.foldTargets(s.ReturningList)
}

func (p *planner) foldUpdate(s *pg.UpdateStmt) {
	p.foldWith(s.WithClause)
	p.foldNodes(s.TargetList)
	p.foldNode(s.WhereClause)
	p.foldTargets(s.ReturningList)
}

func (p *planner) foldDelete(s *pg.DeleteStmt) {
	p.foldWith(s.WithClause)
	p.foldNode(s.WhereClause)
	p.foldTargets(s.ReturningList)
}

func (p *planner) foldWith(w *pg.WithClause) {
	for _, n := range w.GetCtes() {
		switch q := n.GetCommonTableExpr().GetCtequery().GetNode().(type) {
		case *pg.Node_SelectStmt:
			p.foldSelect(q.SelectStmt)
		case *pg.Node_InsertStmt:
			p.foldInsert(q.InsertStmt)
		case *pg.Node_UpdateStmt:
			p.foldUpdate(q.UpdateStmt)
		case *pg.Node_DeleteStmt:
			p.foldDelete(q.DeleteStmt)
		}
	}
}

// foldTargets folds in a list whose columns have names.
func (p *planner) foldTargets(list []*pg.Node) {
	for _, n := range list {
		if t := n.GetResTarget(); t != nil {
			p.targets = append(p.targets, t)
			p.foldNode(t.Val)
		}
	}
}

func (p *planner) foldNodes(list []*pg.Node) {
	for _, n := range list {
		p.foldNode(n)
	}
}

// foldNode folds in an expression and all below it.
func (p *planner) foldNode(n *pg.Node) {
	switch e := n.GetNode().(type) {
	case nil, *pg.Node_AConst, *pg.Node_ColumnRef, *pg.Node_ParamRef, *pg.Node_TypeName, *pg.Node_String_:
	case *pg.Node_SelectStmt:
		p.foldSelect(e.SelectStmt)
	case *pg.Node_ResTarget:
		p.foldNode(e.ResTarget.Val)
	case *pg.Node_List:
		p.foldNodes(e.List.Items)
	case *pg.Node_FuncCall:
		if p.fold(e.FuncCall) {
			return
		}
		p.foldNodes(e.FuncCall.Args)
		p.foldNode(e.FuncCall.AggFilter)
	default:
		p.foldBelow(n.ProtoReflect())
	}
}

// foldBelow goes through the parts of a node of any other kind.
func (p *planner) foldBelow(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				p.foldMessage(v.List().Get(i).Message())
			}
		default:
			p.foldMessage(v.Message())
		}
		return true
	})
}

func (p *planner) foldMessage(m protoreflect.Message) {
	switch n := m.Interface().(type) {
	case *pg.Node:
		p.foldNode(n)
	case *pg.TypeName, *pg.WindowDef:
	default:
		p.foldBelow(m)
	}
}

// fold replaces a call of id_to_timestamp by its value, if it is one.
func (p *planner) fold(f *pg.FuncCall) bool {
	if lastName(f.Funcname) != IDToTimestamp {
		return false
	}
	if p.ours(f) == "" {
		p.explain(f, NotOurs)
		return false
	}
	if !plainCall(f) || len(f.Args) != 1 {
		p.explain(f, Arguments)
		return false
	}
	t, null, ok := foldValue(f.Args[0])
	if !ok {
		p.explain(f, Constant)
		return false
	}
	from, to, ok := p.callTokens(f)
	if !ok {
		p.explain(f, Follows)
		return false
	}
	text := "NULL::timestamptz"
	if !null {
		text = "'" + t.Format("2006-01-02 15:04:05.999999") + "+00'::timestamptz"
	}
	p.replace(from, to, Text, text)
	return true
}

// foldValue computes id_to_timestamp of a constant: ok is false where it is not
// one, or where the server would choose no overload or report an error.
func foldValue(n *pg.Node) (t time.Time, null, ok bool) {
	if c := n.GetTypeCast(); c != nil {
		return foldCast(c)
	}
	c := n.GetAConst()
	if c == nil {
		return t, false, false
	}
	if c.Isnull {
		return t, true, true
	}
	switch v := c.Val.(type) {
	case *pg.A_Const_Ival:
		return foldInt(int64(v.Ival.Ival))
	case *pg.A_Const_Fval:
		// An integer beyond int4 comes as text; one beyond int8 is a numeric,
		// for which there is no overload.
		id, err := strconv.ParseInt(v.Fval.Fval, 10, 64)
		if err != nil {
			return t, false, false
		}
		return foldInt(id)
	case *pg.A_Const_Sval:
		return foldText(v.Sval.Sval)
	}
	return t, false, false
}

// foldCast computes a constant with a type: 'text'::bigint and the like.
func foldCast(c *pg.TypeCast) (t time.Time, null, ok bool) {
	inner := c.Arg.GetAConst()
	if inner == nil || !isType(c.TypeName, "int8", "int4", "uuid", "text") {
		return t, false, false
	}
	if inner.Isnull {
		return t, true, true
	}
	s := inner.GetSval()
	if s == nil {
		if i := inner.GetIval(); i != nil && isType(c.TypeName, "int8", "int4") {
			return foldInt(int64(i.Ival))
		}
		if f := inner.GetFval(); f != nil && isType(c.TypeName, "int8") {
			if id, err := strconv.ParseInt(f.Fval, 10, 64); err == nil {
				return foldInt(id)
			}
		}
		return t, false, false
	}
	switch {
	case isType(c.TypeName, "text"):
		return foldText(s.Sval)
	case isType(c.TypeName, "int8"):
		if id, err := strconv.ParseInt(s.Sval, 10, 64); err == nil && !strings.HasPrefix(s.Sval, "+") {
			return foldInt(id)
		}
	case isType(c.TypeName, "uuid"):
		if d, err := gen.Decode(s.Sval); err == nil && d.Kind != gen.KindSnowflake && d.Kind != gen.KindULID {
			return d.Time, !d.HasTime, true
		}
	}
	return t, false, false
}

func foldInt(id int64) (time.Time, bool, bool) {
	t, ok := gen.SnowflakeTime(id)
	return t, !ok, true
}

func foldText(s string) (time.Time, bool, bool) {
	d, err := gen.Decode(s)
	return d.Time, err != nil || !d.HasTime, true
}
