package bench

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	config, conn := database(t, devpgtest.Server(t))
	bare, err := pgx.ParseConfig(devpgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	refuses := func(c BTreeConfig, want string) {
		t.Helper()
		if _, err := RunBTree(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	refuses(BTreeConfig{Rows: 1_000_000_000_000, Server: config}, "of disk")
	refuses(BTreeConfig{Rows: 100_000_000, Server: config, Cache: CacheInMemory}, "do not make a run in memory")
	refuses(BTreeConfig{Rows: 1000, Server: config, Cache: CacheBeyond}, "do not make a run beyond memory")
	refuses(BTreeConfig{Rows: 1000, Server: config, Keys: []string{"serial"}}, "no such kinds")
	gone(t, conn)

	functions := "the functions for snowflake"
	if devpgtest.Server(t).Major() < 18 {
		functions += " and uuidv7"
	}
	refuses(BTreeConfig{Rows: 1000, Server: bare}, functions+" are not installed in this database. Run pgidproxy install")
	gone(t, connection(t, bare))
	if _, err := RunBTree(t.Context(), BTreeConfig{Rows: 1000, Server: bare, Keys: []string{"identity", "uuidv4"}}); err != nil {
		t.Errorf("without keys that need functions: %v", err)
	}

	if _, err := conn.Exec(t.Context(), "CREATE SCHEMA pgid_bench; CREATE TABLE pgid_bench.precious ()", pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	refuses(BTreeConfig{Rows: 1000, Server: config}, "schema pgid_bench is there already")
	if !value[bool](t, conn, "SELECT to_regclass('pgid_bench.precious') IS NOT NULL") {
		t.Error("the schema of others is gone")
	}
}

func TestUnknownDisk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e     Estimate
		force bool
		want  string
	}{
		{Estimate{Disk: 10 << 30, Free: 20 << 30}, false, ""},
		{Estimate{Disk: 10 << 30, Free: 5 << 30, DataDir: "/data"}, false, "takes about 10 GiB of disk, and /data has 5.0 GiB left"},
		{Estimate{Disk: 10 << 30, Free: 5 << 30}, true, ""},
		{Estimate{Disk: 10 << 30, Free: -1}, false, "cannot be seen from here"},
		{Estimate{Disk: 10 << 30, Free: -1}, true, ""},
		{Estimate{Disk: 100 << 20, Free: -1}, false, ""},
	} {
		err := c.e.check(c.force)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v, force %t: got %v, want %q", c.e, c.force, err, c.want)
		}
	}
}

func TestRowsByCache(t *testing.T) {
	t.Parallel()
	s := &Server{sharedBuffers: 128 << 20, maxWAL: 1 << 30}
	rows := func(c BTreeConfig) int64 {
		e, err := c.settle(s)
		if err != nil {
			t.Fatal(err)
		}
		return e.Rows
	}
	if got := rows(BTreeConfig{}); got != defaultRows {
		t.Errorf("got %d rows without a word", got)
	}
	in, beyond := rows(BTreeConfig{Cache: CacheInMemory}), rows(BTreeConfig{Cache: CacheBeyond, Keys: []string{"uuidv4", "uuidv7"}})
	if in*297 > 128<<20 {
		t.Errorf("%d rows do not fit", in)
	}
	if beyond*45 < 2*128<<20 {
		t.Errorf("%d rows fit", beyond)
	}
	if got, want := rows(BTreeConfig{Ratio: 2, Keys: []string{"uuidv4"}}), int64(2*(128<<20)/45); got != want {
		t.Errorf("got %d rows, want %d", got, want)
	}
}
