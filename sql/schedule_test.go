package sql

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// testHooks gives a database a clock that is set by hand, and a pause at which
// a session stops while somebody holds advisory lock 42, or the one it is given
// in t.key.
const testHooks = `
CREATE SCHEMA t;
CREATE SEQUENCE t.clock_ms MINVALUE 0 START 0;
GRANT ALL ON SCHEMA t TO PUBLIC; GRANT ALL ON SEQUENCE t.clock_ms TO PUBLIC;
CREATE FUNCTION t.clock() RETURNS timestamptz LANGUAGE sql AS
  $$SELECT to_timestamp(pg_sequence_last_value('t.clock_ms') / 1000.0::float8)$$;
CREATE FUNCTION t.pause(step text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE key bigint := coalesce(current_setting('t.key', true), '42');
BEGIN
  IF current_setting('t.stop', true) = step THEN
    PERFORM pg_advisory_lock(key);
    PERFORM pg_advisory_unlock(key);
  END IF;
  RETURN true;
END $$;`

// stepLine marks a step on a line of its own; stepInside one behind a condition.
var stepLine = regexp.MustCompile(`(?m)^ *--step ([a-z]+)$`)

// steps names the places in next_snowflake where a session can be stopped.
func steps() []string {
	var names []string
	for _, marks := range []*regexp.Regexp{stepInside, stepLine} {
		for _, m := range marks.FindAllStringSubmatch(functionsSQL, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// paused returns a database in which the shipped functions run with the test's
// clock and a pause at every step.
func paused(t *testing.T, s *devpg.Server) (*pgx.Conn, string) {
	conn, url := installed(t, s)
	exec(t, conn, testHooks)
	text := stepLine.ReplaceAllString(functionsSQL, "PERFORM t.pause('$1');")
	text = stepInside.ReplaceAllString(text, " AND t.pause('$1')")
	exec(t, conn, renderClock(text, InstallOptions{}, "t.clock()"))
	return conn, url
}

// mint calls next_snowflake and fails the test for errors that the schedule
// does not bring about.
func mint(conn *pgx.Conn) (id int64, err error) {
	err = conn.QueryRow(context.Background(), "SELECT next_snowflake()", pgx.QueryExecModeSimpleProtocol).Scan(&id)
	return id, err
}

func setClock(t *testing.T, conn *pgx.Conn, ms int64) {
	exec(t, conn, fmt.Sprintf("SELECT setval('t.clock_ms', %d)", ms))
}

// waitFor polls a condition of the server that no signal tells.
func waitFor(t *testing.T, conn *pgx.Conn, what, query string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		var ok bool
		if err := conn.QueryRow(context.Background(), query, pgx.QueryExecModeSimpleProtocol).Scan(&ok); err != nil {
			t.Fatal(err)
		}
		if ok {
			return
		}
	}
	t.Fatalf("timed out waiting for %s", what)
}

// TestSchedules stops a session at every step, moves the clock, lets others
// mint, then lets the session go on, cancels it or terminates it. Whatever the
// schedule, no id comes twice, each session's ids increase, and no lock stays.
func TestSchedules(t *testing.T) {
	const start = 1_800_000_000_000
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		admin, url := paused(t, s)
		now := int64(start)
		for _, step := range steps() {
			for _, by := range []int64{0, 1000, -5000} {
				for _, fate := range []string{"resume", "cancel", "terminate"} {
					name := fmt.Sprintf("%s/%+d/%s", step, by, fate)
					now += 3_600_000
					schedule(t, name, url, admin, step, fate, now, by)
				}
			}
		}
	})
}

func schedule(t *testing.T, name, url string, admin *pgx.Conn, step, fate string, now, by int64) {
	t.Helper()
	a, b := connect(t, url), connect(t, url)
	defer a.Close(context.Background())
	defer b.Close(context.Background())
	setClock(t, admin, now-1_800_000)
	var ids []int64
	keep := func(who string, id int64, err error) {
		if err != nil {
			t.Errorf("%s: %s: %v", name, who, err)
		}
		ids = append(ids, id)
	}
	id, err := mint(b)
	keep("before", id, err)
	if step == "even" || step == "fast" {
		// These steps are reached with a fresh sequence too.
		setClock(t, admin, now-1_800_000)
	} else {
		setClock(t, admin, now)
	}
	exec(t, admin, "SELECT pg_advisory_lock(42)")
	exec(t, a, "SET t.stop = '"+step+"'")
	type result struct {
		id  int64
		err error
	}
	done := make(chan result, 1)
	go func() { id, err := mint(a); done <- result{id, err} }()
	waitFor(t, admin, name+" to pause", "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)")
	setClock(t, admin, now+by)
	exec(t, b, "SET lock_timeout = '50ms'")
	last := ids[0]
	for range 3 {
		id, err := mint(b)
		var e *pgconn.PgError
		if errors.As(err, &e) && e.Code == "55P03" {
			break // the mover holds the lock: b waits
		}
		keep("meanwhile", id, err)
		if id <= last {
			t.Errorf("%s: %d is not above %d", name, id, last)
		}
		last = id
	}
	pid := a.PgConn().PID()
	switch fate {
	case "cancel":
		exec(t, admin, fmt.Sprintf("SELECT pg_cancel_backend(%d)", pid))
	case "terminate":
		exec(t, admin, fmt.Sprintf("SELECT pg_terminate_backend(%d)", pid))
	}
	if fate == "resume" {
		exec(t, admin, "SELECT pg_advisory_unlock(42)")
	}
	r := <-done
	if fate == "resume" {
		keep("resumed", r.id, r.err)
	} else if r.err == nil {
		t.Errorf("%s: the call was not interrupted", name)
	}
	if fate != "resume" {
		exec(t, admin, "SELECT pg_advisory_unlock(42)")
	}
	waitFor(t, admin, "the backend to be gone or idle", fmt.Sprintf(
		"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %d AND state = 'active')", pid))
	exec(t, b, "SET lock_timeout = 0")
	for range 3 {
		id, err := mint(b)
		keep("after", id, err)
		if id <= last {
			t.Errorf("%s: %d is not above %d", name, id, last)
		}
		last = id
	}
	slices.Sort(ids)
	if n := len(ids); len(slices.Compact(ids)) != n {
		t.Errorf("%s: repeated ids", name)
	}
	waitFor(t, admin, "no lock", "SELECT NOT EXISTS (SELECT FROM pg_locks WHERE relation = 'pgid.snowflake_mover'::regclass)")
}

// TestOvertaking replays the schedule under which a move can set the sequence
// back: sessions see the gate open and stop; a mover closes it, reads the last
// value and stops before setval; then the others take theirs. Just far enough
// behind, the move must still be upwards; where the others could overtake it,
// there must be none.
func TestOvertaking(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		admin, url := paused(t, s)
		overtake(t, admin, url, 1_850_000_000_000, 262144+1)
		overtake(t, admin, url, 1_850_003_600_000, 5)
	})
}

// overtake runs the schedule with a sequence that is behind the clock by a
// number of values.
func overtake(t *testing.T, admin *pgx.Conn, url string, now, behind int64) {
	t.Helper()
	const readers = 12
	clock := (now - gen.Epoch) << 12
	setClock(t, admin, now)
	exec(t, admin, fmt.Sprintf("SELECT setval('pgid.snowflake_gate', 0), setval('pgid.snowflake_last', %d), "+
		"pg_advisory_lock(1), pg_advisory_lock(2)", clock-behind))
	type result struct {
		id  int64
		err error
	}
	results := make(chan result, readers+1)
	call := func(stop string, key int) {
		conn := connect(t, url)
		exec(t, conn, fmt.Sprintf("SET t.stop = '%s'; SET t.key = %d", stop, key))
		go func() { id, err := mint(conn); results <- result{id, err} }()
	}
	const waiting = "SELECT count(*) = %d FROM pg_locks WHERE locktype = 'advisory' AND objid = %d AND NOT granted"
	for range readers {
		call("even", 1)
	}
	waitFor(t, admin, "sessions to see the gate open", fmt.Sprintf(waiting, readers, 1))
	// The mover takes no value on the fast path: the gate was left closed.
	exec(t, admin, "SELECT setval('pgid.snowflake_gate', 1)")
	call("moving", 2)
	waitFor(t, admin, "the mover to stop, or to be done",
		"SELECT ("+fmt.Sprintf(waiting, 1, 2)+") OR pg_sequence_last_value('pgid.snowflake_gate') = 2")
	exec(t, admin, "SELECT pg_advisory_unlock(1)")
	waitFor(t, admin, "the others to overtake", fmt.Sprintf(
		"SELECT pg_sequence_last_value('pgid.snowflake_last') >= %d", clock-behind+readers))
	exec(t, admin, "SELECT pg_advisory_unlock(2)")
	var ids []int64
	for range readers + 1 {
		r := <-results
		if r.err != nil {
			t.Errorf("%d behind: %v", behind, r.err)
		}
		ids = append(ids, r.id)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != readers+1 {
		t.Errorf("%d behind: repeated ids", behind)
	}
	if got := scan[int64](t, admin, "SELECT pg_sequence_last_value('pgid.snowflake_last')"); got < clock {
		t.Errorf("%d behind: the sequence stands at %d, behind the clock", behind, got)
	}
}

// TestClockStepsBack: ids go on from the last one while the clock is at most
// the bound behind, and past it the error says so.
func TestClockStepsBack(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := paused(t, s)
		setClock(t, conn, 1_900_000_000_000)
		before, err := mint(conn)
		if err != nil {
			t.Fatal(err)
		}
		setClock(t, conn, 1_900_000_000_000-9_000)
		if id, err := mint(conn); err != nil || id <= before {
			t.Errorf("9 s back: %d, %v, want above %d", id, err, before)
		}
		setClock(t, conn, 1_900_000_000_000-300_000)
		if _, err := mint(conn); err == nil || !strings.Contains(err.Error(), "behind the ids") {
			t.Errorf("5 min back: %v", err)
		}
		setClock(t, conn, 1_900_000_000_001)
		if id, err := mint(conn); err != nil || id <= before {
			t.Errorf("clock is back: %d, %v", id, err)
		}
	})
}
