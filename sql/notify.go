package sql

import (
	"context"
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed notify.sql
var notifySQL string

// ddlTags are the commands after which the catalog may say something else, but
// for those that drop.
var ddlTags = []string{
	"ALTER AGGREGATE", "ALTER DOMAIN", "ALTER EXTENSION", "ALTER FOREIGN TABLE", "ALTER FUNCTION", "ALTER MATERIALIZED VIEW",
	"ALTER OPERATOR", "ALTER PROCEDURE", "ALTER ROUTINE", "ALTER RULE", "ALTER SCHEMA", "ALTER SEQUENCE", "ALTER TABLE",
	"ALTER TYPE", "ALTER VIEW", "CREATE AGGREGATE", "CREATE DOMAIN", "CREATE EXTENSION", "CREATE FOREIGN TABLE",
	"CREATE FUNCTION", "CREATE MATERIALIZED VIEW", "CREATE OPERATOR", "CREATE PROCEDURE", "CREATE RULE", "CREATE SCHEMA",
	"CREATE SEQUENCE", "CREATE TABLE", "CREATE TABLE AS", "CREATE TYPE", "CREATE VIEW", "DROP OWNED", "GRANT",
	"IMPORT FOREIGN SCHEMA", "REVOKE", "SELECT INTO",
}

const noNotify = "this role may not create event triggers, so proxies notice DDL that is done past them within about a second " +
	"instead of at once; install as a superuser for that"

// notifyScript makes the event triggers, or does nothing where the role may not.
func notifyScript() string {
	return strings.NewReplacer("{tags}", "'"+strings.Join(ddlTags, "', '")+"'", "{no_notify}", noNotify).Replace(notifySQL)
}

// notifies tells whether the event triggers are there as this program makes
// them, on or off.
func notifies(ctx context.Context, tx pgx.Tx) (all bool, err error) {
	err = tx.QueryRow(ctx, `SELECT count(*) = 2 FROM pg_event_trigger e JOIN pg_proc p ON p.oid = e.evtfoid AND p.proowner = e.evtowner
		WHERE p.pronamespace = to_regnamespace('pgid') AND p.proname = 'notify_ddl' AND p.prosrc = $1
		AND (e.evtname = 'pgidproxy_ddl' AND e.evtevent = 'ddl_command_end' AND e.evttags = $2
			OR e.evtname = 'pgidproxy_drop' AND e.evtevent = 'sql_drop' AND e.evttags IS NULL)`,
		strings.Split(notifySQL, "$pgid$")[1], ddlTags).Scan(&all)
	return all, err
}

// installNotify makes the event triggers where they are missing and the role
// may, and tells whether it did.
func (r *InstallReport) installNotify(ctx context.Context, tx pgx.Tx) (made bool, err error) {
	there, err := notifies(ctx, tx)
	if err != nil || there {
		return false, err
	}
	if _, err := tx.Exec(ctx, notifyScript(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return false, err
	}
	if made, err = notifies(ctx, tx); err == nil && !made {
		r.Notes = append(r.Notes, noNotify)
	}
	return made, err
}
