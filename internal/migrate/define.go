package migrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// definitions are those of a table's indexes and checks in terms of other
// columns.
type definitions struct {
	indexes map[uint32]string // from USING on
	checks  map[string]string
}

// define has the server itself write the definitions: it makes an empty
// temporary copy of the table, changes the columns there, reads what has become
// of indexes and checks, and rolls all back. name gives a member its name there,
// retype makes it of the new type.
func (b *builder) define(ctx context.Context, t *table, name func(*member) string, retype bool) (d definitions, err error) {
	d = definitions{map[uint32]string{}, map[string]string{}}
	tx, err := b.conn.Begin(ctx)
	if err != nil {
		return d, err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	const clone = "pg_temp.pgid_clone"
	if _, err := tx.Exec(ctx, fmt.Sprintf("CREATE TEMP TABLE pgid_clone (LIKE %s INCLUDING CONSTRAINTS INCLUDING INDEXES)", t.ident())); err != nil {
		return d, fmt.Errorf("copy the definition of %s: %w", t.ident(), err)
	}
	names, err := list[string](ctx, tx, "SELECT c.oid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $1::text::regclass ORDER BY i.indexrelid", clone)
	if err != nil {
		return d, err
	}
	if len(names) != len(t.indexes) {
		return d, fmt.Errorf("copy the definition of %s: %d indexes have become %d", t.ident(), len(t.indexes), len(names))
	}
	for n, i := range t.indexes {
		if _, err := tx.Exec(ctx, fmt.Sprintf("ALTER INDEX %s RENAME TO pgid_clone_%d", names[n], i.oid)); err != nil {
			return d, err
		}
	}
	for _, m := range b.family.of(t) {
		if !m.replace {
			continue
		}
		if retype {
			using := ""
			if b.options.Target == UUIDv7 {
				using = " USING NULL::uuid"
			}
			if _, err := tx.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE %s%s", clone, ident(m.c.name), b.newType(), using)); err != nil {
				b.plan.block("an index or check of %s that uses %s does not work with type %s: %v", t.ident(), ident(m.c.name), b.newType(), err)
				return d, nil
			}
		}
		if name(m) == m.c.name {
			continue
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", clone, ident(m.c.name), ident(name(m)))); err != nil {
			return d, err
		}
	}
	for _, i := range t.indexes {
		var def string
		if err := tx.QueryRow(ctx, "SELECT pg_get_indexdef($1::text::regclass)", fmt.Sprintf("pg_temp.pgid_clone_%d", i.oid)).Scan(&def); err != nil {
			return d, err
		}
		_, def, _ = strings.Cut(def, " USING ")
		d.indexes[i.oid] = "USING " + def
	}
	rows, err := tx.Query(ctx, "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1::text::regclass AND contype = 'c'", clone)
	if err != nil {
		return d, err
	}
	var check, def string
	_, err = pgx.ForEachRow(rows, []any{&check, &def}, func() error {
		d.checks[check] = def
		return nil
	})
	return d, err
}
