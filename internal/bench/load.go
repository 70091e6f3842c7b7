package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil: // told as text: what to do where --database-url is refused does not help
				return fmt.Errorf("connect to %s: %v", t.name, err)
			}
			sessions[i] = append(sessions[i], conn)
		}
	}
	loses := make([]bool, len(targets)) // their sessions lose prepared statements
	began, done, total := time.Now(), 0, c.Rounds*len(r.Cells)*len(targets)
	for round := range c.Rounds {
		if _, err := admin.Exec(ctx, "TRUNCATE pgid_bench.inserted"); err != nil {
			return err
		}
		for n := range r.Cells {
			w, p := workloads[n/len(protocols)], protocols[n%len(protocols)]
			for turn := range targets {
				i := (round + turn) % len(targets)
				done++
				if loses[i] && p.named {
					continue
				}
				if c.Progress != nil {
					what := w.name + ", " + targets[i].name
					c.Progress(progress(float64(done-1)/float64(total), time.Since(began), step{Key: &what}))
				}
				l, err := load(ctx, sessions[i], strings.Replace(w.sql, "%s", functions, 1), p.mode, w.arg, c.Turn)
				switch {
				case err == nil:
					r.Cells[n].add(i, l)
				case targets[i].peer && p.named && losesStatements(err):
					loses[i] = true
				default:
					return fmt.Errorf("%s, %s, %s: %w", w.name, p.name, targets[i].name, err)
				}
			}
		}
	}
	for n := range r.Cells {
		for i := range targets {
			if loses[i] && protocols[n%len(protocols)].named { // what went well before that was luck
				r.Cells[n].Results[i] = Outcome{Problem: "its sessions lose prepared statements"}
			}
		}
		r.Cells[n].sum()
	}
	return nil
}

// losesStatements tells whether an error is that of a pooler which has a session's
// transactions executed by several sessions of the server and does not take its
// prepared statements along.
func losesStatements(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "26000" || e.Code == "42P05") // invalid name, duplicate one
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
