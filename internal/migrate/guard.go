package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Held is a column that the swap exchanges, by the name that it has all the time.
type Held struct {
	OID  uint32 `json:"oid"` // of the table
	Name string `json:"name"`
	Root bool   `json:"root,omitempty"`
}

// usersQuery writes down what depends on columns ($1, $2) and how it is defined, a
// line each, without the checks and indexes $3 and, where $4, without a column's
// default, and the partitions of their tables. The sequence is the plan's own affair.
const usersQuery = `SELECT DISTINCT concat_ws(' ', pg_describe_object(d.classid, d.objid, 0),
	CASE d.classid
		WHEN 'pg_constraint'::regclass THEN pg_get_constraintdef(d.objid) || coalesce(obj_description(d.objid, 'pg_constraint'), '')
		WHEN 'pg_trigger'::regclass THEN pg_get_triggerdef(d.objid) || (SELECT t.tgenabled::text FROM pg_trigger t WHERE t.oid = d.objid)
		WHEN 'pg_statistic_ext'::regclass THEN pg_get_statisticsobjdef(d.objid)
		WHEN 'pg_attrdef'::regclass THEN (SELECT pg_get_expr(e.adbin, e.adrelid) FROM pg_attrdef e WHERE e.oid = d.objid)
		WHEN 'pg_class'::regclass THEN (SELECT concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisclustered, i.indisreplident) FROM pg_index i WHERE i.indexrelid = d.objid)
		WHEN 'pg_rewrite'::regclass THEN (SELECT concat_ws(' ', pg_get_ruledef(w.oid), v.relowner, v.relacl, v.reloptions) FROM pg_rewrite w JOIN pg_class v ON v.oid = w.ev_class WHERE w.oid = d.objid)
	END)
FROM unnest($1::oid[], $2::text[], $4::boolean[]) h(rel, name, root) JOIN pg_attribute a ON a.attrelid = h.rel AND a.attname = h.name JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
	LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
	LEFT JOIN pg_class s ON d.classid = 'pg_class'::regclass AND s.oid = d.objid
	LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
	LEFT JOIN pg_trigger g ON d.classid = 'pg_trigger'::regclass AND g.oid = d.objid
WHERE (k.contype IS NULL OR k.contype <> 'n' AND NOT (k.contype = 'c' AND k.conname = ANY ($3)))
	AND s.relkind IS DISTINCT FROM 'S' AND (s.relname = ANY ($3)) IS NOT TRUE AND g.tgisinternal IS NOT TRUE AND (h.root AND f.adrelid = a.attrelid AND f.adnum = a.attnum) IS NOT TRUE
UNION SELECT format('partition %s', p.relid::regclass) FROM unnest($1::oid[]) h(rel), pg_partition_tree(h.rel::regclass) p WHERE p.level > 0`

// ownQuery writes down what is set for columns, which their successors get.
const ownQuery = `SELECT concat_ws(' ', 'column', attname, 'of', attrelid::regclass, format_type(atttypid, atttypmod), attnotnull, attidentity, attacl, attoptions, attstattarget,
	col_description(attrelid, attnum)) FROM unnest($1::oid[], $2::text[]) h(rel, name) JOIN pg_attribute ON attrelid = h.rel AND attname = h.name`

// users are those of the columns that the swap exchanges, and with own what is set
// for these.
func (p *Plan) users(ctx context.Context, q querier, own bool) ([]string, error) {
	var oids []uint32
	var names []string
	var roots []bool
	for _, h := range p.Held {
		oids, names, roots = append(oids, h.OID), append(names, h.Name), append(roots, h.Root)
	}
	all, err := list[string](ctx, q, usersQuery, oids, names, p.Own, roots)
	if err != nil {
		return nil, err
	}
	if own {
		set, err := list[string](ctx, q, ownQuery, oids, names)
		if err != nil {
			return nil, err
		}
		all = append(all, set...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// A StrangerError says what a plan knows nothing of: the swap would lose it, or
// have it mean another column.
type StrangerError struct {
	What []string
	Back bool
}

func (e *StrangerError) Error() string {
	what := strings.Join(e.What, "; ")
	if e.Back {
		return "has come since the swap and would be lost: " + what + ". Drop it, and run the same again"
	}
	return "has come or changed since the plan was made: " + what + ". Undo that and run the same again, or roll back and apply anew, which plans with it"
}

// strangers looks for what has come to use the columns since the plan was made, or
// on the way back since the swap.
func (r *Runner) strangers(ctx context.Context, q querier) error {
	back := r.job.Stage == Returning
	users, err := r.job.Plan.users(ctx, q, !back)
	if err != nil {
		return fmt.Errorf("look for what uses the columns: %w", err)
	}
	var fresh []string
	for _, u := range users {
		if _, known := slices.BinarySearch(r.job.Known, u); !known {
			fresh = append(fresh, u)
		}
	}
	if len(fresh) > 0 {
		return &StrangerError{fresh, back}
	}
	return nil
}
