package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Stages of a job.
const (
	Preparing = "preparing" // all before the swap
	Swapped   = "swapped"
	Returning = "rolling back"
	Finishing = "finishing"
)

// A Job is what is recorded of a migration.
type Job struct {
	Relation uint32 // the table whose key is changed
	Stage    string
	Step     int   // steps of the plan that are done
	Back     int   // steps of the way back from the swap that are done
	Position int64 // first block that the step that fills has still to look at
	Plan     *Plan
	Known    []string // what used the columns when the plan was made, after the swap what did then
	Started  time.Time
	Changed  time.Time
	Error    string // what ended the last run, "" where nothing did
}

// Tables that hold jobs. Proxies read the first and fill no table that it
// names; it is apart from the second because they read the catalog anew
// whenever it changes.
const (
	namesTable = `CREATE TABLE IF NOT EXISTS pgid.migrations (relation regclass PRIMARY KEY, job regclass NOT NULL);
GRANT SELECT ON pgid.migrations TO PUBLIC;
`
	stateTables = namesTable + `CREATE TABLE IF NOT EXISTS pgid.migration_jobs (job regclass PRIMARY KEY, stage text NOT NULL, step integer NOT NULL, back integer NOT NULL,
  position bigint NOT NULL DEFAULT 0, plan jsonb NOT NULL, known text[] NOT NULL, started timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed timestamptz NOT NULL DEFAULT clock_timestamp(), error text NOT NULL DEFAULT '')`
)

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func haveState(ctx context.Context, q querier) (there bool, err error) {
	err = q.QueryRow(ctx, "SELECT to_regclass('pgid.migration_jobs') IS NOT NULL").Scan(&there)
	return there, err
}

// Jobs returns the jobs of the database.
func Jobs(ctx context.Context, conn *pgx.Conn) ([]*Job, error) {
	there, err := haveState(ctx, conn)
	if err != nil || !there {
		return nil, err
	}
	rows, err := conn.Query(ctx, `SELECT job::oid, stage, step, back, position, plan, known, started, changed, error FROM pgid.migration_jobs ORDER BY started`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Job, error) {
		j, plan := &Job{}, []byte(nil)
		if err := row.Scan(&j.Relation, &j.Stage, &j.Step, &j.Back, &j.Position, &plan, &j.Known, &j.Started, &j.Changed, &j.Error); err != nil {
			return nil, err
		}
		return j, json.Unmarshal(plan, &j.Plan)
	})
}

// loadJob returns the job of a table, nil where there is none. That of a table that
// has been dropped is found by its name.
func loadJob(ctx context.Context, conn *pgx.Conn, relation uint32, name string) (*Job, error) {
	jobs, err := Jobs(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("read pgid.migration_jobs: %w", err)
	}
	for _, j := range jobs {
		if j.Relation == relation || relation == 0 && (name == j.Plan.Table || name == j.Plan.Options.Table) {
			return j, nil
		}
	}
	return nil, nil
}

// create records a new job.
func (j *Job) create(ctx context.Context, conn *pgx.Conn) error {
	plan, err := json.Marshal(j.Plan)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, stateTables, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO pgid.migration_jobs (job, stage, step, back, plan, known) VALUES ($1::oid, $2, 0, 0, $3, $4)", j.Relation, j.Stage, plan, j.Known)
		return err
	})
}

// save records how far the job is.
func (j *Job) save(ctx context.Context, tx execer) error {
	tag, err := tx.Exec(ctx, `UPDATE pgid.migration_jobs SET stage = $2, step = $3, back = $4, position = $5, known = $6, changed = clock_timestamp(), error = ''
		WHERE job = $1::oid`, j.Relation, j.Stage, j.Step, j.Back, j.Position, j.Known)
	if err == nil && tag.RowsAffected() != 1 {
		return errors.New("the job's record in pgid.migration_jobs is gone")
	}
	return err
}

// fail records what ended the run.
func (j *Job) fail(ctx context.Context, conn *pgx.Conn, reason error) error {
	_, err := conn.Exec(ctx, "UPDATE pgid.migration_jobs SET error = $2, changed = clock_timestamp() WHERE job = $1::oid", j.Relation, reason.Error())
	return err
}

// remove ends a job; the last one takes the tables along.
func (j *Job) remove(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '10s'"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM pgid.migrations WHERE job = $1::oid", j.Relation); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM pgid.migration_jobs WHERE job = $1::oid", j.Relation); err != nil {
			return err
		}
		var left bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pgid.migration_jobs)").Scan(&left); err != nil || left {
			return err
		}
		_, err := tx.Exec(ctx, "DROP TABLE pgid.migrations, pgid.migration_jobs")
		return err
	})
}

// At says how far a job is: steps that are done, of how many, and what comes next.
func (j *Job) At() (step, steps int, next string) {
	p := j.Plan
	switch {
	case j.Stage == Swapped:
		return len(p.Steps), len(p.Steps), "finish or rollback"
	case j.Stage == Finishing:
		return j.Step, len(p.Finish), named(p.Finish, j.Step)
	case j.Stage == Preparing:
		return j.Step, len(p.Steps), named(p.Steps, j.Step)
	case j.Back < len(p.Back):
		return j.Back, len(p.Back) + len(p.Steps), named(p.Back, j.Back)
	}
	return len(p.Back) + len(p.Steps) - 1 - j.Step, len(p.Back) + len(p.Steps), "undo: " + named(p.Steps, j.Step)
}

func named(steps []Step, n int) string {
	if n < 0 || n >= len(steps) {
		return ""
	}
	return steps[n].Name
}
