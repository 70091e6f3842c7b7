package sql

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// TestLoadWithCancels has 64 sessions mint at once while statement_timeout and
// pg_cancel_backend strike: no id comes twice, those of a session increase, and
// no lock is left.
func TestLoadWithCancels(t *testing.T) {
	const sessions, rounds, rows = 64, 8, 300
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		admin, url := installed(t, s)
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		var conns []*pgx.Conn
		for range sessions {
			conns = append(conns, connect(t, url))
		}
		var striker sync.WaitGroup
		striker.Go(func() {
			conn := connect(t, url)
			for ctx.Err() == nil {
				pid := conns[rand.IntN(sessions)].PgConn().PID()
				conn.Exec(context.Background(), "SELECT pg_cancel_backend($1)", pid)
			}
		})
		var mu sync.Mutex
		var all []int64
		cancelled := 0
		var group sync.WaitGroup
		for _, conn := range conns {
			group.Go(func() {
				ids, stopped, err := mintMany(conn, rounds, rows)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, ids...)
				cancelled += stopped
			})
		}
		group.Wait()
		stop()
		striker.Wait()
		slices.Sort(all)
		n := len(all)
		if len(slices.Compact(all)) != n {
			t.Error("repeated ids")
		}
		if n == 0 || cancelled == 0 {
			t.Errorf("%d ids, %d statements cancelled: no test", n, cancelled)
		}
		t.Logf("%d ids, %d statements cancelled", n, cancelled)
		if left := scan[int](t, admin, "SELECT count(*) FROM pg_locks WHERE relation = 'pgid.snowflake_mover'::regclass OR locktype = 'advisory'"); left != 0 {
			t.Errorf("%d locks left", left)
		}
		if id := scan[int64](t, admin, "SELECT next_snowflake()"); id <= all[n-1] {
			t.Errorf("%d after %d", id, all[n-1])
		}
	})
}

// mintMany mints in single calls with a pause that makes the sequence fall
// behind, and in statements of many rows.
func mintMany(conn *pgx.Conn, rounds, rows int) (ids []int64, cancelled int, err error) {
	ctx := context.Background()
	last := int64(0)
	for i := range rounds {
		query := fmt.Sprintf("SELECT next_snowflake() FROM generate_series(1, %d)", rows)
		if i%2 == 0 {
			query = "SELECT next_snowflake() FROM generate_series(1, 3) g, LATERAL (SELECT pg_sleep(0.03 * g)) p"
		}
		timeout := fmt.Sprintf("SET statement_timeout = %d", 1+rand.IntN(150))
		if _, err := conn.Exec(ctx, timeout, pgx.QueryExecModeSimpleProtocol); err != nil && !isCancel(err) {
			return ids, cancelled, err
		}
		r, _ := conn.Query(ctx, query, pgx.QueryExecModeSimpleProtocol)
		for r.Next() {
			var id int64
			if err := r.Scan(&id); err != nil {
				return ids, cancelled, err
			}
			if id <= last {
				return ids, cancelled, fmt.Errorf("%d after %d", id, last)
			}
			last = id
			ids = append(ids, id)
		}
		switch err := r.Err(); {
		case isCancel(err):
			cancelled++
		case err != nil:
			return ids, cancelled, err
		}
	}
	return ids, cancelled, nil
}

func isCancel(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "57014"
}
