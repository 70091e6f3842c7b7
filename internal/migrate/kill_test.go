//go:build unix

package migrate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/internal/migrate"
)

var (
	kills    = flag.Int("kills", 20, "how often a job is killed")
	killSeed = flag.Uint64("kill-seed", 0, "seed of when; 0 draws one")
)

// childVariable makes this program a job: its value is that.
const childVariable = "PGIDPROXY_TEST_MIGRATE"

type child struct {
	URL      string
	Options  migrate.Options
	Rollback bool
}

func TestMain(m *testing.M) {
	if v := os.Getenv(childVariable); v != "" {
		var c child
		err := json.Unmarshal([]byte(v), &c)
		if err == nil {
			err = c.run()
		}
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func (c child) run() error {
	conn, err := pgx.Connect(context.Background(), c.URL)
	if err != nil {
		return err
	}
	r := &migrate.Runner{Conn: conn, Polls: 5 * time.Millisecond, Tell: func(p migrate.Progress) { fmt.Println(p.Name) }}
	job, err := r.Open(context.Background(), c.Options.Table)
	if err != nil {
		return err
	}
	if c.Rollback {
		if job == nil {
			return nil // the last run ended after it had removed the job
		}
		return r.Rollback(context.Background())
	}
	if job == nil {
		c.Options.Schema, c.Options.Table = "public", r.Table
		p, err := migrate.New(context.Background(), conn, c.Options)
		if err != nil {
			return err
		}
		if err := r.Start(context.Background(), p); err != nil {
			return err
		}
	}
	return r.Apply(context.Background())
}

// killed runs a job and kills it after some lines of output and a moment more;
// done is whether it came to its end before.
func (c *scene) killed(job child, lines int, more time.Duration) (done bool) {
	c.t.Helper()
	value, err := json.Marshal(job)
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(value))
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	text := ""
	for scan := bufio.NewScanner(out); scan.Scan(); {
		text += scan.Text() + "\n"
		if lines--; lines == 0 {
			time.AfterFunc(more, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != -1 {
		c.t.Fatalf("the job failed: %s", text)
	}
	return cmd.ProcessState.Success()
}

// TestKilledJobsEndAsOthers kills jobs and rollbacks again and again: each goes
// on where it was, and ends like one that was left alone.
func TestKilledJobsEndAsOthers(t *testing.T) {
	t.Parallel()
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -kill-seed %d", seed)
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		t.Parallel()
		r := rand.New(rand.NewPCG(seed, 1))
		setup := `CREATE TABLE p (id serial PRIMARY KEY, n text, up int REFERENCES p); CREATE TABLE ch (id serial PRIMARY KEY, p_id int NOT NULL REFERENCES p ON DELETE CASCADE); CREATE INDEX ON ch (p_id);
			INSERT INTO p (n, up) SELECT g, nullif(g / 2, 0) FROM generate_series(1, 2000) g; INSERT INTO ch (p_id) SELECT 1 + g % 2000 FROM generate_series(1, 4000) g; CREATE VIEW v AS SELECT id FROM p`
		data := []string{"SELECT id, n, up FROM p", "SELECT id, p_id FROM ch"}
		o := migrate.Options{Table: "p", RecreateViews: true, Batch: 100}
		other := newScene(t, s, setup)
		other.apply(o)
		want := snapshotOf(t, other.url)
		c := newScene(t, s, setup)
		begin, rows := snapshotOf(t, c.url), c.data(data)
		left := *kills
		if !thorough(s) {
			left /= 5
		}
		for left > 0 {
			for _, back := range []bool{false, true} {
				for !c.killed(child{c.url, o, back}, 1+r.IntN(12), time.Duration(r.IntN(20))*time.Millisecond) {
					left--
				}
				expected := want
				if back {
					expected = begin
				}
				if got := snapshotOf(t, c.url); got != expected {
					t.Fatalf("rollback %v: the schema differs:%s", back, different(got, expected))
				}
				if got := c.data(data); got != rows {
					t.Fatalf("rollback %v: the data differ:%s", back, different(got, rows))
				}
			}
		}
	})
}
