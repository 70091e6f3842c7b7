// Package devpgtest gives tests real PostgreSQL servers: one shared by all
// tests of a process for every version, and databases of their own. Where there
// is no server the test fails and says what to install. Only tests import it.
package devpgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

// BinsVariable names the environment variable with the directories of the
// server programs that Each goes through, separated like those of PATH.
const BinsVariable = "PGIDPROXY_TEST_POSTGRES_BINS"

// Settings are those of the shared servers: durability is of no use to them.
func Settings() map[string]string {
	return map[string]string{
		"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
		"max_connections": "300", "wal_level": "logical", "max_prepared_transactions": "10",
	}
}

const startTimeout = 2 * time.Minute

// shared are the servers of this process by directory of programs. They live as
// long as it does: devpg sees to it that they end with it.
var shared struct {
	sync.Mutex
	servers map[string]func() (*devpg.Server, error)
}

// Server returns the shared server of the programs that devpg.Find finds, or
// where there are none of a container if a Docker engine answers.
func Server(tb testing.TB) *devpg.Server {
	tb.Helper()
	return serverOf(tb, "")
}

func serverOf(tb testing.TB, binDir string) *devpg.Server {
	tb.Helper()
	shared.Lock()
	start := shared.servers[binDir]
	if start == nil {
		start = sync.OnceValues(func() (*devpg.Server, error) { return startShared(binDir) })
		if shared.servers == nil {
			shared.servers = make(map[string]func() (*devpg.Server, error))
		}
		shared.servers[binDir] = start
	}
	shared.Unlock()
	s, err := start()
	if err != nil {
		tb.Fatalf("this test needs a PostgreSQL server: %v", err)
	}
	return s
}

func startShared(binDir string) (*devpg.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if _, err := devpg.Installed(binDir); errors.Is(err, devpg.ErrNoServer) {
		if s, err := startContainer(ctx); err == nil {
			return s, nil
		}
	}
	return devpg.Start(ctx, devpg.Config{BinDir: binDir, Settings: Settings()})
}

// Private starts a server for this test alone, to be stopped, crashed or set
// up in its own way, and closes it at the end. Settings go over the shared ones.
func Private(tb testing.TB, settings map[string]string) *devpg.Server {
	tb.Helper()
	return private(tb, "", settings)
}

// PrivateLike is Private with the programs of another server.
func PrivateLike(tb testing.TB, like *devpg.Server, settings map[string]string) *devpg.Server {
	tb.Helper()
	return private(tb, like.BinDir(), settings)
}

func private(tb testing.TB, binDir string, settings map[string]string) *devpg.Server {
	tb.Helper()
	all := Settings()
	for name, value := range settings {
		all[name] = value
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	s, err := devpg.Start(ctx, devpg.Config{BinDir: binDir, Settings: all})
	if err != nil {
		tb.Fatalf("this test needs a PostgreSQL server: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the server: %v", err)
		}
	})
	return s
}

// Each runs f as a subtest for every version there is: for the directories of
// PGIDPROXY_TEST_POSTGRES_BINS, else for the one that Server finds.
func Each(t *testing.T, f func(t *testing.T, s *devpg.Server)) {
	t.Helper()
	dirs := filepath.SplitList(os.Getenv(BinsVariable))
	if len(dirs) == 0 {
		dirs = []string{""}
	}
	for _, dir := range dirs {
		s := serverOf(t, dir)
		t.Run(fmt.Sprintf("postgres%d", s.Major()), func(t *testing.T) { f(t, s) })
	}
}

// databases numbers the databases of this process.
var databases atomic.Int64

// Database returns the URL of a fresh database on the shared server. It is
// dropped at the end of the test.
func Database(tb testing.TB) string {
	tb.Helper()
	return DatabaseOn(tb, Server(tb))
}

// DatabaseOn is Database on a server of the caller's choice.
func DatabaseOn(tb testing.TB, s *devpg.Server) string {
	tb.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	admin(tb, s, "CREATE DATABASE "+name+" TEMPLATE template0")
	tb.Cleanup(func() { admin(tb, s, "DROP DATABASE "+name+" WITH (FORCE)") })
	return s.URL(name)
}

// admin runs one statement as the superuser. It does not use the test's
// context, which is done when cleanups run.
func admin(tb testing.TB, s *devpg.Server, sql string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL(devpg.Superuser))
	if err != nil {
		tb.Errorf("%s: %v", sql, err)
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		tb.Errorf("%s: %v", sql, err)
	}
}
