package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// measure lets the targets take turns with each workload, in another order in
// every round.
func (c *ProxyConfig) measure(ctx context.Context, admin *pgx.Conn, targets []target, functions string, r *ProxyResult) error {
	sessions := make([][]*pgx.Conn, len(targets))
	defer func() {
		for _, conns := range sessions {
			for _, conn := range conns {
				_ = conn.Close(context.WithoutCancel(ctx))
			}
		}
	}()
	for i, t := range targets {
		for range c.Clients {
			conn, err := pgx.ConnectConfig(ctx, t.config)
			if err != nil {
				return fmt.Errorf("connect to %s: %w", t.name, err)
			}
			sessions[i] = append(sessions[i], conn)
		}
	}
	began, done, total := time.Now(), 0, c.Rounds*len(r.Cells)*len(targets)
	for round := range c.Rounds {
		if _, err := admin.Exec(ctx, "TRUNCATE pgid_bench.inserted"); err != nil {
			return err
		}
		for n := range r.Cells {
			w, p := workloads[n/len(protocols)], protocols[n%len(protocols)]
			for turn := range targets {
				i := (round + turn) % len(targets)
				if c.Progress != nil {
					what := w.name + ", " + targets[i].name
					c.Progress(progress(float64(done)/float64(total), time.Since(began), step{Key: &what}))
				}
				l, err := load(ctx, sessions[i], strings.Replace(w.sql, "%s", functions, 1), p.mode, w.arg, c.Turn)
				if err != nil {
					return fmt.Errorf("%s, %s, %s: %w", w.name, p.name, targets[i].name, err)
				}
				r.Cells[n].add(i, l)
				done++
			}
		}
	}
	for n := range r.Cells {
		r.Cells[n].sum()
	}
	return nil
}

// A turn is what one target did with one workload.
type turn struct {
	latencies []time.Duration
	perSecond float64
}

// load has all sessions execute a statement one after the other for a while.
func load(ctx context.Context, sessions []*pgx.Conn, sql string, mode pgx.QueryExecMode, arg func(int) any, length time.Duration) (turn, error) {
	each := make([][]time.Duration, len(sessions))
	errs := make([]error, len(sessions))
	var running sync.WaitGroup
	began := time.Now()
	for i, conn := range sessions {
		running.Add(1)
		go func() {
			defer running.Done()
			for n := i * selectRows; ; n++ {
				before := time.Now()
				if before.Sub(began) >= length {
					return
				}
				if _, err := conn.Exec(ctx, sql, mode, arg(n)); err != nil {
					errs[i] = err
					return
				}
				each[i] = append(each[i], time.Since(before))
			}
		}()
	}
	running.Wait()
	elapsed := time.Since(began)
	var t turn
	for _, l := range each {
		t.latencies = append(t.latencies, l...)
	}
	t.perSecond = float64(len(t.latencies)) / elapsed.Seconds()
	if ctx.Err() != nil {
		return turn{}, ctx.Err()
	}
	return t, errors.Join(errs...)
}
