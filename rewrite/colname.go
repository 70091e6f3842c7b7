package rewrite

import pg "github.com/pganalyze/pg_query_go/v6"

// nameColumns gives a result column that took its name from a replaced call
// that name again.
func (p *planner) nameColumns() {
	for _, t := range p.targets {
		if t == nil || t.Name != "" {
			continue
		}
		f := namedBy(t.Val)
		if f == nil {
			continue
		}
		if from := p.tokenAt(f.Location); p.changed[from] {
			end := p.targetEnd(t)
			p.edits = append(p.edits, Edit{From: end, To: end, Kind: Text, Text: "AS " + lastName(f.Funcname)})
		}
	}
}

// namedBy returns the call that gives an unnamed result column its name, by the
// rules of FigureColnameInternal in src/backend/parser/parse_target.c. A
// scalar subquery takes the name of its own column.
func namedBy(n *pg.Node) *pg.FuncCall {
	switch e := n.GetNode().(type) {
	case *pg.Node_FuncCall:
		return e.FuncCall
	case *pg.Node_TypeCast:
		return namedBy(e.TypeCast.Arg)
	case *pg.Node_CollateClause:
		return namedBy(e.CollateClause.Arg)
	case *pg.Node_CaseExpr:
		return namedBy(e.CaseExpr.Defresult)
	case *pg.Node_AIndirection:
		for _, i := range e.AIndirection.Indirection {
			if i.GetString_() != nil {
				return nil
			}
		}
		return namedBy(e.AIndirection.Arg)
	}
	return nil
}

// endsTarget are the words that can follow an entry of a SELECT or RETURNING
// list. Inside an entry that is named by a call they stand only in parentheses
// or in a CASE.
var endsTarget = map[string]bool{
	"from": true, "where": true, "group": true, "having": true, "window": true, "union": true, "intersect": true,
	"except": true, "order": true, "limit": true, "offset": true, "fetch": true, "for": true, "into": true,
}

// targetEnd returns the index of the token behind an entry of a list.
func (p *planner) targetEnd(t *pg.ResTarget) int {
	depth := 0
	for i := p.tokenAt(t.Location); i < len(p.tokens); i++ {
		tok := p.tokens[i]
		switch tok.Kind {
		case LParen, LBracket:
			depth++
		case RParen, RBracket:
			if depth--; depth < 0 {
				return i
			}
		case Comma, Semicolon:
			if depth == 0 {
				return i
			}
		case Ident:
			word, _ := identName(tok, p.text)
			switch {
			case word == "case":
				depth++
			case word == "end":
				depth--
			case depth == 0 && endsTarget[word]:
				return i
			}
		}
	}
	return len(p.tokens)
}
