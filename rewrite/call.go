package rewrite

import (
	"errors"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var errNUL = errors.New("text holds a zero byte")

func isOurName(name string) bool {
	return name == NextSnowflake || name == UUIDv7 || name == IDToTimestamp
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
	name := lastName(f.Funcname)
	if !isOurName(name) {
		return ""
	}
	d := &p.facts.data
	schema := d.Schema
	if name == UUIDv7 && d.Version >= 180000 {
		schema = "pg_catalog"
	} else if !d.Known {
		schema = ""
	}
	switch parts := names(f.Funcname); {
	case d.Known && !d.Ours[name]:
		return ""
	case len(parts) == 1, len(parts) == 2 && schema != "" && parts[0] == schema:
		return name
	}
	return ""
}

// generator returns which of our functions that make ids a call means, "" for
// none.
func (p *planner) generator(f *pg.FuncCall) string {
	if name := p.ours(f); name != IDToTimestamp {
		return name
	}
	return ""
}

// callTokens returns the tokens of a call, from its name or schema to its
// closing parenthesis; ok is false where the tokens are not those of a call, or
// what follows would change the meaning of a value with a type in its place.
func (p *planner) callTokens(f *pg.FuncCall) (from, to int, ok bool) {
	from = p.tokenAt(f.Location)
	open := from
	for range f.Funcname {
		if open > from {
			if p.kind(open) != Dot {
				return from, to, false
			}
			open++
		}
		if k := p.kind(open); k != Ident && k != QuotedIdent && k != UIdent {
			return from, to, false
		}
		open++
	}
	if p.kind(open) != LParen || p.tokens[from].Start != f.Location {
		return from, to, false
	}
	depth := 1
	for to = open + 1; depth > 0; to++ {
		switch p.kind(to) {
		case 0:
			return from, to, false
		case LParen:
			depth++
		case RParen:
			depth--
		}
	}
	switch k := p.kind(to); {
	case k == LBracket, k == Dot, k == LParen, k == Ident && p.tokens[to].isWord(p.text, "array"):
		return from, to, false
	}
	return from, to, true
}

// kind returns the kind of a token, 0 behind the last.
func (p *planner) kind(i int) Kind {
	if i >= len(p.tokens) {
		return 0
	}
	return p.tokens[i].Kind
}

// plainCall tells a call without any clause.
func plainCall(f *pg.FuncCall) bool {
	return len(f.AggOrder) == 0 && f.AggFilter == nil && f.Over == nil && !f.AggWithinGroup && !f.AggStar &&
		!f.AggDistinct && !f.FuncVariadic
}

// builtinType returns the name of a type of PostgreSQL's own, "" for another, an
// array, or one with modifiers.
func builtinType(t *pg.TypeName) string {
	if t == nil || t.Setof || t.PctType || len(t.Typmods) > 0 || len(t.ArrayBounds) > 0 {
		return ""
	}
	return builtinElement(t)
}

// builtinElement is the same without regard to modifiers and array bounds.
func builtinElement(t *pg.TypeName) string {
	parts := names(t.GetNames())
	if len(parts) == 2 && parts[0] == "pg_catalog" {
		parts = parts[1:]
	}
	if len(parts) != 1 {
		return ""
	}
	if _, ok := builtinTypes[parts[0]]; !ok {
		return ""
	}
	return parts[0]
}

// children calls visit for every node right below n, perhaps also with nil. What
// large texts are made of goes without reflection.
func children(n *pg.Node, visit func(*pg.Node)) {
	switch e := n.GetNode().(type) {
	case nil, *pg.Node_AConst, *pg.Node_ColumnRef, *pg.Node_ParamRef, *pg.Node_TypeName, *pg.Node_String_:
	case *pg.Node_List:
		for _, item := range e.List.Items {
			visit(item)
		}
	case *pg.Node_TypeCast:
		visit(e.TypeCast.Arg)
	case *pg.Node_AExpr:
		visit(e.AExpr.Lexpr)
		visit(e.AExpr.Rexpr)
	default:
		below(n.ProtoReflect(), visit)
	}
}

func below(m protoreflect.Message, visit func(*pg.Node)) {
	one := func(v protoreflect.Value) {
		switch n := v.Message().Interface().(type) {
		case *pg.Node:
			visit(n)
		case *pg.TypeName:
		default:
			below(v.Message(), visit)
		}
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				one(v.List().Get(i))
			}
		default:
			one(v)
		}
		return true
	})
}
