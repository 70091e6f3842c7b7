package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A view is dropped and made again within the swap.
type view struct {
	oid    uint32
	name   string
	kind   string // v or m
	owner  string
	create []string
	uses   []uint32 // views that it reads
}

// largestMaterialized bounds the materialized views that are filled while the
// swap holds its locks.
const largestMaterialized = 8 << 20

func (v *view) what() string {
	if v.kind == "m" {
		return "materialized view " + v.name
	}
	return "view " + v.name
}

func (v *view) drop() string {
	if v.kind == "m" {
		return "DROP MATERIALIZED VIEW " + v.name
	}
	return "DROP VIEW " + v.name
}

// addView notes a view and all that read it.
func (b *builder) addView(ctx context.Context, oid uint32, kind string) error {
	if slices.ContainsFunc(b.views, func(v view) bool { return v.oid == oid }) {
		return nil
	}
	v := view{oid: oid, kind: kind}
	if err := b.readView(ctx, &v); err != nil {
		return fmt.Errorf("read the definition of view %d: %w", oid, err)
	}
	b.views = append(b.views, v)
	var mine bool
	if err := b.conn.QueryRow(ctx, "SELECT pg_has_role($1::text::regrole, 'USAGE')", v.owner).Scan(&mine); err != nil {
		return err
	}
	if !mine {
		b.plan.block("%s belongs to %s: connect as that role, as a member of it or as a superuser, or drop it first", v.what(), v.owner)
	}
	rows, err := b.conn.Query(ctx, `SELECT DISTINCT d.classid::regclass::text, d.objid, pg_describe_object(d.classid, d.objid, 0), coalesce(w.ev_class, 0), coalesce(c.relkind::text, '')
		FROM pg_depend d LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid LEFT JOIN pg_class c ON c.oid = w.ev_class
		WHERE d.deptype NOT IN ('i', 'a') AND (d.refclassid = 'pg_class'::regclass AND d.refobjid = $1
			OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (SELECT unnest(ARRAY[t.oid, t.typarray]) FROM pg_type t WHERE t.typrelid = $1))`, oid)
	if err != nil {
		return err
	}
	type user struct {
		class string
		oid   uint32
		what  string
		view  uint32
		kind  string
	}
	users, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (u user, err error) {
		return u, row.Scan(&u.class, &u.oid, &u.what, &u.view, &u.kind)
	})
	if err != nil {
		return err
	}
	for _, u := range users {
		switch {
		case u.view == oid:
		case u.view != 0:
			if err := b.addView(ctx, u.view, u.kind); err != nil {
				return err
			}
			for i := range b.views {
				if b.views[i].oid == u.view {
					b.views[i].uses = append(b.views[i].uses, oid)
				}
			}
		default:
			b.plan.block("%s depends on %s, which must be made again: drop it first", u.what, v.what())
		}
	}
	return nil
}

// ordered gives the views so that each comes after those that it reads.
func (b *builder) ordered() []view {
	var l []view
	done := map[uint32]bool{}
	var add func(v view)
	add = func(v view) {
		if done[v.oid] {
			return
		}
		done[v.oid] = true
		for _, u := range b.views {
			if slices.Contains(v.uses, u.oid) {
				add(u)
			}
		}
		l = append(l, v)
	}
	for _, v := range b.views {
		add(v)
	}
	return l
}

func (b *builder) readView(ctx context.Context, v *view) error {
	var def, comment, space, method string
	var options, acl []string
	var size int64
	var populated bool
	err := b.conn.QueryRow(ctx, `SELECT format('%I.%I', n.nspname, c.relname), pg_get_viewdef(c.oid), c.relowner::regrole::text, coalesce(obj_description(c.oid, 'pg_class'), ''),
			ARRAY(SELECT format('%I = %L', split_part(o, '=', 1), substr(o, position('=' in o) + 1)) FROM unnest(c.reloptions) o), coalesce(c.relacl::text[], '{}'), pg_table_size(c.oid), c.relispopulated,
			coalesce(s.spcname, ''), coalesce(a.amname, '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace LEFT JOIN pg_am a ON a.oid = c.relam WHERE c.oid = $1`, v.oid).
		Scan(&v.name, &def, &v.owner, &comment, &options, &acl, &size, &populated, &space, &method)
	if err != nil {
		return err
	}
	def = strings.TrimSuffix(strings.TrimSpace(def), ";")
	if strings.Contains(def, "::integer") {
		b.plan.warn("%s makes integers of something: where that is an id it fails with the new ones", v.what())
	}
	with := ""
	if len(options) > 0 {
		with = " WITH (" + strings.Join(options, ", ") + ")"
	}
	kind := "VIEW"
	if v.kind == "m" {
		kind = "MATERIALIZED VIEW"
		if method != "" {
			kind, with = "MATERIALIZED VIEW", " USING "+ident(method)+with
		}
		if space != "" {
			with += " TABLESPACE " + ident(space)
		}
		if size > largestMaterialized {
			b.plan.block("%s has %d MB: filling it again would take too long for the swap. Drop it first, and make it again afterwards", v.what(), size>>20)
		}
		if populated {
			def += " WITH DATA"
		} else {
			def += " WITH NO DATA"
		}
	}
	v.create = []string{fmt.Sprintf("CREATE %s %s%s AS %s", kind, v.name, with, def), fmt.Sprintf("ALTER %s %s OWNER TO %s", kind, v.name, v.owner)}
	if comment != "" {
		v.create = append(v.create, fmt.Sprintf("COMMENT ON %s %s IS %s", kind, v.name, literal(comment)))
	}
	for _, read := range []func() ([]string, error){
		func() ([]string, error) { return b.viewGrants(ctx, v, acl) },
		func() ([]string, error) { return b.viewColumns(ctx, v, kind) },
		func() ([]string, error) { return b.viewParts(ctx, v) },
	} {
		more, err := read()
		if err != nil {
			return err
		}
		v.create = append(v.create, more...)
	}
	return nil
}

// viewGrants gives the rights of a view, without those that new ones get by
// default.
func (b *builder) viewGrants(ctx context.Context, v *view, acl []string) ([]string, error) {
	l, err := list[string](ctx, b.conn, `SELECT DISTINCT format('REVOKE ALL ON TABLE %s FROM %s', $1::text, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END)
		FROM pg_default_acl d, aclexplode(d.defaclacl) a WHERE d.defaclobjtype = 'r'`, v.name)
	if err != nil || len(acl) == 0 {
		return l, err
	}
	l = append(l, fmt.Sprintf("REVOKE ALL ON TABLE %s FROM %s", v.name, v.owner))
	grants, err := list[string](ctx, b.conn, grantsQuery, acl, "TABLE "+v.name, "")
	return append(l, grants...), err
}

// viewColumns gives what is set for columns of a view.
func (b *builder) viewColumns(ctx context.Context, v *view, kind string) ([]string, error) {
	l, err := list[string](ctx, b.conn, `SELECT format('COMMENT ON COLUMN %s.%I IS %L', $2::text, a.attname, col_description(a.attrelid, a.attnum))
		FROM pg_attribute a WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped AND col_description(a.attrelid, a.attnum) IS NOT NULL
		UNION ALL SELECT format('ALTER %s %s ALTER COLUMN %I SET DEFAULT %s', $3::text, $2::text, a.attname, pg_get_expr(d.adbin, d.adrelid))
		FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = $1
		UNION ALL SELECT format('ALTER %s %s ALTER COLUMN %I SET STATISTICS %s', $3::text, $2::text, a.attname, a.attstattarget)
		FROM pg_attribute a WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped AND coalesce(a.attstattarget, -1) >= 0`, v.oid, v.name, kind)
	if err != nil {
		return nil, err
	}
	rows, err := b.conn.Query(ctx, "SELECT attname, attacl::text[] FROM pg_attribute WHERE attrelid = $1 AND attacl IS NOT NULL", v.oid)
	if err != nil {
		return nil, err
	}
	acls := map[string][]string{}
	var name string
	var acl []string
	if _, err := pgx.ForEachRow(rows, []any{&name, &acl}, func() error { acls[name] = slices.Clone(acl); return nil }); err != nil {
		return nil, err
	}
	for name, acl := range acls {
		grants, err := list[string](ctx, b.conn, grantsQuery, acl, "TABLE "+v.name, " ("+ident(name)+")")
		if err != nil {
			return nil, err
		}
		l = append(l, grants...)
	}
	return l, nil
}

// viewParts gives a view's indexes, triggers and rules, with their comments.
func (b *builder) viewParts(ctx context.Context, v *view) ([]string, error) {
	return list[string](ctx, b.conn, `SELECT s FROM (
		SELECT 1, c.relname, pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $1
		UNION ALL SELECT 2, c.relname, format('ALTER MATERIALIZED VIEW %s CLUSTER ON %I', $2::text, c.relname) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $1 AND i.indisclustered
		UNION ALL SELECT 2, c.relname, format('COMMENT ON INDEX %s IS %L', c.oid::regclass, obj_description(c.oid, 'pg_class')) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
			WHERE i.indrelid = $1 AND obj_description(c.oid, 'pg_class') IS NOT NULL
		UNION ALL SELECT 3, t.tgname, pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE t.tgrelid = $1 AND NOT t.tgisinternal
		UNION ALL SELECT 4, t.tgname, format('ALTER TABLE %s %s TRIGGER %I', $2::text, CASE t.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE 'ENABLE REPLICA' END, t.tgname)
			FROM pg_trigger t WHERE t.tgrelid = $1 AND NOT t.tgisinternal AND t.tgenabled <> 'O'
		UNION ALL SELECT 5, t.tgname, format('COMMENT ON TRIGGER %I ON %s IS %L', t.tgname, $2::text, obj_description(t.oid, 'pg_trigger')) FROM pg_trigger t
			WHERE t.tgrelid = $1 AND NOT t.tgisinternal AND obj_description(t.oid, 'pg_trigger') IS NOT NULL
		UNION ALL SELECT 6, r.rulename, rtrim(pg_get_ruledef(r.oid), ';') FROM pg_rewrite r WHERE r.ev_class = $1 AND r.rulename <> '_RETURN') x(rank, name, s) ORDER BY rank, name`, v.oid, v.name)
}
