package rewrite

import (
	"strconv"
	"strings"
	"time"

	pg "github.com/pganalyze/pg_query_go/v6"

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
			p.target(t)
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
	case *pg.Node_SelectStmt:
		p.foldSelect(e.SelectStmt)
	case *pg.Node_FuncCall:
		f := e.FuncCall
		if p.fold(f) {
			return
		}
		// ORDER BY within a call is compared with the arguments.
		if len(f.AggOrder) == 0 {
			p.foldNodes(f.Args)
		}
		p.foldNode(f.AggFilter)
	default:
		children(n, p.foldNode)
	}
}

// fold replaces a call of id_to_timestamp by its value, if it is one.
func (p *planner) fold(f *pg.FuncCall) bool {
	if p.ours(f) != IDToTimestamp || !plainCall(f) || len(f.Args) != 1 {
		return false
	}
	at := p.tokenAt(f.Location)
	if p.replaced(at) {
		return true
	}
	from, to, ok := p.callTokens(f)
	if !ok {
		p.decline(at, Follows)
		return false
	}
	v, ok := foldValue(f.Args[0])
	if !ok || !p.decimal(from, to) {
		p.decline(at, Constant)
		return false
	}
	p.replace(from, to, Edit{Kind: Text, Text: v.literal()})
	return true
}

// decimal tells whether all integers among the tokens [from, to) are written in
// a way that every version of PostgreSQL reads alike.
func (p *planner) decimal(from, to int) bool {
	for _, t := range p.tokens[from:to] {
		if t.Kind == Int && strings.Trim(string(t.text(p.text)), "0123456789") != "" {
			return false
		}
	}
	return true
}

// folded is what id_to_timestamp gives: a time, or NULL.
type folded struct {
	time time.Time
	ok   bool
}

// literal writes the value in the one form that every DateStyle and TimeZone
// reads alike: ISO 8601 with the offset from UTC.
func (v folded) literal() string {
	if !v.ok {
		return "NULL::timestamptz"
	}
	return "'" + v.time.UTC().Format("2006-01-02 15:04:05.999999") + "+00'::timestamptz"
}

// foldValue computes id_to_timestamp of a constant: ok is false where it is not
// one, or where the server would choose no overload or report an error. A
// string without a type is text to the server, as is NULL.
func foldValue(n *pg.Node) (v folded, ok bool) {
	if c := n.GetTypeCast(); c != nil {
		return foldCast(c)
	}
	c := n.GetAConst()
	switch {
	case c == nil:
		return v, false
	case c.Isnull:
		return v, true
	case c.GetIval() != nil || c.GetFval() != nil:
		return foldInteger(c)
	case c.GetSval() != nil:
		return foldText(c.GetSval().Sval), true
	}
	return v, false
}

// foldCast computes a constant with a type: 'text'::bigint and the like.
func foldCast(c *pg.TypeCast) (v folded, ok bool) {
	to := builtinType(c.TypeName)
	arg := c.Arg.GetAConst()
	if arg == nil || to != "int8" && to != "int4" && to != "uuid" && to != "text" {
		return v, false
	}
	if arg.Isnull {
		return v, true
	}
	s := arg.GetSval()
	if s == nil {
		number := arg.GetIval() != nil || arg.GetFval() != nil && to == "int8"
		if !number || to != "int8" && to != "int4" {
			return v, false
		}
		return foldInteger(arg)
	}
	switch to {
	case "text":
		return foldText(s.Sval), true
	case "int8":
		if id, err := strconv.ParseInt(s.Sval, 10, 64); err == nil {
			return foldInt(id), true
		}
	case "uuid":
		if d, err := gen.Decode(s.Sval); err == nil && strings.HasPrefix(string(d.Kind), "uuid") {
			return folded{d.Time, d.HasTime}, true
		}
	}
	return v, false
}

// foldInteger computes a number. One that does not fit int4 is kept as text; one
// that does not fit int8 either, or is no integer, is a numeric, for which there
// is no overload.
func foldInteger(c *pg.A_Const) (v folded, ok bool) {
	if i := c.GetIval(); i != nil {
		return foldInt(int64(i.Ival)), true
	}
	id, err := strconv.ParseInt(c.GetFval().GetFval(), 10, 64)
	return foldInt(id), err == nil
}

func foldInt(id int64) folded {
	t, ok := gen.SnowflakeTime(id)
	return folded{t, ok}
}

func foldText(s string) folded {
	d, err := gen.Decode(s)
	return folded{d.Time, err == nil && d.HasTime}
}
