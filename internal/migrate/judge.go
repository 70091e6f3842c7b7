package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// judge finds what forbids the migration and what must be known of it.
func (b *builder) judge(ctx context.Context) error {
	for _, judge := range []func(context.Context) error{b.judgeServer, b.judgeTables, b.judgeKey, b.judgeSequence, b.judgeReaders, b.judgeUnlinked, b.judgeFunctions} {
		if err := judge(ctx); err != nil {
			return fmt.Errorf("read the catalog: %w", err)
		}
	}
	if !slices.ContainsFunc(b.family.members, func(m *member) bool { return m.replace }) {
		return nil
	}
	for _, judge := range []func(context.Context) error{b.judgeMembers, b.judgeIndexes, b.judgeForeign, b.judgeDependents, b.judgeTriggers} {
		if err := judge(ctx); err != nil {
			return fmt.Errorf("read the catalog: %w", err)
		}
	}
	if b.options.Target == UUIDv7 {
		return b.judgeUUID(ctx)
	}
	return nil
}

func (b *builder) judgeServer(ctx context.Context) error {
	var standby bool
	if err := b.conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby); err != nil {
		return err
	}
	if standby {
		b.plan.block("this server is a standby: connect to the primary")
	}
	var may bool
	if err := b.conn.QueryRow(ctx, "SELECT has_schema_privilege(to_regnamespace('pgid')::oid, 'CREATE') IS NOT FALSE").Scan(&may); err != nil {
		return err
	}
	if !may {
		b.plan.block("this role may make nothing in schema pgid, where the job keeps its state: GRANT CREATE ON SCHEMA pgid TO …")
	}
	there, err := haveState(ctx, b.conn)
	if err != nil || !there {
		return err
	}
	for _, t := range b.family.tables() {
		busy, err := list[string](ctx, b.conn, `SELECT j.job::text FROM pgid.migration_jobs j, jsonb_array_elements(j.plan -> 'relations') r WHERE (r ->> 'oid')::bigint = $1`, int64(t.oid))
		if err != nil {
			return err
		}
		for _, job := range busy {
			b.plan.block("%s is part of the migration of %s, which is not finished", t.ident(), job)
		}
	}
	return nil
}

func (b *builder) judgeTables(ctx context.Context) error {
	for _, t := range b.family.tables() {
		var mine bool
		if err := b.conn.QueryRow(ctx, "SELECT pg_has_role($1::text::regrole, 'USAGE')", t.owner).Scan(&mine); err != nil {
			return err
		}
		if !mine {
			b.plan.block("%s belongs to %s: connect as that role, as a member of it or as a superuser", t.ident(), t.owner)
		}
		if !t.permanent {
			b.plan.block("%s is a temporary table", t.ident())
		}
	}
	if t := b.key.t; t.kind == "r" && t.children {
		b.plan.block("other tables inherit from %s: their defaults are their own. Migrate each by hand, or end the inheritance (ALTER TABLE … NO INHERIT)", t.ident())
	}
	if t := b.key.t; t.partition {
		b.plan.block("%s is a partition: migrate the partitioned table that it belongs to", t.ident())
	}
	return nil
}

func (b *builder) judgeKey(ctx context.Context) error {
	for _, f := range slices.Concat(b.family.foreign, b.family.upward) {
		for i, num := range f.childCols {
			if f.child == b.key.t.oid && num == b.key.c.num && (f.parent != f.child || f.parentCols[i] != num) {
				b.plan.block("the key is a reference itself (%s of %s to %s): it gets its values from there; migrate that table", ident(f.name), b.key.t.ident(), b.tables[f.parent].ident())
			}
		}
	}
	if b.options.Target != Snowflake {
		return nil
	}
	check, n := b.below(), int64(0)
	if err := b.conn.QueryRow(ctx, check.SQL).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		b.plan.block("%s", check.wrong(n))
	}
	b.plan.warn("new ids are about %d and grow: readers must hold 64 bits. JavaScript, and JSON parsers that read numbers as doubles, hold 53: give ids to them as strings", int64(1)<<58)
	return nil
}

func (b *builder) judgeSequence(context.Context) error {
	s := b.key.c.sequence
	say := b.plan.warn
	if b.options.DropSequence {
		say = b.plan.block
	}
	for _, user := range s.users {
		say("sequence %s is used by the default of %s too", s.ident(), user)
	}
	for _, f := range s.mentions {
		say("function %s names sequence %s", f, s.ident())
	}
	if b.options.DropSequence {
		b.plan.warn("finish drops sequence %s: code that calls nextval fails from then on", s.ident())
	} else {
		b.plan.warn("sequence %s is kept: code that calls nextval goes on and gets ids below the new ones; currval and lastval know nothing of new ids", s.ident())
	}
	return nil
}

// judgeReaders looks at replication.
func (b *builder) judgeReaders(ctx context.Context) error {
	replaced := slices.ContainsFunc(b.family.members, func(m *member) bool { return m.replace })
	for _, t := range b.family.tables() {
		if len(t.published) == 0 {
			continue
		}
		names := strings.Join(t.published, ", ")
		switch {
		case !replaced:
			b.plan.warn("%s is published (%s): subscribers get the new ids as values, and need a bigint column", t.ident(), names)
		case len(b.replacing(t)) == 0:
		case b.options.Target == UUIDv7:
			b.plan.block("%s is published (%s), and no column of a subscriber can take numbers and then UUIDs: take it out of the publication first; afterwards change the subscriber's table, publish it again and have it copied", t.ident(), names)
		case b.options.Subscribers:
			b.plan.warn("%s is published (%s): its subscribers have been changed, as --subscribers-ready says (%s)", t.ident(), names, b.readied(t))
		default:
			b.plan.block("%s is published (%s): a subscriber that lacks a column, or has one that is too narrow, stops. Run there first: %s; then say --subscribers-ready", t.ident(), names, b.readied(t))
		}
	}
	if err := b.judgeState(ctx); err != nil {
		return err
	}
	slots, err := list[string](ctx, b.conn, `SELECT slot_name::text FROM pg_replication_slots WHERE slot_type = 'logical' AND database = current_database() ORDER BY 1`)
	if err != nil {
		return err
	}
	if len(slots) > 0 {
		b.plan.warn("logical replication slots read this database (%s): consumers see the new ids, and columns that come and go", strings.Join(slots, ", "))
	}
	var sees bool
	if err := b.conn.QueryRow(ctx, "SELECT pg_has_role('pg_read_all_stats', 'USAGE')").Scan(&sees); err != nil {
		return err
	}
	if replaced && !sees {
		b.plan.warn("this role cannot see how far replicas are behind (it is no member of pg_monitor): filling does not wait for them; see to --pause")
	}
	return nil
}

// judgeState looks for publications that the job's own tables would be in.
func (b *builder) judgeState(ctx context.Context) error {
	schemas := ""
	if b.version >= 150000 {
		schemas = " OR EXISTS (SELECT FROM pg_publication_namespace n WHERE n.pnpubid = p.oid AND n.pnnspid = to_regnamespace('pgid'))"
	}
	all, err := list[string](ctx, b.conn, "SELECT p.pubname::text FROM pg_publication p WHERE p.puballtables"+schemas+" ORDER BY 1")
	if err != nil || len(all) == 0 {
		return err
	}
	say, then := b.plan.block, "; then say --subscribers-ready"
	if b.options.Subscribers {
		say, then = b.plan.warn, ", as --subscribers-ready says"
	}
	say("publication %s has all tables, so also those of the job's state: a subscriber without them stops. Run there first: CREATE SCHEMA IF NOT EXISTS pgid; %s%s", strings.Join(all, ", "), stateTables, then)
	return nil
}

// readied is what makes a subscriber's table ready for all that the job does.
func (b *builder) readied(t *table) string {
	var l []string
	for _, m := range b.replacing(t) {
		l = append(l, fmt.Sprintf("ALTER COLUMN %s TYPE bigint", ident(m.c.name)), fmt.Sprintf("ADD COLUMN %s bigint", ident(b.newName(m))), fmt.Sprintf("ADD COLUMN %s %s", ident(b.oldName(m)), m.c.typ))
	}
	return "ALTER TABLE " + t.ident() + " " + strings.Join(l, ", ")
}

func (b *builder) judgeMembers(ctx context.Context) error {
	for _, m := range b.family.members {
		t, k := m.t, m.c
		switch {
		case m.key() && (t.kind == "p" || t.top != nil):
			if err := b.judgePart(ctx, m); err != nil {
				return err
			}
		case t.kind == "p" || t.partition:
			b.plan.block("%s is partitioned and refers to the key: a foreign key of a partitioned table cannot be added without reading all its rows under a lock. Drop it first, and change the column's type partition by partition in a new table", t.ident())
		case t.kind != "r":
			b.plan.block("%s is not an ordinary table", t.ident())
		case t.children || t.parents:
			b.plan.block("%s is part of an inheritance: end that first (ALTER TABLE … NO INHERIT)", t.ident())
		}
		if t.forced {
			b.plan.block("row level security is forced on %s: ALTER TABLE … NO FORCE ROW LEVEL SECURITY first", t.ident())
		}
		if k.generated {
			b.plan.block("column %s.%s is generated", t.ident(), ident(k.name))
		}
		if !slices.Contains([]string{"bigint", "integer", "smallint", "numeric"}, k.typ) {
			b.plan.block("column %s.%s is of type %s, which is not migrated", t.ident(), ident(k.name), k.typ)
		}
		if !m.key() && (k.identity != "" || k.sequence != nil) {
			b.plan.block("column %s.%s refers to the key but has a sequence of its own: drop its default or identity first", t.ident(), ident(k.name))
		}
		for _, other := range t.columns {
			if m.replace && (other.name == b.newName(m) || other.name == b.oldName(m)) {
				b.plan.block("%s has a column %s, whose name the migration needs", t.ident(), ident(other.name))
			}
		}
		if m.replace && !m.part {
			b.plan.warn("column %s is the last one of %s afterwards: SELECT * gives it there, COPY without a list of columns fails, and INSERT without one is understood until finish and means other columns then; until finish there is one column more", ident(k.name), t.ident())
		}
	}
	b.plan.warn("at the swap a statement that a client has prepared, and that returns a column of the job, fails once with 0A000 (cached plan must not change result type); drivers prepare it again")
	return nil
}

// replaced tells whether an index or constraint has a column that is replaced.
func (b *builder) replaced(t *table, nums []int16) bool {
	return slices.ContainsFunc(nums, func(n int16) bool {
		m := b.family.member(t.oid, n)
		return m != nil && m.replace
	})
}

func (b *builder) judgeIndexes(context.Context) error {
	for _, t := range b.family.tables() {
		for _, k := range t.checks {
			if b.replaced(t, k.columns) && k.local {
				b.plan.warn("check %s of %s holds for the new ids too: %s", ident(k.name), t.ident(), k.def)
			}
		}
		for _, i := range t.indexes {
			switch {
			case !b.replaced(t, i.columns):
			case i.constraint == "x" || i.withoutOverlaps:
				b.plan.block("exclusion constraint %s of %s has a column of the job: drop it first", ident(i.conName), t.ident())
			case !i.valid:
				b.plan.block("index %s of %s is not valid: drop it, or build it again (REINDEX INDEX CONCURRENTLY)", ident(i.name), t.ident())
			case i.deferrable:
				b.plan.block("constraint %s of %s is deferrable: an index cannot take its place under load. Make it not deferrable first", ident(i.conName), t.ident())
			case i.unique && !b.key.holds(t, i):
				b.plan.warn("until the swap two unique indexes like %s are on %s: of two INSERT … ON CONFLICT that bring the same new row at the same moment, one can fail with unique_violation", ident(i.name), t.ident())
			}
		}
	}
	return nil
}

func (b *builder) judgeForeign(context.Context) error {
	for _, f := range slices.Concat(b.family.foreign, b.family.upward) {
		if !f.enforced {
			b.plan.block("foreign key %s of %s is not enforced: drop it first", ident(f.name), b.tables[f.child].ident())
		}
		if !f.valid {
			b.plan.warn("foreign key %s of %s is not valid, and will not be afterwards", ident(f.name), b.tables[f.child].ident())
		}
	}
	return nil
}

func (b *builder) judgeTriggers(ctx context.Context) error {
	tx, err := b.conn.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "SET LOCAL session_replication_role = replica")
	replica := err == nil
	if err := tx.Rollback(ctx); err != nil {
		return err
	}
	b.plan.Options.FireTriggers = b.options.FireTriggers || !replica
	for _, t := range b.family.tables() {
		if len(t.ourTriggers) == 0 || b.options.FireTriggers {
			continue
		}
		if !replica {
			b.plan.block("filling %s would fire its triggers (%s): run as a superuser, or as a role that may set session_replication_role, which avoids that; or say --fire-triggers", t.ident(), strings.Join(t.ourTriggers, ", "))
		}
		always, err := list[string](ctx, b.conn, "SELECT tgname::text FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal AND tgenabled IN ('A', 'R') AND tgtype & 16 <> 0", t.oid)
		if err != nil {
			return err
		}
		if len(always) > 0 {
			b.plan.block("triggers of %s fire even for replicated rows (%s), so also when it is filled: ALTER TABLE … ENABLE TRIGGER for the time, or say --fire-triggers", t.ident(), strings.Join(always, ", "))
		}
	}
	return nil
}

// judgeFunctions lists what takes integers and may be given ids, and the tables'
// triggers that speak of integers.
func (b *builder) judgeFunctions(ctx context.Context) error {
	var oids []uint32
	for _, t := range b.family.tables() {
		oids = append(oids, t.oid)
	}
	found, err := list[string](ctx, b.conn, `SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE p.oid >= 16384 AND n.nspname NOT IN ('pgid', 'pg_catalog') AND ('int4'::regtype = ANY (p.proargtypes::oid[]) OR p.prorettype = 'int4'::regtype
			OR p.oid IN (SELECT t.tgfoid FROM pg_trigger t WHERE t.tgrelid = ANY ($1::oid[])) AND p.prosrc ~* '\m(int|integer|int4)\M')
		AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') ORDER BY 1`, oids)
	if err != nil || len(found) == 0 {
		return err
	}
	more := ""
	if n := len(found) - 10; n > 0 {
		found, more = found[:10], fmt.Sprintf(" and %d more", n)
	}
	b.plan.warn("functions take, give or speak of integers (%s%s): where that is an id of %s they fail with the new ones", strings.Join(found, ", "), more, b.key.t.ident())
	return nil
}

func (b *builder) judgeUUID(ctx context.Context) error {
	t := b.key.t
	var least int64
	err := b.conn.QueryRow(ctx, fmt.Sprintf("SELECT coalesce(min(%[1]s), 0), coalesce(max(%[1]s), 0), floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM %[2]s", ident(b.key.c.name), t.ident())).
		Scan(&least, &b.last, &b.start)
	if err != nil {
		return err
	}
	if b.options.CreatedAt == "" && b.last-least > b.start {
		b.plan.block("the ids of %s are further apart than there are milliseconds since 1970: name a column with their time with --created-at", t.ident())
	}
	alone := len(b.family.foreign) == 0 || slices.ContainsFunc(t.indexes, func(i *index) bool {
		return i.unique && i.valid && !i.partial && len(i.keys) > 0 && i.keys[0] == b.key.c.num && len(i.keys) == 1
	})
	if !alone {
		b.plan.block("%s.%s has no unique index of its own: references could not be told apart", t.ident(), ident(b.key.c.name))
	}
	for _, f := range b.family.upward {
		b.plan.block("foreign key %s of %s joins a column of the job to %s, whose type stays: drop it first, or migrate that table", ident(f.name), b.tables[f.child].ident(), b.tables[f.parent].ident())
	}
	for _, f := range b.family.foreign {
		if f.deferrable {
			b.plan.block("foreign key %s of %s is deferrable: a reference could be written before what it refers to, whose UUID is not known then. ALTER TABLE … ALTER CONSTRAINT … NOT DEFERRABLE first", ident(f.name), b.tables[f.child].ident())
		}
	}
	for _, m := range b.family.members {
		if !m.key() && m.c.def != "" {
			b.plan.block("column %s.%s has a default (%s), which is no UUID: drop it first", m.t.ident(), ident(m.c.name), m.c.def)
		}
	}
	if name := b.options.CreatedAt; name != "" {
		ok := slices.ContainsFunc(t.columns, func(k *column) bool {
			return k.name == name && (strings.HasPrefix(k.typ, "timestamp") || k.typ == "date")
		})
		if !ok {
			b.plan.block("%s has no column %s that holds a time", t.ident(), ident(name))
		}
	}
	b.plan.warn("ids of another kind: what keeps them (URLs, caches, cursors, exports) must be mapped, and the order by id changes where times do not follow it")
	return nil
}
