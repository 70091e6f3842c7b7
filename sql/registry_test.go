package sql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// recorded reads the registry that a database records.
func recorded(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	c, found, err := ReadConfig(context.Background(), conn)
	if err != nil || !found {
		t.Fatalf("config %+v, %v, %v", c, found, err)
	}
	return c.Registry
}

func TestRegistryIsRecorded(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		if got := recorded(t, conn); got != "" {
			t.Errorf("got %q, want none", got)
		}
		for _, step := range []struct {
			registry, want string
			unchanged      bool
		}{{"A", "A", false}, {"A", "A", true}, {"", "A", true}, {"B", "B", false}} {
			r, err := Install(context.Background(), conn, InstallOptions{Registry: step.registry})
			if err != nil || r.Unchanged != step.unchanged {
				t.Errorf("install with %q: %+v, %v, want unchanged %v", step.registry, r, err, step.unchanged)
			}
			if got := recorded(t, conn); got != step.want {
				t.Errorf("install with %q: got %q, want %q", step.registry, got, step.want)
			}
		}
		exec(t, conn, Script(InstallOptions{}))
		if got := recorded(t, conn); got != "B" {
			t.Errorf("a script without a registry: got %q, want it kept", got)
		}
		exec(t, conn, Script(InstallOptions{Registry: "it's"}))
		if got := recorded(t, conn); got != "it's" {
			t.Errorf("a script with a registry: got %q", got)
		}
	})
}

// TestBeforeRegistries reads and updates what version 2 installed.
func TestBeforeRegistries(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx := context.Background()
		conn, _ := installed(t, s)
		exec(t, conn, "ALTER TABLE pgid.config DROP COLUMN registry; UPDATE pgid.config SET version = 2")
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			c, found, err := readConfig(ctx, tx)
			if c.Version != 2 || c.Registry != "" || !found {
				t.Errorf("config %+v, %v", c, found)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		if r, err := Install(ctx, conn, InstallOptions{Registry: "A"}); err != nil || !r.Updated || r.Unchanged {
			t.Errorf("%+v, %v, want an update", r, err)
		}
		if got := recorded(t, conn); got != "A" {
			t.Errorf("got %q", got)
		}
	})
}

func TestIdentify(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx := context.Background()
		conn, url := installed(t, s)
		own, err := Identify(ctx, conn)
		key, name := own.Key, own.Name
		if err != nil || name != conn.Config().Database || own.Weak || time.Since(time.UnixMilli(own.Now)).Abs() > time.Minute {
			t.Fatalf("%+v, %v", own, err)
		}
		if c, _, err := ReadConfig(ctx, conn); err != nil || c.Key() != key {
			t.Errorf("recorded %q, %v, want %q", c.Key(), err, key)
		}
		if other, err := Identify(ctx, connect(t, devpgtest.DatabaseOn(t, s))); err != nil || other.Key == key {
			t.Errorf("another database: %+v, %v", other, err)
		}
		conn.Close(ctx)
		admin := connect(t, s.URL("postgres"))
		renamed := strings.ReplaceAll(url, "/"+name, "/"+name+"_renamed")
		exec(t, admin, "ALTER DATABASE "+name+" RENAME TO "+name+"_renamed")
		t.Cleanup(func() { exec(t, admin, "ALTER DATABASE "+name+"_renamed RENAME TO "+name) })
		conn, err = pgx.Connect(ctx, renamed)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if got, err := Identify(ctx, conn); err != nil || got.Key != key {
			t.Errorf("renamed: %+v, %v, want %q", got, err, key)
		}
		exec(t, conn, "CREATE ROLE stranger_"+name+"; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC; SET ROLE stranger_"+name)
		got, err := Identify(ctx, conn)
		exec(t, conn, "RESET ROLE; DROP ROLE stranger_"+name)
		if want := strings.Split(key, " ")[0] + " of the server at 127.0.0.1:"; err != nil || !strings.HasPrefix(got.Key, want) || !got.Weak {
			t.Errorf("without the identifier: %+v, %v, want %s…", got, err, want)
		}
	})
}

// registryTables are the columns that an uninstall looks at.
const registryTables = `CREATE TABLE pgid.registry (id text); CREATE TABLE pgid.node (node int, kind text, holder text, until timestamptz)`

// TestUninstallKeepsRegistry: the registry of others is not dropped.
func TestUninstallKeepsRegistry(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx := context.Background()
		conn, _ := installed(t, s)
		own, err := Identify(ctx, conn)
		if err != nil {
			t.Fatal(err)
		}
		exec(t, conn, registryTables)
		exec(t, conn, fmt.Sprintf(`INSERT INTO pgid.node VALUES (0, 'lease', 'proxy A', now() + interval '1 minute'), (1, 'lease', 'proxy B', now() - interval '1 minute'),
			(2, 'free', 'proxy C', now() + interval '1 minute'), (1022, 'functions', '5 of system 6, named shop', now()), (1023, 'functions', '%s, named %s', now())`, own.Key, own.Name))
		var inUse *InUseError
		if err := Uninstall(ctx, conn); !errors.As(err, &inUse) || len(inUse.Users) != 2 || !strings.Contains(inUse.Users[0], "proxy A") ||
			!strings.Contains(inUse.Users[1], "5 of system 6, named shop") || !strings.Contains(inUse.Users[1], "pgidproxy nodes release 1022 --functions") {
			t.Errorf("got %v", err)
		}
		exec(t, conn, "DELETE FROM pgid.node WHERE node IN (0, 1022)")
		if err := Uninstall(ctx, conn); err != nil {
			t.Error(err)
		}
		if scan[bool](t, conn, "SELECT to_regnamespace('pgid') IS NOT NULL") {
			t.Error("schema pgid is left")
		}
	})
}

// TestWatcherFollowsNode: what is left to the server changes with the node that
// the proxy holds.
func TestWatcherFollowsNode(t *testing.T) {
	s := devpgtest.Server(t)
	conn, _ := installed(t, s)
	node := -1
	w := newWatcher(conn.Config(), func() self { return self{node: node} }, time.Hour, slog.New(slog.DiscardHandler))
	defer w.stopExpiry()
	reader := w.attempt(context.Background(), nil)
	defer func() { reader.Close(context.Background()) }()
	for _, step := range []struct {
		node int
		want bool
	}{{-1, true}, {DefaultFunctionNode, false}, {5, true}} {
		if node = step.node; node >= 0 && w.Current() != nil {
			t.Errorf("node %d: the catalog that was read for another is relied on", node)
		}
		reader = w.attempt(context.Background(), reader)
		if got := replaces(w.Current(), "SELECT next_snowflake()"); got != step.want {
			t.Errorf("node %d: replaced %v, want %v", node, got, step.want)
		}
	}
}
