package sql

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// InUseError lists what still uses the functions.
type InUseError struct{ Users []string }

func (e *InUseError) Error() string {
	return "the functions are still in use: change or drop these first\n  " + strings.Join(e.Users, "\n  ")
}

// users finds what depends on our functions, and functions whose text names
// them, for which the server records no dependency.
const users = `
WITH ours AS (
  SELECT p.oid FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  WHERE n.nspname = $1 AND pg_catalog.obj_description(p.oid, 'pg_proc') LIKE 'pgidproxy %'
)
SELECT DISTINCT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid)
FROM pg_catalog.pg_depend d
WHERE d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.refobjid IN (SELECT oid FROM ours)
  AND NOT (d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid IN (SELECT oid FROM ours))
UNION
SELECT pg_catalog.pg_describe_object('pg_catalog.pg_proc'::pg_catalog.regclass, p.oid, 0)
FROM pg_catalog.pg_proc p
WHERE p.oid NOT IN (SELECT oid FROM ours) AND p.oid >= 16384
  AND p.prosrc ~* '\m(next_snowflake|uuidv7|id_to_timestamp)\M\s*\('
ORDER BY 1`

// Uninstall removes all that Install made, in one transaction. It fails with an
// *InUseError while a default, view, index or function uses ours.
func Uninstall(ctx context.Context, conn *pgx.Conn) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_catalog.pg_advisory_xact_lock($1)", lockKey); err != nil {
			return err
		}
		config, found, err := readConfig(ctx, tx)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("nothing is installed in this database")
		}
		rows, _ := tx.Query(ctx, users, config.Schema)
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return &InUseError{Users: list}
		}
		return drop(ctx, tx, config.Schema)
	})
	if err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	return nil
}

func drop(ctx context.Context, tx pgx.Tx, schema string) error {
	var b strings.Builder
	for _, f := range functions(0) { // on any version: those that are there and ours
		name := fmt.Sprintf("%s.%s(%s)", quoteIdent(schema), f.name, f.args)
		var ours bool
		err := tx.QueryRow(ctx, `SELECT coalesce(pg_catalog.obj_description(
			pg_catalog.to_regprocedure($1)::pg_catalog.oid, 'pg_proc') LIKE 'pgidproxy %', false)`, name).Scan(&ours)
		if err != nil {
			return err
		}
		if ours {
			fmt.Fprintf(&b, "DROP FUNCTION %s;\n", name)
		}
	}
	b.WriteString(`DROP TABLE pgid.snowflake_mover, pgid.config;
		DROP SEQUENCE pgid.snowflake_last, pgid.snowflake_gate;
		DROP SCHEMA pgid;`)
	_, err := tx.Exec(ctx, b.String(), pgx.QueryExecModeSimpleProtocol)
	return err
}
