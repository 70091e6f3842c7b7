package postgres_test

import (
	"context"
	"testing"

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

func TestSuite(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		var url string
		leasetest.Run(t, leasetest.Subject{
			New: func(t *testing.T) lease.Store {
				url = devpgtest.DatabaseOn(t, s)
				if err := postgres.Create(t.Context(), connect(t, url)); err != nil {
					t.Fatal(err)
				}
				return open(t, url)
			},
			Again: func(t *testing.T, _ lease.Store) lease.Store { return open(t, url) },
			Empty: func(t *testing.T, _ lease.Store) {
				if _, err := connect(t, url).Exec(t.Context(), "TRUNCATE pgid.registry, pgid.node"); err != nil {
					t.Fatal(err)
				}
			},
			Clock: true,
		})
	})
}
