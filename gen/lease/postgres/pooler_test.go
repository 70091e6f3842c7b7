package postgres_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// at is a URL with another host and port.
func at(t *testing.T, address, addr string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = addr
	return u.String()
}

func TestSuiteThroughPooler(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		pooler := servers.PgBouncer(t, s.Addr(), devpg.Superuser)
		suite(t, s, func(url string) string { return at(t, url, pooler.Addr) })
	})
}

// Whatever becomes of calls, nothing of them is left on the pooler's connections.
func TestPoolerKeepsNothing(t *testing.T) {
	t.Parallel()
	s := devpgtest.Server(t)
	direct := made(t, s)
	pooled := at(t, direct, servers.PgBouncer(t, s.Addr(), devpg.Superuser).Addr)
	store := open(t, pooled)
	snap, err := (&lease.Registry{Store: store}).Init(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	first := swapOf(snap.Head.Era, "", "t1")
	swap(t, store, first, nil)
	swap(t, store, first, lease.ErrChanged)
	swap(t, store, swapOf("other", "t1", "t2"), lease.ErrEra)
	unlock := hold(t, direct, "SELECT FROM pgid.node FOR UPDATE")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := store.Swap(ctx, swapOf(snap.Head.Era, "t1", "t2")); err == nil {
		t.Error("a locked record was written")
	}
	unlock()
	swap(t, store, swapOf(snap.Head.Era, "t1", "t3"), nil)

	// Two transactions at a time see both connections to the server.
	var txs []pgx.Tx
	pids := map[int]bool{}
	for range 2 {
		tx, err := connect(t, pooled+"&default_query_exec_mode=simple_protocol").Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, tx)
		var pid, settings, prepared, locks int
		err = tx.QueryRow(t.Context(), `SELECT pg_backend_pid(), (SELECT count(*) FROM pg_prepared_statements),
			(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
			(SELECT count(*) FROM pg_settings WHERE source = 'session' AND name NOT IN
			('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings'))`).Scan(&pid, &prepared, &locks, &settings)
		if err != nil || prepared+locks+settings != 0 {
			t.Errorf("%d settings, %d prepared statements and %d locks are left, %v", settings, prepared, locks, err)
		}
		pids[pid] = true
	}
	if len(pids) != 2 {
		t.Errorf("%d connections were looked at, want both", len(pids))
	}
	for _, tx := range txs {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
