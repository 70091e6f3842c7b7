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
	Unchanged    bool     // and as they should be: nothing was done
	Warnings     []string // whole sentences
	Notes        []string // likewise: what is right, but could be better
}

// String says it in words, a line each.
func (r InstallReport) String() string {
	did := "installed the functions"
	switch {
	case r.Unchanged:
		did = "the functions are up to date"
	case r.Updated:
		did = "brought the functions up to date"
	}
	lines := []string{
		fmt.Sprintf("%s in schema %s of database %s", did, r.Schema, r.Database),
		fmt.Sprintf("they mint under node %d", r.FunctionNode),
	}
	for _, w := range r.Warnings {
		lines = append(lines, "warning: "+w)
	}
	for _, n := range r.Notes {
		lines = append(lines, "note: "+n)
	}
	return strings.Join(lines, "\n")
}

// Install makes the functions, or brings them up to date, in one transaction
// under an advisory lock. It may be repeated; where nothing is to be done it
// needs no rights. A function of the same name that is not ours is never
// replaced: that is an error that says what to do. In a copied database the
// record of the original stays, and the warning with it, until a node number is
// given.
func Install(ctx context.Context, conn *pgx.Conn, o InstallOptions) (InstallReport, error) {
	if err := o.check(); err != nil {
		return InstallReport{}, err
	}
	var report InstallReport
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) (err error) {
		report, err = install(ctx, tx, o)
		return err
	})
	if err != nil {
		return InstallReport{}, fmt.Errorf("install: %w", explainRights(err))
	}
	return report, nil
}

// begin sets up a transaction that changes what is installed, and says what is.
func begin(ctx context.Context, tx pgx.Tx) (s server, old InstalledConfig, there bool, err error) {
	if _, err = tx.Exec(ctx, "SELECT pg_catalog.set_config('search_path', 'pg_catalog', true), "+
		"pg_catalog.set_config('client_min_messages', 'warning', true), pg_catalog.pg_advisory_xact_lock($1)", lockKey); err != nil {
		return s, old, false, err
	}
	if s, err = readServer(ctx, tx); err != nil {
		return s, old, false, err
	}
	old, there, err = readConfig(ctx, tx)
	return s, old, there, err
}

func install(ctx context.Context, tx pgx.Tx, o InstallOptions) (InstallReport, error) {
	s, old, there, err := begin(ctx, tx)
	if err != nil {
		return InstallReport{}, err
	}
	report := InstallReport{Database: s.database, Updated: there}
	confirmed := o.FunctionNode != 0
	if there {
		if err := old.Compatible(); err != nil {
			return report, err
		}
		if o.Schema != "" && o.Schema != old.Schema {
			return report, fmt.Errorf("the functions are installed in schema %s: uninstall them there first", old.Schema)
		}
		o.Schema = old.Schema
		o.FunctionNode = cmp.Or(o.FunctionNode, old.FunctionNode)
		o.Registry = cmp.Or(o.Registry, old.Registry)
		if w := old.copied(s); w != "" && !confirmed {
			report.Warnings = append(report.Warnings, w)
			s.oid, s.identifier = old.DatabaseOID, old.SystemIdentifier
		}
		if s.identifier == nil && s.oid == old.DatabaseOID {
			s.identifier = old.SystemIdentifier
		}
	}
	o.Schema = cmp.Or(o.Schema, "public")
	o.FunctionNode = cmp.Or(o.FunctionNode, DefaultFunctionNode)
	report.Schema, report.FunctionNode = o.Schema, o.FunctionNode
	config := InstalledConfig{Version: Version, EpochMs: gen.Epoch, Layout: layout, Schema: o.Schema,
		FunctionNode: o.FunctionNode, SystemIdentifier: s.identifier, DatabaseOID: s.oid, Registry: o.Registry}
	present, err := readPresent(ctx, tx, config)
	if err != nil {
		return report, err
	}
	made := false
	if there {
		// Not as the owner of the rest: see notify.sql.
		if made, err = report.installNotify(ctx, tx); err != nil {
			return report, err
		}
	}
	if there && old.equal(config) && present.current(config, s.version) {
		report.Unchanged = !made
		return report, nil
	}
	if err := actAsOwner(ctx, tx, there, present, o.Schema); err != nil {
		return report, err
	}
	list := functions(s.version)
	withUUIDv7 := s.version < builtinUUIDv7 || present.has("uuidv7")
	if withUUIDv7 {
		list = functions(0)
	}
	if _, err := tx.Exec(ctx, script(o, withUUIDv7)+grants(o, list), pgx.QueryExecModeSimpleProtocol); err != nil {
		return report, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO pgid.config
		(version, epoch_ms, layout, schema, function_node, system_identifier, database_oid, registry)
		VALUES ($1, $2, $3, $4, $5, $6, $7, nullif($8, ''))
		ON CONFLICT (singleton) DO UPDATE SET version = excluded.version, function_node = excluded.function_node,
		system_identifier = excluded.system_identifier, database_oid = excluded.database_oid, registry = excluded.registry`,
		config.Version, config.EpochMs, config.Layout, config.Schema, config.FunctionNode, config.SystemIdentifier, config.DatabaseOID, config.Registry)
	if err == nil && !there {
		_, err = report.installNotify(ctx, tx)
	}
	return report, err
}

// actAsOwner makes the transaction act as the owner of what is installed, so
// that all of it keeps one owner, under whose rights next_snowflake runs.
func actAsOwner(ctx context.Context, tx pgx.Tx, there bool, present presence, schema string) error {
	var owner, self, missing string
	err := tx.QueryRow(ctx, `SELECT coalesce((SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'pgid'), current_user::regrole::text),
		current_user::regrole::text, CASE WHEN EXISTS (SELECT FROM pg_namespace WHERE nspname = $1) THEN '' ELSE $1 END`, schema).
		Scan(&owner, &self, &missing)
	if err != nil {
		return err
	}
	if missing != "" && missing != "pgid" {
		return fmt.Errorf("schema %s does not exist: create it first, or choose another with --schema", missing)
	}
	if owner != self && !there {
		return fmt.Errorf("schema pgid is there already and belongs to %s: drop it, or install as that role", owner)
	}
	for _, f := range present {
		if f.owner != owner {
			return fmt.Errorf("function %s.%s(%s) belongs to %s and what it uses to %s: give both one owner with ALTER FUNCTION … OWNER TO",
				schema, f.name, f.args, f.owner, owner)
		}
	}
	if owner == self {
		return nil
	}
	if _, err := tx.Exec(ctx, "SET LOCAL ROLE "+owner, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("the functions belong to %s: %w", owner, err)
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
