package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/migrate"
	"github.com/pgidproxy/pgidproxy/sql"
)

type migrateCommand struct {
	Scan     migrateScan     `cmd:"" help:"List the tables with auto-increment keys, the fullest first."`
	Plan     migratePlan     `cmd:"" help:"Show what a migration would do, lock and read, and what forbids it. Writes nothing."`
	Apply    migrateApply    `cmd:"" help:"Do it, or go on with it. Can be ended at any moment and run again."`
	Status   migrateStatus   `cmd:"" help:"Show the migrations of a database."`
	Rollback migrateRollback `cmd:"" help:"Go back to the beginning; possible until finish."`
	Finish   migrateFinish   `cmd:"" help:"Drop what was kept for the way back."`
}

// databaseFlag is common to the commands.
type databaseFlag struct {
	DatabaseURL databaseURL `required:"" help:"The database, past proxies and poolers."`
}

// tableFlag names what is migrated.
type tableFlag struct {
	databaseFlag
	Table string `required:"" help:"The table, written as in SQL."`
}

// wish is what plan and apply have in common.
type wish struct {
	Column         string        `help:"The key's column; without it the only one that counts up."`
	To             string        `enum:"snowflake,uuidv7" default:"snowflake" help:"What the key becomes: ${enum}."`
	CreatedAt      string        `help:"Column whose time the UUIDs of rows that are there get; without it the order of the ids."`
	KeepSequence   bool          `default:"true" negatable:"" help:"Keep the sequence at finish, for code that calls nextval."`
	RecreateViews  bool          `help:"Drop views that use the column, and make them again, within the swap."`
	SubscribersRdy bool          `name:"subscribers-ready" help:"Whoever replicates the tables can take the new columns and types."`
	IgnoreUnlinked bool          `help:"Leave columns alone that look like references but have no foreign key."`
	FireTriggers   bool          `help:"Filling the new columns may fire the tables' triggers."`
	Batch          int           `default:"5000" help:"Largest number of rows that are filled at a time."`
	Pause          time.Duration `default:"0s" help:"Pause after each batch."`
	MaxLag         time.Duration `default:"10s" help:"Lag of replicas beyond which filling waits."`
	lockFlags
}

// lockFlags say how a job takes its locks.
type lockFlags struct {
	LockTimeout time.Duration `default:"2s" help:"Longest that others are kept waiting by a lock, while it is waited for and while it is held."`
	Retries     int           `default:"60" help:"Attempts to get a lock before the run ends."`
}

func (w *wish) options(table string) migrate.Options {
	return migrate.Options{Table: table, Column: w.Column, Target: w.To, CreatedAt: w.CreatedAt, DropSequence: !w.KeepSequence, RecreateViews: w.RecreateViews,
		Subscribers: w.SubscribersRdy, Unlinked: w.IgnoreUnlinked, FireTriggers: w.FireTriggers, Batch: w.Batch, Pause: w.Pause,
		LockTimeout: w.LockTimeout, MaxLag: w.MaxLag, Retries: w.Retries}
}

// Validate checks the numbers.
func (w *wish) Validate() error {
	if w.Batch < 1 || w.Pause < 0 || w.MaxLag <= 0 {
		return errors.New("--batch and --max-lag must be above zero, and --pause not below")
	}
	return w.lockFlags.Validate()
}

// Validate checks the numbers.
func (p *lockFlags) Validate() error {
	if p.Retries < 1 || p.LockTimeout < 10*time.Millisecond {
		return errors.New("--retries must be above zero, and --lock-timeout at least 10ms")
	}
	return nil
}

// plan makes a plan over a connection.
func (w *wish) plan(ctx context.Context, conn *pgx.Conn, table string) (*migrate.Plan, error) {
	o := w.options(table)
	config, found, err := sql.ReadConfig(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("read what is installed: %w", err)
	}
	if found {
		if err := config.Compatible(); err != nil {
			return nil, err
		}
		o.Schema = config.Schema
	}
	return migrate.New(ctx, conn, o)
}

func (d *databaseFlag) open(env *environment) (*pgx.Conn, func(), error) {
	conn, err := connect(context.WithoutCancel(env.ctx), d.DatabaseURL.config)
	if err != nil {
		return nil, nil, err
	}
	return conn, func() { _ = conn.Close(context.WithoutCancel(env.ctx)) }, nil
}

type migrateScan struct {
	databaseFlag
	JSON bool `help:"Print one JSON array."`
}

// Run reads the catalog.
func (c *migrateScan) Run(env *environment) error {
	conn, closed, err := c.open(env)
	if err != nil {
		return err
	}
	defer closed()
	found, err := migrate.Scan(env.ctx, conn)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(env, append([]migrate.Found{}, found...))
	}
	w := tabwriter.NewWriter(env.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tCOLUMN\tTYPE\tKIND\tUSED\tROWS\tSIZE\tREFERENCES")
	for _, f := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f%%\t%d\t%s\t%s\n", f.Table, f.Column, f.Type, f.Kind, f.Used*100, f.Rows, f.Size(), strings.Join(f.References, ", "))
	}
	for _, f := range found {
		fmt.Fprintln(w, f.Command)
		for _, u := range f.Unlinked {
			fmt.Fprintf(w, "warning: %s holds 32 bits and may hold ids of %s without a foreign key\n", u, f.Table)
		}
	}
	if len(found) > 0 {
		fmt.Fprintln(w, "warning: new ids have 64 bits; what reads JSON numbers as doubles (JavaScript) holds 53: give it ids as strings")
	}
	return w.Flush()
}

type migratePlan struct {
	tableFlag
	wish
	JSON bool `xor:"form" help:"Print one JSON object."`
	SQL  bool `xor:"form" help:"Print a script for psql."`
}

// Run prints a plan; it fails where that has blockers.
func (c *migratePlan) Run(env *environment) error {
	conn, closed, err := c.open(env)
	if err != nil {
		return err
	}
	defer closed()
	p, err := c.plan(env.ctx, conn, c.Table)
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		err = printJSON(env, p)
	case c.SQL:
		err = p.Script(env.out)
	default:
		err = p.Print(env.out)
	}
	if err == nil && len(p.Blockers) > 0 {
		return errReported
	}
	return err
}

// yesFlag is common to what writes.
type yesFlag struct {
	Yes bool `help:"Do not ask."`
}

// confirm asks, unless --yes was given; without a terminal nobody can answer.
func (y *yesFlag) confirm(env *environment, question string) error {
	if y.Yes {
		return nil
	}
	silent := usageError{errors.New("this changes the database: say --yes where there is no terminal to ask on")}
	if !isTerminal(env.in) {
		return silent
	}
	fmt.Fprintf(env.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(env.in).ReadString('\n')
	if errors.Is(err, io.EOF) { // /dev/null looks like a terminal
		return silent
	}
	if err != nil {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

type migrateApply struct {
	tableFlag
	wish
	yesFlag
}

// Run applies a plan, or goes on with the one that is recorded.
func (c *migrateApply) Run(env *environment) error {
	return c.job(env, func(r *migrate.Runner, job *migrate.Job) error {
		if job == nil {
			p, err := c.plan(env.ctx, r.Conn, r.Table)
			if err != nil {
				return err
			}
			if len(p.Blockers) == 0 && !c.Yes && isTerminal(env.in) {
				if err := p.Print(env.out); err != nil {
					return err
				}
			}
			if len(p.Blockers) == 0 {
				if err := c.confirm(env, "Apply this?"); err != nil {
					return err
				}
			}
			if err := r.Start(env.ctx, p); err != nil {
				return err
			}
		} else {
			o := c.options(r.Table)
			if d := o.Differs(job.Plan.Options); d != "" {
				return fmt.Errorf("a migration of %s %s has begun: go on with that, or roll it back first", job.Plan.Table, d)
			}
			if err := c.confirm(env, fmt.Sprintf("Go on with the migration of %s to %s?", job.Plan.Table, job.Plan.Options.Target)); err != nil {
				return err
			}
			r.Pace(o)
		}
		if err := r.Apply(env.ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.out, "%s is migrated. The way back is open until pgidproxy migrate finish.\n", c.Table)
		return err
	})
}

type migrateRollback struct {
	tableFlag
	lockFlags
	yesFlag
}

// Run goes back.
func (c *migrateRollback) Run(env *environment) error {
	return c.job(env, func(r *migrate.Runner, job *migrate.Job) error {
		if job == nil {
			return migrate.ErrNoJob
		}
		if err := c.confirm(env, fmt.Sprintf("Undo the migration of %s?", job.Plan.Table)); err != nil {
			return err
		}
		r.Pace(migrate.Options{LockTimeout: c.LockTimeout, Retries: c.Retries})
		if err := r.Rollback(env.ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.out, "%s is as it was before the migration\n", c.Table)
		return err
	})
}

type migrateFinish struct {
	tableFlag
	lockFlags
	yesFlag
}

// Run drops what was kept.
func (c *migrateFinish) Run(env *environment) error {
	return c.job(env, func(r *migrate.Runner, job *migrate.Job) error {
		if job == nil {
			return migrate.ErrNoJob
		}
		if err := c.confirm(env, fmt.Sprintf("Drop what the way back of %s needs? There is none afterwards.", job.Plan.Table)); err != nil {
			return err
		}
		r.Pace(migrate.Options{LockTimeout: c.LockTimeout, Retries: c.Retries})
		if err := r.Finish(env.ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.out, "the migration of %s is finished\n", c.Table)
		return err
	})
}

// job runs do with the lock and what is recorded of the table.
func (c *tableFlag) job(env *environment, do func(*migrate.Runner, *migrate.Job) error) error {
	conn, closed, err := c.open(env)
	if err != nil {
		return err
	}
	defer closed()
	bar := newBar(env)
	r := &migrate.Runner{Conn: conn, Tell: bar.tell}
	job, err := r.Open(env.ctx, c.Table)
	if err != nil {
		return err
	}
	err = do(r, job)
	bar.end()
	return err
}

type migrateStatus struct {
	databaseFlag
	JSON bool `help:"Print one JSON array."`
}

// jobReport is what status shows of a job.
type jobReport struct {
	Table   string    `json:"table"`
	Target  string    `json:"target"`
	Stage   string    `json:"stage"`
	Step    int       `json:"step"`
	Steps   int       `json:"steps"`
	Name    string    `json:"name"` // of the step that comes next
	Started time.Time `json:"started"`
	Changed time.Time `json:"changed"`
	Error   string    `json:"error"`
	Running string    `json:"running"` // who is at work in the database; "": nobody, the job waits to be run again
}

// Run shows what is recorded.
func (c *migrateStatus) Run(env *environment) error {
	conn, closed, err := c.open(env)
	if err != nil {
		return err
	}
	defer closed()
	jobs, err := migrate.Jobs(env.ctx, conn)
	if err != nil {
		return fmt.Errorf("read pgid.migration_jobs: %w", err)
	}
	running, err := migrate.Running(env.ctx, conn)
	if err != nil {
		return err
	}
	reports := []jobReport{}
	for _, j := range jobs {
		step, steps, name := j.At()
		reports = append(reports, jobReport{j.Plan.Table, j.Plan.Options.Target, j.Stage, step, steps, name, j.Started.UTC(), j.Changed.UTC(), j.Error, running})
	}
	if c.JSON {
		return printJSON(env, reports)
	}
	w := tabwriter.NewWriter(env.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tTO\tSTAGE\tDONE\tNEXT\tSTARTED\tCHANGED")
	for _, r := range reports {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d of %d\t%s\t%s\t%s\n", r.Table, r.Target, r.Stage, r.Step, r.Steps, r.Name, r.Started.Format(time.DateTime), r.Changed.Format(time.DateTime))
		if r.Error != "" {
			fmt.Fprintf(w, "error: %s\n", r.Error)
		}
	}
	if len(reports) > 0 {
		fmt.Fprintf(w, "at work: %s\n", cmp.Or(running, "nobody"))
	}
	return w.Flush()
}
