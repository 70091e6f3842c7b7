package migrate

import (
	"fmt"
	"slices"
)

// back is the way from after the swap to before it.
func (b *builder) back(tables []*table, before, after side) []Step {
	l := []Step{waitStep("before the way back")}
	if b.options.Target != UUIDv7 {
		l = append(l, b.narrow())
	}
	for _, t := range tables {
		l = append(l, b.notNull(t, after)...)
		l = append(l, b.copyIndexes(t, after, true)...)
		l = append(l, b.copyChecks(t, after)...)
	}
	l = append(l, b.copyForeign(after)...)
	l = append(l, analyze(tables)...)
	back := b.swap(after, before)
	if b.options.Target != UUIDv7 {
		for _, m := range b.family.members {
			if m.replace && m.root && b.indexed() {
				check := b.tooLarge(m)
				check.Before = true
				back.Checks = append(back.Checks, check)
			}
		}
	}
	return append(l, back)
}

// narrow has new rows get small ids again, if none has a large one yet.
func (b *builder) narrow() Step {
	t, k := b.key.t, b.key.c
	def := k.def
	if def == "" {
		def = fmt.Sprintf("nextval(%s::regclass)", literal(k.sequence.ident()))
	}
	s := Step{Name: "have new rows of " + t.ident() + " get small ids again", Kind: kindChange, Mode: accessExclusive, Tables: t.tree(),
		SQL: []string{fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s", t.ident(), ident(k.name), def)}}
	if b.key.replace && b.indexed() {
		check := b.tooLarge(b.key)
		check.Before = true
		s.Checks = append(s.Checks, check)
	}
	return s
}

// ready says what must be so before finish: nobody writes by the place of columns
// that finish changes. What it has counted it forgets, so that it can be tried
// again when the writers have been changed.
func (b *builder) ready(tables []*table) (l []Check) {
	for _, t := range tables {
		if t.top != nil {
			continue
		}
		seq := b.counter(t)
		l = append(l, Check{
			SQL: fmt.Sprintf("WITH was AS MATERIALIZED (SELECT is_called, last_value FROM %s), forget AS MATERIALIZED (SELECT setval(%s, 1, false) FROM was) SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM was, forget", seq, literal(seq)),
			Wrong: "%d rows were inserted into " + t.ident() + " without a list of columns since the swap. Such an INSERT is understood until finish, and means other columns afterwards: " +
				"have it name its columns, then run finish again, which counts from now on",
		})
	}
	return l
}

// finish drops what the way back needs.
func (b *builder) finish(tables []*table) []Step {
	var l []Step
	for _, t := range slices.Backward(tables) {
		if t.top != nil {
			continue
		}
		s := Step{Name: "drop the old columns of " + t.ident(), Kind: kindChange, Mode: accessExclusive, Tables: t.tree(),
			Note: "their indexes go with them; the space is free after VACUUM and updates"}
		s.SQL = append(s.SQL, fmt.Sprintf("DROP TRIGGER %s ON %s", triggerName, t.ident()), "DROP FUNCTION "+b.function(t)+"()", "DROP SEQUENCE "+b.counter(t))
		for _, m := range b.replacing(t) {
			if m.root && b.options.Target == UUIDv7 && m.c.sequence.owned && m.c.identity == "" && !b.options.DropSequence {
				s.SQL = append(s.SQL, fmt.Sprintf("ALTER SEQUENCE %s OWNED BY NONE", m.c.sequence.ident()))
			}
			s.SQL = append(s.SQL, fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s", t.ident(), ident(b.oldName(m))))
			s.Checks = append(s.Checks, Check{SQL: fmt.Sprintf("SELECT count(*) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s", literal(t.ident()), literal(b.oldName(m))),
				Wrong: "column " + b.oldName(m) + " of " + t.ident() + " is still there"})
		}
		l = append(l, s)
	}
	return append(l, b.finishSequence()...)
}
