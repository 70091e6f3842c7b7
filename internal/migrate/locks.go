package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	quickTries = 12                    // without waiting
	quickPause = 15 * time.Millisecond // between them
	longBlock  = 5                     // times the lock timeout that a statement under locks may take
)

var errNoLock = errors.New("no lock")

// change runs a step in one transaction, with its locks, as often as it takes to
// get these. save is part of the transaction.
func (r *Runner) change(ctx context.Context, s Step, save func(pgx.Tx) error) error {
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		err := r.attempt(ctx, s, save)
		if !errors.Is(err, errNoLock) && code(err) != "55P03" && code(err) != "40P01" {
			return err
		}
		if try >= r.job.Plan.Options.Retries {
			return fmt.Errorf("no lock after %d attempts, of which the last was in the way of %s: end what holds it and run the same again", try, r.holders(ctx, s))
		}
		r.at.Waiting = fmt.Sprintf("lock, attempt %d", try+1)
		r.tell(r.at)
		if err := sleep(r.stop, jitter(pause)); err != nil {
			return errInterrupted
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// idle is how long a transaction with locks may stand still.
func (r *Runner) idle() time.Duration {
	return max(r.job.Plan.Options.LockTimeout, time.Second)
}

func (r *Runner) attempt(ctx context.Context, s Step, save func(pgx.Tx) error) error {
	tx, err := r.Conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	// A run that stands still must not hold locks: the server ends it.
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d", r.idle().Milliseconds())); err != nil {
		return err
	}
	if err := r.lock(ctx, tx, s.Mode, s.Tables); err != nil {
		return err
	}
	timeout := r.job.Plan.Options.LockTimeout
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d; SET LOCAL statement_timeout = %d", timeout.Milliseconds(), longBlock*timeout.Milliseconds()), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	for _, c := range s.Checks {
		if c.Before {
			if err := r.check(ctx, tx, c); err != nil {
				return err
			}
		}
	}
	// One message, so that the locks are not held for a round trip each.
	if _, err := tx.Exec(ctx, strings.Join(s.SQL, ";\n"), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	for _, c := range s.Checks {
		if !c.Before {
			if err := r.check(ctx, tx, c); err != nil {
				return err
			}
		}
	}
	if save != nil {
		if err := save(tx); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

// lock takes the locks of a step so that nobody waits long or gets an error.
//
// First comes a lock that writers do not feel but autovacuum does, which ends
// itself for whoever waits. Of one table the real lock is then waited for at most
// the lock timeout. Several are first tried without waiting, so that nobody can
// wait for us while we wait. If that does not work, all are waited for together,
// for less than deadlock_timeout: a writer that waits for us began to do so after
// we did, so that we have given up before it looks for a deadlock.
func (r *Runner) lock(ctx context.Context, tx pgx.Tx, mode string, tables []string) error {
	if len(tables) == 0 {
		return nil
	}
	timeout := r.job.Plan.Options.LockTimeout
	set := func(lock, statement time.Duration) error {
		_, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d; SET LOCAL statement_timeout = %d", lock.Milliseconds(), statement.Milliseconds()), pgx.QueryExecModeSimpleProtocol)
		return err
	}
	names := "ONLY " + strings.Join(tables, ", ONLY ")
	if err := set(10*time.Second, 0); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE "+names+" IN SHARE UPDATE EXCLUSIVE MODE"); err != nil {
		return err
	}
	if err := set(timeout, 0); err != nil {
		return err
	}
	if len(tables) == 1 {
		_, err := tx.Exec(ctx, "LOCK TABLE "+names+" IN "+mode+" MODE")
		return err
	}
	for range quickTries {
		sub, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		_, err = sub.Exec(ctx, "LOCK TABLE "+names+" IN "+mode+" MODE NOWAIT")
		if err == nil {
			return sub.Commit(ctx)
		}
		if code(err) != "55P03" {
			return err
		}
		if err := sub.Rollback(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, jitter(quickPause)); err != nil {
			return err
		}
	}
	var deadlock int
	if err := tx.QueryRow(ctx, "SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout'").Scan(&deadlock); err != nil {
		return err
	}
	budget := min(timeout, time.Duration(deadlock)*time.Millisecond*8/10)
	if err := set(budget, budget); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "LOCK TABLE "+names+" IN "+mode+" MODE")
	if code(err) == "57014" {
		return errNoLock
	}
	if err != nil {
		return err
	}
	return set(timeout, 0)
}

// holders says who holds locks on the tables of a step.
func (r *Runner) holders(ctx context.Context, s Step) string {
	who, err := list[string](ctx, r.Conn, `SELECT DISTINCT format('process %s (user %s, %s, %s)', a.pid, a.usename, a.state, left(a.query, 60))
		FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE l.granted AND l.pid <> pg_backend_pid() AND format('%I.%I', n.nspname, c.relname)::regclass = ANY ($1::text[]::regclass[]) LIMIT 5`, s.Tables)
	if err != nil || len(who) == 0 {
		return "none that is still there"
	}
	return strings.Join(who, ", ")
}
