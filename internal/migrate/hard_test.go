package migrate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/internal/migrate"
)

// blockers are schemas that are refused, or that need a word more.
var blockers = []struct {
	name    string
	setup   string
	options migrate.Options
	blocked string // in a blocker; "" for none
	warned  string // in a warning
}{
	{"view", "CREATE TABLE p (id serial PRIMARY KEY); CREATE VIEW v AS SELECT id FROM p", migrate.Options{}, "view public.v uses a column of the job", ""},
	{"view of another column", "CREATE TABLE p (id serial PRIMARY KEY, n text); CREATE VIEW v AS SELECT n FROM p", migrate.Options{}, "", ""},
	{"materialized view", "CREATE TABLE p (id serial PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT id FROM p", migrate.Options{}, "--recreate-views", ""},
	{"large materialized view", "CREATE TABLE p (id serial PRIMARY KEY); INSERT INTO p SELECT FROM generate_series(1, 1000); CREATE MATERIALIZED VIEW v AS SELECT p.id, repeat('x', 100) FROM p, generate_series(1, 100)",
		migrate.Options{RecreateViews: true}, "too long for the swap", ""},
	{"function on a view", "CREATE TABLE p (id serial PRIMARY KEY); CREATE VIEW v AS SELECT id FROM p; CREATE FUNCTION f(v) RETURNS int LANGUAGE sql AS 'SELECT 1'", migrate.Options{RecreateViews: true}, "function public.f(public.v) depends on view", ""},
	{"rule", "CREATE TABLE p (id serial PRIMARY KEY); CREATE RULE r AS ON DELETE TO p DO ALSO NOTIFY x", migrate.Options{}, `rule "r"`, ""},
	{"policy", "CREATE TABLE p (id serial PRIMARY KEY); CREATE POLICY po ON p USING (id > 0)", migrate.Options{}, "policy po", ""},
	{"generated column", "CREATE TABLE p (id serial PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED)", migrate.Options{}, "twice", ""},
	{"function body", "CREATE TABLE p (id serial PRIMARY KEY); CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT max(id) FROM p; END", migrate.Options{}, "function public.f()", ""},
	{"publication", "CREATE TABLE p (id serial PRIMARY KEY); CREATE PUBLICATION pub FOR TABLE p", migrate.Options{}, "published (pub)", ""},
	{"publication, subscribers ready", "CREATE TABLE p (id serial PRIMARY KEY); CREATE PUBLICATION pub FOR ALL TABLES", migrate.Options{Subscribers: true}, "", "published (pub)"},
	{"publication of columns", "CREATE TABLE p (id serial PRIMARY KEY); CREATE PUBLICATION pub FOR TABLE p (id)", migrate.Options{Subscribers: true}, "publication of table p", ""},
	{"publication of a bigint", "CREATE TABLE p (id bigserial PRIMARY KEY); CREATE PUBLICATION pub FOR TABLE p", migrate.Options{}, "", "subscribers get the new ids"},
	{"inheritance", "CREATE TABLE p (id serial PRIMARY KEY); CREATE TABLE q () INHERITS (p)", migrate.Options{}, "NO INHERIT", ""},
	{"partitioned", "CREATE TABLE p (id serial PRIMARY KEY) PARTITION BY HASH (id)", migrate.Options{}, "is partitioned by \"id\"", ""},
	{"partition", "CREATE TABLE r (id bigserial PRIMARY KEY) PARTITION BY HASH (id); CREATE TABLE p PARTITION OF r FOR VALUES WITH (MODULUS 1, REMAINDER 0)", migrate.Options{}, "is a partition", ""},
	{"int column of the name", "CREATE TABLE p (id serial PRIMARY KEY); CREATE TABLE o (p_id int)", migrate.Options{}, "column public.o.p_id (integer) may hold ids", ""},
	{"int column of a bigint's name", "CREATE TABLE p (id bigserial PRIMARY KEY); CREATE TABLE o (p_id int)", migrate.Options{}, "column public.o.p_id (integer) may hold ids", ""},
	{"int column of the key's own name", `CREATE TABLE p (customer_id serial PRIMARY KEY); CREATE TABLE o ("customerId" int)`, migrate.Options{}, `column public.o."customerId" (integer) may hold ids`, ""},
	{"another key of the name", `CREATE TABLE p (customer_id serial PRIMARY KEY); CREATE TABLE o (customer_id serial)`, migrate.Options{}, "", ""},
	{"column of the name that refers elsewhere", `CREATE TABLE q (id int PRIMARY KEY); CREATE TABLE p (id serial PRIMARY KEY); CREATE TABLE o (p_id int REFERENCES q)`, migrate.Options{}, "", "refers to another table"},
	{"int column of the name, ignored", "CREATE TABLE p (id serial PRIMARY KEY); CREATE TABLE o (p_id int)", migrate.Options{Unlinked: true}, "", "column public.o.p_id (integer) may hold ids"},
	{"arrays and text", "CREATE TABLE p (id serial PRIMARY KEY); CREATE TABLE o (p_ids int[], p_id varchar(36))", migrate.Options{}, "", "o.p_ids (integer[])"},
	{"text for a UUID", "CREATE TABLE p (id serial PRIMARY KEY); CREATE TABLE o (p_id varchar(36))", migrate.Options{Target: migrate.UUIDv7}, "", "o.p_id (character varying(36))"},
	{"integer arguments", "CREATE TABLE p (id serial PRIMARY KEY); CREATE FUNCTION fp(int) RETURNS int LANGUAGE sql AS 'SELECT $1'", migrate.Options{}, "", "fp(integer)"},
	{"deferrable key", "CREATE TABLE p (id serial PRIMARY KEY DEFERRABLE)", migrate.Options{}, "is deferrable", ""},
	{"exclusion", "CREATE TABLE p (id serial, EXCLUDE USING btree (id WITH =))", migrate.Options{}, "exclusion constraint", ""},
	{"key that refers", "CREATE TABLE q (id serial PRIMARY KEY); CREATE TABLE p (id serial PRIMARY KEY REFERENCES q)", migrate.Options{}, "is a reference itself", ""},
	{"ids too large", "CREATE TABLE p (id bigserial PRIMARY KEY); INSERT INTO p VALUES (9000000000000000000)", migrate.Options{}, "are above the ids", ""},
	{"mentioned sequence", "CREATE TABLE p (id serial PRIMARY KEY); CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT nextval(''p_id_seq'')'", migrate.Options{}, "", "function public.f() names sequence"},
	{"mentioned sequence, dropped", "CREATE TABLE p (id serial PRIMARY KEY); CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT nextval(''p_id_seq'')'", migrate.Options{DropSequence: true}, "function public.f() names sequence", ""},
	{"shared sequence, dropped", "CREATE TABLE p (id serial PRIMARY KEY); CREATE TABLE o (id int DEFAULT nextval('p_id_seq'))", migrate.Options{DropSequence: true}, "used by the default of public.o.id", ""},
	{"index that fails", "CREATE TABLE p (id serial PRIMARY KEY); CREATE FUNCTION fp(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'; CREATE INDEX ON p (fp(id))", migrate.Options{}, "does not work with type bigint", ""},
	{"deferrable for a UUID", "CREATE TABLE p (id serial PRIMARY KEY, up int REFERENCES p DEFERRABLE)", migrate.Options{Target: migrate.UUIDv7}, "written before what it refers to", ""},
	{"check for a UUID", "CREATE TABLE p (id serial PRIMARY KEY CHECK (id > 0))", migrate.Options{Target: migrate.UUIDv7}, "does not work with type uuid", ""},
	{"always trigger", "CREATE TABLE p (id serial PRIMARY KEY); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER t BEFORE UPDATE ON p FOR EACH ROW EXECUTE FUNCTION f(); ALTER TABLE p ENABLE ALWAYS TRIGGER t",
		migrate.Options{}, "--fire-triggers", ""},
	{"name taken", "CREATE TABLE p (id serial PRIMARY KEY, id_pgid_new int)", migrate.Options{}, "whose name the migration needs", ""},
}

func TestPlanTellsWhatForbids(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, "")
		for _, b := range blockers {
			if s.Major() < 15 && strings.Contains(b.setup, "TABLE p (id)") {
				continue // publications have no lists of columns
			}
			c.exec("DROP PUBLICATION IF EXISTS pub; DROP SCHEMA IF EXISTS public2 CASCADE; DROP TABLE IF EXISTS p, q, o, r CASCADE; DROP FUNCTION IF EXISTS f(); DROP FUNCTION IF EXISTS fp")
			c.exec(b.setup)
			b.options.Table = "p"
			before := snapshotOf(t, c.url)
			p := c.plan(b.options)
			if b.blocked == "" && len(p.Blockers) > 0 || b.blocked != "" && !has(p.Blockers, b.blocked) {
				t.Errorf("%s: got blockers %q, want %q", b.name, p.Blockers, b.blocked)
			}
			if !has(p.Warnings, b.warned) {
				t.Errorf("%s: got warnings %q, want %q", b.name, p.Warnings, b.warned)
			}
			if len(p.Blockers) > 0 {
				var blocked *migrate.BlockedError
				if err := c.run(b.options, nil, func(r *migrate.Runner) error { return r.Apply(context.Background()) }); !errors.As(err, &blocked) {
					t.Errorf("%s: got %v from apply, want it refused", b.name, err)
				}
			}
			if got := snapshotOf(t, c.url); got != before {
				t.Errorf("%s: a plan has changed:%s", b.name, different(got, before))
			}
		}
	})
}

func TestTwoRunsAtOnceAreRefused(t *testing.T) {
	t.Parallel()
	c := newScene(t, devpgtest.Server(t), "CREATE TABLE p (id serial PRIMARY KEY)")
	o := migrate.Options{Table: "p"}
	err := c.run(o, nil, func(*migrate.Runner) error {
		return c.run(o, nil, func(*migrate.Runner) error { return nil })
	})
	var busy *migrate.BusyError
	if !errors.As(err, &busy) || !strings.Contains(busy.Holder, "process ") {
		t.Errorf("got %v, want it to say who is at work", err)
	}
}

// A validation that fails leaves the old constraints, says why, and goes on once
// the reason is gone.
func TestFailedValidation(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, `CREATE TABLE p (id serial PRIMARY KEY); CREATE TABLE ch (p_id int CONSTRAINT fk REFERENCES p); INSERT INTO p DEFAULT VALUES;
			SET session_replication_role = replica; INSERT INTO ch VALUES (1), (77); SET session_replication_role = origin`)
		o := migrate.Options{Table: "p"}
		schema := snapshot(t, s, c.url)
		apply := func() error {
			return c.run(o, nil, func(r *migrate.Runner) error { return r.Apply(context.Background()) })
		}
		if err := apply(); err == nil || !strings.Contains(err.Error(), "validate") {
			t.Fatalf("got %v, want the validation to fail", err)
		}
		c.equal("SELECT convalidated FROM pg_constraint WHERE conname = 'fk'", "true")
		jobs, err := migrate.Jobs(t.Context(), c.conn)
		if err != nil || len(jobs) != 1 || !strings.Contains(jobs[0].Error, "violates foreign key") {
			t.Fatalf("got %v, %v, want a job with the error", jobs, err)
		}
		if _, steps, next := jobs[0].At(); steps == 0 || !strings.Contains(next, "validate") {
			t.Errorf("got %q as the next step", next)
		}
		if err := c.rollback(o); err != nil {
			t.Fatal(err)
		}
		if got := snapshot(t, s, c.url); got != schema {
			t.Errorf("after the rollback the schema differs:%s", different(got, schema))
		}
		if err := apply(); err == nil {
			t.Fatal("the validation should fail again")
		}
		c.exec("DELETE FROM ch WHERE p_id = 77")
		c.apply(o)
	})
}

// Somebody has the table for longer than a lock is waited for: the job goes on
// later, and nobody waits behind it in the meantime.
func TestLocksAreNotWaitedForLong(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		c := newScene(t, s, "CREATE TABLE p (id serial PRIMARY KEY, n text); CREATE TABLE ch (p_id int REFERENCES p); INSERT INTO p (n) SELECT g FROM generate_series(1, 100) g")
		holder := connect(t, c.url)
		ctx := context.Background()
		if _, err := holder.Exec(ctx, "BEGIN; SELECT count(*) FROM p, ch; SELECT FROM p WHERE id = 7 FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		stop, longest := c.writing("INSERT INTO p (n) VALUES ('by a writer')")
		released := make(chan struct{})
		looks, queued := 0, 0
		go func() {
			defer close(released)
			for end := time.Now().Add(4 * time.Second); time.Now().Before(end); looks++ {
				if c.one("SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND relation = 'p'::regclass") != "0" {
					queued++
				}
			}
			if _, err := holder.Exec(ctx, "COMMIT"); err != nil {
				t.Error(err)
			}
		}()
		begin := time.Now()
		c.apply(migrate.Options{Table: "p", LockTimeout: 8 * time.Second, Retries: 1000})
		stop()
		<-released
		t.Logf("applied in %s, the longest write took %s; queued in %d of %d looks", time.Since(begin), longest(), queued, looks)
		// It queues for 50 ms once or twice, and then not at all.
		if looks < 20 || queued*5 > looks {
			t.Errorf("the job was queued in %d of %d looks, in the way of all who came after it", queued, looks)
		}
		if time.Since(begin) < 3*time.Second {
			t.Error("the job did not wait for the lock")
		}
		if longest() > 2*time.Second {
			t.Errorf("a write took %s", longest())
		}
	})
}
