package sql

import (
	"context"
	_ "embed"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

var (
	//go:embed catalog_relations.sql
	relationsQuery string
	//go:embed catalog_functions.sql
	functionsQuery string
	//go:embed catalog_ours.sql
	oursQuery string
	//go:embed catalog_defaults.sql
	defaultsQuery string
)

// temporaryQuery gives the names of permanent relations that temporary ones, of
// any session, have too: which one is meant depends on the session.
const temporaryQuery = `SELECT DISTINCT c.relname::text FROM pg_catalog.pg_class c WHERE c.relpersistence = 't' AND EXISTS (
	SELECT FROM pg_catalog.pg_class o WHERE o.relname = c.relname AND o.relpersistence <> 't')`

// LoadCatalog reads what plans need to know of a database, all of one moment.
// It fails where the role may not read the catalog. The generation of the
// result is 0.
func LoadCatalog(ctx context.Context, conn *pgx.Conn) (*rewrite.Catalog, error) {
	r, err := readCatalog(ctx, conn, nobody)
	if err != nil {
		return nil, err
	}
	return rewrite.NewCatalog(r.data), nil
}

// A reading is what one look at a database's catalog gives.
type reading struct {
	data   rewrite.CatalogData
	makers map[string][]uint32 // OIDs of the functions that are ours, by name
	notes  []string            // why calls of ours are left alone that a user may expect to be replaced; whole sentences
}

// readCatalog reads the catalog for a proxy.
func readCatalog(ctx context.Context, conn *pgx.Conn, who self) (r reading, err error) {
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error { return r.load(ctx, tx, who) })
	if err != nil {
		return reading{}, fmt.Errorf("read catalog: %w", err)
	}
	return r, nil
}

func (r *reading) load(ctx context.Context, tx pgx.Tx, who self) error {
	// Functions are named in full; operators and types are found through the path.
	if _, err := tx.Exec(ctx, within, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	s, err := readServer(ctx, tx)
	if err != nil {
		return err
	}
	r.data = rewrite.CatalogData{
		Database: s.database, Version: s.version, Known: true,
		Functions: map[string]bool{}, Operators: map[string]bool{},
	}
	if err := r.loadOurs(ctx, tx, s, who); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, relationsQuery)
	if err != nil {
		return err
	}
	if r.data.Relations, err = pgx.CollectRows(rows, pgx.RowToStructByPos[rewrite.Relation]); err != nil {
		return err
	}
	if rows, err = tx.Query(ctx, temporaryQuery); err != nil {
		return err
	}
	if r.data.Temporary, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		return err
	}
	if err := r.loadDefaults(ctx, tx); err != nil {
		return err
	}
	if rows, err = tx.Query(ctx, functionsQuery); err != nil {
		return err
	}
	var name string
	var operator, single bool
	_, err = pgx.ForEachRow(rows, []any{&operator, &name, &single}, func() error {
		if operator {
			r.data.Operators[name] = single
		} else {
			r.data.Functions[name] = single
		}
		return nil
	})
	return err
}

// loadDefaults reads the tables with defaults of ours. A table that pgid.migrations
// names in its column relation is being changed by a migration job.
func (r *reading) loadDefaults(ctx context.Context, tx pgx.Tx) error {
	var there bool
	var migrating []uint32
	err := tx.QueryRow(ctx, "SELECT to_regclass('pgid.migrations') IS NOT NULL").Scan(&there)
	if err == nil && there {
		err = tx.QueryRow(ctx, "SELECT coalesce(array_agg(relation::oid), '{}') FROM pgid.migrations").Scan(&migrating)
	}
	if err != nil {
		return err
	}
	oids := func(name string) []uint32 { return append([]uint32{}, r.makers[name]...) }
	rows, err := tx.Query(ctx, defaultsQuery, oids(rewrite.NextSnowflake), oids(rewrite.UUIDv7), append([]uint32{}, migrating...))
	if err != nil {
		return err
	}
	var t rewrite.Table
	var columns, filled []string
	var uuids []bool
	_, err = pgx.ForEachRow(rows, []any{&t.Schema, &t.Name, &columns, &filled, &uuids, &t.Unique, &t.Why}, func() error {
		t.Columns, t.Defaults = slices.Clone(columns), nil
		for i, name := range filled {
			kind := rewrite.Snowflake
			if uuids[i] {
				kind = rewrite.UUID
			}
			t.Defaults = append(t.Defaults, rewrite.Default{Column: slices.Index(columns, name), Kind: kind})
		}
		r.data.Tables = append(r.data.Tables, t)
		return nil
	})
	return err
}
