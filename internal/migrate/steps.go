package migrate

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// name tells proxies not to fill the job's tables.
func (r *Runner) name(ctx context.Context) error {
	var oids []uint32
	for _, t := range r.job.Plan.Relations {
		oids = append(oids, t.OID)
	}
	_, err := r.Conn.Exec(ctx, "INSERT INTO pgid.migrations (relation, job) SELECT unnest($1::oid[])::regclass, $2::oid::regclass ON CONFLICT (relation) DO NOTHING", oids, r.job.Relation)
	return err
}

func (r *Runner) unname(ctx context.Context, tx execer) error {
	_, err := tx.Exec(ctx, "DELETE FROM pgid.migrations WHERE job = $1::oid", r.job.Relation)
	return err
}

func (r *Runner) wait(ctx context.Context) error {
	if err := r.name(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return sleep(ctx, cmp.Or(r.Polls, polls))
}

// settle waits until no transaction is left that began before: none has a
// snapshot then that lacks what was committed before, as those that CREATE INDEX
// CONCURRENTLY waits for. It is in nobody's way.
func (r *Runner) settle(ctx context.Context) error {
	work := context.WithoutCancel(ctx)
	var horizon string
	if err := r.Conn.QueryRow(work, "SELECT pg_current_xact_id()::xid::text").Scan(&horizon); err != nil {
		return err
	}
	for {
		// Vacuuming reads no rows of anybody.
		who, err := list[string](work, r.Conn, `SELECT format('process %s (user %s, %s)', pid, usename, state) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type IS DISTINCT FROM 'autovacuum worker'
			AND greatest(age(backend_xmin), age(backend_xid)) > age($1::text::xid)
			UNION ALL SELECT format('prepared transaction %L', gid) FROM pg_prepared_xacts WHERE database = current_database() AND age(transaction) > age($1::text::xid) LIMIT 3`, horizon)
		if err != nil || len(who) == 0 {
			return err
		}
		r.at.Waiting = "older transactions to end: " + strings.Join(who, ", ")
		r.tell(r.at)
		if err := sleep(ctx, jitter(100*time.Millisecond)); err != nil {
			return errInterrupted
		}
	}
}

// each runs statements by themselves. They can be broken off: they are whole or
// not at all.
func (r *Runner) each(ctx context.Context, statements []string) error {
	for _, sql := range statements {
		if err := r.breakable(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// breakable runs a statement that is cancelled, without loss of the connection,
// when ctx is done.
func (r *Runner) breakable(ctx context.Context, sql string) error {
	err := r.cancelled(ctx, func() error {
		_, err := r.Conn.Exec(context.WithoutCancel(ctx), sql, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if ctx.Err() != nil && code(err) == "57014" {
		return errInterrupted
	}
	return err
}

// cancelled has the server cancel what do is running there when ctx is done
// before do is.
func (r *Runner) cancelled(ctx context.Context, do func() error) error {
	over, quiet := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(quiet)
		select {
		case <-ctx.Done():
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = r.Conn.PgConn().CancelRequest(bounded)
		case <-over:
		}
	}()
	err := do()
	close(over)
	<-quiet // or it would meet the next statement
	return err
}

// index builds an index unless it is there; what a run that was killed has left
// is dropped first.
func (r *Runner) index(ctx context.Context, s Step) error {
	for {
		var there, valid bool
		err := r.Conn.QueryRow(context.WithoutCancel(ctx), "SELECT count(*) > 0, coalesce(bool_and(indisvalid AND indisready), false) FROM pg_index WHERE indexrelid = to_regclass($1)", s.Index).Scan(&there, &valid)
		if err != nil || valid {
			return err
		}
		if there {
			if err := r.breakable(ctx, "DROP INDEX CONCURRENTLY "+s.Index); err != nil {
				return err
			}
		}
		err = r.each(ctx, s.SQL)
		if _, rerr := r.Conn.Exec(context.WithoutCancel(ctx), "SET default_tablespace = ''"); err == nil {
			err = rerr
		}
		if code(err) != "40P01" { // two builds may wait for one another
			return err
		}
	}
}

func (r *Runner) undo(ctx context.Context, s Step) error {
	work := context.WithoutCancel(ctx)
	if s.Kind == kindIndex {
		return r.each(r.stop, s.Undo)
	}
	// A partition may be gone since.
	there, err := list[string](work, r.Conn, "SELECT t FROM unnest($1::text[]) WITH ORDINALITY u(t, n) WHERE to_regclass(t) IS NOT NULL ORDER BY n", s.Tables)
	if err != nil {
		return err
	}
	s.Tables = there
	for _, sql := range s.Undo {
		if err := r.change(work, Step{SQL: []string{sql}, Mode: accessExclusive, Tables: s.Tables}, nil); err != nil {
			return err
		}
	}
	if s.Kind == kindWait {
		return r.unname(work, r.Conn)
	}
	return nil
}
