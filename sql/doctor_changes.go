package sql

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// checkEventTriggers tells whether proxies hear of DDL when it commits. Nothing
// depends on it but how soon they do.
func (d *doctor) checkEventTriggers(ctx context.Context) error {
	all, err := notifies(ctx, d.tx)
	if err != nil {
		return err
	}
	const again = "Run pgidproxy install as a superuser."
	rows, _ := d.tx.Query(ctx, `SELECT e.evtname, e.evtenabled::text, p.proowner = e.evtowner, current_setting('max_prepared_transactions')
		FROM pg_event_trigger e JOIN pg_proc p ON p.oid = e.evtfoid
		WHERE e.evtname IN ('pgidproxy_ddl', 'pgidproxy_drop') ORDER BY e.evtname`)
	var name, enabled, prepared string
	var safe bool
	there := 0
	_, err = pgx.ForEachRow(rows, []any{&name, &enabled, &safe, &prepared}, func() error {
		there++
		if !safe {
			d.say(LevelWarning, name, "its function belongs to another role than itself, which so can act with the rights of everybody who runs DDL, superusers too", again)
		}
		if enabled == "D" || enabled == "R" {
			d.say(LevelNote, name, "it is disabled: proxies notice DDL that is done past them within about a second instead of at once", "ALTER EVENT TRIGGER "+name+" ENABLE;")
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case there == 0:
		d.say(LevelNote, "", "there are none: proxies notice DDL that is done past them within about a second instead of at once", again)
	case !all && d.config.Version <= Version:
		d.say(LevelNote, "", "they are not as this program makes them: proxies may notice DDL that is done past them within about a second instead of at once", again)
	case prepared != "0":
		d.say(LevelNote, "", fmt.Sprintf("they keep still, since max_prepared_transactions is %s: proxies notice DDL that is done past them within about a second instead of at once", prepared), "")
	}
	return nil
}

// checkPublications finds what carries our state to another server.
func (d *doctor) checkPublications(ctx context.Context) error {
	schemas := "false"
	if d.server.version >= 150000 {
		schemas = "EXISTS (SELECT FROM pg_publication_namespace s JOIN pg_namespace n ON n.oid = s.pnnspid WHERE s.pnpubid = p.oid AND n.nspname = 'pgid')"
	}
	rows, _ := d.tx.Query(ctx, `SELECT quote_ident(p.pubname), p.puballtables FROM pg_publication p WHERE p.puballtables OR `+schemas+` OR EXISTS (
		SELECT FROM pg_publication_rel r JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE r.prpubid = p.oid AND n.nspname = 'pgid') ORDER BY 1`)
	var name string
	var all bool
	_, err := pgx.ForEachRow(rows, []any{&name, &all}, func() error {
		advice := "Take schema pgid and its tables out of it with ALTER PUBLICATION " + name + " DROP …."
		if all {
			advice = "Publish the tables or schemas that are needed by name instead of all tables."
		}
		d.say(LevelWarning, "publication "+name, "it carries pgid.config, which conflicts where the functions are installed on the subscriber too, and stops replication there", advice)
		return nil
	})
	return err
}
