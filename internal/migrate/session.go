package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The advisory lock that one run at a time holds: the bytes "pgid", "migr".
const lockClass, lockObject = 0x70676964, 0x6d696772

// Settings of a session: names are written in full, no timeout but ours ends a
// statement, and the server notices at once when this program is gone.
const settings = `SET search_path = pg_catalog; SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = off; SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0;
SET idle_session_timeout = 0; SET quote_all_identifiers = off; SET DateStyle = 'ISO'; SET transform_null_equals = off;
SET standard_conforming_strings = on; SET client_encoding = 'UTF8'; SET row_security = off; SET jit = off; SET client_min_messages = 'warning';
SET default_tablespace = ''; SET synchronize_seqscans = off; SET check_function_bodies = off; SET application_name = 'pgidproxy migrate'`

type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// prepare makes a connection independent of what is set for it elsewhere.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, settings, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("set up the session: %w", err)
	}
	// Not every system can do the one, and not every version the other.
	_, _ = conn.Exec(ctx, "SET client_connection_check_interval = 500")
	_, _ = conn.Exec(ctx, "SET transaction_timeout = 0")
	return nil
}

// A BusyError says who runs a migration in this database.
type BusyError struct{ Holder string }

func (e *BusyError) Error() string {
	return "another run of pgidproxy migrate is at work in this database: " + e.Holder + ". Wait for it, or end it: it goes on where it was"
}

// patience is how long a run waits for one that was killed to be noticed by the
// server.
const patience = 3 * time.Second

// alone takes the lock for as long as the connection lives. All work is done on
// that very connection, so that none goes on without it.
func alone(ctx context.Context, conn *pgx.Conn) error {
	var pid int64
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return err
	}
	if strconv.FormatInt(pid, 10) != strconv.FormatUint(uint64(conn.PgConn().PID()), 10) {
		return errors.New("there is a connection pooler between here and the server, behind which a lock does not last: give --database-url the server itself")
	}
	for begin := time.Now(); ; {
		var got bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", lockClass, lockObject).Scan(&got); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if got {
			return nil
		}
		if time.Since(begin) > patience {
			break
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	holder, err := Running(ctx, conn)
	if err != nil {
		return err
	}
	return &BusyError{cmp.Or(holder, "who it is cannot be seen")}
}

// Running says who runs a migration in the database; "" is nobody.
func Running(ctx context.Context, conn *pgx.Conn) (holder string, err error) {
	err = conn.QueryRow(ctx, `SELECT format('process %s on the server, user %s%s, since %s', a.pid, a.usename,
			coalesce(', from ' || host(a.client_addr), ''), to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ'))
		FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.classid = $1 AND l.objid = $2 AND l.objsubid = 2
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`, lockClass, lockObject).Scan(&holder)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("look for who holds the lock: %w", err)
	}
	return holder, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
