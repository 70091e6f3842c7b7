package migrate_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/internal/migrate"
)

const beforeSwap = "wait for proxies before the swap"

// until applies a job up to before a step.
func (c *scene) until(o migrate.Options, name string) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	met := false
	err := c.run(o, func(p migrate.Progress) {
		if p.Name == name {
			met = true
			cancel()
		}
	}, func(r *migrate.Runner) error { return r.Apply(ctx) })
	if err == nil || !met {
		c.t.Fatalf("got %v, want an end at %q", err, name)
	}
}

func (c *scene) applied(o migrate.Options) error {
	return c.run(o, nil, func(r *migrate.Runner) error { return r.Apply(context.Background()) })
}

// What comes to use a column while the job is at work would mean the old column
// after the swap, or be lost with it.
func TestStrangersAreNotLost(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, `CREATE TABLE p (id serial PRIMARY KEY, n text); CREATE TABLE ch (p_id int DEFAULT 1 REFERENCES p); CREATE TABLE late (p_id int); INSERT INTO p (n) SELECT g FROM generate_series(1, 50) g;
			CREATE FUNCTION noop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE VIEW old AS SELECT id FROM p`)
		o := migrate.Options{Table: "p", Unlinked: true, RecreateViews: true}
		c.until(o, beforeSwap)
		var stranger *migrate.StrangerError
		for _, x := range []struct{ do, undo string }{
			{"CREATE VIEW fresh AS SELECT id FROM p", "DROP VIEW fresh"},
			{"CREATE OR REPLACE VIEW old AS SELECT id, n FROM p", "DROP VIEW old; CREATE VIEW old AS SELECT id FROM p"},
			{"CREATE INDEX fresh ON ch (p_id)", "DROP INDEX fresh"},
			{"ALTER TABLE late ADD CONSTRAINT fresh FOREIGN KEY (p_id) REFERENCES p", "ALTER TABLE late DROP CONSTRAINT fresh"},
			{"ALTER TABLE p ADD CONSTRAINT fresh CHECK (id > 0)", "ALTER TABLE p DROP CONSTRAINT fresh"},
			{"CREATE TRIGGER fresh BEFORE UPDATE OF id ON p FOR EACH ROW EXECUTE FUNCTION noop()", "DROP TRIGGER fresh ON p"},
			{"ALTER TABLE ch ALTER COLUMN p_id SET DEFAULT 2", "ALTER TABLE ch ALTER COLUMN p_id SET DEFAULT 1"},
			{"ALTER TABLE ch ALTER COLUMN p_id SET NOT NULL", "ALTER TABLE ch ALTER COLUMN p_id DROP NOT NULL"},
			{"COMMENT ON COLUMN p.id IS 'fresh'", "COMMENT ON COLUMN p.id IS NULL"},
			{"GRANT SELECT (id) ON p TO pg_monitor", "REVOKE SELECT (id) ON p FROM pg_monitor"},
		} {
			c.exec(x.do)
			before := snapshotOf(t, c.url)
			if err := c.applied(o); !errors.As(err, &stranger) || stranger.Back {
				t.Fatalf("%s: got %v, want it named", x.do, err)
			}
			if got := snapshotOf(t, c.url); got != before {
				t.Fatalf("%s: the schema differs:%s", x.do, different(got, before))
			}
			c.exec(x.undo)
		}
		c.apply(o)
		c.exec("CREATE VIEW fresh AS SELECT id FROM p")
		if err := c.rollback(o); !errors.As(err, &stranger) || !stranger.Back || !has(stranger.What, "fresh") {
			t.Fatalf("got %v, want the view named", err)
		}
		c.exec("SELECT id FROM fresh; DROP VIEW fresh")
		if err := c.rollback(o); err != nil {
			t.Fatal(err)
		}
	})
}

// Rows that were written while triggers were off are found before the swap.
func TestTriggersSwitchedOff(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, "CREATE TABLE p (id serial PRIMARY KEY, n text); INSERT INTO p (n) SELECT g FROM generate_series(1, 50) g")
		o := migrate.Options{Table: "p"}
		c.until(o, beforeSwap)
		c.exec("ALTER TABLE p DISABLE TRIGGER ALL")
		if err := c.applied(o); !wrong(err) || !strings.Contains(err.Error(), "switched off") {
			t.Errorf("got %v, want to be told of the trigger", err)
		}
		if err := c.rollback(o); err != nil {
			t.Fatal(err)
		}
		c.until(o, "analyze \"public\".\"p\"")
		c.exec("ALTER TABLE p DISABLE TRIGGER ALL; UPDATE p SET id = 60 WHERE id = 6; ALTER TABLE p ENABLE ALWAYS TRIGGER \"~pgidproxy migrate\"")
		if err := c.applied(o); !wrong(err) || !strings.Contains(err.Error(), "1 rows") {
			t.Errorf("got %v, want to be told of the row", err)
		}
		c.exec("UPDATE p SET id = id WHERE id = 60")
		c.apply(o)
	})
}

// What is looked up under locks is looked up in an index, where there is one.
func TestChecksUnderLocksAreQuick(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, "CREATE TABLE b (id bigserial PRIMARY KEY, n text); INSERT INTO b (n) SELECT g FROM generate_series(1, 20000) g; CREATE TABLE p (id serial PRIMARY KEY, n text); INSERT INTO p (n) SELECT g FROM generate_series(1, 20000) g; CREATE TABLE bare (id bigserial, n text)")
		c.exec("ANALYZE")
		looked := 0
		for _, table := range []string{"b", "p", "bare"} {
			p := c.plan(migrate.Options{Table: table})
			for _, step := range append(p.Steps, p.Back...) {
				for _, check := range step.Checks {
					if step.Mode == "" || !strings.Contains(check.SQL, "FROM \"public\"") {
						continue
					}
					looked++
					lines, err := c.conn.Query(t.Context(), "EXPLAIN "+check.SQL)
					if err != nil {
						t.Fatal(err)
					}
					plan, err := pgx.CollectRows(lines, pgx.RowTo[string])
					if err != nil || has(plan, "Seq Scan") {
						t.Errorf("%s, %s: %v, %v", table, check.SQL, plan, err)
					}
				}
			}
		}
		if looked != 3 {
			t.Errorf("%d checks read the tables, want those of b and on the way back of p", looked)
		}
	})
}

// A table that has another name is not worked on; of one that is gone the job can
// be cleared up.
func TestRenamedAndDropped(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, "CREATE TABLE p (id serial PRIMARY KEY, n text); CREATE TABLE ch (p_id int REFERENCES p); INSERT INTO p (n) SELECT g FROM generate_series(1, 50) g")
		o := migrate.Options{Table: "p"}
		before := snapshotOf(t, c.url)
		c.until(o, beforeSwap)
		c.exec("ALTER TABLE ch RENAME TO other")
		if err := c.applied(o); err == nil || !strings.Contains(err.Error(), `"public"."ch" is called public.other`) {
			t.Errorf("got %v, want to be told of the name", err)
		}
		c.exec("ALTER TABLE other RENAME TO ch")
		if err := c.rollback(o); err != nil {
			t.Fatal(err)
		}
		if got := snapshotOf(t, c.url); got != before {
			t.Errorf("the schema differs:%s", different(got, before))
		}
		c.until(o, beforeSwap)
		c.exec("DROP TABLE p CASCADE")
		if err := c.rollback(migrate.Options{Table: `"public"."p"`}); err != nil {
			t.Fatal(err)
		}
		c.equal("SELECT string_agg(attname, ',') FROM pg_attribute WHERE attrelid = 'ch'::regclass AND attnum > 0 AND NOT attisdropped", "p_id")
		c.equal("SELECT to_regclass('pgid.migration_jobs')", "NULL")
	})
}

// An INSERT without a list of columns means what it meant until finish, which
// waits until there is none.
func TestInsertWithoutColumns(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		t.Run("snowflake", func(t *testing.T) {
			c := newScene(t, s, "CREATE TABLE p (id serial PRIMARY KEY, up int REFERENCES p, n text); INSERT INTO p (n) SELECT g FROM generate_series(1, 50) g; CREATE ROLE listless; GRANT INSERT, SELECT ON p TO listless")
			t.Cleanup(func() { c.exec("DROP OWNED BY listless; DROP ROLE listless") })
			o := migrate.Options{Table: "p"}
			c.until(o, beforeSwap)
			c.exec("INSERT INTO p VALUES (60, 7, 'before')")
			c.apply(o)
			c.exec("SET ROLE listless; INSERT INTO p VALUES (61, 8, 'after'), (DEFAULT, 9, 'numbered'), (62, NULL, 'alone'); INSERT INTO p (up, n) VALUES (10, 'named'); RESET ROLE")
			c.equal("SELECT string_agg(concat_ws(' ', id, up, n), ',' ORDER BY id) FROM p WHERE id BETWEEN 60 AND 99", "60 7 before,61 8 after,62 alone")
			c.equal("SELECT string_agg(concat_ws(' ', id > 1::bigint << 50, up, n), ',' ORDER BY up) FROM p WHERE id > 99", "t 9 numbered,t 10 named")
			c.equal("SELECT last_value FROM pgid.migrate_"+c.one("SELECT 'p'::regclass::oid")+"_listless", "3")
			c.refusedOnce(o, "3 rows were inserted into \"public\".\"p\" without a list of columns")
		})
		t.Run("partitioned", func(t *testing.T) {
			c := newScene(t, s, parted)
			o := migrate.Options{Table: "p"}
			c.apply(o)
			c.exec("INSERT INTO p VALUES (5000, '2026-02-03', 'listless'); UPDATE p SET day = '2027-05-07' WHERE id = 17; UPDATE p SET day = '2026-01-09', id = 6000 WHERE id = 18; INSERT INTO p (day, n) VALUES ('2026-03-03', 'moves'); UPDATE p SET day = '2027-05-08' WHERE n = 'moves'")
			c.equal("SELECT string_agg(concat_ws(' ', id, tableoid::regclass, n), ',' ORDER BY id) FROM p WHERE id IN (17, 18, 5000, 6000)", "17 p3b 16,5000 p1 listless,6000 p1 17")
			c.equal("SELECT concat(id > 1::bigint << 50, id_pgid_old) FROM p WHERE n = 'moves'", "t")
			c.equal("SELECT sum(id_pgid_old) FROM p WHERE id IN (17, 5000, 6000)", "11017")
			c.exec("CREATE TABLE p4 PARTITION OF p FOR VALUES FROM ('2028-01-01') TO ('2029-01-01')")
			var stranger *migrate.StrangerError
			if err := c.rollback(o); err == nil {
				t.Fatal("want a rollback with a large id to be refused")
			}
			c.exec("DELETE FROM p WHERE n = 'moves'")
			if err := c.rollback(o); !errors.As(err, &stranger) || !has(stranger.What, "p4") {
				t.Fatalf("got %v, want the partition named", err)
			}
			c.exec("DROP TABLE p4")
			if err := c.rollback(o); err != nil {
				t.Fatal(err)
			}
			c.until(o, beforeSwap)
			c.exec("DROP TABLE p1")
			if err := c.rollback(o); err != nil {
				t.Fatal(err)
			}
			c.apply(o)
			c.finish(o)
		})
		t.Run("uuid", func(t *testing.T) {
			c := newScene(t, s, "CREATE TABLE p (id serial PRIMARY KEY, up int REFERENCES p, n text); INSERT INTO p (n) SELECT g FROM generate_series(1, 50) g")
			o := migrate.Options{Table: "p", Target: migrate.UUIDv7}
			c.apply(o)
			c.exec("INSERT INTO p VALUES (DEFAULT, 7, 'after'), (61, 61, 'self')")
			c.equal("SELECT string_agg(concat_ws(' ', p.n, u.n), ',' ORDER BY p.n) FROM p JOIN p u ON u.id = p.up", "after 7,self self")
			c.refusedOnce(o, "2 rows were inserted")
		})
	})
}

func (c *scene) refusedOnce(o migrate.Options, word string) {
	c.t.Helper()
	err := c.run(o, nil, func(r *migrate.Runner) error { return r.Finish(context.Background()) })
	if err == nil || !strings.Contains(err.Error(), word) {
		c.t.Fatalf("got %v, want %q", err, word)
	}
	jobs, err := migrate.Jobs(c.t.Context(), c.conn)
	if err != nil || len(jobs) != 1 || jobs[0].Stage != migrate.Swapped {
		c.t.Fatalf("got %v, %v after a refused finish, want the way back to be open", jobs, err)
	}
	c.finish(o)
}

// What is done under locks is undone rather than that others wait for longer.
func TestSlowSwapIsGivenUp(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, `CREATE TABLE p (id serial PRIMARY KEY, n text); INSERT INTO p (n) VALUES ('a'); CREATE MATERIALIZED VIEW slow AS SELECT id, pg_sleep(3)::text FROM p`)
		o := migrate.Options{Table: "p", RecreateViews: true, LockTimeout: 500 * time.Millisecond, Retries: 2}
		c.until(o, beforeSwap)
		before := snapshotOf(t, c.url)
		stop, longest := c.writing("INSERT INTO p (n) VALUES ('by a writer')")
		err := c.applied(o)
		stop()
		if err == nil || !strings.Contains(err.Error(), "--lock-timeout") {
			t.Errorf("got %v, want to be told of --lock-timeout", err)
		}
		if d := longest(); d > 2*time.Second {
			t.Errorf("a write took %s", d)
		}
		if got := snapshotOf(t, c.url); got != before {
			t.Errorf("the schema differs:%s", different(got, before))
		}
		if err := c.rollback(o); err != nil {
			t.Error(err)
		}
	})
}

// writing runs a statement again and again until stop is called; longest is what
// one took. An error fails the test.
func (c *scene) writing(statement string) (stop func(), longest func() time.Duration) {
	c.t.Helper()
	conn := connect(c.t, c.url)
	end, done, slowest := make(chan struct{}), make(chan struct{}), time.Duration(0)
	go func() {
		defer close(done)
		for {
			select {
			case <-end:
				return
			case <-time.After(2 * time.Millisecond):
			}
			begin := time.Now()
			if _, err := conn.Exec(context.Background(), statement); err != nil {
				c.t.Errorf("%s: %v", statement, err)
				return
			}
			slowest = max(slowest, time.Since(begin))
		}
	}()
	stop = sync.OnceFunc(func() { close(end); <-done })
	c.t.Cleanup(stop)
	return stop, func() time.Duration { return slowest }
}

// A transaction whose snapshot is older than the UUIDs of what it refers to can
// still write.
func TestOldSnapshotWrites(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, `CREATE TABLE p (id serial PRIMARY KEY, n text, up int REFERENCES p); CREATE TABLE ch (p_id int NOT NULL REFERENCES p, n text); INSERT INTO p (n) SELECT g FROM generate_series(1, 50) g`)
		o := migrate.Options{Table: "p", Target: migrate.UUIDv7}
		plan := c.plan(o)
		fill, waits := "", make(chan struct{})
		for _, step := range plan.Steps {
			if step.Fill != nil && fill == "" {
				fill = step.Name
			}
		}
		c.until(o, fill)
		old := connect(t, c.url)
		exec := func(sql string) {
			t.Helper()
			if _, err := old.Exec(context.Background(), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
		exec("BEGIN ISOLATION LEVEL REPEATABLE READ")
		exec("SELECT 1 FROM pg_class")
		done := make(chan error)
		once := sync.OnceFunc(func() { close(waits) })
		go func() {
			done <- c.run(o, func(p migrate.Progress) {
				if strings.Contains(p.Waiting, "older transactions") {
					once()
				}
			}, func(r *migrate.Runner) error { return r.Apply(context.Background()) })
		}()
		select {
		case <-waits:
		case err := <-done:
			t.Fatalf("the job has not waited: %v", err)
		}
		exec("INSERT INTO ch VALUES (7, 'old')")
		exec("INSERT INTO p (n, up) VALUES ('old', 8)")
		exec("COMMIT")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c.equal("SELECT string_agg(p.n, ',') FROM ch JOIN p ON p.id = ch.p_id WHERE ch.n = 'old'", "7")
		c.equal("SELECT string_agg(u.n, ',') FROM p JOIN p u ON u.id = p.up WHERE p.n = 'old'", "8")
	})
}

// Readers come to the tables by way of views that the swap makes again: none of
// them ends in a deadlock.
func TestReadersOfViews(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, "CREATE TABLE p (id serial PRIMARY KEY, n text); CREATE TABLE ch (p_id int REFERENCES p); INSERT INTO p (n) SELECT g FROM generate_series(1, 50) g; CREATE VIEW v AS SELECT id FROM p; CREATE VIEW vv AS SELECT v.id FROM v JOIN ch ON ch.p_id = v.id")
		o := migrate.Options{Table: "p", RecreateViews: true, Retries: 1000}
		var stops []func()
		for _, reader := range []string{"SELECT count(*), pg_sleep(0.02) FROM vv", "SELECT count(*), pg_sleep(0.03) FROM v", "SELECT count(*), pg_sleep(0.04) FROM vv",
			"DO $$ BEGIN PERFORM pg_sleep(0.3); PERFORM count(*) FROM v; PERFORM pg_sleep(0.02); PERFORM count(*) FROM vv; PERFORM count(*) FROM p; END $$"} {
			stop, _ := c.writing(reader)
			stops = append(stops, stop)
		}
		c.apply(o)
		if err := c.rollback(o); err != nil {
			t.Fatal(err)
		}
		for _, stop := range stops {
			stop()
		}
	})
}
