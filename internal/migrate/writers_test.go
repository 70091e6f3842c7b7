package migrate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/internal/migrate"
)

// A writer changes rows, which it knows by their names and never by their ids, and
// remembers what it was told is done.
type writer struct {
	name     string
	conn     *pgx.Conn
	r        *rand.Rand
	parents  map[string]string // its own rows of p, and the name of what up refers to
	children map[string]string // its own rows of ch, and the name of their parent
	longest  time.Duration
	err      error
}

const olds = 400

func (w *writer) exec(sql string, args ...any) {
	if w.err != nil {
		return
	}
	tag, err := w.conn.Exec(context.Background(), sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	switch {
	case err != nil:
		w.err = fmt.Errorf("%s %v: %w", sql, args, err)
	case tag.RowsAffected() != 1 && (tag.Insert() || tag.Update() || tag.Delete()):
		w.err = fmt.Errorf("%s %v: %s", sql, args, tag)
	}
}

// parent is a row that any reference may go to: an old one, or one of its own.
func (w *writer) parent() string {
	if w.r.IntN(2) == 0 {
		if n := any1(w.parents); n != "" {
			return n
		}
	}
	return fmt.Sprint("old ", 1+w.r.IntN(olds))
}

func any1(m map[string]string) string {
	for n := range m {
		return n
	}
	return ""
}

func (w *writer) write(n int) {
	fresh, parent := fmt.Sprintf("%s %d", w.name, n), w.parent()
	switch w.r.IntN(7) {
	case 0:
		w.exec("INSERT INTO p (n, up) SELECT $1, id FROM p WHERE n = $2", fresh, parent)
		w.parents[fresh] = parent
	case 1: // a child of a parent that nobody else sees yet
		w.exec("BEGIN")
		w.exec("INSERT INTO p (n) VALUES ($1)", fresh)
		w.exec("INSERT INTO ch (n, p_id) SELECT $1, id FROM p WHERE n = $1", fresh)
		w.exec("COMMIT")
		w.parents[fresh], w.children[fresh] = "", fresh
	case 2: // both in one statement
		w.exec("WITH i AS (INSERT INTO p (n) VALUES ($1) RETURNING id) INSERT INTO ch (n, p_id) SELECT $1, id FROM i", fresh)
		w.parents[fresh], w.children[fresh] = "", fresh
	case 3:
		w.exec("INSERT INTO ch (n, p_id) SELECT $1, id FROM p WHERE n = $2", fresh, parent)
		w.children[fresh] = parent
	case 4:
		if c := any1(w.children); c != "" {
			w.exec("UPDATE ch SET p_id = (SELECT id FROM p WHERE n = $1) WHERE n = $2", parent, c)
			w.children[c] = parent
		}
	case 5:
		if p := any1(w.parents); p != "" {
			w.exec("UPDATE p SET up = (SELECT id FROM p WHERE n = $1) WHERE n = $2", parent, p)
			w.parents[p] = parent
		}
	case 6: // with its children; references to it are set NULL
		p := any1(w.parents)
		if p == "" {
			return
		}
		w.exec("DELETE FROM p WHERE n = $1", p)
		delete(w.parents, p)
		for c, of := range w.children {
			if of == p {
				delete(w.children, c)
			}
		}
		for q, up := range w.parents {
			if up == p {
				w.parents[q] = ""
			}
		}
	}
}

func (w *writer) compare(c *scene) {
	if w.err != nil {
		c.t.Errorf("%s: %v", w.name, w.err)
		return
	}
	for query, want := range map[string]map[string]string{
		"SELECT a.n, coalesce(b.n, '') FROM p a LEFT JOIN p b ON b.id = a.up WHERE a.n LIKE $1": w.parents,
		"SELECT a.n, coalesce(b.n, '') FROM ch a JOIN p b ON b.id = a.p_id WHERE a.n LIKE $1":   w.children,
	} {
		rows, _ := c.conn.Query(c.t.Context(), query, w.name+" %")
		got := map[string]string{}
		var n, of string
		if _, err := pgx.ForEachRow(rows, []any{&n, &of}, func() error { got[n] = of; return nil }); err != nil {
			c.t.Fatal(err)
		}
		for n, of := range want {
			if is, there := got[n]; !there || is != of {
				c.t.Errorf("row %q is of %q (there: %t), want %q", n, is, there, of)
			}
			delete(got, n)
		}
		if len(got) > 0 {
			c.t.Errorf("%s has rows that it knows nothing of: %v", w.name, got)
		}
	}
}

// TestWritersDuringAll has clients write all the time while a job goes to its end,
// back if it can, and to its end again: nothing is lost, doubled, refused or joined
// to another row.
func TestWritersDuringAll(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		for _, target := range []string{migrate.Snowflake, migrate.UUIDv7} {
			t.Run(target, func(t *testing.T) {
				t.Parallel()
				c := newScene(t, s, fmt.Sprintf(`CREATE TABLE p (id serial PRIMARY KEY, n text NOT NULL UNIQUE, up int REFERENCES p ON DELETE SET NULL); CREATE INDEX ON p (up);
					CREATE TABLE ch (id serial PRIMARY KEY, p_id int NOT NULL REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE, n text NOT NULL UNIQUE); CREATE INDEX ON ch (p_id);
					INSERT INTO p (n, up) SELECT 'old ' || g, nullif(g / 2, 0) FROM generate_series(1, %d) g; INSERT INTO ch (n, p_id) SELECT 'old ' || g, 1 + g %% %[1]d FROM generate_series(1, 2 * %[1]d) g`, olds))
				data := []string{"SELECT a.n, b.n FROM p a LEFT JOIN p b ON b.id = a.up WHERE a.n LIKE 'old%'", "SELECT a.n, b.n FROM ch a JOIN p b ON b.id = a.p_id WHERE a.n LIKE 'old%'"}
				before := c.data(data)
				var writers []*writer
				var busy sync.WaitGroup
				end := make(chan struct{})
				for i := range 4 {
					w := &writer{name: fmt.Sprintf("w%d", i), conn: connect(t, c.url), r: rand.New(rand.NewPCG(uint64(i), 2)), parents: map[string]string{}, children: map[string]string{}}
					writers = append(writers, w)
					busy.Go(func() {
						for n := 0; w.err == nil; n++ {
							select {
							case <-end:
								return
							default:
							}
							begin := time.Now()
							w.write(n)
							w.longest = max(w.longest, time.Since(begin))
						}
					})
				}
				o := migrate.Options{Table: "p", Target: target, Batch: 50, Pause: time.Millisecond}
				c.apply(o)
				if target == migrate.UUIDv7 {
					if err := c.rollback(o); err != nil {
						t.Error(err)
					}
					c.apply(o)
				}
				c.finish(o)
				close(end)
				busy.Wait()
				longest := time.Duration(0)
				for _, w := range writers {
					w.compare(c)
					longest = max(longest, w.longest)
				}
				t.Logf("the longest write took %s", longest)
				if got := c.data(data); got != before {
					t.Errorf("the old rows differ:%s", different(got, before))
				}
			})
		}
	})
}
