package sql

import (
	"context"
	_ "embed"
	"fmt"
	"maps"

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
	//go:embed catalog_fingerprint.sql
	fingerprintQuery string
)

// LoadCatalog reads what plans need to know of a database, all of one moment.
// It fails where the role may not read the catalog. The generation of the
// result is 0.
func LoadCatalog(ctx context.Context, conn *pgx.Conn) (*rewrite.Catalog, error) {
	var d rewrite.CatalogData
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) (err error) {
			d, err = loadCatalog(ctx, tx)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	return rewrite.NewCatalog(d), nil
}

func loadCatalog(ctx context.Context, tx pgx.Tx) (d rewrite.CatalogData, err error) {
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = pg_catalog"); err != nil {
		return d, err
	}
	s, err := readServer(ctx, tx)
	if err != nil {
		return d, err
	}
	d = rewrite.CatalogData{
		Database: s.database, Version: s.version, Known: true,
		Functions: map[string]bool{}, Operators: map[string]bool{},
	}
	config, found, err := readConfig(ctx, tx)
	if err != nil {
		return d, err
	}
	if found && config.Compatible() == nil {
		d.Schema = config.Schema
	}
	if d.Ours, err = loadOurs(ctx, tx, d.Schema, s.version); err != nil {
		return d, err
	}
	rows, err := tx.Query(ctx, relationsQuery)
	if err != nil {
		return d, err
	}
	if d.Relations, err = pgx.CollectRows(rows, pgx.RowToStructByPos[rewrite.Relation]); err != nil {
		return d, err
	}
	if rows, err = tx.Query(ctx, functionsQuery); err != nil {
		return d, err
	}
	var name string
	var operator, single bool
	_, err = pgx.ForEachRow(rows, []any{&operator, &name, &single}, func() error {
		if operator {
			d.Operators[name] = single
		} else {
			d.Functions[name] = single
		}
		return nil
	})
	return d, err
}

// loadOurs tells which of our functions a call by name reaches. Another
// function of the name that a call could mean, in any schema but a temporary
// one, speaks against it, since sessions may have any search_path.
func loadOurs(ctx context.Context, tx pgx.Tx, schema string, version int) (map[string]bool, error) {
	rows, err := tx.Query(ctx, oursQuery, schema, version >= builtinUUIDv7)
	if err != nil {
		return nil, err
	}
	ours, others := map[string]bool{}, map[string]bool{}
	var name string
	var mine, open bool
	_, err = pgx.ForEachRow(rows, []any{&name, &mine, &open}, func() error {
		if mine && open {
			ours[name] = true
		} else {
			others[name] = true
		}
		return nil
	})
	maps.DeleteFunc(ours, func(name string, _ bool) bool { return others[name] })
	return ours, err
}
