package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

//go:embed schema.sql
var schema string

// A Store is a registry in a database. It holds one connection.
type Store struct {
	config *pgx.ConnConfig
	turn   chan struct{} // full: the connection is free to be used

	conn  *pgx.Conn // nil: none; of whoever has the turn
	names identity  // what of the server's identity can be asked for, on conn
}

// New returns the registry in a database. It connects when it is used.
func New(config *pgx.ConnConfig) *Store {
	config = config.Copy()
	config.RuntimeParams["application_name"] = "pgidproxy registry"
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // prepares nothing that outlives a call
	type host struct {
		name string
		port uint16
	}
	hosts := map[host]bool{{config.Host, config.Port}: true}
	for _, f := range config.Fallbacks {
		hosts[host{f.Host, f.Port}] = true
	}
	// A host that is gone leaves time for the next one.
	if limit := callLimit / time.Duration(len(hosts)); config.ConnectTimeout == 0 || config.ConnectTimeout > limit {
		config.ConnectTimeout = limit
	}
	if config.ValidateConnect == nil && len(hosts) > 1 {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	s := &Store{config: config, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// callLimit is how long the server may work on a call: less than lease allows.
const callLimit = 2500 * time.Millisecond

// patience is how long a call may take where its context allows more.
const patience = 10 * time.Second

// Close implements lease.Store.
func (s *Store) Close() error {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	if s.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	conn := s.conn
	s.conn = nil
	return conn.Close(ctx)
}

// begin makes a transaction independent of what is set for the role, the
// database and the server. synchronous_commit is raised where a commit would not
// wait until it is durable, and never lowered.
const begin = `BEGIN ISOLATION LEVEL READ COMMITTED %s; SET LOCAL search_path = pg_catalog; SET LOCAL statement_timeout = 2500;
	SET LOCAL lock_timeout = 2000; SET LOCAL idle_in_transaction_session_timeout = 5000;
	SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') IN ('off', 'local')`

// do runs one transaction on the connection, which is given up after an error.
// Where a kept one turns out to be dead before anything was asked of it, a new one
// is tried.
func (s *Store) do(ctx context.Context, mode pgx.TxAccessMode, f func(tx pgx.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-s.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.turn <- struct{}{} }()
	kept := s.conn != nil
	begun, err := s.once(ctx, mode, f)
	if err != nil && kept && !begun && ctx.Err() == nil {
		_, err = s.once(ctx, mode, f)
	}
	return explain(err, s.config)
}

// once tells besides whether the transaction began.
func (s *Store) once(ctx context.Context, mode pgx.TxAccessMode, f func(tx pgx.Tx) error) (begun bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if s.conn == nil {
		if err := s.connect(ctx); err != nil {
			return false, err
		}
	}
	err = pgx.BeginTxFunc(ctx, s.conn, pgx.TxOptions{BeginQuery: fmt.Sprintf(begin, mode)}, func(tx pgx.Tx) error {
		begun = true
		return f(tx)
	})
	if err != nil && !errors.Is(err, lease.ErrChanged) && !errors.Is(err, lease.ErrEra) {
		s.drop()
	}
	return begun, err
}

// drop closes the connection without waiting for the server.
func (s *Store) drop() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = s.conn.Close(ctx)
	s.conn = nil
}

func (s *Store) connect(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return err
	}
	s.conn = conn
	if s.names, err = readNames(ctx, conn); err != nil {
		s.drop()
	}
	return err
}

// Load implements lease.Store.
func (s *Store) Load(ctx context.Context) (snap lease.Snapshot, err error) {
	// Head and records must be of one moment.
	err = s.do(ctx, pgx.ReadOnly, func(tx pgx.Tx) error {
		snap, err = s.load(ctx, tx)
		return err
	})
	return snap, err
}

const loadQuery = `SELECT %s, pg_catalog.int8(pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000)),
	r.id, r.era, r.xmin::pg_catalog.text, r.server, r.floor_ms,
	GREATEST(LEAST(pg_catalog.date_part('epoch', r.ready - pg_catalog.clock_timestamp()) * 1000, r.wait_ms), 0)::float8,
	n.node, n.kind, n.token, n.holder, n.mark_ms, n.every_ms, n.ttl_ms,
	pg_catalog.int8(pg_catalog.date_part('epoch', n.since) * 1000000), pg_catalog.int8(pg_catalog.date_part('epoch', n.until) * 1000000),
	n.kind = 'functions' OR n.kind = 'lease' AND n.until > pg_catalog.clock_timestamp()
	FROM (SELECT) one LEFT JOIN pgid.registry r ON true LEFT JOIN pgid.node n ON true ORDER BY n.node`

func (s *Store) load(ctx context.Context, tx pgx.Tx) (snap lease.Snapshot, err error) {
	rows, err := tx.Query(ctx, fmt.Sprintf(loadQuery, s.names.expression()))
	if err != nil {
		return snap, err
	}
	var id, era, written, server, kind, token, holder *string
	var floor, mark, every, ttl, since, until *int64 // since and until in µs: how times are written differs
	var wait *float64
	var node *int
	var live *bool
	var back bool // what is there was restored
	_, err = pgx.ForEachRow(rows, []any{&snap.Server, &snap.Now, &id, &era, &written, &server, &floor, &wait,
		&node, &kind, &token, &holder, &mark, &every, &ttl, &since, &until, &live}, func() error {
		if id != nil && snap.Head == nil {
			snap.Copied = copied(*server, snap.Server)
			name, by, sealed := strings.Cut(*era, seal)
			back = sealed && by != *written
			snap.Head = &lease.Head{ID: *id, Era: name, Server: *server, Floor: *floor}
			snap.Wait = time.Duration(*wait * float64(time.Millisecond))
		}
		if node != nil {
			snap.Records = append(snap.Records, lease.Record{Node: *node, Kind: *kind, Token: *token, Holder: *holder, Mark: *mark,
				Every: ms(*every), TTL: ms(*ttl), Since: time.UnixMicro(*since), Until: time.UnixMicro(*until), Live: *live})
		}
		return nil
	})
	if err == nil && snap.Head != nil && s.names.denied && less(snap.Head.Server, snap.Server) {
		role := pgx.Identifier{s.config.User}.Sanitize()
		err = &lease.SetupError{Err: fmt.Errorf("role %s may not ask which server this is, as others have that use the registry", role),
			Hint: "GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system(), pg_catalog.pg_walfile_name(pg_lsn), pg_catalog.pg_current_wal_lsn() TO " + role}
	}
	if back {
		snap.Server += restored
	}
	return snap, err
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// lock is the key of the lock that keeps writes of records and of the head apart:
// the bytes "pgreg". It ends with the transaction, behind a pooler too.
const lock = 0x7067726567

// The transaction that wrote the head is recorded in its era, behind seal. The
// row's xmin is the same as long as the row is: a restore into the same database
// puts an older one in its place, by a transaction of its own. Then restored is
// added to the server's name. An era that an older program began has no seal
// until the first write under it.
const (
	seal     = "@"
	restored = "+restored"
	writer   = "'" + seal + "' || (pg_catalog.txid_current() & 4294967295)::pg_catalog.text"
)

// Found implements lease.Store.
func (s *Store) Found(ctx context.Context, old string, head lease.Head, wait time.Duration) error {
	return s.do(ctx, pgx.ReadWrite, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_catalog.pg_advisory_xact_lock($1)", int64(lock)); err != nil {
			return err
		}
		text := `UPDATE pgid.registry SET id = $1, era = $2 || ` + writer + `, server = $3, floor_ms = $4, wait_ms = $5::pg_catalog.int8,
			ready = pg_catalog.clock_timestamp() + $5::pg_catalog.int8 * '1 millisecond'::pg_catalog.interval
			WHERE pg_catalog.split_part(era, '` + seal + `', 1) = $6`
		args := []any{head.ID, head.Era, strings.TrimSuffix(head.Server, restored), head.Floor, wait.Milliseconds(), old}
		if old == "" {
			text = `INSERT INTO pgid.registry (id, era, server, floor_ms, wait_ms, ready) VALUES ($1, $2 || ` + writer + `, $3, $4, $5::pg_catalog.int8,
				pg_catalog.clock_timestamp() + $5::pg_catalog.int8 * '1 millisecond'::pg_catalog.interval) ON CONFLICT DO NOTHING`
			args = args[:5]
		}
		tag, err := tx.Exec(ctx, text, args...)
		if err == nil && tag.RowsAffected() == 0 {
			err = lease.ErrChanged
		}
		return err
	})
}

// Swap implements lease.Store.
func (s *Store) Swap(ctx context.Context, w lease.Swap) (now int64, err error) {
	err = s.do(ctx, pgx.ReadWrite, func(tx pgx.Tx) error {
		// Statements that follow see what was committed before the lock was granted.
		if _, err := tx.Exec(ctx, "SELECT pg_catalog.pg_advisory_xact_lock_shared($1)", int64(lock)); err != nil {
			return err
		}
		if err := s.under(ctx, tx, w.Era); err != nil {
			return err
		}
		args := []any{w.Node, w.Kind, w.Token, w.Holder, w.Mark, w.Every.Milliseconds(), w.TTL.Milliseconds(), w.Expect, w.Renew}
		err = pgx.ErrNoRows
		if slices.Contains(w.Expect, "") {
			err = tx.QueryRow(ctx, insert, args[:7]...).Scan(&now)
		}
		if errors.Is(err, pgx.ErrNoRows) {
			err = tx.QueryRow(ctx, update, args...).Scan(&now)
		}
		if errors.Is(err, pgx.ErrNoRows) {
			err = lease.ErrChanged
		}
		return err
	})
	return now, err
}

// under fails with ErrEra unless the head is of the era, and as it was written by
// the server that this is. It seals an era of an older program.
func (s *Store) under(ctx context.Context, tx pgx.Tx, era string) error {
	var open bool
	err := tx.QueryRow(ctx, "SELECT era = $1 AND pg_catalog.has_table_privilege('pgid.registry', 'UPDATE') FROM pgid.registry "+
		"WHERE era IN ($1, $1 || '"+seal+"' || xmin::pg_catalog.text) AND server = "+s.names.expression(), era).Scan(&open)
	if errors.Is(err, pgx.ErrNoRows) {
		return lease.ErrEra
	}
	if err == nil && open {
		_, err = tx.Exec(ctx, "UPDATE pgid.registry SET era = era || "+writer+" WHERE era = $1", era)
	}
	return err
}

// insert writes a record where there is none, and update one of an expected token.
// Another's row that is inserted meanwhile makes the insertion do nothing, and one
// that is changed meanwhile is looked at again: each is waited for.
const (
	update = `UPDATE pgid.node SET kind = $2, token = $3, holder = $4, mark_ms = GREATEST(mark_ms, $5), every_ms = $6, ttl_ms = $7::pg_catalog.int8,
		since = CASE WHEN $9 THEN since ELSE pg_catalog.clock_timestamp() END,
		until = pg_catalog.clock_timestamp() + $7::pg_catalog.int8 * '1 millisecond'::pg_catalog.interval
		WHERE node = $1 AND token = ANY ($8::pg_catalog.text[])` + returning
	insert = `INSERT INTO pgid.node (node, kind, token, holder, mark_ms, every_ms, ttl_ms, since, until)
		VALUES ($1, $2, $3, $4, $5, $6, $7::pg_catalog.int8, pg_catalog.clock_timestamp(),
		pg_catalog.clock_timestamp() + $7::pg_catalog.int8 * '1 millisecond'::pg_catalog.interval) ON CONFLICT DO NOTHING` + returning
	returning = ` RETURNING pg_catalog.int8(pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000))`
)

// installLock is the lock under which package sql's installs follow one another.
const installLock = 0x70676964

// Create makes the tables where they are missing, for which the role needs CREATE
// on the database or, where schema pgid is there, CREATE and USAGE on that;
// otherwise it needs nothing.
func Create(ctx context.Context, conn *pgx.Conn) error {
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		// Without arguments nothing is prepared, which behind a pooler would be in the
		// way of the next one.
		if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_catalog.set_config('search_path', 'pg_catalog', true), pg_catalog.pg_advisory_xact_lock(%d)",
			installLock), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		var there bool
		err := tx.QueryRow(ctx, "SELECT pg_catalog.to_regclass('pgid.registry') IS NOT NULL AND pg_catalog.to_regclass('pgid.node') IS NOT NULL",
			pgx.QueryExecModeExec).Scan(&there)
		if err != nil || there {
			return err
		}
		_, err = tx.Exec(ctx, "SET LOCAL client_min_messages = warning;"+schema+strip, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if err != nil {
		return fmt.Errorf("make the registry's tables: %w", err)
	}
	return nil
}

// strip takes away what default privileges have given to others.
const strip = `DO $strip$ DECLARE g record; BEGIN
  FOR g IN SELECT DISTINCT c.relname, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::pg_catalog.regrole::pg_catalog.text END AS role
      FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
      WHERE c.oid IN ('pgid.registry'::pg_catalog.regclass, 'pgid.node'::pg_catalog.regclass) AND a.grantee <> c.relowner
  LOOP
    EXECUTE pg_catalog.format('REVOKE ALL ON pgid.%I FROM %s', g.relname, g.role);
  END LOOP;
END $strip$;`
