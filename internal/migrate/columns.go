package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Locks.
const (
	accessExclusive   = "ACCESS EXCLUSIVE"
	shareRowExclusive = "SHARE ROW EXCLUSIVE"
)

const newSuffix, oldSuffix = "_pgid_new", "_pgid_old"

// newName and oldName are what a column is called while another one has its name.
func (b *builder) newName(m *member) string { return b.besides(m, newSuffix) }
func (b *builder) oldName(m *member) string { return b.besides(m, oldSuffix) }

func (b *builder) besides(m *member, suffix string) string {
	if m.part {
		m = b.key // whose number may be another one
	}
	return suffixed(m.c.name, suffix, uint32(m.c.num))
}

func (b *builder) newType() string {
	if b.options.Target == UUIDv7 {
		return "uuid"
	}
	return "bigint"
}

// A side is one of the two sets of columns, and all that hangs on them.
type side struct {
	suffix string // of what is not in use
	column func(*member) string
	defs   map[uint32]definitions // of columns that are not in use
	old    bool
}

func (b *builder) replacing(t *table) []*member {
	return slices.DeleteFunc(b.family.of(t), func(m *member) bool { return !m.replace })
}

// buildColumns plans for columns that are replaced by new ones.
func (b *builder) buildColumns(ctx context.Context) error {
	before := side{suffix: newSuffix, column: b.newName, defs: map[uint32]definitions{}}
	after := side{suffix: oldSuffix, column: b.oldName, defs: map[uint32]definitions{}, old: true}
	stay := side{suffix: oldSuffix, defs: map[uint32]definitions{}, old: true} // as they are called before the swap
	var tables []*table
	for _, t := range b.family.tables() {
		if len(b.replacing(t)) == 0 {
			continue
		}
		tables = append(tables, t)
		b.plan.Space += t.bytes // every row is written once more
		var err error
		if before.defs[t.oid], err = b.define(ctx, t, b.newName, true); err == nil {
			after.defs[t.oid], err = b.define(ctx, t, b.oldName, false)
		}
		if err == nil {
			stay.defs[t.oid], err = b.define(ctx, t, func(m *member) string { return m.c.name }, false)
		}
		if err != nil && len(b.plan.Blockers) > 0 {
			return nil // it may be for their reason: there are no steps to show
		}
		if err != nil {
			return err
		}
	}
	p := b.plan
	add := func(steps ...Step) { p.Steps = append(p.Steps, steps...) }
	for _, t := range tables {
		if t.top == nil {
			add(b.addColumns(t))
		}
	}
	fill := func(t *table) {
		if t.kind == "r" {
			add(b.fill(t))
		}
	}
	// The key's table comes first, and again where it refers to itself.
	refers := func(m *member) bool { return m.replace && !m.root }
	fill(tables[0])
	if b.options.Target == UUIDv7 && slices.ContainsFunc(b.family.members, refers) {
		add(Step{Name: "wait for older transactions", Kind: kindSettle, Note: "those that could still write references without knowing all UUIDs; nobody waits for this but the job"})
		if slices.ContainsFunc(b.replacing(tables[0]), refers) {
			fill(tables[0])
		}
	}
	for _, t := range tables[1:] {
		fill(t)
	}
	for _, t := range tables {
		add(b.notNull(t, before)...)
		add(b.copyIndexes(t, before, false)...)
		add(b.copyChecks(t, before)...)
	}
	if b.options.Target == UUIDv7 {
		for _, m := range b.family.members {
			if m.key() {
				add(b.copyIndexes(m.t, stay, true)...) // the old key stays unique after the swap
			}
		}
	}
	add(b.copyForeign(before)...)
	add(analyze(tables)...)
	for _, m := range b.family.members {
		if m.replace {
			p.Held = append(p.Held, Held{m.t.oid, m.c.name, m.key()})
			p.Own = append(p.Own, b.checkName(m, before), b.checkName(m, after))
		}
	}
	if b.options.Target == UUIDv7 {
		for _, t := range append([]*table{b.key.t}, b.key.t.parts...) {
			for _, i := range t.indexes {
				p.Own = append(p.Own, suffixed(i.name, stay.suffix, i.oid))
			}
		}
	}
	var err error
	if p.Known, err = p.users(ctx, b.conn, true); err != nil {
		return err
	}
	add(b.compare(p.Steps)...)
	swap := b.swap(before, after)
	wait := waitStep("before the swap")
	b.checkAbove(&wait, &swap)
	add(wait, swap)
	p.Back = b.back(tables, before, after)
	p.Finish, p.Ready = b.finish(tables), b.ready(tables)
	if b.options.Target != UUIDv7 {
		for _, m := range b.family.members {
			if m.replace && !m.part {
				p.Refuse = append(p.Refuse, b.tooLarge(m))
			}
		}
	}
	return nil
}

// tooLarge counts the values that the old column cannot hold.
func (b *builder) tooLarge(m *member) Check {
	least, most := bounds(m.c.typ)
	return Check{
		SQL:   fmt.Sprintf("SELECT count(*) FROM %s WHERE %s > %d OR %[2]s < %[4]d", m.t.ident(), ident(m.c.name), most, least),
		Wrong: fmt.Sprintf("%%d ids in %s.%s do not fit in %s: there is no way back with them", m.t.ident(), ident(m.c.name), m.c.typ),
	}
}

func bounds(typ string) (least, most int64) {
	if typ == "smallint" {
		return -1 << 15, 1<<15 - 1
	}
	return -1 << 31, 1<<31 - 1
}

func (b *builder) function(t *table) string { return fmt.Sprintf("pgid.migrate_%d", t.oid) }

const triggerName = `"~pgidproxy migrate"` // sorts behind the others, so that it sees what they did

// counter is a sequence that counts the rows that came after the swap by INSERT
// without a list of columns.
func (b *builder) counter(t *table) string { return fmt.Sprintf("pgid.migrate_%d_listless", t.oid) }

// keeper is the function that keeps the columns of a table equal: from those in
// use to those of the side that is not.
//
// After the swap nobody knows the old columns by name, but an INSERT without a list
// of columns still writes there, where they always were: its values go to where
// they are meant.
func (b *builder) keeper(t *table, to side) string {
	var body strings.Builder
	definer, listless := "", false
	for _, m := range b.replacing(t) {
		switch {
		case b.options.Target != UUIDv7:
			b.keepNumber(&body, m, to)
			listless = listless || to.old
		case m.root && to.old: // its old key still has its sequence
		case m.root:
			into := "NEW." + ident(to.column(m))
			fmt.Fprintf(&body, "  IF TG_OP = 'INSERT' THEN %s := %s; ELSIF OLD.%s IS NOT NULL THEN %[1]s := OLD.%[3]s; END IF;\n", into, b.make, ident(to.column(m)))
		default:
			b.keepUUID(&body, m, to)
			listless = listless || to.old
			definer = " SECURITY DEFINER" // who writes here may not be allowed to read there
		}
	}
	declare := ""
	if listless {
		declare = "DECLARE listless boolean := false;\n"
		fmt.Fprintf(&body, "  IF listless THEN PERFORM nextval(%s); END IF;\n", literal(b.counter(t)))
		definer = " SECURITY DEFINER" // nor to count
	}
	text := "\n" + declare + "BEGIN\n" + body.String() + "  RETURN NEW;\nEND\n"
	quoted := "$pgid$" + text + "$pgid$"
	if strings.Contains(text, "$pgid$") {
		quoted = literal(text)
	}
	return fmt.Sprintf("CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql%s SET search_path = pg_catalog AS %s", b.function(t), definer, quoted)
}

func (b *builder) keepNumber(body *strings.Builder, m *member, to side) {
	from, into := "NEW."+ident(m.c.name), "NEW."+ident(to.column(m))
	if !to.old {
		fmt.Fprintf(body, "  %s := %s;\n", into, from)
		return
	}
	least, most := bounds(m.c.typ)
	// A row that comes from another partition has both.
	fmt.Fprintf(body, "  IF TG_OP = 'INSERT' AND %[1]s IS NOT NULL AND %[1]s IS DISTINCT FROM %[2]s THEN %[2]s := %[1]s; listless := true; END IF;\n  %[1]s := CASE WHEN %[2]s BETWEEN %[3]d AND %[4]d THEN %[2]s END;\n", into, from, least, most)
}

// keepUUID looks a reference up by the other key of what it refers to.
func (b *builder) keepUUID(body *strings.Builder, m *member, to side) {
	from, into := "NEW."+ident(m.c.name), "NEW."+ident(to.column(m))
	r := b.key
	theirs, ours := ident(r.c.name), ident(to.column(r))
	self, listlessSelf := "", ""
	if m.t == r.t {
		// The row itself is not there yet.
		self = fmt.Sprintf("  IF %s = NEW.%s THEN %s := NEW.%s; END IF;\n", from, theirs, into, ours)
		listlessSelf = fmt.Sprintf(" IF %s = NEW.%s THEN %s := NEW.%s; END IF;", into, ours, from, theirs)
	}
	if to.old {
		fmt.Fprintf(body, "  IF TG_OP = 'INSERT' AND %s IS NULL AND %s IS NOT NULL THEN\n    %[1]s := (SELECT r.%[3]s FROM %[4]s r WHERE r.%[5]s = %[2]s);%[6]s listless := true;\n  END IF;\n",
			from, into, theirs, r.t.ident(), ours, listlessSelf)
	}
	fmt.Fprintf(body, "  IF %s IS NULL THEN %s := NULL;\n  ELSIF TG_OP = 'INSERT' OR %[2]s IS NULL OR %[1]s IS DISTINCT FROM OLD.%[3]s THEN\n    %[2]s := (SELECT r.%[4]s FROM %[5]s r WHERE r.%[6]s = %[1]s);\n  END IF;\n%[7]s",
		from, into, ident(m.c.name), ours, r.t.ident(), theirs, self)
}

func (b *builder) addColumns(t *table) Step {
	s := Step{Name: "add columns to " + t.ident(), Kind: kindChange, Mode: accessExclusive, Tables: t.tree(),
		Note: "no default and no NOT NULL: nothing is rewritten. A trigger fills them for rows that are written from now on"}
	var names []string
	for _, m := range b.replacing(t) {
		s.SQL = append(s.SQL, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", t.ident(), ident(b.newName(m)), b.newType()))
		names = append(names, literal(b.newName(m)))
	}
	s.SQL = append(s.SQL, b.keeper(t, side{column: b.newName}),
		fmt.Sprintf("CREATE TRIGGER %s BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %s()", triggerName, t.ident(), b.function(t)))
	s.SQL = append(s.SQL, always(t)...)
	s.Checks = []Check{{SQL: fmt.Sprintf("SELECT %d - count(*) FROM pg_attribute WHERE attrelid = %s::regclass AND attname IN (%s) AND atttypid = '%s'::regtype",
		len(names), literal(t.ident()), strings.Join(names, ", "), b.newType()), Wrong: "%d columns of " + t.ident() + " have not been added"}}
	// The columns go last: all that uses them has gone before.
	s.Undo = []string{fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON %s", triggerName, t.ident())}
	drop := ""
	for i, m := range b.replacing(t) {
		if i > 0 {
			drop += ", "
		}
		drop += "DROP COLUMN IF EXISTS " + ident(b.newName(m))
	}
	s.Undo = append(s.Undo, "DROP FUNCTION IF EXISTS "+b.function(t)+"()", fmt.Sprintf("ALTER TABLE IF EXISTS %s %s", t.ident(), drop))
	return s
}

// fill gives the rows that are there their values.
func (b *builder) fill(t *table) Step {
	var set, missing []string
	s := Step{Name: "fill " + t.ident(), Kind: kindFill, Bytes: t.bytes, Rows: t.rows,
		Note: "writes each row once more, in batches; the table grows by up to its size until VACUUM. Rows that others hold are left out and looked at again"}
	for _, m := range b.replacing(t) {
		into, from := ident(b.newName(m)), ident(m.c.name)
		var value, lacks string
		switch {
		case b.options.Target != UUIDv7:
			value, lacks = from, fmt.Sprintf("%s IS DISTINCT FROM %s", into, from)
		case m.key():
			value, lacks = b.stamp(m), into+" IS NULL"
		default:
			root := fmt.Sprintf("(SELECT r.%s FROM %s r WHERE r.%s = t.%s)", ident(b.newName(b.key)), b.key.t.ident(), ident(b.key.c.name), from)
			value, lacks = root, fmt.Sprintf("(%s IS NULL) <> (%s IS NULL)", into, from)
			s.Checks = append(s.Checks, Check{SQL: fmt.Sprintf("SELECT count(*) FROM %s t WHERE t.%s IS DISTINCT FROM %s", t.ident(), into, root), Wrong: "%d rows of " + t.ident() + " have a wrong " + into})
		}
		set, missing = append(set, into+" = "+value), append(missing, lacks)
	}
	cond := strings.Join(missing, " OR ")
	s.Checks = append(s.Checks, Check{SQL: fmt.Sprintf("SELECT count(*) FROM %s t WHERE %s", t.ident(), cond), Wrong: "%d rows of " + t.ident() + " have no or a wrong value in the new columns"})
	s.Fill = &Fill{Table: t.ident(), OID: t.oid, Set: strings.Join(set, ", "), Missing: cond, Replica: !b.plan.Options.FireTriggers}
	return s
}

// compare looks once more, before the swap, whether what was filled is so still:
// somebody could have switched triggers off.
func (b *builder) compare(steps []Step) (l []Step) {
	seen := map[string]bool{}
	for _, s := range steps {
		if s.Kind != kindFill || seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		l = append(l, Step{Name: "compare the columns of " + s.Fill.Table, Kind: kindValidate, Bytes: s.Bytes, Checks: s.Checks, Note: "reads the table"})
	}
	return l
}

// fires checks that a trigger is what it was made.
func fires(t *table) Check {
	return Check{Before: true, SQL: fmt.Sprintf("SELECT 1 - count(*) FROM pg_trigger WHERE tgrelid = %s::regclass AND tgname = %s AND tgenabled = 'A'", literal(t.ident()), literal(strings.Trim(triggerName, `"`))),
		Wrong: fmt.Sprintf("trigger %s of %s is gone or was switched off: rows may differ. Roll back and apply anew", triggerName, t.ident())}
}

// stamp is a UUIDv7 for a row that is there already: of its time, or one
// millisecond apart in the order of the ids, the last one at the beginning of
// the job.
func (b *builder) stamp(m *member) string {
	ms := "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
	if name := b.options.CreatedAt; name != "" {
		ms = fmt.Sprintf("least(floor(extract(epoch FROM coalesce(t.%s::timestamptz, '2000-01-01 00:00+00')) * 1000)::bigint, %s)", ident(name), ms)
	} else {
		ms = fmt.Sprintf("greatest(%d + (t.%s::bigint - (%d)), 0)", b.start, ident(m.c.name), b.last)
	}
	return fmt.Sprintf("encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(%s) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid", ms)
}

// notNull proves, without a lock that writers feel, what SET NOT NULL relies on.
func (b *builder) notNull(t *table, to side) []Step {
	var l []Step
	if t.top != nil {
		return nil // the partitioned table's goes on to it
	}
	for _, m := range b.replacing(t) {
		if to.old && b.keepsNotNull(m) {
			continue // it has never been anything else
		}
		name, cond := b.checkName(m, to), fmt.Sprintf("%s IS NOT NULL", ident(to.column(m)))
		if !m.c.notNull {
			if b.options.Target != UUIDv7 && to.old {
				continue
			}
			cond = fmt.Sprintf("(%s IS NULL) = (%s IS NULL)", ident(to.column(m)), ident(m.c.name))
		}
		l = append(l, b.constraint(t, name, "CHECK ("+cond+")", true, nil)...)
	}
	return l
}

func (b *builder) checkName(m *member, to side) string {
	return suffixed("pgid_"+m.c.name+"_filled", to.suffix, uint32(m.c.num))
}

// constraint adds one without looking at the rows, and then looks at them.
func (b *builder) constraint(t *table, name, def string, validate bool, parent *table) []Step {
	tables := t.tree()
	mode := accessExclusive
	if parent != nil {
		mode = shareRowExclusive
		switch {
		case parent.oid > t.oid:
			tables = append(tables, parent.ident())
		case parent.oid < t.oid:
			tables = []string{parent.ident(), t.ident()}
		}
	}
	where := fmt.Sprintf("conrelid = %s::regclass AND conname = %s", literal(t.ident()), literal(name))
	drop := fmt.Sprintf("ALTER TABLE IF EXISTS %s DROP CONSTRAINT IF EXISTS %s", t.ident(), ident(name))
	l := []Step{{Name: fmt.Sprintf("add %s to %s", ident(name), t.ident()), Kind: kindChange, Mode: mode, Tables: tables,
		SQL:    []string{fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s NOT VALID", t.ident(), ident(name), def)},
		Checks: []Check{{SQL: "SELECT 1 - count(*) FROM pg_constraint WHERE " + where, Wrong: "constraint " + name + " has not been added"}},
		Undo:   []string{drop}}}
	if validate {
		l = append(l, Step{Name: fmt.Sprintf("validate %s of %s", ident(name), t.ident()), Kind: kindValidate, Bytes: t.bytes,
			Note:   "reads the table; SHARE UPDATE EXCLUSIVE, which writers do not feel",
			SQL:    []string{fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", t.ident(), ident(name))},
			Checks: []Check{{SQL: "SELECT 1 - count(*) FROM pg_constraint WHERE convalidated AND " + where, Wrong: "constraint " + name + " is not valid"}}})
	}
	return l
}

// copyIndexes builds those of one side, or only those that constraints stand on.
func (b *builder) copyIndexes(t *table, to side, constraints bool) []Step {
	var l []Step
	for _, i := range t.indexes {
		if t.kind != "r" || !b.replaced(t, i.columns) || constraints && i.constraint == "" {
			continue
		}
		name := suffixed(i.name, to.suffix, i.oid)
		if !to.old {
			b.plan.Space += i.bytes
		}
		unique := ""
		if i.unique {
			unique = "UNIQUE "
		}
		full := ident(t.schema, name)
		s := Step{Name: "build index " + full, Kind: kindIndex, Index: full, Bytes: t.bytes,
			Note:   "SHARE UPDATE EXCLUSIVE, which writers do not feel; waits for older transactions",
			SQL:    []string{fmt.Sprintf("CREATE %sINDEX CONCURRENTLY %s ON %s %s", unique, ident(name), t.ident(), to.defs[t.oid].indexes[i.oid])},
			Checks: []Check{{SQL: "SELECT 1 - count(*) FROM pg_index WHERE indisvalid AND indexrelid = to_regclass(" + literal(full) + ")", Wrong: "index " + full + " is not valid"}},
			Undo:   []string{"DROP INDEX CONCURRENTLY IF EXISTS " + full}}
		if i.tablespace != "" {
			s.SQL = append([]string{"SET default_tablespace = " + ident(i.tablespace)}, s.SQL...)
		}
		l = append(l, s)
	}
	return l
}

func (b *builder) copyChecks(t *table, to side) []Step {
	var l []Step
	for _, k := range t.checks {
		if b.replaced(t, k.columns) && k.local {
			def := strings.TrimSuffix(to.defs[t.oid].checks[k.name], " NOT VALID")
			l = append(l, b.constraint(t, suffixed(k.name, to.suffix, k.oid), def, k.valid, nil)...)
		}
	}
	return l
}

// copied are the foreign keys with a column that is replaced.
func (b *builder) copied() []*foreign {
	return slices.DeleteFunc(slices.Concat(b.family.foreign, b.family.upward), func(f *foreign) bool {
		return !b.replaced(b.tables[f.child], f.childCols) && !b.replaced(b.tables[f.parent], f.parentCols)
	})
}

func (b *builder) copyForeign(to side) []Step {
	var l []Step
	for _, f := range b.copied() {
		def := f.definition(&b.catalog, func(t *table, num int16) string {
			if m := b.family.member(t.oid, num); m != nil && m.replace {
				return to.column(m)
			}
			return t.column(num).name
		})
		l = append(l, b.constraint(b.tables[f.child], suffixed(f.name, to.suffix, f.oid), def, f.valid, b.tables[f.parent])...)
	}
	return l
}

func analyze(tables []*table) (l []Step) {
	for _, t := range tables {
		if t.top == nil {
			l = append(l, Step{Name: "analyze " + t.ident(), Kind: kindValidate, SQL: []string{"ANALYZE " + t.ident()}, Note: "so that plans are good from the first moment"})
		}
	}
	return l
}
