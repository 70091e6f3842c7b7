package sql

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// until waits for what nothing tells of.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// knows tells whether what is relied on now has a table of that name.
func knows(d *Database, table string) bool {
	c := d.Current()
	return c != nil && replaces(c, "INSERT INTO "+table+" VALUES (next_snowflake())")
}

// counts tells what a watcher has heard, confirmed and read so far.
func (w *Watcher) counts() (heard, confirmed, generation uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard, w.confirmed, w.generation
}

func TestListen(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		s = notifying(t, s)
		t.Run("elsewhere", func(t *testing.T) { testHearsElsewhere(t, s) })
		t.Run("nothing until read", func(t *testing.T) { testNothingUntilRead(t, s) })
		t.Run("within a reading", func(t *testing.T) { testHearsWithinReading(t, s) })
		t.Run("burst", func(t *testing.T) { testHearsBurst(t, s) })
		t.Run("through the proxy", func(t *testing.T) { testHearsOwn(t, s) })
		t.Run("connection", func(t *testing.T) { testListeningConnection(t, s) })
		t.Run("uninstalled", func(t *testing.T) { testHearsNothing(t, s) })
	})
}

// testHearsElsewhere has no poll: all that is noticed is heard of.
func testHearsElsewhere(t *testing.T, s *devpg.Server) {
	conn, d, _ := watched(t, s)
	fresh(t, d)
	before, _, _ := d.w.counts()
	exec(t, conn, "CREATE TEMP TABLE passing (a serial PRIMARY KEY); DROP TABLE passing")
	exec(t, conn, "BEGIN; CREATE TEMP TABLE passing (a int) ON COMMIT DROP; COMMIT")
	exec(t, conn, "BEGIN; CREATE TABLE w (id bigint); ROLLBACK")
	exec(t, conn, "CREATE TABLE w (id bigint)")
	until(t, "the table is known", func() bool { return knows(d, "w") })
	if heard, _, _ := d.w.counts(); heard != before+1 {
		t.Errorf("%d notifications, want one, of the permanent table", heard-before)
	}
	exec(t, conn, "BEGIN; CREATE RULE r AS ON INSERT TO w DO INSTEAD NOTHING; CREATE TABLE x (id bigint)")
	if !knows(d, "w") {
		t.Error("noticed before it is committed")
	}
	exec(t, conn, "COMMIT")
	until(t, "the rule is known", func() bool { return knows(d, "x") && !knows(d, "w") })
	exec(t, conn, "DROP TABLE x")
	until(t, "the drop is known", func() bool { return d.Current() != nil && !knows(d, "x") })
}

// waitsForLock waits until the watcher's connection waits for a lock.
func waitsForLock(t *testing.T, conn *pgx.Conn) {
	waitFor(t, conn, "a reading to wait for a lock", `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'pgidproxy catalog'
		AND datname = current_database() AND wait_event_type = 'Lock')`)
}

// testNothingUntilRead holds up the reading that a notification has asked for.
func testNothingUntilRead(t *testing.T, s *devpg.Server) {
	conn, d, _ := watched(t, s)
	fresh(t, d)
	locker := connect(t, conn.Config().ConnString())
	exec(t, locker, "BEGIN; LOCK TABLE pgid.config")
	exec(t, conn, "CREATE TABLE w (id bigint)")
	waitsForLock(t, conn)
	if d.Current() != nil {
		t.Error("relied on although a change is known of")
	}
	exec(t, locker, "COMMIT")
	if fresh(t, d); !knows(d, "w") {
		t.Error("the change was not seen")
	}
}

// testHearsWithinReading holds up a poll behind its fingerprint, while a change
// is made that can be heard of only when the poll goes on.
func testHearsWithinReading(t *testing.T, s *devpg.Server) {
	conn, d, tick := watched(t, s)
	fresh(t, d)
	locker := connect(t, conn.Config().ConnString())
	exec(t, locker, "BEGIN; LOCK TABLE pgid.config")
	tick <- time.Time{}
	waitsForLock(t, conn)
	exec(t, conn, "CREATE TABLE w (id bigint)")
	exec(t, locker, "COMMIT")
	until(t, "the change is known", func() bool { return knows(d, "w") })
}

// testHearsBurst makes more changes than there may be readings.
func testHearsBurst(t *testing.T, s *devpg.Server) {
	conn, d, _ := watched(t, s)
	fresh(t, d)
	_, _, before := d.w.counts()
	start := time.Now()
	changes := 0
	for ; time.Since(start) < 10*hearInterval; changes++ {
		exec(t, conn, fmt.Sprintf("CREATE TABLE w%d (id bigint)", changes))
	}
	exec(t, conn, "CREATE TABLE last (id bigint)")
	until(t, "the last table is known", func() bool { return knows(d, "last") })
	_, _, readings := d.w.counts()
	took := time.Since(start)
	readings -= before
	t.Logf("%d changes, %d readings in %v", changes, readings, took)
	if most := uint64(took/hearInterval) + 2; readings > most || readings < 2 {
		t.Errorf("%d readings in %v, want at most %d", readings, took, most)
	}
}

// testHearsOwn: what is heard of a change between Begin and End asks for no
// second attempt, and does not end what was read after it.
func testHearsOwn(t *testing.T, s *devpg.Server) {
	conn, d, _ := watched(t, s)
	fresh(t, d)
	_, before, _ := d.w.counts()
	const changes = 50
	for i := range changes {
		d.Begin()
		exec(t, conn, fmt.Sprintf("CREATE TABLE w%d (id bigint)", i))
		d.End()
		if fresh(t, d); !knows(d, fmt.Sprintf("w%d", i)) {
			t.Fatalf("change %d was not seen", i)
		}
	}
	heard, confirmed, _ := d.w.counts()
	if confirmed -= before; heard != changes || confirmed > changes {
		t.Errorf("%d changes: %d notifications, %d attempts", changes, heard, confirmed)
	}
}

// testListeningConnection: neither polls nor notifications cost the connection,
// and one that is lost is replaced by one that listens too.
func testListeningConnection(t *testing.T, s *devpg.Server) {
	conn, d, tick := watched(t, s)
	fresh(t, d)
	pid := func() int {
		return scan[int](t, conn, `SELECT pid FROM pg_stat_activity WHERE application_name = 'pgidproxy catalog' AND datname = current_database()`)
	}
	first := pid()
	for i := range 20 {
		for range 5 {
			poll(tick)
		}
		exec(t, conn, fmt.Sprintf("CREATE TABLE w%d (id bigint)", i))
		until(t, "the table is known", func() bool { return knows(d, fmt.Sprintf("w%d", i)) })
	}
	if now := pid(); now != first {
		t.Errorf("another connection, %d after %d", now, first)
	}
	exec(t, conn, fmt.Sprintf("SELECT pg_terminate_backend(%d, 10000)", first))
	exec(t, conn, "CREATE TABLE missed (id bigint)")
	poll(tick)
	poll(tick)
	if !knows(d, "missed") {
		t.Error("a new connection does not read what the old one could not hear of")
	}
	exec(t, conn, "CREATE TABLE again (id bigint)")
	until(t, "the new connection hears", func() bool { return knows(d, "again") })
}

func testHearsNothing(t *testing.T, s *devpg.Server) {
	conn, d, tick := watched(t, s)
	fresh(t, d)
	if err := Uninstall(context.Background(), conn); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the functions is known", func() bool {
		c := d.Current()
		return c != nil && !replaces(c, "SELECT next_snowflake()")
	})
	before, _, _ := d.w.counts()
	exec(t, conn, "CREATE TABLE w (id bigint)")
	poll(tick)
	after, _, _ := d.w.counts()
	if after != before {
		t.Error("heard of a change")
	}
	exec(t, conn, Script(InstallOptions{}))
	if poll(tick); !knows(d, "w") {
		t.Error("not seen by a poll")
	}
	exec(t, conn, "CREATE TABLE x (id bigint)")
	until(t, "the watcher hears again", func() bool { return knows(d, "x") })
}

// TestListenRefused has a standby, which refuses LISTEN, become a primary.
func TestListenRefused(t *testing.T) {
	s := devpgtest.Private(t, map[string]string{"max_prepared_transactions": "0"})
	conn, url := installed(t, s)
	conn.Close(context.Background())
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.DataDir(), "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	conn = connect(t, url)
	if got := code(t, conn, listen); got != "25006" {
		t.Fatalf("LISTEN on a standby: SQLSTATE %q", got)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	ws, tick := testWatchers(t, config)
	d := ws.Database(config.Database)
	if !fresh(t, d).Known() {
		t.Error("the catalog of a standby is not read")
	}
	exec(t, conn, "SELECT pg_promote()")
	exec(t, conn, "CREATE TABLE w (id bigint)")
	poll(tick)
	if !knows(d, "w") {
		t.Error("not seen by a poll")
	}
	if heard, _, _ := d.w.counts(); heard != 0 {
		t.Error("heard of a change")
	}
}
