package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

var migrateRows = flag.Int("migrate-rows", 3000, "rows of the table that is migrated under load")

// slack is what a write may take beyond the lock timeout, on a busy machine.
const slack = 3 * time.Second

const shop = `CREATE TABLE orders (id serial PRIMARY KEY, n text NOT NULL, parent int REFERENCES orders, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE items (id serial PRIMARY KEY, order_id int NOT NULL REFERENCES orders ON DELETE CASCADE, n text);
CREATE TABLE notes (order_id int PRIMARY KEY REFERENCES orders, n text);
CREATE INDEX ON items (order_id);
CREATE VIEW open_orders AS SELECT id, n FROM orders WHERE parent IS NULL;
INSERT INTO orders (n, parent) SELECT 'old ' || g, nullif(g / 10, 0) FROM generate_series(1, %[1]d) g;
INSERT INTO items (order_id, n) SELECT g, 'old ' || g FROM generate_series(1, %[1]d, 2) g;
INSERT INTO notes SELECT g, 'old ' || g FROM generate_series(1, %[1]d, 10) g;
VACUUM ANALYZE`

// A migrateWriter writes through a proxy and remembers what was acknowledged.
type migrateWriter struct {
	name    string
	conn    *pgx.Conn
	orders  map[int64]string // id to n
	items   map[int64][2]any // id to order, n
	longest time.Duration
	writes  int
	err     error
}

func (w *migrateWriter) run(ctx context.Context, r *rand.Rand) {
	for n := 0; ctx.Err() == nil && w.err == nil; n++ {
		begin := time.Now()
		w.err = w.write(n, r)
		w.longest = max(w.longest, time.Since(begin))
		w.writes++
	}
}

// write is an order with an item and sometimes a change of an older one, in one
// transaction or in several.
func (w *migrateWriter) write(n int, r *rand.Rand) error {
	ctx := context.Background()
	what := fmt.Sprintf("%s %d", w.name, n)
	var order, item int64
	do := func(q interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	}) error {
		if err := q.QueryRow(ctx, "INSERT INTO orders (n, parent) VALUES ($1, $2) RETURNING id", what, r.IntN(100)+1).Scan(&order); err != nil {
			return err
		}
		return q.QueryRow(ctx, "INSERT INTO items (order_id, n) VALUES ($1, $2) RETURNING id", order, what).Scan(&item)
	}
	var err error
	if n%2 == 0 {
		err = pgx.BeginFunc(ctx, w.conn, func(tx pgx.Tx) error { return do(tx) })
	} else {
		err = do(w.conn)
	}
	if err != nil {
		return err
	}
	if _, twice := w.orders[order]; twice {
		return fmt.Errorf("order %d was given out twice", order)
	}
	w.orders[order], w.items[item] = what, [2]any{order, what}
	for id := range w.orders {
		if n%3 == 0 {
			changed := what + " changed"
			if _, err := w.conn.Exec(ctx, "UPDATE orders SET n = $1 WHERE id = $2", changed, id); err != nil {
				return err
			}
			w.orders[id] = changed
		}
		break
	}
	return nil
}

// TestMigrateUnderLoad migrates a table that four clients write to through a
// proxy: nothing is lost, doubled or refused, and nobody waits for long.
func TestMigrateUnderLoad(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		direct := devpgtest.DatabaseOn(t, s)
		admin := session(t, direct)
		exec := func(sql string) {
			t.Helper()
			for part := range strings.SplitSeq(sql, ";\n") {
				if _, err := admin.Exec(t.Context(), part, pgx.QueryExecModeSimpleProtocol); err != nil {
					t.Fatalf("%s: %v", part, err)
				}
			}
		}
		exec(fmt.Sprintf(shop, *migrateRows))
		_, through := serve(t, direct, "--node-id", "5")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var writers []*migrateWriter
		var busy sync.WaitGroup
		for i := range 4 {
			config, err := pgx.ParseConfig(through)
			if err != nil {
				t.Fatal(err)
			}
			config.DefaultQueryExecMode = pgx.QueryExecModeExec
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			w := &migrateWriter{name: fmt.Sprint("writer ", i), conn: conn, orders: map[int64]string{}, items: map[int64][2]any{}}
			writers = append(writers, w)
			busy.Go(func() { w.run(ctx, rand.New(rand.NewPCG(uint64(i), 1))) })
		}
		args := []string{"migrate", "apply", "--database-url", direct, "--table", "orders", "--yes", "--batch", "2000"}
		if p := start(t, args...); p.wait(t) != exitFailed || !strings.Contains(p.output.String(), "view public.open_orders uses a column") {
			t.Fatalf("want the view to forbid it:\n%s", p.output)
		}
		begin := time.Now()
		p := start(t, append(args, "--recreate-views")...)
		if code := p.waitFor(t, time.Hour); code != exitDone {
			t.Fatalf("got exit code %d:\n%s", code, p.output)
		}
		took := time.Since(begin)
		time.Sleep(1500 * time.Millisecond) // proxies fill again, and the writers go on
		cancel()
		busy.Wait()
		total, longest := 0, time.Duration(0)
		for _, w := range writers {
			if w.err != nil {
				t.Errorf("%s: %v", w.name, w.err)
			}
			total, longest = total+w.writes, max(longest, w.longest)
		}
		t.Logf("%d rows migrated in %s beside %d writes, of which the longest took %s", *migrateRows, took.Round(time.Millisecond), total, longest.Round(time.Millisecond))
		if longest > 2*time.Second+slack {
			t.Errorf("a write took %s", longest)
		}
		compareWrites(t, admin, writers)
		for _, table := range [][2]string{{"orders", "id"}, {"orders", "parent"}, {"items", "order_id"}, {"notes", "order_id"}} {
			var typ string
			must(t, admin.QueryRow(t.Context(), "SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = $1::text::regclass AND attname = $2", table[0], table[1]).Scan(&typ))
			if typ != "bigint" {
				t.Errorf("%v is %s", table, typ)
			}
		}
		var bad int
		must(t, admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND NOT convalidated OR contype = 'f' AND conname LIKE '%pgid%'").Scan(&bad))
		if bad > 0 {
			t.Errorf("%d foreign keys are not valid, or left over", bad)
		}
		must(t, runProgram("migrate", "finish", "--database-url", direct, "--table", "orders", "--yes"))
		compareWrites(t, admin, writers)
	})
}

// compareWrites compares what is there with what was acknowledged.
func compareWrites(t *testing.T, conn *pgx.Conn, writers []*migrateWriter) {
	t.Helper()
	orders, items := map[int64]string{}, map[int64][2]any{}
	for _, w := range writers {
		for id, n := range w.orders {
			orders[id] = n
		}
		for id, it := range w.items {
			items[id] = it
		}
	}
	var id, order int64
	var n string
	fresh := 0
	rows, _ := conn.Query(t.Context(), "SELECT id, n FROM orders WHERE n LIKE 'writer%'")
	_, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error {
		if orders[id] != n {
			t.Errorf("order %d is %q, want %q", id, n, orders[id])
		}
		if id > 1<<40 {
			fresh++
		}
		delete(orders, id)
		return nil
	})
	must(t, err)
	rows, _ = conn.Query(t.Context(), "SELECT id, order_id, n FROM items WHERE n LIKE 'writer%'")
	_, err = pgx.ForEachRow(rows, []any{&id, &order, &n}, func() error {
		if items[id] != [2]any{order, n} {
			t.Errorf("item %d is of order %d, %q, want %v", id, order, n, items[id])
		}
		delete(items, id)
		return nil
	})
	must(t, err)
	if len(orders) > 0 || len(items) > 0 {
		t.Errorf("%d orders and %d items are lost", len(orders), len(items))
	}
	var old, small int
	must(t, conn.QueryRow(t.Context(), "SELECT count(*) FILTER (WHERE n = 'old ' || id), count(*) FILTER (WHERE parent IS DISTINCT FROM nullif(id / 10, 0)) FROM orders WHERE n LIKE 'old%'").Scan(&old, &small))
	if old != *migrateRows || small != 0 {
		t.Errorf("%d old rows are left, %d with another parent", old, small)
	}
	if fresh == 0 {
		t.Error("no order has got a new id")
	}
}

func TestMigrateCommands(t *testing.T) {
	t.Parallel()
	direct := devpgtest.Database(t)
	must(t, execSQL(t.Context(), direct, `CREATE TABLE "Orders" (id serial PRIMARY KEY, n text); CREATE TABLE items (order_id int REFERENCES "Orders"); CREATE TABLE wide (id bigserial PRIMARY KEY); INSERT INTO "Orders" (n) SELECT g FROM generate_series(1, 1000) g`))
	run := func(want int, args ...string) string {
		t.Helper()
		p := start(t, append([]string{"migrate", args[0], "--database-url", direct}, args[1:]...)...)
		if got := p.wait(t); got != want {
			t.Errorf("%v: got exit code %d, want %d:\n%s", args, got, want, p.output)
		}
		return p.output.String()
	}
	contains := func(text string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("want %q in:\n%s", w, text)
			}
		}
	}
	contains(run(exitFailed, "plan", "--table", `"Orders"`), "run pgidproxy install first")
	must(t, runProgram("install", "--database-url", direct))
	contains(run(exitDone, "scan"), `public."Orders"`, "serial", "items.order_id", `pgidproxy migrate plan --table 'public."Orders"'`)
	var found []map[string]any
	must(t, json.Unmarshal([]byte(run(exitDone, "scan", "--json")), &found))
	if len(found) != 2 || found[0]["table"] != `public."Orders"` {
		t.Errorf("got %v", found)
	}
	contains(run(exitDone, "plan", "--table", `"Orders"`), "ACCESS EXCLUSIVE on", "CREATE UNIQUE INDEX CONCURRENTLY", "rollback after the swap", "finish")
	contains(run(exitDone, "plan", "--table", "wide", "--sql"), `SET DEFAULT "public"."next_snowflake"()`)
	contains(run(exitUsage, "apply", "--table", "wide"), "--yes")
	contains(run(exitFailed, "rollback", "--table", "wide", "--yes"), "there is no migration")
	contains(run(exitFailed, "plan", "--table", "nowhere"), "there is no table nowhere")
	script := run(exitDone, "plan", "--table", `"Orders"`, "--sql")
	run(exitDone, "apply", "--table", "wide", "--yes")
	contains(run(exitDone, "status"), `"public"."wide"`, "swapped", "at work: nobody")
	contains(run(exitFailed, "apply", "--table", "wide", "--yes", "--to", "uuidv7"), `a migration of "public"."wide" to snowflake has begun`)
	contains(run(exitUsage, "rollback", "--table", "wide", "--yes", "--retries", "0"), "--retries must be above zero")
	contains(run(exitDone, "status", "--json"), `"stage": "swapped"`)
	run(exitDone, "rollback", "--table", "wide", "--yes")
	contains(run(exitDone, "status", "--json"), "[]")

	cmd := exec.Command("psql", "-X", "-q", "-d", direct)
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	conn := session(t, direct)
	if got := node(t, conn, `INSERT INTO "Orders" (n) VALUES ('x') RETURNING id`); got != 1023 {
		t.Errorf("got an id of node %d after the script, want the functions'", got)
	}
	if _, err := conn.Exec(t.Context(), `INSERT INTO items (order_id) SELECT max(id) FROM "Orders"`); err != nil {
		t.Error(err)
	}
}

// A job that is interrupted ends after what it is doing, and goes on.
func TestMigrateInterrupted(t *testing.T) {
	t.Parallel()
	direct := devpgtest.Database(t)
	must(t, runProgram("install", "--database-url", direct))
	must(t, execSQL(t.Context(), direct, "CREATE TABLE p (id serial PRIMARY KEY); INSERT INTO p SELECT FROM generate_series(1, 5000)"))
	args := []string{"migrate", "apply", "--database-url", direct, "--table", "p", "--yes", "--batch", "100"}
	p := start(t, append(args, "--pause", "200ms")...)
	p.match(t, `msg="fill `)
	if code := p.end(t, interrupt); code != exitFailed || p.lines("interrupted: run the same command again") != 1 {
		t.Fatalf("got exit code %d:\n%s", code, p.output)
	}
	must(t, runProgram(args...))
	var typ string
	must(t, session(t, direct).QueryRow(t.Context(), "SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = 'p'::regclass AND attname = 'id'").Scan(&typ))
	if typ != "bigint" {
		t.Errorf("the key is %s", typ)
	}
}
