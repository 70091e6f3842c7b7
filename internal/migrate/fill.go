package migrate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	longBatch  = 300 * time.Millisecond // a batch that took longer is followed by a smaller one
	most       = 40                     // passes over a table
	betweenLag = 500 * time.Millisecond
)

// fill goes over a table by ranges of blocks, which needs no index, until no row
// lacks a value. It waits for nobody's row: those that are held are left out, and
// looked at in the next pass.
func (r *Runner) fill(ctx context.Context, s Step) error {
	f, o := s.Fill, r.job.Plan.Options
	begin, rows, batch := time.Now(), int64(0), int64(o.Batch)
	for pass := 0; ; pass++ {
		var block, count int64
		err := r.Conn.QueryRow(ctx, "SELECT pg_relation_size($1::oid) / current_setting('block_size')::int, greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = $1", f.OID).Scan(&r.pages, &count)
		if err != nil {
			return err
		}
		if count == 0 {
			count = r.pages * 50
		}
		perBlock := max(1, count/max(1, r.pages))
		for block = r.job.Position; block < r.pages; {
			if r.stop.Err() != nil {
				return errInterrupted
			}
			next := min(block+max(1, batch/perBlock), r.pages)
			started := time.Now()
			n, err := r.batch(ctx, f, block, next)
			if code(err) == "55P03" || code(err) == "40P01" {
				batch = max(1, batch/2)
				if err := sleep(r.stop, jitter(100*time.Millisecond)); err != nil {
					return errInterrupted
				}
				continue
			}
			if err != nil {
				return err
			}
			block, rows = next, rows+n
			if took := time.Since(started); took > longBatch {
				batch = max(int64(o.Batch)/16, batch/2, 1)
			} else if took < longBatch/3 {
				batch = min(int64(o.Batch), batch*2)
			}
			r.report(count, block, rows, time.Since(begin))
			if err := r.rest(ctx, o); err != nil {
				return err
			}
		}
		r.job.Position = 0
		var left int64
		if err := r.Conn.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM %s t WHERE %s", f.Table, f.Missing)).Scan(&left); err != nil {
			return err
		}
		if left == 0 {
			return nil
		}
		if pass == most {
			return fmt.Errorf("%d rows of %s are held by others all the time: end the transactions that lock them, and run the same again", left, f.Table)
		}
		if pass > 0 {
			if err := sleep(r.stop, jitter(500*time.Millisecond)); err != nil {
				return errInterrupted
			}
		}
	}
}

// batch fills the blocks from first up to before end, and saves how far that is
// in the same transaction.
func (r *Runner) batch(ctx context.Context, f *Fill, first, end int64) (n int64, err error) {
	err = pgx.BeginFunc(ctx, r.Conn, func(tx pgx.Tx) error {
		set := fmt.Sprintf("SET LOCAL lock_timeout = %d; SET LOCAL idle_in_transaction_session_timeout = %d",
			r.job.Plan.Options.LockTimeout.Milliseconds(), r.idle().Milliseconds())
		if f.Replica {
			set += "; SET LOCAL session_replication_role = replica"
		}
		if _, err := tx.Exec(ctx, set, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, fmt.Sprintf(`UPDATE ONLY %s t SET %s WHERE t.ctid = ANY (ARRAY(
			SELECT t.ctid FROM ONLY %[1]s t WHERE t.ctid >= '(%[3]d,0)' AND t.ctid < '(%[4]d,0)' AND (%[5]s) FOR NO KEY UPDATE OF t SKIP LOCKED))`,
			f.Table, f.Set, first, end, f.Missing), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return err
		}
		n = tag.RowsAffected()
		r.job.Position = end
		return r.job.save(ctx, tx)
	})
	if err != nil {
		r.job.Position = first
	}
	return n, err
}

func (r *Runner) report(count, block, rows int64, took time.Duration) {
	p := r.at
	p.Total, p.Waiting = count, ""
	p.Done = min(count, count*block/max(1, r.pages))
	if s := took.Seconds(); s > 0 {
		p.Rate = float64(rows) / s
	}
	if p.Rate > 0 {
		p.Left = time.Duration(float64(p.Total-p.Done) / p.Rate * float64(time.Second))
	}
	r.tell(p)
}

// rest is what comes between batches: a pause, and a longer one as long as
// replicas are behind.
func (r *Runner) rest(ctx context.Context, o Options) error {
	if err := sleep(r.stop, o.Pause); err != nil {
		return errInterrupted
	}
	for {
		lag, err := r.lag(ctx)
		if err != nil {
			return err
		}
		r.at.Lag = lag
		if lag <= o.MaxLag {
			return nil
		}
		r.at.Waiting = "replicas"
		r.tell(r.at)
		if err := sleep(r.stop, betweenLag); err != nil {
			return errInterrupted
		}
	}
}

// A mark is what the WAL had come to at a time.
type mark struct {
	at  time.Time
	lsn int64
}

// lag is how old the oldest WAL is that a connected replica or subscriber has not
// replayed; without one, or where the role may not see them, 0. The server's own
// replay_lag is of no use for that: of a replica that stands still it stays.
func (r *Runner) lag(ctx context.Context) (time.Duration, error) {
	var written int64
	var replayed *int64
	err := r.Conn.QueryRow(ctx, `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint,
		(SELECT min(pg_wal_lsn_diff(replay_lsn, '0/0'))::bigint FROM pg_stat_replication WHERE state IN ('streaming', 'catchup'))`).Scan(&written, &replayed)
	if err != nil {
		return 0, fmt.Errorf("look for replicas: %w", err)
	}
	if replayed == nil {
		r.marks = nil
		return 0, nil
	}
	r.marks = append(slices.DeleteFunc(r.marks, func(m mark) bool { return m.lsn <= *replayed }), mark{time.Now(), written})
	if written <= *replayed {
		r.marks = nil
		return 0, nil
	}
	return time.Since(r.marks[0].at), nil
}
