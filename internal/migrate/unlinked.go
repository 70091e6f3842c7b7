package migrate

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// plain is a name as it is compared: order_id, orderId and OrderID are the same.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// likely are the plain names that columns with the ids of a table are likely to
// have: the table's name, in the singular too, with the key's, and the key's own
// unless that says nothing.
func likely(table, key string) []string {
	stems := []string{table, strings.TrimSuffix(table, "s"), strings.TrimSuffix(table, "es")}
	if stem, found := strings.CutSuffix(table, "ies"); found {
		stems = append(stems, stem+"y")
	}
	var names []string
	for _, s := range stems {
		names = append(names, plain(s+key))
	}
	if k := plain(key); k != "id" {
		names = append(names, k)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A lookalike is a column that may hold ids of another table.
type lookalike struct {
	table uint32
	num   int16
	name  string // with its table's
	typ   string
	bound bool // it has a foreign key
}

const lookalikeQuery = `SELECT c.oid, a.attnum, format('%s.%I', c.oid::regclass, a.attname), format_type(a.atttypid, a.atttypmod),
		EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND f.conrelid = c.oid AND a.attnum = ANY (f.conkey))
	FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace,
		LATERAL (SELECT lower(replace(a.attname, '_', ''))) p(name)
	WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pgid')
		AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = ''
		AND (p.name = ANY ($1) AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'text'::regtype, 'varchar'::regtype, 'bpchar'::regtype)
			OR (p.name = ANY ($1) OR rtrim(p.name, 's') = ANY ($1)) AND a.atttypid IN ('int2[]'::regtype, 'int4[]'::regtype))
		AND NOT EXISTS (SELECT FROM pg_attrdef d WHERE d.adrelid = c.oid AND d.adnum = a.attnum AND starts_with(pg_get_expr(d.adbin, d.adrelid), 'nextval('))
	ORDER BY 3`

// lookalikes looks for columns by their plain names. Those that count by
// themselves are keys of their own.
func lookalikes(ctx context.Context, conn *pgx.Conn, names []string) ([]lookalike, error) {
	rows, err := conn.Query(ctx, lookalikeQuery, names)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l lookalike, err error) {
		return l, row.Scan(&l.table, &l.num, &l.name, &l.typ, &l.bound)
	})
}

// narrow tells whether a column is an integer that cannot hold the new ids.
func (l *lookalike) narrow() bool {
	return strings.HasPrefix(l.typ, "integer") || strings.HasPrefix(l.typ, "smallint")
}

// judgeUnlinked looks for columns that may hold the ids without a foreign key.
func (b *builder) judgeUnlinked(ctx context.Context) error {
	t := b.key.t
	names := likely(t.name, b.key.c.name)
	for _, m := range b.family.members {
		if !m.key() && plain(m.c.name) != "id" {
			names = append(names, plain(m.c.name))
		}
	}
	found, err := lookalikes(ctx, b.conn, names)
	if err != nil {
		return err
	}
	for _, l := range found {
		switch {
		case b.family.member(l.table, l.num) != nil:
		case strings.HasSuffix(l.typ, "]"):
			b.plan.warn("column %s (%s) may hold ids of %s: arrays are not migrated", l.name, l.typ, t.ident())
		case !l.narrow():
			b.plan.warn("column %s (%s) may hold ids of %s as text: it is not migrated", l.name, l.typ, t.ident())
		case l.bound:
			b.plan.warn("column %s (%s) is called like a reference to %s but refers to another table: it stays as it is", l.name, l.typ, t.ident())
		case b.options.Unlinked:
			b.plan.warn("column %s (%s) may hold ids of %s and has no foreign key: it stays as it is, as --ignore-unlinked says", l.name, l.typ, t.ident())
		default:
			b.plan.block("column %s (%s) may hold ids of %s, and could not hold the new ones: give it a foreign key, so that it is migrated too, or say --ignore-unlinked", l.name, l.typ, t.ident())
		}
	}
	return nil
}
