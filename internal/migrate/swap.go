package migrate

import (
	"fmt"
	"slices"
	"strings"
)

// script collects statements.
type script []string

func (s *script) add(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// lockOrder are the tables of the swap: all that have a column or a foreign key
// that changes, in the order of their numbers.
func (b *builder) lockOrder() []string {
	set := map[uint32]*table{}
	for _, m := range b.family.members {
		if m.replace || m.root {
			set[m.t.oid] = m.t
		}
	}
	for _, f := range b.copied() {
		set[f.child], set[f.parent] = b.tables[f.child], b.tables[f.parent]
	}
	var l []*table
	for _, t := range set {
		l = append(l, t)
	}
	slices.SortFunc(l, func(x, y *table) int { return int(int64(x.oid) - int64(y.oid)) })
	var names []string
	for _, t := range l {
		names = append(names, t.ident())
	}
	return names
}

// swap exchanges the sides: the columns of to get the names, and with them all
// that hangs on them; those of from stay beside them.
func (b *builder) swap(to, from side) Step {
	var s script
	views := b.ordered()
	var seized []View
	for _, v := range slices.Backward(views) {
		kind := "VIEW"
		if v.kind == "m" {
			kind = "MATERIALIZED VIEW"
		}
		seized = append(seized, View{kind, v.name, v.owner})
		s.add("%s", v.drop())
	}
	for _, o := range b.lost {
		s.add("%s", o.drop)
	}
	for _, f := range b.copied() {
		s.add("ALTER TABLE %s DROP CONSTRAINT %s", b.tables[f.child].ident(), ident(f.name))
	}
	for _, t := range b.family.tables() {
		b.dropSide(&s, t)
		if t.kind == "p" {
			b.dropPartitioned(&s, t, from)
		}
	}
	if k := b.key.c; !b.key.replace {
		switch {
		case k.identity == "":
		case to.old:
			s.add("ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT", b.key.t.ident(), ident(k.name))
			s = append(s, addIdentity(b.key.t, k)...)
		default:
			s = append(s, dropIdentity(b.key.t, k)...)
		}
		b.keyDefault(&s, to, from)
	}
	for _, t := range b.family.tables() {
		for _, m := range b.replacing(t) {
			b.takeNotNull(&s, m, to)
		}
		for _, i := range t.indexes {
			if i.replica && i.constraint == "" && b.replaced(t, i.columns) {
				s.add("ALTER TABLE %s REPLICA IDENTITY USING INDEX %s", t.ident(), ident(suffixed(i.name, to.suffix, i.oid)))
			}
		}
		for _, m := range b.replacing(t) {
			b.swapColumn(&s, m, to, from)
		}
		b.takeSide(&s, t, to, from)
	}
	b.attach(&s, b.key.t, to)
	if to.old && b.options.Target != UUIDv7 {
		b.partDefaults(&s)
	}
	for _, f := range b.copied() {
		child := b.tables[f.child].ident()
		s.add("ALTER TABLE %s RENAME CONSTRAINT %s TO %s", child, ident(suffixed(f.name, to.suffix, f.oid)), ident(f.name))
		if f.comment != "" {
			s.add("COMMENT ON CONSTRAINT %s ON %s IS %s", ident(f.name), child, literal(f.comment))
		}
	}
	for _, t := range b.family.tables() {
		if len(b.replacing(t)) == 0 || t.top != nil {
			continue
		}
		if from.old {
			s.add("CREATE SEQUENCE %s", b.counter(t))
		} else {
			s.add("DROP SEQUENCE %s", b.counter(t))
		}
		s.add("%s", b.keeper(t, from))
	}
	for _, o := range b.lost {
		s = append(s, o.create...)
	}
	for _, v := range views {
		s = append(s, v.create...)
	}
	step := Step{Name: "swap", Kind: kindChange, Mode: accessExclusive, Tables: b.lockOrder(), Views: seized, SQL: s, Guard: true,
		Note: "changes the catalog only: nothing is rewritten or read, but for views that are made again"}
	for _, t := range b.family.tables() {
		if len(b.replacing(t)) > 0 && t.top == nil {
			step.Checks = append(step.Checks, fires(t))
		}
	}
	if !from.old {
		step.Name = "swap back"
	}
	step.Checks = append(step.Checks, b.swapped(to)...)
	return step
}

// swapped checks the result of a swap in the catalog.
func (b *builder) swapped(to side) []Check {
	var l []Check
	for _, m := range b.family.members {
		if m.replace {
			typ := b.newType()
			if to.old {
				typ = m.c.typ
			}
			l = append(l, Check{SQL: fmt.Sprintf("SELECT 1 - count(*) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s AND format_type(atttypid, atttypmod) = %s AND attnotnull = %t",
				literal(m.t.ident()), literal(m.c.name), literal(typ), m.c.notNull), Wrong: "column " + m.t.ident() + "." + ident(m.c.name) + " has not become " + typ})
		}
	}
	for _, f := range b.copied() {
		l = append(l, Check{SQL: fmt.Sprintf("SELECT 1 - count(*) FROM pg_constraint WHERE conrelid = %s::regclass AND conname = %s AND contype = 'f' AND convalidated = %t",
			literal(b.tables[f.child].ident()), literal(f.name), f.valid), Wrong: "foreign key " + ident(f.name) + " is not there or not valid"})
	}
	if to.old {
		return append(l, defaultIs(b.key.t.ident(), b.key.c.name, b.key.c.def, b.key.c.identity))
	}
	return append(l, defaultIs(b.key.t.ident(), b.key.c.name, b.make, ""))
}

// dropSide drops the constraints of the columns in use, whose indexes go with
// them.
func (b *builder) dropSide(s *script, t *table) {
	for _, i := range t.indexes {
		if i.constraint != "" && b.replaced(t, i.columns) && !i.inherited() {
			s.add("ALTER TABLE %s DROP CONSTRAINT %s", t.ident(), ident(i.conName))
		}
	}
	for _, k := range t.checks {
		if b.replaced(t, k.columns) && k.local {
			s.add("ALTER TABLE %s DROP CONSTRAINT %s", t.ident(), ident(k.name))
		}
	}
}

// keyDefault changes what the key's values come from.
func (b *builder) keyDefault(s *script, to, from side) {
	t, k := b.key.t, b.key.c
	column := ident(k.name)
	switch {
	case b.key.replace && b.options.Target == UUIDv7:
		if !to.old { // the old column keeps its sequence
			s.add("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s", t.ident(), column, b.make)
		} else {
			s.add("ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT", t.ident(), ident(from.column(b.key)))
		}
	case !to.old:
		s.add("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s", t.ident(), column, b.make)
	case k.identity == "":
		s.add("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s", t.ident(), column, k.def)
	}
}

// aside is the name of a NOT NULL constraint while another one has its name.
func (b *builder) aside(m *member) string {
	return suffixed(m.c.nnName, oldSuffix, uint32(m.c.num))
}

// takeNotNull makes a column NOT NULL if its counterpart is, by the check that
// proves it.
func (b *builder) takeNotNull(s *script, m *member, to side) {
	t, come := m.t.ident(), ident(to.column(m))
	uuid := b.options.Target == UUIDv7
	switch {
	case m.part, b.perPart(m.t): // the partitioned table's goes on to it, or it is done by name
		return
	case !m.c.notNull || to.old && b.keepsNotNull(m): // has never been anything else
	case m.c.nnName != "":
		s.add("ALTER TABLE %s RENAME CONSTRAINT %s TO %s", t, ident(m.c.nnName), ident(b.aside(m)))
		s.add("ALTER TABLE %s ADD CONSTRAINT %s NOT NULL %s", t, ident(m.c.nnName), come)
	default:
		s.add("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL", t, come)
	}
	if m.c.notNull || uuid || !to.old {
		s.add("ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s", t, ident(b.checkName(m, to)))
	}
}

// swapColumn exchanges the names of two columns, and what is a column's own.
func (b *builder) swapColumn(s *script, m *member, to, from side) {
	if !m.part { // where it has been done by the partitioned table's
		b.rename(s, m, to, from)
	}
	if to.old {
		return // it has kept the rest
	}
	t, name := m.t.only(), ident(m.c.name)
	if m.c.stats >= 0 {
		s.add("ALTER TABLE %s ALTER COLUMN %s SET STATISTICS %d", t, name, m.c.stats)
	}
	if len(m.c.options) > 0 {
		s.add("ALTER TABLE %s ALTER COLUMN %s SET (%s)", t, name, strings.Join(m.c.options, ", "))
	}
	if m.c.comment != "" {
		s.add("COMMENT ON COLUMN %s.%s IS %s", m.t.ident(), name, literal(m.c.comment))
	}
	*s = append(*s, m.c.grants...)
}

// rename exchanges the names, and what makes the values.
func (b *builder) rename(s *script, m *member, to, from side) {
	t, name := m.t.ident(), ident(m.c.name)
	gone, come := ident(from.column(m)), ident(to.column(m))
	uuid := b.options.Target == UUIDv7
	if !uuid && m.root && m.c.identity != "" && !to.old {
		*s = append(*s, dropIdentity(m.t, m.c)...)
	}
	if !uuid && (m.c.def != "" || m.root) {
		s.add("ALTER TABLE %s ALTER COLUMN %s DROP DEFAULT", t, name)
	}
	if m.c.notNull && (to.old || !b.keepsNotNull(m)) {
		s.add("ALTER TABLE %s ALTER COLUMN %s DROP NOT NULL", t, name)
		b.dropPartsNotNull(s, m)
	}
	if m.c.notNull && to.old && b.keepsNotNull(m) && m.c.nnName != "" {
		s.add("ALTER TABLE %s RENAME CONSTRAINT %s TO %s", t, ident(b.aside(m)), ident(m.c.nnName))
	}
	s.add("ALTER TABLE %s RENAME COLUMN %s TO %s", t, name, gone)
	s.add("ALTER TABLE %s RENAME COLUMN %s TO %s", t, come, name)
	b.addPartsNotNull(s, m, to)
	switch {
	case m.root:
		b.moveSequence(s, to)
		b.keyDefault(s, to, from)
	case m.c.def != "":
		s.add("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s", t, name, m.c.def)
	}
}

// moveSequence gives the sequence to the column that has the name now.
func (b *builder) moveSequence(s *script, to side) {
	k := b.key.c
	if b.options.Target == UUIDv7 {
		return
	}
	if to.old && k.identity != "" {
		*s = append(*s, addIdentity(b.key.t, k)...)
		return
	}
	if k.sequence.owned {
		s.add("ALTER SEQUENCE %s OWNED BY %s.%s", k.sequence.ident(), b.key.t.ident(), ident(k.name))
	}
}

// takeSide gives the constraints and indexes of the columns in use their names,
// and what a table has of them.
func (b *builder) takeSide(s *script, t *table, to, from side) {
	if t.kind == "p" {
		b.takePartitioned(s, t, to)
	}
	for _, i := range t.indexes {
		if !b.replaced(t, i.columns) || t.kind == "p" {
			continue
		}
		ready := suffixed(i.name, to.suffix, i.oid)
		if i.constraint != "" {
			kind := map[string]string{"p": "PRIMARY KEY", "u": "UNIQUE"}[i.constraint]
			s.add("ALTER TABLE %s ADD CONSTRAINT %s %s USING INDEX %s", t.ident(), ident(i.conName), kind, ident(ready))
			if i.comment != "" {
				s.add("COMMENT ON CONSTRAINT %s ON %s IS %s", ident(i.conName), t.ident(), literal(i.comment))
			}
		} else {
			if from.old || !i.inherited() {
				s.add("ALTER INDEX %s RENAME TO %s", ident(t.schema, i.name), ident(suffixed(i.name, from.suffix, i.oid)))
			}
			s.add("ALTER INDEX %s RENAME TO %s", ident(t.schema, ready), ident(i.name))
		}
		full := ident(t.schema, i.name)
		if i.indexComment != "" {
			s.add("COMMENT ON INDEX %s IS %s", full, literal(i.indexComment))
		}
		for num, target := range i.stats {
			s.add("ALTER INDEX %s ALTER COLUMN %d SET STATISTICS %d", full, num, target)
		}
		if i.replica && i.constraint != "" {
			s.add("ALTER TABLE %s REPLICA IDENTITY USING INDEX %s", t.ident(), ident(i.name))
		}
		if i.clustered {
			s.add("ALTER TABLE %s CLUSTER ON %s", t.ident(), ident(i.name))
		}
	}
	for _, k := range t.checks {
		if b.replaced(t, k.columns) && k.local {
			s.add("ALTER TABLE %s RENAME CONSTRAINT %s TO %s", t.ident(), ident(suffixed(k.name, to.suffix, k.oid)), ident(k.name))
			if k.comment != "" {
				s.add("COMMENT ON CONSTRAINT %s ON %s IS %s", ident(k.name), t.ident(), literal(k.comment))
			}
		}
	}
}
