package rewrite

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// speaker makes statements at random out of what matters for evaluation.
type speaker struct{ *rand.Rand }

func (s speaker) pick(of ...string) string { return of[s.IntN(len(of))] }

// list returns up to three expressions.
func (s speaker) list() string {
	items := make([]string, 1+s.IntN(3))
	for i := range items {
		items[i] = s.expr(3)
	}
	return strings.Join(items, ", ")
}

// expr returns an expression: X stands for another, of any type.
func (s speaker) expr(depth int) string {
	if depth == 0 || s.IntN(3) == 0 {
		return s.pick("next_snowflake()", "next_snowflake()", "uuidv7()", "1", "'a'", "NULL", "random() * 0 < 1", "5::oid", "false", "$1::bigint")
	}
	form := s.pick(
		"X::text", "X::int4", "X::text::numeric", "X::numeric", "CAST(X AS varchar(40))", "(X)", "X || X", "X + 1", "X % 7 * 0 + 50", "-X", "X > 5",
		"X = X", "X >> 22", "abs(X)", "concat(X, X)", "length(X::text)", "one(X)", "two(X)", "+! X", "+% X",
		"generate_series(1, 2)", "CASE WHEN X IS NULL THEN X ELSE X END", "CASE WHEN random() < 2 THEN 1 ELSE X END",
		"CASE X WHEN 5 THEN X ELSE X END", "COALESCE(X, X)", "COALESCE(NULL, X)", "NULLIF(X, X)", "GREATEST(X, X)", "ARRAY[X, X]",
		"ROW(X, X)", "ROW(X, X) = ROW(X, X)", "(ARRAY[X])[1]", "(SELECT X)", "X IN (X, X)", "X IN (SELECT X)", "X BETWEEN X AND X",
		"X IS DISTINCT FROM X", "X IS NULL", "X IS NULL OR X::int4 > 1", "X IS NOT NULL AND X > 5", "NOT X > 5",
		"X::text LIKE 'a%'", "count(*)", "int8pl(NULL, X)", "id_to_timestamp(X)", "id_to_timestamp(42)", "id_to_timestamp('x')", "nextval('s') * 0 + X",
		"X = ANY (ARRAY[X])", "format('%s', X)", "1 / (X % 1)", "quote_literal(X)", "X::text::int8", "(ROW(X, X)).*", "X::text COLLATE \"C\"")
	parts := strings.Split(form, "X")
	var b strings.Builder
	b.WriteString(parts[0])
	for _, part := range parts[1:] {
		inner := s.expr(depth - 1)
		if strings.ContainsAny(inner, " ") {
			inner = "(" + inner + ")"
		}
		b.WriteString(inner + part)
	}
	return b.String()
}

// query returns a SELECT or VALUES.
func (s speaker) query(depth int) string {
	if depth > 0 && s.IntN(3) == 0 {
		return fmt.Sprintf("(%s) %s (%s)", s.query(depth-1), s.pick("UNION ALL", "UNION", "INTERSECT", "EXCEPT"), s.query(depth-1))
	}
	q := "SELECT " + s.list()
	if s.IntN(4) == 0 {
		e := s.list()
		q = "VALUES (" + e + ")"
		if s.IntN(2) == 0 {
			q += ", (" + s.list() + ")"
		}
		return q + s.pick("", "", " LIMIT 1", " LIMIT 0")
	}
	return q + s.pick("", "", "", " WHERE true", " WHERE false", " WHERE random() < 0", " LIMIT 1", " LIMIT 0", " OFFSET 1", " ORDER BY 1",
		" FROM generate_series(1, 2)", " GROUP BY ()", " FOR UPDATE")
}

// statement returns one. A column narrower than an id makes every INSERT fail,
// for which the planner does not wait until a function has run.
func (s speaker) statement() string {
	text := s.anyStatement()
	if strings.Contains(text, "one(") || strings.Contains(text, "+!") || strings.Contains(text, "nextval") {
		text = strings.ReplaceAll(text, "small", "n")
	}
	return text
}

func (s speaker) anyStatement() string {
	columns := s.pick("id", "id, n", "txt", "small", "txt, u", "b", "id, small, txt")
	table := s.pick("t", "t", "t", "public.t", "r", "v", "u")
	insert := fmt.Sprintf("INSERT INTO %s(%s) ", table, columns)
	if table == "r" || table == "u" {
		insert = "INSERT INTO " + table + " "
	}
	switch s.IntN(8) {
	case 6, 7:
		return s.filled()
	case 0, 1:
		return s.query(1)
	case 2:
		return insert + s.query(1)
	case 3:
		return "WITH w AS (" + insert + "VALUES (" + s.list() + ") RETURNING 1) " + s.pick("SELECT "+s.list(), "DELETE FROM u", "UPDATE t SET n = 5", s.query(0))
	}
	values := "VALUES (" + s.list() + ")"
	if s.IntN(3) == 0 {
		values += ", (" + s.list() + ")"
	}
	return insert + values + s.pick("", " ON CONFLICT DO NOTHING", " RETURNING *", " RETURNING next_snowflake()")
}

// filled returns an INSERT into a table with defaults of ours.
func (s speaker) filled() string {
	text := "INSERT INTO " + s.pick("acct ", "acct AS x ", "public.acct ", "acct(name) ", "acct(name, note) ", "acct(note, id) ", "doc(title) ", "doc ",
		"duo ", "duo(txt) ", "duo(b, txt) ", "late ", "late(note, name) ", "ruled(name) ")
	if s.IntN(10) == 0 {
		return text + "DEFAULT VALUES RETURNING *"
	}
	if s.IntN(4) == 0 {
		return text + s.query(2)
	}
	// Of two rows that fail, the one whose constants cannot be computed comes
	// first: expressions stand in single rows only.
	rows := 1 + s.IntN(2)
	row := func() string {
		items := make([]string, 1+s.IntN(3))
		for i := range items {
			if items[i] = s.pick("DEFAULT", "'a'", "NULL", "7"); rows == 1 && s.IntN(4) == 0 {
				items[i] = s.expr(1)
			}
		}
		return "(" + strings.Join(items, ", ") + ")"
	}
	text += "VALUES " + row()
	if rows > 1 {
		text += ", " + row()
	}
	text += s.pick("", "", " ON CONFLICT DO NOTHING", " RETURNING *", " ON CONFLICT (id) DO UPDATE SET id = DEFAULT")
	if s.IntN(4) == 0 {
		return "WITH w AS (" + text + s.pick("", " RETURNING id") + ") SELECT 1"
	}
	return text
}

const statements = 300

// TestRandomPlansAgainstServer compares statements with what becomes of them:
// every message, and the number of times that a call was evaluated.
func TestRandomPlansAgainstServer(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		o := newOracle(t, s)
		seed := rand.Uint64()
		r := speaker{rand.New(rand.NewPCG(seed, 0))}
		for i := range statements {
			text := r.statement()
			o.check(fmt.Sprintf("seed %d, statement %d", seed, i), text, true)
		}
	})
}
