package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/gen"
)

// lockKey is the advisory lock under which installs follow one another: the
// bytes "pgid".
const lockKey = 0x70676964

// InstallReport says what Install did.
type InstallReport struct {
	Database     string
	Schema       string
	FunctionNode int
	Updated      bool     // the functions were there already
	Warnings     []string // whole sentences
}

// String says it in words, a line each.
func (r InstallReport) String() string {
	did := "installed"
	if r.Updated {
		did = "brought up to date"
	}
	lines := []string{
		fmt.Sprintf("%s the functions in schema %s of database %s", did, r.Schema, r.Database),
		fmt.Sprintf("they mint under node %d: every database needs a number of its own (--function-node), and no proxy may have it", r.FunctionNode),
	}
	for _, w := range r.Warnings {
		lines = append(lines, "warning: "+w)
	}
	return strings.Join(lines, "\n")
}

// Install makes the functions, or brings them up to date, in one transaction
// under an advisory lock. It may be repeated. A function of the same name that
// is not ours is never replaced: that is an error that says what to do.
func Install(ctx context.Context, conn *pgx.Conn, o InstallOptions) (InstallReport, error) {
	if err := o.check(); err != nil {
		return InstallReport{}, err
	}
	var report InstallReport
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) {
		report, err = install(ctx, tx, o)
		return err
	})
	if err != nil {
		return InstallReport{}, fmt.Errorf("install: %w", err)
	}
	return report, nil
}

func install(ctx context.Context, tx pgx.Tx, o InstallOptions) (InstallReport, error) {
	if _, err := tx.Exec(ctx, "SELECT pg_catalog.set_config('search_path', 'pg_catalog', true), "+
		"pg_catalog.set_config('client_min_messages', 'warning', true), pg_catalog.pg_advisory_xact_lock($1)", lockKey); err != nil {
		return InstallReport{}, err
	}
	s, err := readServer(ctx, tx)
	if err != nil {
		return InstallReport{}, err
	}
	old, there, err := readConfig(ctx, tx)
	if err != nil {
		return InstallReport{}, err
	}
	report := InstallReport{Database: s.database, Updated: there}
	if there {
		if err := old.Compatible(); err != nil {
			return report, err
		}
		if o.Schema != "" && o.Schema != old.Schema {
			return report, fmt.Errorf("the functions are installed in schema %s: uninstall them there first", old.Schema)
		}
		o.Schema = old.Schema
		o.FunctionNode = cmp.Or(o.FunctionNode, old.FunctionNode)
		if w := old.copied(s); w != "" {
			report.Warnings = append(report.Warnings, w)
		}
	}
	o.Schema = cmp.Or(o.Schema, "public")
	o.FunctionNode = cmp.Or(o.FunctionNode, DefaultFunctionNode)
	report.Schema, report.FunctionNode = o.Schema, o.FunctionNode
	if err := checkForeign(ctx, tx, o.Schema, s.version); err != nil {
		return report, err
	}
	if _, err := tx.Exec(ctx, script(o, s.version)+grants(o, s.version), pgx.QueryExecModeSimpleProtocol); err != nil {
		return report, explainRights(err)
	}
	_, err = tx.Exec(ctx, `INSERT INTO pgid.config
		(version, epoch_ms, layout, schema, function_node, system_identifier, database_oid)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (singleton) DO UPDATE SET version = excluded.version, function_node = excluded.function_node,
		system_identifier = excluded.system_identifier, database_oid = excluded.database_oid`,
		Version, int64(gen.Epoch), layout, o.Schema, o.FunctionNode, s.identifier, s.oid)
	return report, err
}

// checkForeign fails where a function that is not ours has one of the names.
func checkForeign(ctx context.Context, tx pgx.Tx, schema string, version int) error {
	for _, f := range functions(version) {
		var foreign bool
		err := tx.QueryRow(ctx, `SELECT coalesce(obj_description(p.oid, 'pg_proc') NOT LIKE 'pgidproxy %', true)
			FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			WHERE n.nspname = $1 AND p.proname = $2 AND oidvectortypes(p.proargtypes) = $3`,
			schema, f.name, f.args).Scan(&foreign)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		if foreign {
			return fmt.Errorf("function %s.%s(%s) is there already and is not ours: rename or drop it, or install with another --schema",
				schema, f.name, f.args)
		}
	}
	return nil
}

// explainRights says what a role needs that may not install.
func explainRights(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "42501" {
		return fmt.Errorf("%w (the role needs CREATE on the database and on the functions' schema: "+
			"run install as the database's owner, or choose a --schema that the role owns)", err)
	}
	return err
}
