package sql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/rewrite"
)

// TestWatcherStates goes through the states without a database.
func TestWatcherStates(t *testing.T) {
	t.Parallel()
	w := newWatcher(nil, func() self { return nobody }, time.Hour, slog.New(slog.DiscardHandler))
	defer w.stopExpiry()
	var heard uint64 // before the fingerprint is taken
	fingerprint := func() { heard = w.heard }
	read := func(changes uint64, schema string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.adopt(&reading{data: rewrite.CatalogData{Known: true, Schema: schema}}, -1, schema)
		w.succeeded(changes, heard)
	}
	fail := func(changes uint64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.failed(errors.New("down"), changes)
		w.pause = 0
	}
	due := func() (changes uint64) {
		changes, _, _ = w.due()
		return changes
	}
	var start uint64
	var first *rewrite.Catalog
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"not read yet", func() {}, "nothing"},
		{"changed before the first reading", func() { start = due(); w.Begin() }, "nothing"},
		{"failed while being changed", func() { fail(start) }, "nothing"},
		{"no longer changed", func() { w.End() }, "nothing"},
		{"failed after the change", func() { fail(due()) }, "unknown"},
		{"changed again", func() { w.Begin() }, "nothing"},
		{"read", func() { w.End(); read(due(), "a"); first = w.Current() }, "known"},
		{"a poll has failed", func() { fail(due()) }, "known"},
		{"too many have", func() { w.expire(w.confirmed) }, "nothing"},
		{"fails on", func() { fail(due()) }, "nothing"},
		{"read again", func() { read(due(), "a") }, "known"},
		{"an old timer", func() { w.expire(w.confirmed - 1) }, "known"},
		{"reading begins, then a change", func() { start = due(); w.Begin() }, "nothing"},
		{"reading ends first", func() { read(start, "a") }, "nothing"},
		{"change ends", func() { w.End() }, "nothing"},
		{"read after it", func() { read(due(), "a") }, "known"},
		{"a change within a reading", func() { start = due(); w.Begin(); w.End(); read(start, "b") }, "nothing"},
		{"that fails", func() { fail(due()) }, "nothing"},
		{"two changes", func() { w.Begin(); w.Begin(); w.End(); read(due(), "b") }, "nothing"},
		{"both over", func() { w.End(); read(due(), "b") }, "known"},
		{"heard of a change", func() { w.hear() }, "nothing"},
		{"a fingerprint of before", func() { read(due(), "b") }, "nothing"},
		{"one of after", func() { fingerprint(); read(due(), "b") }, "known"},
		{"a change, heard of before its fingerprint", func() {
			w.Begin()
			w.End()
			start = due()
			w.hear()
			fingerprint()
			read(start, "b")
		}, "known"},
		{"one within the reading", func() {
			start = due()
			w.hear()
			w.Begin()
			w.End()
			fingerprint()
			read(start, "b")
		}, "nothing"},
		{"heard of again, then a failure", func() { w.hear(); fail(due()) }, "nothing"},
		{"read at last", func() { fingerprint(); read(due(), "b") }, "known"},
		{"nobody polls any more", func() { w.rest() }, "nothing"},
		{"somebody does", func() { read(due(), "b") }, "known"},
	}
	for _, step := range steps {
		step.do()
		got := "known"
		switch c := w.Current(); {
		case c == nil:
			got = "nothing"
		case !c.Known():
			got = "unknown"
		}
		if got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	if w.Current().Generation() <= first.Generation() {
		t.Error("the last catalog is the first")
	}
}

func TestPausesGrow(t *testing.T) {
	t.Parallel()
	w := newWatcher(nil, func() self { return nobody }, time.Hour, slog.New(slog.DiscardHandler))
	var got []int
	for range 6 {
		w.mu.Lock()
		w.failed(errors.New("down"), 0)
		got = append(got, w.pause)
		w.mu.Unlock()
		for _, _, ok := w.due(); !ok; _, _, ok = w.due() {
			if w.Current() != unknown {
				t.Fatal("no catalog in a pause")
			}
		}
	}
	if fmt.Sprint(got) != "[0 1 3 7 15 15]" {
		t.Errorf("pauses %v", got)
	}
}

// watched watches a fresh database with the functions; polls come when the test
// says so.
func watched(t *testing.T, s *devpg.Server) (conn *pgx.Conn, d *Database, tick chan time.Time) {
	conn, url := installed(t, s)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	ws, tick := testWatchers(t, config)
	return conn, ws.Database(config.Database), tick
}

func testWatchers(t *testing.T, config *pgx.ConnConfig) (*Watchers, chan time.Time) {
	ws := NewWatchers(config, slog.New(slog.DiscardHandler))
	tick := make(chan time.Time)
	ws.tick, ws.stale = tick, time.Hour
	t.Cleanup(ws.Close)
	return ws, tick
}

// poll has the only watcher poll once: a tick is taken when the attempt before
// it is over.
func poll(tick chan<- time.Time) {
	tick <- time.Time{}
	tick <- time.Time{}
}

// fresh waits for a catalog.
func fresh(t *testing.T, d *Database) *rewrite.Catalog {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	d.Fresh(ctx)
	c := d.Current()
	if c == nil {
		t.Fatal("no catalog")
	}
	return c
}

// TestPollSees makes changes from elsewhere and looks after the next poll.
func TestPollSees(t *testing.T) {
	const insert, omit = "INSERT INTO w VALUES (next_snowflake())", "INSERT INTO d(n) VALUES (1)"
	steps := []struct {
		change string
		seen   bool   // a new reading
		text   string // is replaced or not
		want   bool
	}{
		{"SELECT 1", false, insert, false},
		{"CREATE TABLE w (id bigint)", true, insert, true},
		{"BEGIN; CREATE RULE r AS ON INSERT TO w DO INSTEAD NOTHING; ROLLBACK", false, insert, true},
		{"CREATE RULE r AS ON INSERT TO w DO INSTEAD NOTHING", true, insert, false},
		{"DROP RULE r ON w", true, insert, true},
		{"CREATE TEMP TABLE w (a int)", true, insert, false},
		{"DROP TABLE pg_temp.w", true, insert, true},
		{"TRUNCATE w", false, insert, true},
		{"ALTER TABLE w OWNER TO CURRENT_USER; CREATE INDEX ON w (id); CLUSTER w USING w_id_idx", false, insert, true},
		{"CREATE TEMP TABLE nobody (a int)", false, insert, true},
		{"CREATE INDEX ON public.w (id); INSERT INTO public.w VALUES (1); ANALYZE public.w", false, insert, true},
		{"CREATE VIEW v AS SELECT 1 AS id", true, insert, true},
		{"CREATE OR REPLACE VIEW v AS SELECT 2 AS id", true, insert, true},
		{"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", true, "INSERT INTO w VALUES (next_snowflake(), f())", true},
		{"DROP FUNCTION f()", true, "INSERT INTO w VALUES (next_snowflake(), f())", false},
		{"CREATE SCHEMA app", true, insert, true},
		{"CREATE FUNCTION app.next_snowflake() RETURNS bigint LANGUAGE sql AS 'SELECT 42::bigint'", true, insert, false},
		{"DROP FUNCTION app.next_snowflake()", true, insert, true},
		{"REVOKE EXECUTE ON FUNCTION next_snowflake() FROM PUBLIC", true, insert, false},
		{"GRANT EXECUTE ON FUNCTION next_snowflake() TO PUBLIC", true, insert, true},
		{"REVOKE USAGE ON SCHEMA public FROM PUBLIC", true, insert, false},
		{"GRANT USAGE ON SCHEMA public TO PUBLIC", true, insert, true},
		{"UPDATE pgid.config SET epoch_ms = 1", true, insert, false},
		{"UPDATE pgid.config SET epoch_ms = 1704067200000", true, insert, true},
		{"CREATE DOMAIN app.id_to_timestamp AS text", true, "SELECT id_to_timestamp('1')", false},
		{"CREATE TABLE app.w (id bigint)", true, "INSERT INTO app.w VALUES (next_snowflake())", true},
		{"ALTER TABLE app.w RENAME TO x", true, "INSERT INTO app.w VALUES (next_snowflake())", false},
		{"ALTER TABLE app.x ADD COLUMN b int", true, insert, true},
		{"DROP SCHEMA app CASCADE", true, insert, true},
		{"DROP TABLE public.w", true, insert, false},
		{"CREATE TABLE d (id bigint DEFAULT next_snowflake(), n int)", true, omit, true},
		{"ALTER TABLE d ALTER id SET DEFAULT 9", true, omit, false},
		{"ALTER TABLE d ALTER id SET DEFAULT next_snowflake()", true, omit, true},
		{"BEGIN; ALTER TABLE d ALTER id DROP DEFAULT; ROLLBACK", false, omit, true},
		{"ALTER TABLE d ALTER id DROP DEFAULT", true, omit, false},
		{"ALTER TABLE d DROP COLUMN id", true, omit, false},
		{"ALTER TABLE d ADD COLUMN id bigint DEFAULT next_snowflake()", true, omit, true},
		{"ALTER TABLE d RENAME id TO key", true, omit, true},
		{"GRANT INSERT (n) ON d TO PUBLIC", true, omit, false},
		{"REVOKE INSERT (n) ON d FROM PUBLIC", true, omit, true},
		{"GRANT INSERT ON d TO PUBLIC", true, omit, false},
		{"GRANT SELECT ON d TO PUBLIC", true, omit, true},
		{"CREATE TEMP TABLE d (a int)", true, omit, false},
		{"DROP TABLE pg_temp.d", true, omit, true},
		{"CREATE SCHEMA app; CREATE SEQUENCE app.d", true, omit, false},
		{"DROP SCHEMA app CASCADE", true, omit, true},
		{"CREATE TABLE pgid.migrations (relation regclass)", true, omit, true},
		{"INSERT INTO pgid.migrations VALUES ('d')", true, omit, false},
		{"DELETE FROM pgid.migrations", true, omit, true},
		{"DROP TABLE d", true, omit, false},
		{"DROP SCHEMA pgid CASCADE", true, "SELECT next_snowflake()", false},
	}
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, d, tick := watched(t, s)
		last := fresh(t, d)
		for _, step := range steps {
			exec(t, conn, step.change)
			poll(tick)
			c := d.Current()
			if c == nil {
				t.Fatalf("%s: no catalog", step.change)
			}
			if got := c.Generation() != last.Generation(); got != step.seen || !got && c != last {
				t.Errorf("%s: seen %v, want %v", step.change, got, step.seen)
			}
			if got := replaces(c, step.text); got != step.want {
				t.Errorf("%s: %s: replaced %v, want %v", step.change, step.text, got, step.want)
			}
			last = c
		}
	})
}

func TestBeginAndEnd(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, d, tick := watched(t, s)
		const text = "INSERT INTO w VALUES (next_snowflake())"
		fresh(t, d)
		d.Begin()
		exec(t, conn, "CREATE TABLE w (id bigint)")
		poll(tick)
		if d.Current() != nil {
			t.Error("current while a change is under way")
		}
		d.Begin()
		d.End()
		poll(tick)
		if d.Current() != nil {
			t.Error("current before the last End")
		}
		d.End()
		if !replaces(fresh(t, d), text) {
			t.Error("the change was not seen")
		}
	})
}

// TestReadingThatBeganBeforeEnd holds up a poll between its fingerprint and its
// end, while a change begins and ends.
func TestReadingThatBeganBeforeEnd(t *testing.T) {
	ctx := context.Background()
	s := devpgtest.Server(t)
	conn, d, tick := watched(t, s)
	fresh(t, d)
	locker := connect(t, conn.Config().ConnString())
	exec(t, locker, "BEGIN; LOCK TABLE pgid.config")
	tick <- time.Time{}
	for waiting := false; !waiting; {
		err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'pgidproxy catalog'
			AND datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	d.Begin()
	exec(t, conn, "CREATE TABLE w (id bigint)")
	d.End()
	if d.Current() != nil {
		t.Error("current before it was read again")
	}
	exec(t, locker, "COMMIT")
	if !replaces(fresh(t, d), "INSERT INTO w VALUES (next_snowflake())") {
		t.Error("a reading that began before the change is taken for one after it")
	}
}

// TestManySessions has sessions make tables at the same time: after its End each
// must see its own, whatever the others do.
func TestManySessions(t *testing.T) {
	s := devpgtest.Server(t)
	conn, d, tick := watched(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var sessions, ticker sync.WaitGroup
	done := make(chan struct{})
	ticker.Go(func() {
		for {
			select {
			case tick <- time.Time{}:
			case <-done:
				return
			}
		}
	})
	for i := range 4 {
		own := connect(t, conn.Config().ConnString())
		handle := d.set.Database(conn.Config().Database)
		sessions.Go(func() {
			for k := range 8 {
				name := fmt.Sprintf("t_%d_%d", i, k)
				handle.Begin()
				_, err := own.Exec(ctx, "CREATE TABLE "+name+" (id bigint)")
				handle.End()
				if err != nil {
					t.Error(err)
					return
				}
				c := handle.Current()
				for ; c == nil && ctx.Err() == nil; c = handle.Current() {
					handle.Fresh(ctx)
				}
				if c == nil || !replaces(c, "INSERT INTO "+name+" VALUES (next_snowflake())") {
					t.Errorf("%s is not seen", name)
				}
			}
		})
	}
	sessions.Wait()
	close(done)
	ticker.Wait()
}
