package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
)

// A builder makes a plan.
type builder struct {
	catalog
	options Options
	plan    *Plan
	family  *family
	key     *member
	make    string // the expression of the new default
	views   []view
	lost    []object // other objects that must be made again with the swap
	start   int64    // of the plan, in ms
	last    int64    // largest id
}

// New reads the catalog and makes a plan. It writes nothing. What forbids a
// migration is in the plan; an error is returned where there cannot be one.
func New(ctx context.Context, conn *pgx.Conn, o Options) (*Plan, error) {
	o.Target = cmp.Or(o.Target, Snowflake)
	o.Batch, o.Retries = cmp.Or(o.Batch, 5000), cmp.Or(o.Retries, 60)
	o.LockTimeout, o.MaxLag = cmp.Or(o.LockTimeout, defaultLockTimeout), cmp.Or(o.MaxLag, defaultMaxLag)
	oid, err := resolve(ctx, conn, o.Table)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, conn); err != nil {
		return nil, err
	}
	b := &builder{catalog: catalog{conn: conn, tables: map[uint32]*table{}}, options: o}
	if err := b.read(ctx, oid); err != nil {
		return nil, err
	}
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	return b.plan, nil
}

// A NoTableError says that there is no table of a name.
type NoTableError struct{ Name string }

func (e *NoTableError) Error() string {
	return "there is no table " + e.Name + ": write it as SQL does, with its schema if need be, and in quotes if it has capitals"
}

// resolve finds a table as the session's search_path does.
func resolve(ctx context.Context, conn *pgx.Conn, name string) (uint32, error) {
	var oid *uint32
	if err := conn.QueryRow(ctx, "SELECT to_regclass($1)::oid", name).Scan(&oid); err != nil {
		return 0, fmt.Errorf("look up table %s: %w", name, err)
	}
	if oid == nil {
		return 0, &NoTableError{name}
	}
	return *oid, nil
}

func (b *builder) read(ctx context.Context, oid uint32) error {
	err := b.conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, current_database()").Scan(&b.version, &b.db)
	if err != nil {
		return err
	}
	t, err := b.load(ctx, oid)
	if err != nil {
		return err
	}
	if t.kind != "r" && t.kind != "p" {
		return fmt.Errorf("%s is not a table", t.ident())
	}
	key, err := b.choose(ctx, t)
	if err != nil {
		return err
	}
	if err := b.loadForeign(ctx); err != nil {
		return err
	}
	if b.family, err = b.gather(ctx, t, key); err != nil {
		return err
	}
	b.key = b.family.members[0]
	for _, m := range b.family.members {
		switch b.options.Target {
		case UUIDv7:
			m.replace = true
		default:
			m.replace = m.c.typ == "integer" || m.c.typ == "smallint"
		}
	}
	b.plan = &Plan{Options: b.options, Table: t.ident(), OID: t.oid, Column: key.name, Type: key.typ, Blockers: []string{}, Warnings: []string{}}
	for _, t := range b.family.tables() {
		b.plan.Relations = append(b.plan.Relations, Relation{OID: t.oid, Name: t.ident(), Rows: t.rows, Bytes: t.bytes})
	}
	return b.functions(ctx)
}

// choose finds the column that counts up.
func (b *builder) choose(ctx context.Context, t *table) (*column, error) {
	var found []*column
	for _, k := range t.columns {
		if b.options.Column != "" && k.name != b.options.Column {
			continue
		}
		if b.options.Column != "" || k.identity != "" || strings.HasPrefix(k.def, "nextval(") {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 0 && b.options.Column != "":
		return nil, fmt.Errorf("table %s has no column %s", t.ident(), ident(b.options.Column))
	case len(found) == 0:
		for _, k := range t.columns {
			if strings.Contains(k.def, "next_snowflake()") || strings.Contains(k.def, "uuidv7()") {
				return nil, fmt.Errorf("table %s has a key of ours already: %s DEFAULT %s", t.ident(), ident(k.name), k.def)
			}
		}
		return nil, fmt.Errorf("table %s has no auto-increment column: name the key with --column", t.ident())
	case len(found) > 1:
		return nil, fmt.Errorf("table %s has more than one auto-increment column: name the key with --column", t.ident())
	}
	k := found[0]
	if !slices.Contains([]string{"bigint", "integer", "smallint"}, k.typ) {
		return nil, fmt.Errorf("column %s of %s is of type %s: only integers are migrated", ident(k.name), t.ident(), k.typ)
	}
	if err := b.details(ctx, t, k); err != nil {
		return nil, err
	}
	if k.sequence == nil {
		return nil, fmt.Errorf("column %s of %s is not auto-increment: it has no default that counts with a sequence", ident(k.name), t.ident())
	}
	return k, nil
}

// functions finds the function of the new default.
func (b *builder) functions(ctx context.Context) error {
	schema := b.options.Schema
	if schema == "" {
		b.plan.block("the functions are not installed in this database: run pgidproxy install first")
		schema = "public"
	}
	switch {
	case b.options.Target == Snowflake:
		b.make = ident(schema, "next_snowflake") + "()"
	case b.version >= 180000:
		b.make = "pg_catalog.uuidv7()"
	default:
		b.make = ident(schema, "uuidv7") + "()"
	}
	return nil
}

func (b *builder) build(ctx context.Context) error {
	if err := b.judge(ctx); err != nil {
		return err
	}
	if !slices.ContainsFunc(b.family.members, func(m *member) bool { return m.replace }) {
		return b.buildDefault(ctx)
	}
	return b.buildColumns(ctx)
}

// smallest is SQL for an id that no later one is below. It is stable, so that an
// index is searched for it.
func smallest() string {
	return fmt.Sprintf("((floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint - %d) << 22)", gen.Epoch)
}

// below checks that the ids that are there sort before new ones.
func (b *builder) below() Check {
	return Check{
		SQL:   fmt.Sprintf("SELECT count(*) FROM %s WHERE %s >= %s", b.key.t.ident(), ident(b.key.c.name), smallest()),
		Wrong: "%d ids in " + b.key.t.ident() + " are above the ids that next_snowflake() gives now: new ones would not sort after them and could meet them",
	}
}

// checkAbove has the ids that are there compared with new ones before the swap: under
// its locks, unless the whole table would have to be read for that.
func (b *builder) checkAbove(wait, swap *Step) {
	if b.options.Target != Snowflake || b.key.c.typ != "bigint" {
		return // no integer is as large
	}
	check := b.below()
	if !b.indexed() {
		wait.Checks = append(wait.Checks, check)
		return
	}
	check.Before = true
	swap.Checks = append(swap.Checks, check)
}

// indexed tells whether the largest keys are found without reading the table.
func (b *builder) indexed() bool {
	return slices.ContainsFunc(b.key.t.indexes, func(i *index) bool {
		return i.valid && !i.partial && len(i.keys) > 0 && i.keys[0] == b.key.c.num
	})
}

var errInterrupted = errors.New("interrupted: run the same command again to go on")
