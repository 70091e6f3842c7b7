package orm

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun/driver/pgdriver"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
	pgid "github.com/pgidproxy/pgidproxy/sql"
	"github.com/pgidproxy/pgidproxy/wire"
)

// serveHere runs the proxy in the test's own process, with a generator that does
// not mint while unable is set, and returns the URL of a database through it.
func serveHere(t *testing.T, direct string, unable *atomic.Bool) string {
	t.Helper()
	config, err := pgx.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	generator, err := gen.New(gen.Config{Node: proxyNode, Guard: new(gen.Guard)})
	if err != nil {
		t.Fatal(err)
	}
	watchers := pgid.NewWatchers(config, slog.New(slog.DiscardHandler))
	rewriter := rewrite.New(rewrite.Config{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := wire.NewServer(wire.Config{
		Listeners: []net.Listener{listener},
		Upstream:  &config.Config,
		Hooks: func(database string) wire.Hooks {
			return wire.Hooks{
				Rewriter: rewriter, Catalog: watchers.Database(database), Limit: 1 << 20,
				Mint: func(snow []int64, uuids []gen.UUID) error {
					if unable.Load() {
						return errors.New("unable")
					}
					return errors.Join(generator.Snowflakes(snow), generator.UUIDv7s(uuids))
				},
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		watchers.Close()
	})
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = listener.Addr().String()
	return u.String()
}

// TestUnable holds that nobody notices when the proxy cannot mint: the functions
// of the database do, until it can again.
func TestUnable(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T, url string) store{
		"gorm": func(t *testing.T, url string) store {
			return gormStore{openGORM(t, postgres.Open(url), &gorm.Config{})}
		},
		"gorm prepared": func(t *testing.T, url string) store {
			return gormStore{openGORM(t, postgres.Open(url), &gorm.Config{PrepareStmt: true})}
		},
		"gorm simple": func(t *testing.T, url string) store {
			return gormStore{openGORM(t, postgres.New(postgres.Config{DSN: url, PreferSimpleProtocol: true}), &gorm.Config{})}
		},
		"ent pgx": func(t *testing.T, url string) store {
			return entStore{entsql.OpenDB(dialect.Postgres, openSQL(t, "pgx", url))}
		},
		"ent pq": func(t *testing.T, url string) store {
			return entStore{entsql.OpenDB(dialect.Postgres, openSQL(t, "postgres", url))}
		},
		"bun pgdriver": func(t *testing.T, url string) store {
			return openBun(t, sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(url))))
		},
		"bun pgx": func(t *testing.T, url string) store { return openBun(t, openSQL(t, "pgx", url)) },
		"pq": func(t *testing.T, url string) store {
			db := openSQL(t, "postgres", url)
			return sqlStore{db, db}
		},
		"pgx": func(t *testing.T, url string) store {
			db := openSQL(t, "pgx", url)
			return sqlStore{db, db}
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, p := fixture(t)
			_, s := sides(t, p)
			var unable atomic.Bool
			s.url = serveHere(t, s.direct, &unable)
			st := open(t, s.url)
			if err := st.migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.await(t)
			ids := map[int64]bool{}
			for i, down := range []bool{false, true, false} {
				unable.Store(down)
				want := proxyNode
				if down {
					want = functionNode
				}
				for j := range 3 {
					a := newAccount(fmt.Sprint(name, i, j))
					if err := st.create(t.Context(), a); err != nil {
						t.Fatalf("unable %t: %v", down, err)
					}
					for _, id := range []int64{a.ID, a.Orders[0].Lines[0].ID, a.Orders[1].Lines[1].ID} {
						if nodeOf(id) != want || ids[id] {
							t.Errorf("unable %t: id %d of node %d, want %d; there before: %t", down, id, nodeOf(id), want, ids[id])
						}
						ids[id] = true
					}
				}
			}
		})
	}
}
