package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A foreign is a foreign key.
type foreign struct {
	oid                   uint32
	name                  string
	child, parent         uint32
	childCols, parentCols []int16
	update, remove, match string
	setCols               []int16 // of ON DELETE SET …, from PostgreSQL 15 on
	deferrable, deferred  bool
	valid, enforced       bool
	comment               string
}

var actions = map[string]string{"a": "", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}

func (c *catalog) loadForeign(ctx context.Context) error {
	enforced, set := "true", "'{}'::smallint[]"
	if c.version >= 180000 {
		enforced = "k.conenforced"
	}
	if c.version >= 150000 {
		set = "coalesce(k.confdelsetcols, '{}')"
	}
	rows, err := c.conn.Query(ctx, `SELECT k.oid, k.conname, k.conrelid, k.confrelid, k.conkey, k.confkey, k.confupdtype::text, k.confdeltype::text, k.confmatchtype::text,
			`+set+`, k.condeferrable, k.condeferred, k.convalidated, `+enforced+`, coalesce(obj_description(k.oid, 'pg_constraint'), '')
		FROM pg_constraint k WHERE k.contype = 'f' AND k.conparentid = 0 ORDER BY k.oid`)
	if err != nil {
		return err
	}
	c.foreign, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*foreign, error) {
		f := &foreign{}
		return f, row.Scan(&f.oid, &f.name, &f.child, &f.parent, &f.childCols, &f.parentCols, &f.update, &f.remove, &f.match,
			&f.setCols, &f.deferrable, &f.deferred, &f.valid, &f.enforced, &f.comment)
	})
	return err
}

// definition is what stands behind ADD CONSTRAINT name; names gives the columns.
func (f *foreign) definition(c *catalog, name func(t *table, num int16) string) string {
	child, parent := c.tables[f.child], c.tables[f.parent]
	columns := func(t *table, nums []int16) string {
		var l []string
		for _, n := range nums {
			l = append(l, ident(name(t, n)))
		}
		return "(" + strings.Join(l, ", ") + ")"
	}
	s := "FOREIGN KEY " + columns(child, f.childCols) + " REFERENCES " + parent.ident() + " " + columns(parent, f.parentCols)
	if f.match == "f" {
		s += " MATCH FULL"
	}
	if a := actions[f.update]; a != "" {
		s += " ON UPDATE " + a
	}
	if a := actions[f.remove]; a != "" {
		s += " ON DELETE " + a
		if len(f.setCols) > 0 {
			s += " " + columns(child, f.setCols)
		}
	}
	if f.deferrable {
		s += " DEFERRABLE"
	}
	if f.deferred {
		s += " INITIALLY DEFERRED"
	}
	return s
}

// A member is a column of the job: the key, or one whose values come from it.
type member struct {
	t       *table
	c       *column
	root    bool
	part    bool // the key's column in a partition of its table
	replace bool // by a new column
}

// key tells whether the column is the key, and no reference to it.
func (m *member) key() bool { return m.root || m.part }

// holds tells whether an index is the key's own, which only its sequence feeds.
func (m *member) holds(t *table, i *index) bool {
	return t == m.t && len(i.keys) == 1 && i.keys[0] == m.c.num
}

// A family is the key and all that refers to it.
type family struct {
	members []*member
	foreign []*foreign // that join two of them
	upward  []*foreign // from one of them to another key
}

func (f *family) member(t uint32, num int16) *member {
	for _, m := range f.members {
		if m.t.oid == t && m.c.num == num {
			return m
		}
	}
	return nil
}

// tables are those of the members, the key's first, others in the order of
// their numbers.
func (f *family) tables() []*table {
	var l []*table
	for _, m := range f.members {
		if !slices.Contains(l, m.t) {
			l = append(l, m.t)
		}
	}
	slices.SortFunc(l[1:], func(a, b *table) int { return int(int64(a.oid) - int64(b.oid)) })
	return l
}

func (f *family) of(t *table) []*member {
	var l []*member
	for _, m := range f.members {
		if m.t == t {
			l = append(l, m)
		}
	}
	return l
}

// gather follows the foreign keys from the key downwards.
func (c *catalog) gather(ctx context.Context, t *table, key *column) (*family, error) {
	f := &family{members: []*member{{t: t, c: key, root: true}}}
	for changed := true; changed; {
		changed = false
		for _, k := range c.foreign {
			for i, num := range k.parentCols {
				if f.member(k.parent, num) == nil || f.member(k.child, k.childCols[i]) != nil {
					continue
				}
				child, err := c.load(ctx, k.child)
				if err != nil {
					return nil, err
				}
				f.members = append(f.members, &member{t: child, c: child.column(k.childCols[i])})
				changed = true
			}
		}
	}
	for _, k := range c.foreign {
		inner, outer := false, false
		for i, num := range k.childCols {
			if f.member(k.child, num) != nil {
				if f.member(k.parent, k.parentCols[i]) != nil {
					inner = true
				} else {
					outer = true
				}
			}
		}
		switch {
		case inner:
			f.foreign = append(f.foreign, k)
		case outer:
			f.upward = append(f.upward, k)
		}
		if inner || outer {
			if _, err := c.load(ctx, k.parent); err != nil {
				return nil, err
			}
		}
	}
	if err := c.gatherParts(ctx, f, t, key); err != nil {
		return nil, err
	}
	for _, m := range f.members {
		if err := c.details(ctx, m.t, m.c); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// gatherParts adds the key's column in each of the table's partitions.
func (c *catalog) gatherParts(ctx context.Context, f *family, t *table, key *column) error {
	if t.kind != "p" {
		return nil
	}
	parts, err := list[uint32](ctx, c.conn, "SELECT relid::oid FROM pg_partition_tree($1::oid::regclass) WHERE level > 0 ORDER BY level, relid", t.oid)
	if err != nil {
		return fmt.Errorf("read the partitions of %s: %w", t.ident(), err)
	}
	for _, oid := range parts {
		p, err := c.load(ctx, oid)
		if err != nil {
			return err
		}
		p.top = t
		t.parts = append(t.parts, p)
		for _, k := range p.columns {
			if k.name == key.name {
				f.members = append(f.members, &member{t: p, c: k, part: true})
			}
		}
	}
	return nil
}
