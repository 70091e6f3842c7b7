package sql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
)

// InstalledConfig is what is recorded in a database at install.
type InstalledConfig struct {
	Version          int
	EpochMs          int64
	Layout           string
	Schema           string
	FunctionNode     int
	SystemIdentifier *int64 // nil where it could not be read
	DatabaseOID      uint32
	Registry         string // id of the registry that gave the functions their node; "" where it is not known
}

// Key returns the key of the database in which the functions were installed, as
// Identify does; "" where its system's identifier is not recorded.
func (c InstalledConfig) Key() string {
	if c.SystemIdentifier == nil {
		return ""
	}
	return server{oid: c.DatabaseOID, identifier: c.SystemIdentifier}.key()
}

// Compatible fails where ids are laid out otherwise than this program does.
func (c InstalledConfig) Compatible() error {
	if c.EpochMs != gen.Epoch || c.Layout != layout {
		return fmt.Errorf("the database's ids count from %s in layout %s, this program's from %s in %s: "+
			"ids of both would not sort or decode together",
			time.UnixMilli(c.EpochMs).UTC().Format(time.RFC3339), c.Layout,
			time.UnixMilli(gen.Epoch).UTC().Format(time.RFC3339), layout)
	}
	if c.Version > Version {
		return fmt.Errorf("the database's functions are of version %d, this program knows up to %d: use a newer pgidproxy",
			c.Version, Version)
	}
	return nil
}

// equal tells whether both record the same; an identifier that could not be
// read is not another one.
func (c InstalledConfig) equal(o InstalledConfig) bool {
	same := c.SystemIdentifier == nil || o.SystemIdentifier == nil || *c.SystemIdentifier == *o.SystemIdentifier
	c.SystemIdentifier, o.SystemIdentifier = nil, nil
	return same && c == o
}

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// ReadConfig returns what is recorded in the database; found is false where
// nothing is installed.
func ReadConfig(ctx context.Context, conn *pgx.Conn) (c InstalledConfig, found bool, err error) {
	return readConfig(ctx, conn)
}

func readConfig(ctx context.Context, q querier) (c InstalledConfig, found bool, err error) {
	var there bool
	if err := q.QueryRow(ctx, "SELECT pg_catalog.to_regclass('pgid.config') IS NOT NULL").Scan(&there); err != nil || !there {
		return c, false, err
	}
	// Before version 3 there was no registry.
	err = q.QueryRow(ctx, `SELECT version, epoch_ms, layout, schema, function_node, system_identifier, database_oid,
		coalesce(pg_catalog.to_jsonb(c) OPERATOR(pg_catalog.->>) 'registry', '')
		FROM pgid.config c`).Scan(&c.Version, &c.EpochMs, &c.Layout, &c.Schema, &c.FunctionNode, &c.SystemIdentifier, &c.DatabaseOID, &c.Registry)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	return c, err == nil, err
}

// server is what identifies a database.
type server struct {
	version    int
	database   string
	oid        uint32
	identifier *int64 // nil where it may not be read
	address    string // of the server; "" on a socket
}

// key tells a database from all others, whatever its name becomes.
func (s server) key() string {
	if s.identifier == nil {
		return fmt.Sprintf("%d of the server at %s", s.oid, s.address)
	}
	return fmt.Sprintf("%d of system %d", s.oid, *s.identifier)
}

// An Identity tells a database from others.
type Identity struct {
	// Key is its oid and its system's identifier, or, where that may not be read, the
	// server's address. It stays when the database is renamed or fails over, and not
	// when it is copied.
	Key string
	// Weak is set where it is the address, which other servers may have too: as they
	// see it themselves, it is often that of a container, or a socket's.
	Weak bool
	Name string
	Now  int64 // the server's clock in ms since 1970
}

// Identify tells which database it is.
func Identify(ctx context.Context, conn *pgx.Conn) (Identity, error) {
	s, err := readServer(ctx, conn)
	i := Identity{Key: s.key(), Weak: s.identifier == nil, Name: s.database}
	if err == nil {
		err = conn.QueryRow(ctx, "SELECT pg_catalog.int8(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000.0::pg_catalog.float8)").Scan(&i.Now)
	}
	return i, err
}

func readServer(ctx context.Context, q querier) (s server, err error) {
	var allowed bool
	err = q.QueryRow(ctx, `SELECT pg_catalog.current_setting('server_version_num')::int, d.datname, d.oid,
		coalesce(pg_catalog.concat(pg_catalog.host(pg_catalog.inet_server_addr()), ':', pg_catalog.inet_server_port()), ''),
		pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')
		FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()`).
		Scan(&s.version, &s.database, &s.oid, &s.address, &allowed)
	if err == nil && allowed {
		err = q.QueryRow(ctx, "SELECT system_identifier FROM pg_catalog.pg_control_system()").Scan(&s.identifier)
	}
	return s, err
}

// copied says that the database is not the one in which the functions were
// installed, "" where it is.
func (c InstalledConfig) copied(s server) string {
	other := c.DatabaseOID != s.oid ||
		c.SystemIdentifier != nil && s.identifier != nil && *c.SystemIdentifier != *s.identifier
	if !other {
		return ""
	}
	return fmt.Sprintf("the functions were installed in another database, of which this one is a copy: "+
		"both mint under node %d. Give this one another with pgidproxy install --new-function-node, "+
		"or, if the other is no more (moved, restored, upgraded), this number again with --function-node %[1]d", c.FunctionNode)
}

// CopyWarning says whether the database is a copy of the one in which the
// functions were installed; "" where it is not, or nothing is installed.
func CopyWarning(ctx context.Context, conn *pgx.Conn) (string, error) {
	c, found, err := readConfig(ctx, conn)
	if err != nil || !found {
		return "", err
	}
	s, err := readServer(ctx, conn)
	if err != nil {
		return "", err
	}
	return c.copied(s), nil
}
