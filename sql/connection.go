package sql

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// onConnect makes a connection independent of what is set for the role, the
// database and the server; within does so for a transaction. They are not part of
// the start-up packet, for the sake of poolers that refuse settings there.
// standard_conforming_strings and jit: the texts are ours, and run too briefly
// for compiling them to pay. Names are compared as UTF-8, except where the server
// does not know what its bytes mean.
const (
	encoding  = `CASE pg_catalog.getdatabaseencoding() WHEN 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END`
	onConnect = `SET search_path = pg_catalog; SET statement_timeout = 10000; SET lock_timeout = 0;
	SET idle_in_transaction_session_timeout = 60000; SET standard_conforming_strings = on; SET jit = off;
	SELECT pg_catalog.set_config('client_encoding', ` + encoding + `, false)`
	within = `SET LOCAL search_path = pg_catalog; SET LOCAL statement_timeout = 10000; SET LOCAL lock_timeout = 0;
	SET LOCAL idle_in_transaction_session_timeout = 60000; SET LOCAL standard_conforming_strings = on; SET LOCAL jit = off;
	SELECT pg_catalog.set_config('client_encoding', ` + encoding + `, true)`
)

// pooled is the key under which a connection keeps that a pooler is in between.
const pooled = "pgidproxy pooled"

// setUp prepares a watcher's connection. A pooler gives a process number of its
// own making; behind it the server's session is also that of others, to whom
// nothing may be left, and which no notification reaches for sure.
func setUp(ctx context.Context, conn *pgconn.PgConn) error {
	results, err := conn.Exec(ctx, "SELECT pg_catalog.pg_backend_pid()").ReadAll()
	if err != nil {
		return err
	}
	if pid := strconv.FormatUint(uint64(conn.PID()), 10); len(results) != 1 || len(results[0].Rows) != 1 || string(results[0].Rows[0][0]) != pid {
		conn.CustomData()[pooled] = true
		return nil
	}
	if err := conn.Exec(ctx, onConnect).Close(); err != nil {
		return err
	}
	_ = conn.Exec(ctx, listen).Close()
	return nil
}

// undisturbed calls do with the connection, or with a transaction where settings
// must not outlast it.
func undisturbed(ctx context.Context, conn *pgx.Conn, do func(querier) error) error {
	if conn.PgConn().CustomData()[pooled] == nil {
		return do(conn)
	}
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, within, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		return do(tx)
	})
}
