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

// usersQuery lists what depends on the functions $1 (oids) and on what is in
// schema pgid but for our event triggers, what else is in that schema, and the
// functions whose text calls one of ours, for which the server records no
// dependency: $2 is what a call looks like. Comments are cut out of the text
// first.
const usersQuery = `
WITH theirs AS (
  SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid AS class, unnest($1::pg_catalog.oid[]) AS oid
  UNION ALL
  SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
  WHERE n.nspname = 'pgid' AND p.proname = 'notify_ddl' AND p.pronargs = 0
  UNION ALL
  SELECT 'pg_catalog.pg_event_trigger'::pg_catalog.regclass, e.oid FROM pg_catalog.pg_event_trigger e
  WHERE e.evtname IN ('pgidproxy_ddl', 'pgidproxy_drop')
  UNION ALL
  SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, c.oid FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'pgid' AND c.relname IN ('config', 'snowflake_last', 'snowflake_gate', 'snowflake_mover', 'registry', 'node')
)
SELECT pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid)
FROM pg_catalog.pg_depend d JOIN theirs t ON t.class = d.refclassid AND t.oid = d.refobjid
WHERE d.deptype NOT IN ('i', 'P', 'S') AND NOT EXISTS (SELECT FROM theirs t WHERE t.class = d.classid AND t.oid = d.objid)
  AND NOT EXISTS ( -- what belongs to our own tables: types, columns' defaults, constraints
    SELECT FROM pg_catalog.pg_depend o JOIN theirs t ON t.class = o.refclassid AND t.oid = o.refobjid
    WHERE o.classid = d.classid AND o.objid = d.objid AND o.deptype IN ('a', 'i')
      AND t.class = 'pg_catalog.pg_class'::pg_catalog.regclass)
UNION
SELECT pg_catalog.pg_describe_object('pg_catalog.pg_class'::pg_catalog.regclass, c.oid, 0)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'pgid' AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND c.oid NOT IN (SELECT oid FROM theirs)
UNION
SELECT 'text of ' || pg_catalog.pg_describe_object('pg_catalog.pg_proc'::pg_catalog.regclass, p.oid, 0)
FROM pg_catalog.pg_proc p
WHERE p.oid >= 16384 AND p.oid <> ALL ($1::pg_catalog.oid[])
  AND pg_catalog.regexp_replace(p.prosrc, '--[^\n]*|/\*.*?\*/', ' ', 'g') ~* $2
ORDER BY 1`

// Uninstall removes all that Install made, in one transaction. It fails with an
// *InUseError while a default, generated column, view, index or function uses
// ours; nothing is ever dropped along with what it uses.
func Uninstall(ctx context.Context, conn *pgx.Conn) error {
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		s, config, found, err := begin(ctx, tx)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("nothing is installed in this database")
		}
		present, err := readPresent(ctx, tx, config)
		if err != nil {
			return err
		}
		if err := unused(ctx, tx, config, present, s.version); err != nil {
			return err
		}
		if err := unheld(ctx, tx, config, s); err != nil {
			return err
		}
		return drop(ctx, tx, config, present)
	})
	if err != nil {
		return fmt.Errorf("uninstall: %w", explainRights(err))
	}
	return nil
}

// unused fails with an *InUseError while something uses ours.
func unused(ctx context.Context, tx pgx.Tx, config InstalledConfig, present presence, version int) error {
	oids := []uint32{}
	for _, f := range present {
		oids = append(oids, f.oid)
	}
	rows, _ := tx.Query(ctx, usersQuery, oids, callPattern(config.Schema, version))
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(list) > 0 {
		return &InUseError{Users: list}
	}
	return nil
}

// unheld fails with an *InUseError where the registry in this database is that of
// others: without it they could be given equal numbers. One that came with a copy
// of the database is nobody's.
func unheld(ctx context.Context, tx pgx.Tx, config InstalledConfig, s server) error {
	var there bool
	err := tx.QueryRow(ctx, "SELECT pg_catalog.to_regclass('pgid.node') IS NOT NULL").Scan(&there)
	if err != nil || !there || config.copied(s) != "" {
		return err
	}
	rows, _ := tx.Query(ctx, `SELECT CASE kind WHEN 'lease' THEN 'the registry in this database, by ' || holder || ': end it, or wait until its lease expires'
		ELSE 'the registry in this database, by the functions of database ' || holder || ': uninstall them there, and pgidproxy nodes release ' || node || ' --functions' END
		FROM pgid.node WHERE kind = 'lease' AND until > pg_catalog.clock_timestamp() OR kind = 'functions' AND holder <> $1 AND NOT pg_catalog.starts_with(holder, $1 || ', named ') ORDER BY node`, s.key())
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(list) > 0 {
		err = &InUseError{Users: list}
	}
	return err
}

// callPattern is a regular expression for calls of our functions: unqualified,
// or qualified with their schema. From PostgreSQL 18 on an unqualified uuidv7 is
// the server's own.
func callPattern(schema string, version int) string {
	qualified := `\m"?` + regexpQuote(schema) + `"?\s*\.\s*"?(next_snowflake|uuidv7|id_to_timestamp)"?\s*\(`
	names := "next_snowflake|id_to_timestamp"
	if version < builtinUUIDv7 {
		names += "|uuidv7"
	}
	return `(^|[^.\w"\s])\s*"?(` + names + `)"?\s*\(|[\w")]\s+"?(` + names + `)"?\s*\(|` + qualified
}

// regexpQuote takes the meaning from what is special in a regular expression of
// PostgreSQL.
func regexpQuote(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\.^$*+?()[]{}|`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// drop waits a few seconds at most for transactions that use the sequences.
func drop(ctx context.Context, tx pgx.Tx, config InstalledConfig, present presence) error {
	var b strings.Builder
	b.WriteString("SET LOCAL lock_timeout = '5s';\n")
	for _, f := range present {
		fmt.Fprintf(&b, "DROP FUNCTION %s.%s(%s);\n", quoteIdent(config.Schema), f.name, f.args)
	}
	// CASCADE takes the event triggers along: the owner of the schema may drop
	// the function, but not them.
	b.WriteString(`DROP FUNCTION IF EXISTS pgid.notify_ddl() CASCADE;
		DROP TABLE pgid.snowflake_mover, pgid.config;
		DROP TABLE IF EXISTS pgid.registry, pgid.node;
		DROP SEQUENCE pgid.snowflake_last, pgid.snowflake_gate;
		DROP SCHEMA pgid;`)
	_, err := tx.Exec(ctx, b.String(), pgx.QueryExecModeSimpleProtocol)
	return err
}
