package migrate

import (
	"context"
	"fmt"
	"strings"
)

const changeDefault = "change the default"

// buildDefault plans for a key that is wide enough already: only where its
// values come from is changed.
func (b *builder) buildDefault(ctx context.Context) error {
	k, t := b.key.c, b.key.t
	relations, err := b.hierarchy(ctx)
	if err != nil {
		return err
	}
	var tables []string
	for _, r := range relations {
		tables = append(tables, r.name)
	}
	swap := Step{Name: changeDefault, Kind: kindChange, Mode: accessExclusive, Tables: tables,
		Note: "changes the catalog only: nothing is rewritten or read"}
	back := Step{Name: "change the default back", Kind: kindChange, Mode: accessExclusive, Tables: tables}
	col := ident(k.name)
	if k.identity != "" {
		swap.SQL, back.SQL = append(swap.SQL, dropIdentity(t, k)...), append(back.SQL, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT", t.ident(), col))
		back.SQL = append(back.SQL, addIdentity(t, k)...)
		if k.identity == "a" {
			b.plan.warn("%s.%s is GENERATED ALWAYS now; afterwards an INSERT may give ids of its own", t.ident(), col)
		}
	}
	for _, r := range relations {
		same := defaultIs(r.name, k.name, r.def, r.identity)
		same.Before = true
		swap.Checks = append(swap.Checks, same)
		swap.SQL = append(swap.SQL, fmt.Sprintf("ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s", r.name, col, b.make))
		switch {
		case r.def != "":
			back.SQL = append(back.SQL, fmt.Sprintf("ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s", r.name, col, r.def))
		case r.name != t.ident():
			back.SQL = append([]string{fmt.Sprintf("ALTER TABLE ONLY %s ALTER COLUMN %s DROP DEFAULT", r.name, col)}, back.SQL...)
		}
		swap.Checks = append(swap.Checks, defaultIs(r.name, k.name, b.make, ""))
		back.Checks = append(back.Checks, defaultIs(r.name, k.name, r.def, r.identity))
	}
	wait := waitStep("before the swap")
	b.checkAbove(&wait, &swap)
	b.plan.Steps = []Step{wait, swap}
	b.plan.Back = []Step{waitStep("before the way back"), back}
	b.plan.Finish = b.finishSequence()
	return nil
}

// A leaf is one relation of a hierarchy, with what its column has for a default.
type leaf struct{ name, def, identity string }

// hierarchy is the table and its partitions.
func (b *builder) hierarchy(ctx context.Context) ([]leaf, error) {
	names, err := list[string](ctx, b.conn, `WITH RECURSIVE all_of(oid, level) AS (
			SELECT $1::oid, 0 UNION ALL SELECT i.inhrelid, level + 1 FROM pg_inherits i JOIN all_of a ON a.oid = i.inhparent)
		SELECT format('%I.%I', n.nspname, c.relname) FROM all_of a JOIN pg_class c ON c.oid = a.oid JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY a.level, a.oid`, b.key.t.oid)
	if err != nil {
		return nil, err
	}
	var l []leaf
	for _, name := range names {
		r := leaf{name: name}
		err := b.conn.QueryRow(ctx, `SELECT coalesce(pg_get_expr(d.adbin, d.adrelid), ''), a.attidentity::text FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
			WHERE a.attrelid = $1::text::regclass AND a.attname = $2`, name, b.key.c.name).Scan(&r.def, &r.identity)
		if err != nil {
			return nil, err
		}
		l = append(l, r)
	}
	return l, nil
}

// defaultIs checks a column's default.
func defaultIs(table, column, def, identity string) Check {
	want := "= " + literal(identity) + " AND pg_get_expr(d.adbin, d.adrelid) IS NOT DISTINCT FROM " + literal(def)
	if def == "" {
		want = "= " + literal(identity) + " AND d.oid IS NULL"
	} else if strings.HasPrefix(def, "pg_catalog.") || !strings.HasPrefix(def, "nextval") {
		// The server prints names of our functions as short as the path allows.
		want = "= " + literal(identity) + " AND d.oid IS NOT NULL"
	}
	return Check{
		SQL: fmt.Sprintf(`SELECT count(*) FROM (VALUES (0)) v LEFT JOIN (pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum)
	ON a.attrelid = %s::regclass AND a.attname = %s WHERE (a.attidentity::text %s) IS NOT TRUE`, literal(table), literal(column), want),
		Wrong: "the default of " + table + "." + ident(column) + " is not what it should be",
	}
}

func waitStep(when string) Step {
	return Step{Name: "wait for proxies " + when, Kind: kindWait, Note: "proxies stop filling in the tables' defaults once they have looked at the catalog, which they do every second; one that cannot look stops after 5 s"}
}

// dropIdentity makes an identity's sequence a plain one of the same name, which
// goes on where it was.
func dropIdentity(t *table, k *column) []string {
	s := k.sequence
	l := []string{
		hold(s), keepValue(s),
		fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s DROP IDENTITY", t.ident(), ident(k.name)),
		"CREATE " + unlogged(s) + "SEQUENCE " + s.ident() + " AS " + s.typ + s.options(),
		fmt.Sprintf("ALTER SEQUENCE %s OWNER TO %s", s.ident(), t.owner),
		fmt.Sprintf("ALTER SEQUENCE %s OWNED BY %s.%s", s.ident(), t.ident(), ident(k.name)),
		takeValue(s),
	}
	return append(append(l, s.commented()...), s.grants...)
}

// addIdentity is the way back of dropIdentity.
func addIdentity(t *table, k *column) []string {
	s := k.sequence
	how := "BY DEFAULT"
	if k.identity == "a" {
		how = "ALWAYS"
	}
	l := []string{
		hold(s), keepValue(s),
		"DROP SEQUENCE " + s.ident(),
		fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s%s)", t.ident(), ident(k.name), how, s.ident(), s.options()),
		takeValue(s),
	}
	return append(append(l, s.commented()...), s.grants...)
}

func (s *sequence) options() string {
	cycle := "NO CYCLE"
	if s.cycle {
		cycle = "CYCLE"
	}
	return fmt.Sprintf(" START WITH %d INCREMENT BY %d MINVALUE %d MAXVALUE %d CACHE %d %s", s.start, s.increment, s.least, s.most, s.cache, cycle)
}

func unlogged(s *sequence) string {
	if s.logged {
		return ""
	}
	return "UNLOGGED "
}

func (s *sequence) commented() []string {
	if s.comment == "" {
		return nil
	}
	return []string{fmt.Sprintf("COMMENT ON SEQUENCE %s IS %s", s.ident(), literal(s.comment))}
}

// hold changes nothing, but keeps nextval waiting until the transaction ends.
func hold(s *sequence) string { return fmt.Sprintf("ALTER SEQUENCE %s CACHE %d", s.ident(), s.cache) }

// keepValue and takeValue carry a sequence's state over to another one.
func keepValue(s *sequence) string {
	return "SELECT set_config('pgid.last', last_value::text, true), set_config('pgid.called', is_called::text, true) FROM " + s.ident()
}

func takeValue(s *sequence) string {
	return fmt.Sprintf("SELECT setval(%s, current_setting('pgid.last')::bigint, current_setting('pgid.called')::boolean)", literal(s.ident()))
}

// finishSequence drops the sequence if that was asked for.
func (b *builder) finishSequence() []Step {
	s := b.key.c.sequence
	if !b.options.DropSequence {
		return nil
	}
	return []Step{{Name: "drop the sequence", Kind: kindChange, SQL: []string{"DROP SEQUENCE IF EXISTS " + s.ident()},
		Checks: []Check{{SQL: "SELECT count(*) FROM pg_class WHERE relkind = 'S' AND oid = to_regclass(" + literal(s.ident()) + ")", Wrong: "sequence " + s.ident() + " is still there"}}}}
}
