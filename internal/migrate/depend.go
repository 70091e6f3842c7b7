package migrate

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// An object is one that must go before the swap and come again after it.
type object struct {
	drop   string
	create []string
}

// dependsQuery gives all that depends on a column ($1, $2) but belongs to no
// table of ours: class, number, description, and for a rule the view.
const dependsQuery = `SELECT DISTINCT d.classid::regclass::text, d.objid, pg_describe_object(d.classid, d.objid, d.objsubid), coalesce(w.ev_class, 0), coalesce(v.relkind::text, '')
	FROM pg_depend d LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid LEFT JOIN pg_class v ON v.oid = w.ev_class
	WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND d.refobjsubid = $2 ORDER BY 1, 2`

// judgeDependents sorts what depends on the columns into what is known and what
// is not.
func (b *builder) judgeDependents(ctx context.Context) error {
	for _, t := range b.family.tables() {
		rules, err := list[string](ctx, b.conn, "SELECT rulename::text FROM pg_rewrite WHERE ev_class = $1 AND rulename <> '_RETURN'", t.oid)
		if err != nil {
			return err
		}
		for _, r := range rules {
			b.plan.block("rule %s of %s changes what statements do: drop it first", ident(r), t.ident())
		}
	}
	for _, m := range b.family.members {
		if !m.replace {
			continue
		}
		rows, err := b.conn.Query(ctx, dependsQuery, m.t.oid, m.c.num)
		if err != nil {
			return err
		}
		type dependent struct {
			class string
			oid   uint32
			what  string
			view  uint32
			kind  string
		}
		found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d dependent, err error) {
			return d, row.Scan(&d.class, &d.oid, &d.what, &d.view, &d.kind)
		})
		if err != nil {
			return err
		}
		for _, d := range found {
			known, err := b.known(ctx, m, d.class, d.oid)
			if err == nil && !known && d.view != 0 && d.kind != "r" && d.kind != "p" {
				known, err = true, b.addView(ctx, d.view, d.kind)
			}
			if err != nil {
				return err
			}
			if !known {
				b.plan.block("%s depends on column %s.%s: drop it first, and make it again afterwards", d.what, m.t.ident(), ident(m.c.name))
			}
		}
	}
	if len(b.views) > 0 && !b.options.RecreateViews {
		for _, v := range b.views {
			b.plan.block("%s uses a column of the job: it is dropped and made again within the swap, with its owner, grants, options and comments, if you say --recreate-views", v.what())
		}
	}
	return nil
}

// known tells whether the plan takes care of an object, and notes those that are
// made again.
func (b *builder) known(ctx context.Context, m *member, class string, oid uint32) (bool, error) {
	switch class {
	case "pg_attrdef":
		var own bool
		err := b.conn.QueryRow(ctx, "SELECT adrelid = $2 AND adnum = $3 FROM pg_attrdef WHERE oid = $1", oid, m.t.oid, m.c.num).Scan(&own)
		return own, err
	case "pg_class":
		if m.root && m.c.sequence != nil && m.c.sequence.oid == oid {
			return true, nil
		}
		return slices.ContainsFunc(m.t.indexes, func(i *index) bool { return i.oid == oid }), nil
	case "pg_constraint":
		if slices.ContainsFunc(slices.Concat(b.family.foreign, b.family.upward), func(f *foreign) bool { return f.oid == oid }) {
			return true, nil
		}
		var own bool
		err := b.conn.QueryRow(ctx, "SELECT conrelid = $2 AND contype IN ('p', 'u', 'c', 'n') FROM pg_constraint WHERE oid = $1", oid, m.t.oid).Scan(&own)
		return own, err
	case "pg_trigger":
		return b.knownTrigger(ctx, m.t, oid)
	case "pg_statistic_ext":
		o := object{}
		var target int
		var comment, name, owner, def string
		err := b.conn.QueryRow(ctx, `SELECT format('%I.%I', n.nspname, s.stxname), pg_get_statisticsobjdef(s.oid), s.stxowner::regrole::text, coalesce(s.stxstattarget, -1)::int, coalesce(obj_description(s.oid, 'pg_statistic_ext'), '')
			FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = s.stxnamespace WHERE s.oid = $1`, oid).Scan(&name, &def, &owner, &target, &comment)
		if err != nil {
			return false, err
		}
		o.drop, o.create = "DROP STATISTICS "+name, []string{def, "ALTER STATISTICS " + name + " OWNER TO " + owner}
		if target >= 0 {
			o.create = append(o.create, fmt.Sprintf("ALTER STATISTICS %s SET STATISTICS %d", name, target))
		}
		if comment != "" {
			o.create = append(o.create, fmt.Sprintf("COMMENT ON STATISTICS %s IS %s", name, literal(comment)))
		}
		b.addLost(o)
		return true, nil
	}
	return false, nil
}

func (b *builder) addLost(o object) {
	if !slices.ContainsFunc(b.lost, func(have object) bool { return have.drop == o.drop }) {
		b.lost = append(b.lost, o)
	}
}

// knownTrigger notes a trigger that names the column.
func (b *builder) knownTrigger(ctx context.Context, t *table, oid uint32) (bool, error) {
	var name, def, enabled, comment string
	var internal bool // or a partition's copy
	err := b.conn.QueryRow(ctx, `SELECT tgname, tgisinternal OR tgparentid <> 0, pg_get_triggerdef(oid), tgenabled::text, coalesce(obj_description(oid, 'pg_trigger'), '') FROM pg_trigger WHERE oid = $1`, oid).
		Scan(&name, &internal, &def, &enabled, &comment)
	if err != nil || internal {
		return internal, err
	}
	o := object{drop: fmt.Sprintf("DROP TRIGGER %s ON %s", ident(name), t.ident()), create: []string{def}}
	if how := map[string]string{"D": "DISABLE", "A": "ENABLE ALWAYS", "R": "ENABLE REPLICA"}[enabled]; how != "" {
		o.create = append(o.create, fmt.Sprintf("ALTER TABLE %s %s TRIGGER %s", t.ident(), how, ident(name)))
	}
	if comment != "" {
		o.create = append(o.create, fmt.Sprintf("COMMENT ON TRIGGER %s ON %s IS %s", ident(name), t.ident(), literal(comment)))
	}
	b.plan.warn("trigger %s of %s names the column: it is made again within the swap", ident(name), t.ident())
	b.addLost(o)
	return true, nil
}
