package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	defaultLockTimeout = 2 * time.Second
	defaultMaxLag      = 10 * time.Second
	// polls is how long proxies take to see what pgid.migrations says: they look
	// every second, and one that cannot look fills nothing from 5 s on.
	polls = 5500 * time.Millisecond
)

// Progress is told as a job goes on.
type Progress struct {
	Step, Steps int
	Name        string
	Done, Total int64 // rows, where the step fills
	Rate        float64
	Left        time.Duration
	Lag         time.Duration // of replicas
	Waiting     string        // what for, if it does
}

// A Runner carries out jobs.
type Runner struct {
	Conn *pgx.Conn
	Tell func(Progress) // may be nil
	// Polls is how long proxies take to see what pgid.migrations says; 0 is what
	// those of this program take.
	Polls time.Duration
	Table string // as the server writes it; valid after Open

	job      *Job
	stop     context.Context // done: end after what is being done
	at       Progress
	pages    int64
	marks    []mark        // of WAL that replicas have still to replay, oldest first
	deadlock time.Duration // before others look for one
}

// A BlockedError is returned where a plan has blockers: nothing was changed.
type BlockedError struct{ Plan *Plan }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("nothing was changed: %s cannot be migrated as it is:\n- %s", e.Plan.Table, strings.Join(e.Plan.Blockers, "\n- "))
}

// ErrNoJob is returned where there is nothing to go on with.
var ErrNoJob = errors.New("there is no migration of this table")

// Open makes the session ready, takes the lock and loads the job of a table, nil
// if there is none.
func (r *Runner) Open(ctx context.Context, tableName string) (*Job, error) {
	var deadlock int
	var none *NoTableError
	oid, missing := resolve(ctx, r.Conn, tableName)
	if missing != nil && !errors.As(missing, &none) {
		return nil, missing
	}
	if err := prepare(ctx, r.Conn); err != nil {
		return nil, err
	}
	if err := alone(ctx, r.Conn); err != nil {
		return nil, err
	}
	if err := r.Conn.QueryRow(ctx, "SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout'").Scan(&deadlock); err != nil {
		return nil, err
	}
	r.deadlock = time.Duration(deadlock) * time.Millisecond * 8 / 10
	job, err := loadJob(ctx, r.Conn, oid, tableName)
	switch {
	case err != nil:
		return nil, err
	case missing != nil && job == nil:
		return nil, missing
	case missing != nil: // all that is left is to clear up what there was
		r.Table = job.Plan.Table
	default:
		const name = "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1"
		if err := r.Conn.QueryRow(ctx, name, oid).Scan(&r.Table); err != nil {
			return nil, err
		}
	}
	r.job = job
	return job, r.renamed(ctx)
}

// renamed refuses to go on where a table of the job has another name now: the
// plan's statements would not find it.
func (r *Runner) renamed(ctx context.Context) error {
	if r.job == nil {
		return nil
	}
	var oids []uint32
	var names []string
	for _, t := range r.job.Plan.Relations {
		oids, names = append(oids, t.OID), append(names, t.Name)
	}
	now, err := list[string](ctx, r.Conn, `SELECT concat(u.name, ' is called ', c.oid::regclass) FROM unnest($1::oid[], $2::text[]) u(oid, name) JOIN pg_class c ON c.oid = u.oid
		WHERE to_regclass(u.name) IS DISTINCT FROM u.oid::regclass`, oids, names)
	if err != nil {
		return err
	}
	if len(now) > 0 {
		return fmt.Errorf("a table has another name than when the migration began: %s. Rename it back until the migration is finished or rolled back", strings.Join(now, "; "))
	}
	return nil
}

// Start records a job for a plan without blockers.
func (r *Runner) Start(ctx context.Context, p *Plan) error {
	if len(p.Blockers) > 0 {
		return &BlockedError{p}
	}
	r.job = &Job{Relation: p.OID, Stage: Preparing, Plan: p, Known: append([]string{}, p.Known...)}
	if err := r.job.create(ctx, r.Conn); err != nil {
		return fmt.Errorf("record the job: %w", err)
	}
	return nil
}

// Pace has the job go on as fast and as patiently as these options say, instead of
// those that it began with.
func (r *Runner) Pace(o Options) {
	p := &r.job.Plan.Options
	p.Batch, p.Pause, p.MaxLag = cmp.Or(o.Batch, p.Batch), o.Pause, cmp.Or(o.MaxLag, p.MaxLag)
	p.LockTimeout, p.Retries = cmp.Or(o.LockTimeout, p.LockTimeout), cmp.Or(o.Retries, p.Retries)
}

// Apply does what is left up to the swap. It ends early, to be run again, when
// ctx is done.
func (r *Runner) Apply(ctx context.Context) error {
	switch r.job.Stage {
	case Swapped:
		return nil
	case Returning:
		return errors.New("a rollback of this migration has begun: run pgidproxy migrate rollback to its end first")
	case Finishing:
		return errors.New("finish has begun: run pgidproxy migrate finish to its end")
	}
	return r.noting(ctx, func(ctx context.Context) error {
		steps := r.job.Plan.Steps
		for r.job.Step < len(steps) {
			n := r.job.Step
			last := n == len(steps)-1
			err := r.step(ctx, steps[n], n, len(steps), func() {
				r.job.Step, r.job.Position = n+1, 0
				if last {
					r.job.Stage = Swapped
				}
			}, last)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Rollback goes back to the beginning.
func (r *Runner) Rollback(ctx context.Context) error {
	return r.noting(ctx, func(ctx context.Context) error {
		p := r.job.Plan
		switch r.job.Stage {
		case Finishing:
			return errors.New("finish has begun: there is no way back, run it to its end")
		case Swapped:
			for _, c := range p.Refuse {
				if err := r.check(ctx, r.Conn, c); err != nil {
					return fmt.Errorf("rollback refused: %w", err)
				}
			}
			r.job.Back = 0
			r.job.Step = len(p.Steps)
		case Preparing:
			r.job.Back = len(p.Back)
		}
		if r.job.Stage != Returning {
			r.job.Stage, r.job.Position = Returning, 0
			if err := r.job.save(ctx, r.Conn); err != nil {
				return err
			}
		}
		all := len(p.Back) + len(p.Steps)
		for r.job.Back < len(p.Back) {
			n := r.job.Back
			err := r.step(ctx, p.Back[n], n, all, func() { r.job.Back = n + 1 }, n == len(p.Back)-1)
			var wrong *WrongError
			if errors.As(err, &wrong) && wrong.Before && n < 2 {
				// Nothing has changed yet.
				r.job.Stage, r.job.Back = Swapped, 0
				return errors.Join(fmt.Errorf("rollback refused: %w", err), r.unname(ctx, r.Conn), r.job.save(ctx, r.Conn))
			}
			if err != nil {
				return err
			}
		}
		if r.job.Step == len(p.Steps) {
			r.job.Step-- // the swap is undone
		}
		for r.job.Step >= 0 {
			n := r.job.Step
			r.tell(Progress{Step: all - n, Steps: all, Name: "undo: " + p.Steps[n].Name})
			if err := r.undo(ctx, p.Steps[n]); err != nil {
				return fmt.Errorf("undo %s: %w", p.Steps[n].Name, err)
			}
			r.job.Step = n - 1
			if n > 0 {
				if err := r.job.save(ctx, r.Conn); err != nil {
					return err
				}
			}
			if ctx.Err() != nil {
				return errInterrupted
			}
		}
		return r.job.remove(ctx, r.Conn)
	})
}

// Finish drops what was kept.
func (r *Runner) Finish(ctx context.Context) error {
	if r.job.Stage != Swapped && r.job.Stage != Finishing {
		return fmt.Errorf("the migration is at stage %q: only one that is applied can be finished", r.job.Stage)
	}
	return r.noting(ctx, func(ctx context.Context) error {
		steps := r.job.Plan.Finish
		if r.job.Stage == Swapped {
			for _, c := range r.job.Plan.Ready {
				if err := r.check(ctx, r.Conn, c); err != nil {
					return fmt.Errorf("finish refused: %w", err)
				}
			}
			r.job.Stage, r.job.Step = Finishing, 0
			if err := r.job.save(ctx, r.Conn); err != nil {
				return err
			}
		}
		for r.job.Step < len(steps) {
			n := r.job.Step
			if err := r.step(ctx, steps[n], n, len(steps), func() { r.job.Step = n + 1 }, false); err != nil {
				return err
			}
		}
		return r.job.remove(ctx, r.Conn)
	})
}

// noting records an error with the job. What do does to the database is not
// broken off by ctx: it is asked between steps and batches.
func (r *Runner) noting(ctx context.Context, do func(context.Context) error) error {
	r.stop = ctx
	err := do(ctx)
	if err != nil && !errors.Is(err, errInterrupted) && !r.Conn.IsClosed() {
		err = errors.Join(err, r.job.fail(context.WithoutCancel(ctx), r.Conn, err))
	}
	return err
}

func (r *Runner) tell(p Progress) {
	r.at = p
	if r.Tell != nil {
		r.Tell(p)
	}
}

// step does one step; done changes the job's record, which is saved with it.
// unname: proxies may fill the tables again from then on.
func (r *Runner) step(ctx context.Context, s Step, n, of int, done func(), unname bool) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	r.tell(Progress{Step: n + 1, Steps: of, Name: s.Name})
	var err error
	work := context.WithoutCancel(ctx)
	switch s.Kind {
	case kindChange:
		was := *r.job
		err = r.change(work, s, func(tx pgx.Tx) (err error) {
			done()
			if s.Guard && r.job.Stage == Swapped {
				if r.job.Known, err = r.job.Plan.users(work, tx, false); err != nil {
					return err
				}
			}
			if err = r.job.save(work, tx); err == nil && unname {
				err = r.unname(work, tx)
			}
			return err
		})
		if err != nil {
			*r.job = was
		}
	case kindWait:
		err = r.wait(ctx)
	case kindSettle:
		err = r.settle(ctx)
	case kindFill:
		err = r.fill(work, s)
	case kindIndex:
		err = r.index(ctx, s)
	default:
		err = r.each(ctx, s.SQL)
	}
	if err == nil && s.Kind != kindChange {
		for _, c := range s.Checks {
			if err = r.check(work, r.Conn, c); err != nil {
				break
			}
		}
		if err == nil {
			done()
			err = r.job.save(work, r.Conn)
		}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted)):
		return errInterrupted
	}
	return fmt.Errorf("%s: %w", s.Name, err)
}

// A WrongError says that a check failed.
type WrongError struct {
	What   string
	Before bool
}

func (e *WrongError) Error() string { return e.What }

func (r *Runner) check(ctx context.Context, q querier, c Check) error {
	var n int64
	if err := q.QueryRow(ctx, c.SQL).Scan(&n); err != nil {
		return fmt.Errorf("check the result: %w", err)
	}
	if n == 0 {
		return nil
	}
	return &WrongError{c.wrong(n), c.Before}
}

// code is the SQLSTATE of an error.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// jitter spreads retries.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }
