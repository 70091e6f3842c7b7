package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
	"github.com/pgidproxy/pgidproxy/gen/lease/postgres"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	s := postgres.New(config)
	t.Cleanup(func() { s.Close() })
	return s
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// ask returns the one value that a query gives.
func ask[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) (value T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// made is the URL of a fresh database with the tables.
func made(t *testing.T, s *devpg.Server) string {
	t.Helper()
	url := devpgtest.DatabaseOn(t, s)
	create(t, url)
	return url
}

// create makes the tables.
func create(t *testing.T, url string) {
	t.Helper()
	if err := postgres.Create(t.Context(), connect(t, url)); err != nil {
		t.Fatal(err)
	}
}

// begun is the era of a registry that is made new.
func begun(t *testing.T, store lease.Store) string {
	t.Helper()
	snap, err := (&lease.Registry{Store: store}).Init(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return snap.Head.Era
}

// swapOf writes node 0.
func swapOf(era, expect, token string) lease.Swap {
	return lease.Swap{Era: era, Expect: []string{expect}, Kind: lease.KindLease, Token: token, Holder: "x", Mark: 1, TTL: time.Minute}
}

func swap(t *testing.T, store lease.Store, w lease.Swap, want error) {
	t.Helper()
	if _, err := store.Swap(t.Context(), w); !errors.Is(err, want) {
		t.Fatalf("%s in place of %q: got %v, want %v", w.Token, w.Expect, err, want)
	}
}

// token is that of the only record.
func token(t *testing.T, store lease.Store) string {
	t.Helper()
	snap, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Records) != 1 {
		t.Fatalf("got %d records", len(snap.Records))
	}
	return snap.Records[0].Token
}

// hold runs a statement in a transaction that stays open.
func hold(t *testing.T, url, sql string) (end func()) {
	t.Helper()
	conn := connect(t, url)
	exec(t, conn, "BEGIN", sql)
	return func() { exec(t, conn, "ROLLBACK") }
}

// until waits for what nobody signals.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after 20 s", what)
		}
	}
}

// suite holds stores to their contract, several at a time. through leads to the
// server.
func suite(t *testing.T, s *devpg.Server, through func(url string) string) {
	var urls sync.Map // of tests
	url := func(t *testing.T) string {
		u, _ := urls.Load(t)
		return u.(string)
	}
	leasetest.Run(t, leasetest.Subject{
		New: func(t *testing.T) lease.Store {
			t.Parallel()
			direct := devpgtest.DatabaseOn(t, s)
			urls.Store(t, direct)
			for range 2 { // behind a pooler on the same connection
				create(t, through(direct))
			}
			return open(t, through(direct))
		},
		Again: func(t *testing.T, _ lease.Store) lease.Store { return open(t, through(url(t))) },
		Empty: func(t *testing.T, _ lease.Store) {
			exec(t, connect(t, url(t)), "TRUNCATE pgid.registry, pgid.node")
		},
		Clock: true,
	})
}

func TestSuite(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		suite(t, s, func(url string) string { return url })
	})
}
