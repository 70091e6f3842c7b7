package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

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
	if config.ConnectTimeout == 0 || config.ConnectTimeout > callLimit {
		config.ConnectTimeout = callLimit
	}
	s := &Store{config: config, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// callLimit is how long the server may work on a call: less than lease allows.
const callLimit = 2500 * time.Millisecond

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

// settings makes a transaction independent of what is set for the role, the
// database and the server. synchronous_commit is raised where a commit would not
// wait until it is durable, and never lowered.
const settings = `SELECT pg_catalog.set_config('search_path', 'pg_catalog', true), pg_catalog.set_config('statement_timeout', '2500', true),
	pg_catalog.set_config('lock_timeout', '2000', true), pg_catalog.set_config('idle_in_transaction_session_timeout', '5000', true),
	pg_catalog.set_config('synchronous_commit', CASE WHEN pg_catalog.current_setting('synchronous_commit') IN ('off', 'local')
		THEN 'on' ELSE pg_catalog.current_setting('synchronous_commit') END, true)`

// do runs one transaction on the connection, which is given up after an error.
// Where it was found dead before anything was sent, a new one is tried.
func (s *Store) do(ctx context.Context, mode pgx.TxAccessMode, f func(tx pgx.Tx) error) error {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.turn <- struct{}{} }()
	kept := s.conn != nil
	err := s.once(ctx, mode, f)
	if kept && s.conn == nil && unsent(err) && ctx.Err() == nil {
		err = s.once(ctx, mode, f)
	}
	return explain(err, s.config.User)
}

func (s *Store) once(ctx context.Context, mode pgx.TxAccessMode, f func(tx pgx.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.conn == nil {
		if err := s.connect(ctx); err != nil {
			return err
		}
	}
	err := pgx.BeginTxFunc(ctx, s.conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: mode}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, settings); err != nil {
			return err
		}
		return f(tx)
	})
	if err != nil && !errors.Is(err, lease.ErrChanged) && !errors.Is(err, lease.ErrEra) {
		s.drop()
	}
	return err
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
	r.id, r.era, r.server, r.floor_ms,
	GREATEST(LEAST(pg_catalog.date_part('epoch', r.ready - pg_catalog.clock_timestamp()) * 1000, r.wait_ms), 0)::float8,
	n.node, n.kind, n.token, n.holder, n.mark_ms, n.every_ms, n.ttl_ms, n.since, n.until,
	n.kind = 'functions' OR n.kind = 'lease' AND n.until > pg_catalog.clock_timestamp()
	FROM (SELECT) one LEFT JOIN pgid.registry r ON true LEFT JOIN pgid.node n ON true ORDER BY n.node`

func (s *Store) load(ctx context.Context, tx pgx.Tx) (snap lease.Snapshot, err error) {
	rows, err := tx.Query(ctx, fmt.Sprintf(loadQuery, s.names.expression()))
	if err != nil {
		return snap, err
	}
	var id, era, server, kind, token, holder *string
	var floor, mark, every, ttl *int64
	var wait *float64
	var node *int
	var since, until *time.Time
	var live *bool
	_, err = pgx.ForEachRow(rows, []any{&snap.Server, &snap.Now, &id, &era, &server, &floor, &wait,
		&node, &kind, &token, &holder, &mark, &every, &ttl, &since, &until, &live}, func() error {
		if id != nil && snap.Head == nil {
			snap.Head = &lease.Head{ID: *id, Era: *era, Server: *server, Floor: *floor}
			snap.Wait = time.Duration(*wait) * time.Millisecond
			snap.Copied = copied(*server, snap.Server)
		}
		if node != nil {
			snap.Records = append(snap.Records, lease.Record{Node: *node, Kind: *kind, Token: *token, Holder: *holder, Mark: *mark,
				Every: ms(*every), TTL: ms(*ttl), Since: *since, Until: *until, Live: *live})
		}
		return nil
	})
	return snap, err
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// lock is the key of the lock that keeps writes of records and of the head apart:
// the bytes "pgreg". It ends with the transaction, behind a pooler too.
const lock = 0x7067726567

// Found implements lease.Store.
func (s *Store) Found(ctx context.Context, old string, head lease.Head, wait time.Duration) error {
	return s.do(ctx, pgx.ReadWrite, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_catalog.pg_advisory_xact_lock($1)", int64(lock)); err != nil {
			return err
		}
		text := `UPDATE pgid.registry SET id = $1, era = $2, server = $3, floor_ms = $4, wait_ms = $5::pg_catalog.int8,
			ready = pg_catalog.clock_timestamp() + $5::pg_catalog.int8 * '1 millisecond'::pg_catalog.interval WHERE era = $6`
		args := []any{head.ID, head.Era, head.Server, head.Floor, wait.Milliseconds(), old}
		if old == "" {
			text = `INSERT INTO pgid.registry (id, era, server, floor_ms, wait_ms, ready) VALUES ($1, $2, $3, $4, $5::pg_catalog.int8,
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
		var era bool
		err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pgid.registry WHERE era = $1 AND server = "+s.names.expression()+")", w.Era).Scan(&era)
		if err != nil {
			return err
		}
		if !era {
			return lease.ErrEra
		}
		err = tx.QueryRow(ctx, swapText(w), w.Node, w.Kind, w.Token, w.Holder, w.Mark, w.Every.Milliseconds(), w.TTL.Milliseconds(),
			w.Expect, w.Renew).Scan(&now)
		if errors.Is(err, pgx.ErrNoRows) {
			err = lease.ErrChanged
		}
		return err
	})
	return now, err
}

// swapText writes a record where there is one of an expected token, or where
// there is none and that is expected. Another's row that is inserted meanwhile is
// waited for, and makes the insertion do nothing.
func swapText(w lease.Swap) string {
	const after = ` RETURNING pg_catalog.int8(pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000))`
	for _, token := range w.Expect {
		if token != "" {
			return `UPDATE pgid.node SET kind = $2, token = $3, holder = $4, mark_ms = GREATEST(mark_ms, $5), every_ms = $6, ttl_ms = $7::pg_catalog.int8,
				since = CASE WHEN $9 THEN since ELSE pg_catalog.clock_timestamp() END,
				until = pg_catalog.clock_timestamp() + $7::pg_catalog.int8 * '1 millisecond'::pg_catalog.interval
				WHERE node = $1 AND token = ANY ($8::pg_catalog.text[])` + after
		}
	}
	return `INSERT INTO pgid.node (node, kind, token, holder, mark_ms, every_ms, ttl_ms, since, until)
		SELECT $1, $2, $3, $4, $5, $6, $7::pg_catalog.int8, pg_catalog.clock_timestamp(), pg_catalog.clock_timestamp() + $7::pg_catalog.int8 * '1 millisecond'::pg_catalog.interval
		WHERE '' = ANY ($8::pg_catalog.text[]) AND $9::boolean IS NOT NULL ON CONFLICT DO NOTHING` + after
}

// installLock is the lock under which package sql's installs follow one another.
const installLock = 0x70676964

// Create makes the tables where they are missing, for which the role needs CREATE
// on the database or, where schema pgid is there, on that; otherwise it needs
// nothing.
func Create(ctx context.Context, conn *pgx.Conn) error {
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_catalog.set_config('search_path', 'pg_catalog', true), pg_catalog.pg_advisory_xact_lock($1)",
			int64(installLock)); err != nil {
			return err
		}
		var there bool
		err := tx.QueryRow(ctx, "SELECT pg_catalog.to_regclass('pgid.registry') IS NOT NULL AND pg_catalog.to_regclass('pgid.node') IS NOT NULL").Scan(&there)
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

// copied tells whether a head is of other data: another system or database. That
// only the timeline is another means a failover.
func copied(head, now string) bool {
	cut := func(s string) string { return s[:max(strings.LastIndexByte(s, '/'), 0)] }
	return head != "" && cut(head) != cut(now)
}
