package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

// identity says what of a server's identity can be asked for there, and whether it
// is for lack of rights that something cannot.
type identity struct{ system, timeline, denied bool }

// readNames finds that out. It fails on a standby.
func readNames(ctx context.Context, conn *pgx.Conn) (i identity, err error) {
	var standby bool
	err = conn.QueryRow(ctx, `SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE'),
		pg_catalog.has_function_privilege('pg_catalog.pg_walfile_name(pg_catalog.pg_lsn)', 'EXECUTE') AND
		pg_catalog.has_function_privilege('pg_catalog.pg_current_wal_lsn()', 'EXECUTE')`).Scan(&standby, &i.system, &i.timeline)
	if err != nil {
		return i, err
	}
	if standby {
		return i, errors.New("the server is a standby: a registry is kept on the primary (target_session_attrs=read-write finds it)")
	}
	i.denied = !i.system || !i.timeline
	if i.timeline {
		// Some managed servers have the function, and it fails.
		var name string
		err = conn.QueryRow(ctx, "SELECT "+timeline).Scan(&name)
		var reply *pgconn.PgError
		if errors.As(err, &reply) && !passing(reply.Code) {
			i.timeline, err = false, nil
		}
	}
	return i, err
}

// timeline is that of the file that is being written: right at once behind a
// promotion, which what the last checkpoint says is not.
const timeline = "pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8)"

// expression is what gives the server's identity in SQL: system identifier,
// database and timeline.
func (i identity) expression() string {
	system, line := "'"+unknown+"'", "'"+unknown+"'"
	if i.system {
		system = "(SELECT system_identifier::pg_catalog.text FROM pg_catalog.pg_control_system())"
	}
	if i.timeline {
		line = timeline
	}
	return fmt.Sprintf("(%s || '/' || (SELECT oid::pg_catalog.text FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) || '/' || %s)",
		system, line)
}

// passing tells whether an error is of the moment: lost connections, resources and
// interventions. Were it taken for what the server is like, that would change its
// identity.
func passing(code string) bool {
	return len(code) < 2 || slices.Contains([]string{"08", "40", "53", "57", "58"}, code[:2])
}

// unknown stands for a part of the identity that cannot be asked for.
const unknown = "-"

// less tells whether of a head's identity something cannot be asked for now. Roles
// that see different things would each take the other's for another server's.
func less(head, now string) bool {
	h, n := strings.Split(head, "/"), strings.Split(now, "/")
	return len(h) == len(n) && slices.ContainsFunc([]int{0, len(n) - 1}, func(i int) bool { return n[i] == unknown && h[i] != unknown })
}

// copied tells whether a head is of other data: another system or database. That
// only the timeline is another means a failover.
func copied(head, now string) bool {
	h, n := strings.Split(head, "/"), strings.Split(now, "/")
	return head != "" && (len(h) != len(n) || h[1] != n[1] || h[0] != n[0] && h[0] != unknown)
}

// explain makes of errors that trying again does not cure such that say what to
// do.
func explain(err error, config *pgx.ConnConfig) error {
	var reply *pgconn.PgError
	if !errors.As(err, &reply) {
		return err
	}
	hint, role := "", pgx.Identifier{config.User}.Sanitize()
	switch {
	case reply.Code == "42P01" || reply.Code == "3F000":
		hint = "the registry's tables are not in this database: run pgidproxy install there, or pgidproxy nodes init, as a role that may create them"
	case reply.Code == "42501" && errors.As(err, new(*pgconn.ConnectError)):
		hint = "let the role connect: GRANT CONNECT ON DATABASE " + pgx.Identifier{config.Database}.Sanitize() + " TO " + role
	case reply.Code == "42501":
		hint = "let the role use the registry: GRANT USAGE ON SCHEMA pgid TO " + role + "; GRANT SELECT, INSERT, UPDATE ON pgid.registry, pgid.node TO " + role
	case strings.HasPrefix(reply.Code, "28") || reply.Code == "3D000":
		hint = "check user, password and database of the registry's URL"
	default:
		return err
	}
	return &lease.SetupError{Err: err, Hint: hint}
}
