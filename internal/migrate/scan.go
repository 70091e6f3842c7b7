package migrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A Found is a table with an auto-increment key.
type Found struct {
	Table      string   `json:"table"`
	Column     string   `json:"column"`
	Type       string   `json:"type"`
	Kind       string   `json:"kind"` // serial, identity always, identity by default
	Rows       int64    `json:"rows"`
	Bytes      int64    `json:"bytes"`
	Used       float64  `json:"used"`       // part of the column's numbers that the sequence has given out, 0 to 1
	References []string `json:"references"` // columns that refer to it by foreign keys
	Unlinked   []string `json:"unlinked"`   // columns of the same name without one, that hold 32 bits
	Sequence   string   `json:"sequence"`
	Command    string   `json:"command"`
	name       string   // of the table alone
}

const scanQuery = `WITH key AS (
	SELECT a.attrelid AS rel, a.attnum AS num, a.attname AS name, a.atttypid AS typ, a.attidentity AS ident,
		(SELECT s.oid FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S' WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
			AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum AND d.deptype = 'i' LIMIT 1) AS internal,
		(SELECT d.refobjid FROM pg_attrdef e JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid AND d.refclassid = 'pg_class'::regclass
			JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S' WHERE e.adrelid = a.attrelid AND e.adnum = a.attnum LIMIT 1) AS called
	FROM pg_attribute a WHERE a.attnum > 0 AND NOT a.attisdropped AND a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype))
SELECT format('%I.%I', n.nspname, c.relname), k.name::text, format_type(k.typ, NULL),
	CASE k.ident WHEN 'a' THEN 'identity always' WHEN 'd' THEN 'identity by default' ELSE 'serial' END, (SELECT sum(CASE WHEN r.relkind = 'p' THEN 0 WHEN r.reltuples < 0 THEN pg_relation_size(r.oid) / 64 ELSE r.reltuples END)::bigint
		FROM (SELECT relid FROM pg_partition_tree(c.oid) UNION SELECT c.oid) t JOIN pg_class r ON r.oid = t.relid),
	(SELECT sum(pg_total_relation_size(t.relid))::bigint FROM (SELECT relid FROM pg_partition_tree(c.oid) UNION SELECT c.oid) t),
	coalesce(pg_sequence_last_value(coalesce(k.internal, k.called)), 0)::float8 / CASE k.typ WHEN 'int2'::regtype THEN 32767 WHEN 'int4'::regtype THEN 2147483647 ELSE 9223372036854775807 END,
	ARRAY(SELECT format('%s.%I', f.conrelid::regclass, a.attname) FROM pg_constraint f, unnest(f.conkey, f.confkey) u(child, parent) JOIN pg_attribute a ON a.attnum = u.child
		WHERE a.attrelid = f.conrelid AND f.contype = 'f' AND f.conparentid = 0 AND f.confrelid = c.oid AND u.parent = k.num ORDER BY 1),
	c.relname::text, coalesce(k.internal, k.called)::regclass::text
FROM key k JOIN pg_class c ON c.oid = k.rel JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pgid')
	AND coalesce(k.internal, k.called) IS NOT NULL
ORDER BY 7 DESC, 6 DESC, 1`

// Scan lists the tables of a database with auto-increment keys, the fullest
// first.
func Scan(ctx context.Context, conn *pgx.Conn) ([]Found, error) {
	if err := prepare(ctx, conn); err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, scanQuery)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f Found, err error) {
		return f, row.Scan(&f.Table, &f.Column, &f.Type, &f.Kind, &f.Rows, &f.Bytes, &f.Used, &f.References, &f.name, &f.Sequence)
	})
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	columns := map[string]int{}
	for _, f := range found {
		columns[f.Table]++
	}
	for i := range found {
		f := &found[i]
		f.Command = "pgidproxy migrate plan --table " + shellQuote(f.Table)
		if columns[f.Table] > 1 {
			f.Command += " --column " + shellQuote(f.Column)
		}
		same, err := lookalikes(ctx, conn, likely(f.name, f.Column))
		if err != nil {
			return nil, fmt.Errorf("read the catalog: %w", err)
		}
		f.Unlinked = []string{}
		for _, l := range same {
			if l.narrow() && !strings.HasSuffix(l.typ, "]") && !l.bound {
				f.Unlinked = append(f.Unlinked, l.name)
			}
		}
	}
	return found, nil
}

// Size is a table's size in words.
func (f *Found) Size() string { return size(f.Bytes) }

// shellQuote quotes an argument where a shell would take it apart.
func shellQuote(s string) string {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '.' {
			return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return s
}
