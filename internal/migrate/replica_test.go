package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/internal/migrate"
)

// subscribed makes another database that gets the rows of a publication from now on.
func (c *scene) subscribed(setup, publication string) *scene {
	c.t.Helper()
	other := newScene(c.t, c.server, setup)
	slot := "s_" + c.one("SELECT oid FROM pg_database WHERE datname = current_database()")
	// In one cluster a subscription cannot make the slot itself.
	c.exec("CREATE PUBLICATION pub FOR " + publication)
	c.exec("SELECT pg_create_logical_replication_slot('" + slot + "', 'pgoutput')")
	other.exec(fmt.Sprintf("CREATE SUBSCRIPTION %s CONNECTION '%s' PUBLICATION pub WITH (create_slot = false, slot_name = %[1]s, copy_data = false)", slot, c.url))
	c.t.Cleanup(func() {
		other.exec(fmt.Sprintf("ALTER SUBSCRIPTION %s DISABLE", slot))
		other.exec(fmt.Sprintf("ALTER SUBSCRIPTION %s SET (slot_name = NONE)", slot))
		other.exec("DROP SUBSCRIPTION " + slot)
		c.eventually("SELECT NOT active FROM pg_replication_slots WHERE slot_name = '"+slot+"'", "true")
		c.exec("SELECT pg_drop_replication_slot('" + slot + "')")
	})
	return other
}

// eventually waits until a query gives what is wanted.
func (c *scene) eventually(query, want string) {
	c.t.Helper()
	got := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = c.one(query); got == want {
			return
		}
	}
	c.t.Errorf("%s: got %s, want %s", query, got, want)
}

// A subscriber that has been made ready, as the plan says, follows all that a job
// does, there and back.
func TestSubscriberFollows(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		for identity, publication := range map[string]string{"DEFAULT": "TABLE p, ch", "FULL": "ALL TABLES"} {
			t.Run(strings.ToLower(identity), func(t *testing.T) {
				t.Parallel()
				const tables = "CREATE TABLE p (id %[1]s PRIMARY KEY, n text); CREATE TABLE ch (id bigint PRIMARY KEY, p_id %[2]s); INSERT INTO p (n) SELECT g FROM generate_series(1, 200) g; INSERT INTO ch SELECT g, g FROM generate_series(1, 200) g;"
				c := newScene(t, s, fmt.Sprintf(tables, "serial", "int REFERENCES p")+"ALTER TABLE p REPLICA IDENTITY "+identity)
				other := c.subscribed(fmt.Sprintf(tables, "serial", "int"), publication)
				o := migrate.Options{Table: "p"}
				plan := c.plan(o)
				for _, b := range plan.Blockers {
					_, what, found := strings.Cut(b, "Run there first: ")
					if !found {
						t.Fatalf("got the blocker %s", b)
					}
					what, _, _ = strings.Cut(what, "; then")
					other.exec(what)
				}
				o.Subscribers = true
				same := func() {
					t.Helper()
					for _, q := range []string{"SELECT string_agg(concat(id, n), ',' ORDER BY id) FROM p", "SELECT string_agg(concat(id, ' ', p_id), ',' ORDER BY id) FROM ch"} {
						other.eventually(q, c.one(q))
					}
				}
				c.exec("INSERT INTO p (n) VALUES ('before')")
				c.apply(o)
				c.exec("WITH i AS (INSERT INTO p (n) VALUES ('new') RETURNING id) INSERT INTO ch (id, p_id) SELECT 300, id FROM i; UPDATE p SET n = 'changed' WHERE id = 7; DELETE FROM ch WHERE id = 9")
				same()
				c.exec("DELETE FROM ch WHERE id = 300; DELETE FROM p WHERE n = 'new'")
				if err := c.rollback(o); err != nil {
					t.Fatal(err)
				}
				c.exec("INSERT INTO p (n) VALUES ('small'); UPDATE ch SET p_id = 8 WHERE id = 7")
				same()
				c.apply(o)
				c.finish(o)
				c.exec("INSERT INTO p (n) VALUES ('last')")
				same()
			})
		}
	})
}

// Filling waits for a replica that is behind, and goes on when it has caught up.
func TestFillingWaitsForReplicas(t *testing.T) {
	t.Parallel()
	c := newScene(t, devpgtest.Server(t), "CREATE TABLE p (id serial PRIMARY KEY, n text); INSERT INTO p (n) SELECT g FROM generate_series(1, 5000) g")
	other := c.subscribed("CREATE TABLE p (id bigint PRIMARY KEY, n text, id_pgid_new bigint, id_pgid_old int); INSERT INTO p (id, n) SELECT g, g FROM generate_series(1, 5000) g", "TABLE p")
	o := migrate.Options{Table: "p", Subscribers: true, Batch: 500, MaxLag: time.Millisecond}
	holder := connect(t, other.url)
	if _, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE p"); err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{})
	once := sync.OnceFunc(func() { close(waits) })
	done := make(chan error)
	go func() {
		done <- c.run(o, func(p migrate.Progress) {
			if p.Waiting == "replicas" {
				once()
			}
		}, func(r *migrate.Runner) error { return r.Apply(context.Background()) })
	}()
	select {
	case <-waits:
	case err := <-done:
		t.Fatalf("the job has not waited: %v", err)
	}
	if _, err := holder.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	other.eventually("SELECT count(*) FROM p WHERE id_pgid_new = id", "5000")
}
