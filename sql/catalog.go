package sql

import (
	"context"
	_ "embed"
	"fmt"

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
)

// LoadCatalog reads what plans need to know of a database, all of one moment.
// It fails where the role may not read the catalog. The generation of the
// result is 0.
func LoadCatalog(ctx context.Context, conn *pgx.Conn) (*rewrite.Catalog, error) {
	r, err := readCatalog(ctx, conn, 0)
	if err != nil {
		return nil, err
	}
	return rewrite.NewCatalog(r.data), nil
}

// A reading is what one look at a database's catalog gives.
type reading struct {
	data  rewrite.CatalogData
	notes []string // why calls of ours are left alone that a user may expect to be replaced; whole sentences
}

// readCatalog reads the catalog for a proxy that mints under a node, 0 for one
// that no database's functions can have.
func readCatalog(ctx context.Context, conn *pgx.Conn, node int) (r reading, err error) {
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error { return r.load(ctx, tx, node) })
	if err != nil {
		return reading{}, fmt.Errorf("read catalog: %w", err)
	}
	return r, nil
}

func (r *reading) load(ctx context.Context, tx pgx.Tx, node int) error {
	// Functions are named in full; operators and types are found through the path.
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = pg_catalog"); err != nil {
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
	if err := r.loadOurs(ctx, tx, s, node); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, relationsQuery)
	if err != nil {
		return err
	}
	if r.data.Relations, err = pgx.CollectRows(rows, pgx.RowToStructByPos[rewrite.Relation]); err != nil {
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
