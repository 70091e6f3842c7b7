package migrate

import (
	"context"
	"fmt"
	"slices"
)

// judgePart finds what forbids that the key of a partitioned table is exchanged, in
// the table and in each of its partitions.
func (b *builder) judgePart(ctx context.Context, m *member) error {
	t, k := m.t, m.c
	var distributes bool
	err := b.conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = $1 AND objsubid = $2
		AND refclassid = 'pg_class'::regclass AND refobjid = $1 AND refobjsubid = 0 AND deptype = 'i')`, t.oid, k.num).Scan(&distributes)
	if err != nil {
		return err
	}
	if distributes {
		b.plan.block("%s is partitioned by %s: rows would have to move to other partitions. Make a new table that is partitioned by the wide column, move the rows over partition by partition, and exchange the tables' names; or keep this table for its old ids and write to a new one", t.ident(), ident(k.name))
	}
	switch {
	case m.root && len(b.family.foreign) > 0:
		b.plan.block("%s is partitioned, and foreign keys refer to its key: these cannot be moved to another index of a partitioned table under load. Drop them first, and make them again afterwards", t.ident())
	case t.kind == "f":
		b.plan.block("partition %s is a foreign table: detach it first", t.ident())
	case m.part && k.sequence != nil && k.sequence.owned && k.sequence.oid != b.key.c.sequence.oid:
		b.plan.block("sequence %s belongs to the column of partition %s, and would go with it: ALTER SEQUENCE … OWNED BY NONE first", k.sequence.ident(), t.ident())
	}
	return nil
}

// inherited tells whether an index goes and comes with that of the partitioned
// table.
func (i *index) inherited() bool { return i.parent != 0 }

// dropPartitioned makes room for the indexes of partitioned tables that are made
// again: on the way there the old ones, which are not constraints, stay aside; on
// the way back those that are in use go.
func (b *builder) dropPartitioned(s *script, t *table, from side) {
	for _, i := range t.indexes {
		switch {
		case i.constraint != "" || !b.replaced(t, i.columns):
		case from.old:
			s.add("ALTER INDEX %s RENAME TO %s", ident(t.schema, i.name), ident(suffixed(i.name, from.suffix, i.oid)))
		case !i.inherited(): // those of the parts go with it
			s.add("DROP INDEX %s", ident(t.schema, i.name))
		}
	}
}

// takePartitioned makes the indexes of partitioned tables for the columns in use,
// and attaches those of the partitions, which are there: nothing is read.
func (b *builder) takePartitioned(s *script, t *table, to side) {
	for _, i := range t.indexes {
		if !b.replaced(t, i.columns) {
			continue
		}
		switch {
		case i.constraint != "":
			s.add("ALTER TABLE ONLY %s ADD CONSTRAINT %s %s", t.ident(), ident(i.conName), i.whole)
			if i.comment != "" {
				s.add("COMMENT ON CONSTRAINT %s ON %s IS %s", ident(i.conName), t.ident(), literal(i.comment))
			}
		case to.old:
			s.add("ALTER INDEX %s RENAME TO %s", ident(t.schema, suffixed(i.name, to.suffix, i.oid)), ident(i.name))
		default:
			s.add("%s", i.whole)
		}
		if i.indexComment != "" {
			s.add("COMMENT ON INDEX %s IS %s", ident(t.schema, i.name), literal(i.indexComment))
		}
		for num, target := range i.stats {
			s.add("ALTER INDEX %s ALTER COLUMN %d SET STATISTICS %d", ident(t.schema, i.name), num, target)
		}
	}
}

// attach has the indexes of partitions be parts of those of what they are
// partitions of.
func (b *builder) attach(s *script, t *table, to side) {
	above := append([]*table{t}, t.parts...)
	for _, p := range t.parts {
		for _, i := range p.indexes {
			if !i.inherited() || !b.replaced(p, i.columns) || to.old && i.constraint == "" {
				continue
			}
			for _, a := range above {
				if n := slices.IndexFunc(a.indexes, func(x *index) bool { return x.oid == i.parent }); n >= 0 {
					s.add("ALTER INDEX %s ATTACH PARTITION %s", ident(a.schema, a.indexes[n].name), ident(p.schema, i.name))
				}
			}
		}
	}
}

// partDefaults gives the partitions the defaults that they had.
func (b *builder) partDefaults(s *script) {
	for _, m := range b.family.members {
		switch {
		case !m.part || !m.replace || m.c.identity != "":
		case m.c.def != "":
			s.add("ALTER TABLE ONLY %s ALTER COLUMN %s SET DEFAULT %s", m.t.ident(), ident(m.c.name), m.c.def)
		default:
			s.add("ALTER TABLE ONLY %s ALTER COLUMN %s DROP DEFAULT", m.t.ident(), ident(m.c.name))
		}
	}
}

// perPart tells whether NOT NULL has to be changed in each partition by itself: from
// PostgreSQL 18 on it is a constraint, whose name may be another one there.
func (b *builder) perPart(t *table) bool { return t.kind == "p" && b.version >= 180000 }

// keepsNotNull tells whether the old column stays NOT NULL after the swap: an old
// key that still gets its values from its sequence.
func (b *builder) keepsNotNull(m *member) bool {
	return b.options.Target == UUIDv7 && m.root && !b.perPart(m.t)
}

// dropPartsNotNull drops what is a partition's own of a constraint that the
// partitioned table has lost.
func (b *builder) dropPartsNotNull(s *script, m *member) {
	for _, part := range b.family.members {
		if part.part && b.perPart(m.t) {
			s.add("ALTER TABLE ONLY %s ALTER COLUMN %s DROP NOT NULL", part.t.ident(), ident(part.c.name))
		}
	}
}

// addPartsNotNull makes the column in use NOT NULL, by the names that there were,
// and by the check that proves it.
func (b *builder) addPartsNotNull(s *script, m *member, to side) {
	if !b.perPart(m.t) || !m.c.notNull {
		return
	}
	for _, part := range slices.Backward(b.family.members) {
		if part.part && part.c.notNull && part.c.nnName != m.c.nnName {
			s.add("ALTER TABLE %s ADD CONSTRAINT %s NOT NULL %s", part.t.ident(), ident(part.c.nnName), ident(m.c.name))
		}
	}
	s.add("ALTER TABLE %s ADD CONSTRAINT %s NOT NULL %s", m.t.ident(), ident(m.c.nnName), ident(m.c.name))
	s.add("ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s", m.t.ident(), ident(b.checkName(m, to)))
}

// always has a trigger fire for replicated rows too, in each table by itself: not
// every version goes on to partitions.
func always(t *table) (l []string) {
	for _, name := range t.tree() {
		l = append(l, fmt.Sprintf("ALTER TABLE ONLY %s ENABLE ALWAYS TRIGGER %s", name, triggerName))
	}
	return l
}
