package migrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	quickTries = 12                    // without waiting
	quickPause = 15 * time.Millisecond // between them
	quickWait  = 5 * time.Millisecond  // for a view, of which no lock can be had without waiting
	firstWait  = 50 * time.Millisecond // of an attempt that others wait behind; each one after it waits twice as long
	longPause  = 5 * time.Second       // between attempts
)

var (
	errNoLock = errors.New("no lock")
	errSlow   = errors.New("too slow")
)

// A queue is what the attempts of one change have learned.
type queue struct {
	wait  time.Duration        // of the next attempt
	since map[string]time.Time // transactions in the way, and when they were first met
	// shuffled: the order of the locks has met one that goes the other way round.
	shuffled bool
}

// change runs a step in one transaction, with its locks, as often as it takes to
// get these. save is part of the transaction.
func (r *Runner) change(ctx context.Context, s Step, save func(pgx.Tx) error) error {
	pause, q := 50*time.Millisecond, &queue{wait: firstWait, since: map[string]time.Time{}}
	for try := 1; ; try++ {
		err := r.attempt(ctx, s, q, save)
		if !errors.Is(err, errNoLock) && !errors.Is(err, errSlow) && code(err) != "55P03" && code(err) != "40P01" {
			return err
		}
		if try >= r.job.Plan.Options.Retries {
			if errors.Is(err, errSlow) {
				return fmt.Errorf("took longer than others may be kept waiting, %s, in the last of %d attempts, and was undone: run the same again with a longer --lock-timeout", r.job.Plan.Options.LockTimeout, try)
			}
			return fmt.Errorf("no lock on %s in %d attempts; in the way: %s. End that, and run the same again", strings.Join(s.Tables, ", "), try, r.holders(ctx, s))
		}
		r.at.Waiting = fmt.Sprintf("a lock, attempt %d", try+1)
		r.tell(r.at)
		if err := sleep(r.stop, jitter(pause)); err != nil {
			return errInterrupted
		}
		pause = min(2*pause, longPause)
	}
}

// idle is how long a transaction with locks may stand still.
func (r *Runner) idle() time.Duration {
	return max(r.job.Plan.Options.LockTimeout, time.Second)
}

// attempt keeps nobody waiting for longer than the lock timeout, of which half is
// for the locks, and the rest for what is done under them.
func (r *Runner) attempt(ctx context.Context, s Step, q *queue, save func(pgx.Tx) error) error {
	tx, err := r.Conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	// A run that stands still must not hold locks: the server ends it.
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d", r.idle().Milliseconds())); err != nil {
		return err
	}
	begin, err := r.lock(ctx, tx, s, q)
	if err != nil {
		return err
	}
	left := r.job.Plan.Options.LockTimeout - time.Since(begin)
	// Statements take more locks, of views for one. Whoever has these and waits
	// for ours must not come to look for a deadlock.
	more := min(left, r.deadlock-time.Since(begin))
	if more <= 0 {
		return errNoLock
	}
	if err := limit(ctx, tx, more, left); err != nil {
		return err
	}
	late, stop := context.WithTimeout(ctx, left)
	defer stop()
	err = r.cancelled(late, func() error { return r.underLocks(ctx, tx, s, save) })
	if code(err) == "57014" {
		return errSlow
	}
	if err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// underLocks does what a step is there for.
func (r *Runner) underLocks(ctx context.Context, tx pgx.Tx, s Step, save func(pgx.Tx) error) error {
	if s.Guard {
		if err := r.strangers(ctx, tx); err != nil {
			return err
		}
	}
	if err := r.checks(ctx, tx, s.Checks, true); err != nil {
		return err
	}
	// One message, so that the locks are not held for a round trip each.
	if _, err := tx.Exec(ctx, strings.Join(s.SQL, ";\n"), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if err := r.checks(ctx, tx, s.Checks, false); err != nil {
		return err
	}
	if save != nil {
		return save(tx)
	}
	return nil
}

// checks makes those before a step or those after it, all in one round trip.
func (r *Runner) checks(ctx context.Context, tx pgx.Tx, checks []Check, before bool) error {
	var all pgx.Batch
	var wrong error
	for _, c := range checks {
		if c.Before != before {
			continue
		}
		all.Queue(c.SQL).QueryRow(func(row pgx.Row) error {
			var n int64
			if err := row.Scan(&n); err != nil {
				return fmt.Errorf("check the result: %w", err)
			}
			if n != 0 && wrong == nil {
				wrong = &WrongError{c.wrong(n), c.Before}
			}
			return nil
		})
	}
	if all.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &all).Close(); err != nil {
		return err
	}
	return wrong
}

// limit bounds the statements of a transaction; 0 is no bound.
func limit(ctx context.Context, tx pgx.Tx, lock, statement time.Duration) error {
	_, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d; SET LOCAL statement_timeout = %d", milliseconds(lock), milliseconds(statement)), pgx.QueryExecModeSimpleProtocol)
	return err
}

// milliseconds rounds up: 0 would mean forever.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// lock takes the locks of a step so that nobody waits long or gets an error, and
// returns when others could begin to wait for them.
//
// First comes a lock that writers do not feel but autovacuum does, which ends
// itself for whoever waits. The real ones are then tried without waiting, so that
// nobody can wait behind us. If that does not work they are waited for, shortly at
// first, and not at all where a transaction is in the way that has been there for
// longer than we would wait: it would only make others wait. Views come before the
// tables that they read, as for whoever reads them. All are waited for together and
// for less than deadlock_timeout: whoever waits for us began to do so after we did,
// so that we have given up before somebody looks for a deadlock. Since it is time
// and not an order that keeps deadlocks away, the order may change: each attempt
// has another one, for some may never be got against those who go the other way.
func (r *Runner) lock(ctx context.Context, tx pgx.Tx, s Step, q *queue) (time.Time, error) {
	begin := time.Now()
	if len(s.Tables) == 0 {
		return begin, nil
	}
	tables := lockTables(s.Tables)
	if err := limit(ctx, tx, 10*time.Second, 0); err != nil {
		return begin, err
	}
	if _, err := tx.Exec(ctx, tables+"SHARE UPDATE EXCLUSIVE MODE"); err != nil {
		return begin, err
	}
	var views strings.Builder
	for _, v := range s.Views {
		// There is no LOCK for a view alone.
		fmt.Fprintf(&views, "ALTER %s %s OWNER TO %s;\n", v.Kind, v.Name, v.Owner)
	}
	if err := limit(ctx, tx, quickWait, 0); err != nil {
		return begin, err
	}
	for range quickTries {
		begin = time.Now()
		sub, err := tx.Begin(ctx)
		if err != nil {
			return begin, err
		}
		_, err = sub.Exec(ctx, views.String()+tables+s.Mode+" MODE NOWAIT", pgx.QueryExecModeSimpleProtocol)
		if err == nil {
			return begin, sub.Commit(ctx)
		}
		if code(err) != "55P03" {
			return begin, err
		}
		if err := sub.Rollback(ctx); err != nil {
			return begin, err
		}
		if err := sleep(ctx, jitter(quickPause)); err != nil {
			return begin, err
		}
	}
	wait := min(q.wait, r.job.Plan.Options.LockTimeout/2)
	if len(s.Tables)+len(s.Views) > 1 {
		wait = min(wait, r.deadlock)
	}
	staying, err := q.staying(ctx, tx, s, wait)
	if err != nil {
		return begin, err
	}
	if staying {
		return begin, errNoLock
	}
	q.wait = min(2*q.wait, time.Minute)
	if q.shuffled {
		tables = lockTables(shuffled(s.Tables))
	}
	q.shuffled = true
	if err := limit(ctx, tx, wait, wait); err != nil {
		return begin, err
	}
	begin = time.Now()
	late, stop := context.WithTimeout(ctx, wait)
	defer stop()
	err = r.cancelled(late, func() error {
		_, err := tx.Exec(ctx, views.String()+tables+s.Mode+" MODE", pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if code(err) == "57014" {
		return begin, errNoLock
	}
	return begin, err
}

func lockTables(names []string) string {
	return "LOCK TABLE ONLY " + strings.Join(names, ", ONLY ") + " IN "
}

func shuffled(names []string) []string {
	l := slices.Clone(names)
	rand.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
	return l
}

// locked are all that a step locks.
func (s *Step) locked() []string {
	l := slices.Clone(s.Tables)
	for _, v := range s.Views {
		l = append(l, v.Name)
	}
	return l
}

// staying tells whether a transaction is in the way that was so already before
// the time that we would wait.
func (q *queue) staying(ctx context.Context, tx pgx.Tx, s Step, wait time.Duration) (bool, error) {
	harmless := ""
	if s.Mode == shareRowExclusive {
		harmless = " AND mode NOT IN ('AccessShareLock', 'RowShareLock')"
	}
	met, err := list[string](ctx, tx, `SELECT DISTINCT virtualtransaction FROM pg_locks WHERE granted AND locktype = 'relation' AND pid IS DISTINCT FROM pg_backend_pid()
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relation = ANY ($1::text[]::regclass[]::oid[])`+harmless, s.locked())
	if err != nil {
		return false, err
	}
	now, since, staying := time.Now(), map[string]time.Time{}, false
	for _, v := range met {
		first, before := q.since[v]
		if !before {
			first = now
		}
		since[v] = first
		staying = staying || now.Sub(first) >= wait
	}
	q.since = since
	return staying, nil
}

// holders says who holds locks on the tables of a step.
func (r *Runner) holders(ctx context.Context, s Step) string {
	who, err := list[string](ctx, r.Conn, `SELECT DISTINCT coalesce(format('process %s (user %s, %s, %s)', a.pid, a.usename, a.state, left(a.query, 60)), 'a prepared transaction (pg_prepared_xacts)')
		FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.granted AND l.locktype = 'relation' AND l.pid IS DISTINCT FROM pg_backend_pid()
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.relation = ANY ($1::text[]::regclass[]::oid[]) LIMIT 5`, s.locked())
	if err != nil || len(who) == 0 {
		return "nothing that is still there"
	}
	return strings.Join(who, ", ")
}
