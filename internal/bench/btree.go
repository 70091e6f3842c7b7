package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/sql"
)

// Schema is the schema that a run makes, and drops.
const Schema = "pgid_bench"

// BTreeConfig says what is to be run.
type BTreeConfig struct {
	Rows   int64    // for each kind of key
	Batch  int64    // rows of a batch; 0: chosen
	Keys   []string // kinds; none: all
	Cache  Cache    // which the run is asked to be
	Ratio  float64  // of the largest index to shared_buffers, that decides Rows; 0: not given
	Keep   bool     // leaves the schema
	Force  bool     // runs without knowing that the disk has room
	Server *pgx.ConnConfig

	// Progress is told of every step; nil: nobody is.
	Progress func(Progress)
	// Estimated is told before anything is made; nil: nobody is.
	Estimated func(Estimate)
}

// Progress is how far a run is.
type Progress struct {
	Done  float64       // 0 to 1
	Left  time.Duration // about; 0: not known yet
	Doing string
}

// chunk is how many rows a statement has through the proxy.
const chunk = 500

// cleanupTimeout bounds the dropping of the schema.
const cleanupTimeout = time.Minute

// RunBTree runs the benchmark. Whatever happens, the schema is dropped at the
// end unless it is to be kept.
func RunBTree(ctx context.Context, c BTreeConfig) (r *Result, err error) {
	conn, err := open(ctx, c.Server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	server, err := readServer(ctx, conn, c.Server)
	if err != nil {
		return nil, fmt.Errorf("read the server's settings: %w", err)
	}
	estimate, err := c.settle(server)
	if err != nil {
		return nil, err
	}
	if c.Estimated != nil {
		c.Estimated(estimate)
	}
	if err := checkSchema(ctx, conn); err != nil {
		return nil, err
	}
	if err := estimate.check(c.Force); err != nil {
		return nil, err
	}
	if err := makeSchema(ctx, conn); err != nil {
		return nil, err
	}
	defer func() {
		if c.Keep {
			return
		}
		if left := dropSchema(ctx, c.Server, server.pid); left != nil {
			err = errors.Join(err, left)
		}
	}()
	if err := c.run(ctx, conn, server); err != nil {
		return nil, err
	}
	return readResult(ctx, conn, server)
}

// open connects for statements that have to reach the server as they are.
func open(ctx context.Context, server *pgx.ConnConfig) (*pgx.Conn, error) {
	config := server.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

func (c *BTreeConfig) run(ctx context.Context, conn *pgx.Conn, server *Server) error {
	perStatement := 0
	if server.Proxied {
		perStatement = chunk
	}
	keys := ""
	for i, k := range c.Keys {
		if i > 0 {
			keys += ","
		}
		keys += k
	}
	if c.Progress != nil {
		c.Progress(Progress{Doing: "makes the tables"})
	}
	if _, err := conn.Exec(ctx, "CALL pgid_bench.prepare($1, $2, $3, $4)", c.Rows, c.Batch, keys, perStatement); err != nil {
		return fmt.Errorf("prepare the run: %w", explained(err))
	}
	steps, err := readSteps(ctx, conn)
	if err != nil {
		return err
	}
	return c.take(ctx, conn, steps)
}

// A step is a statement of the run, to be executed some times.
type step struct {
	Key, Round *string
	Statement  string
	Times      int
	Weight     float64
}

func readSteps(ctx context.Context, conn *pgx.Conn) ([]step, error) {
	rows, _ := conn.Query(ctx, "SELECT key, round::text, statement, times, weight FROM pgid_bench.step ORDER BY n")
	steps, err := pgx.CollectRows(rows, pgx.RowToStructByPos[step])
	if err != nil {
		return nil, fmt.Errorf("read the steps: %w", err)
	}
	return steps, nil
}

// take executes the steps.
func (c *BTreeConfig) take(ctx context.Context, conn *pgx.Conn, steps []step) error {
	total := 0.0
	for _, s := range steps {
		total += s.Weight * float64(s.Times)
	}
	began, done := time.Now(), 0.0
	for _, s := range steps {
		for range s.Times {
			if c.Progress != nil {
				c.Progress(progress(done/total, time.Since(began), s))
			}
			if _, err := conn.PgConn().Exec(ctx, s.Statement).ReadAll(); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return fmt.Errorf("%.80s: %w", s.Statement, err)
			}
			done += s.Weight
		}
	}
	return nil
}

func progress(done float64, elapsed time.Duration, s step) Progress {
	p := Progress{Done: done, Doing: "checkpoint"}
	if s.Key != nil {
		p.Doing = *s.Key
	}
	if done > 0.01 {
		p.Left = time.Duration(float64(elapsed) * (1 - done) / done)
	}
	return p
}

// makeSchema makes the schema and what is in it, or nothing.
func makeSchema(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Conn().PgConn().Exec(ctx, sql.BTreeBench()).ReadAll(); err != nil {
			return fmt.Errorf("make schema %s: %w", Schema, err)
		}
		return nil
	})
}

// dropSchema removes what a run made, on a connection of its own: that of the
// run may be in the midst of a statement, and is ended.
func dropSchema(ctx context.Context, server *pgx.ConnConfig, pid uint32) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	conn, err := open(ctx, server)
	if err == nil {
		defer func() { _ = conn.Close(ctx) }()
		_, err = conn.Exec(ctx, "SELECT pg_terminate_backend($1)", int32(pid))
	}
	if err == nil {
		_, err = conn.Exec(ctx, "DROP SCHEMA pgid_bench CASCADE")
	}
	if err != nil {
		return fmt.Errorf("clean up: %w; what is left goes with DROP SCHEMA %s CASCADE", err, Schema)
	}
	return nil
}
