package rewrite

import pg "github.com/pganalyze/pg_query_go/v6"

// target keeps an entry of a list whose columns have names.
func (p *planner) target(t *pg.ResTarget) {
	if t != nil && t.Name == "" && !p.named[t] {
		p.named[t] = true
		p.targets = append(p.targets, t)
	}
}

// nameColumns gives a result column that took its name from a replaced call
// that name again.
func (p *planner) nameColumns() {
	for _, t := range p.targets {
		f := namedBy(t.Val)
		if f == nil || !p.replaced(p.tokenAt(f.Location)) {
			continue
		}
		end := p.targetEnd(t)
		p.edits = append(p.edits, Edit{From: end, To: end, Kind: Text, Text: "AS " + lastName(f.Funcname)})
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
// list. All are reserved: inside an entry they stand only in parentheses, in a
// CASE, or behind a dot.
var endsTarget = map[string]bool{
	"from": true, "where": true, "group": true, "having": true, "window": true, "union": true, "intersect": true,
	"except": true, "order": true, "limit": true, "offset": true, "fetch": true, "for": true, "into": true,
	"on": true, "returning": true,
}

// endsTarget tells whether token i cannot go on with an entry of a list.
func (p *planner) endsTarget(i int) bool {
	switch p.kind(i) {
	case 0, RParen, RBracket, Comma, Semicolon:
		return true
	case Ident:
		word, _ := identName(p.tokens[i], p.text)
		return endsTarget[word]
	}
	return false
}

// targetEnd returns the index of the token behind an entry of a list.
func (p *planner) targetEnd(t *pg.ResTarget) int {
	parens, cases := 0, 0
	for i := p.tokenAt(t.Location); i < len(p.tokens); i++ {
		switch p.tokens[i].Kind {
		case LParen, LBracket:
			parens++
		case RParen, RBracket:
			if parens--; parens < 0 {
				return i
			}
		case Comma, Semicolon:
			if parens == 0 {
				return i
			}
		case Ident:
			if parens > 0 || p.tokens[i-1].Kind == Dot {
				continue
			}
			switch word, _ := identName(p.tokens[i], p.text); {
			case p.word(i-1, "as") && !p.word(i-2, "as"): // a name
			case word == "from" && p.word(i-1, "distinct"): // IS DISTINCT FROM
			case word == "for" && p.word(i-1, "collation") && p.kind(i+1) == LParen: // a function
			case word == "case":
				if !p.endsTarget(i + 1) { // else a name
					cases++
				}
			case word == "end":
				cases = max(cases-1, 0) // without a CASE a name
			case cases == 0 && endsTarget[word]:
				return i
			}
		}
	}
	return len(p.tokens)
}
