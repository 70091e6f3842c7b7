package sql

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// only returns the status of the one database that is watched.
func only(t *testing.T, ws *Watchers) DatabaseStatus {
	t.Helper()
	all := ws.Status()
	if len(all) != 1 {
		t.Fatalf("got %d databases, want 1: %+v", len(all), all)
	}
	return all[0]
}

// answers asks with a bound, so that an answer that does not come shows.
func answers(t *testing.T, ws *Watchers, name string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return ws.Answers(ctx, name)
}

func TestStatus(t *testing.T) {
	conn, url := installed(t, devpgtest.Server(t))
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	name := config.Database
	exec(t, conn, "CREATE ROLE reader_"+name+" LOGIN")
	t.Cleanup(func() { exec(t, conn, "DROP ROLE reader_"+name) })
	config.User = "reader_" + name
	ws, tick := testWatchers(t, config)

	d := ws.Database(name)
	if all := ws.Status(); len(all) != 0 {
		t.Errorf("a name that was only asked for has a status: %+v", all)
	}
	began := time.Now()
	fresh(t, d)
	first := only(t, ws)
	if first.Database != name || first.Sessions != 1 || first.Err != nil || !first.Readable() ||
		first.Relations == 0 || first.Confirmed.Before(began) {
		t.Errorf("after the first reading: %+v", first)
	}

	exec(t, conn, "CREATE TABLE one_more (id bigint)")
	ws.Database(name)
	poll(tick)
	second := only(t, ws)
	if second.Sessions != 2 || second.Relations != first.Relations+1 || !second.Confirmed.After(first.Confirmed) {
		t.Errorf("a table and a session later: %+v after %+v", second, first)
	}
	ws.Release(name)

	exec(t, conn, "REVOKE USAGE ON SCHEMA pgid FROM PUBLIC")
	poll(tick)
	got := only(t, ws)
	var reply *pgconn.PgError
	if got.Readable() || !errors.As(got.Err, &reply) || reply.Code != "42501" || got.Sessions != 1 {
		t.Errorf("without the right to read: %+v", got)
	}
	if err := answers(t, ws, name); err != nil {
		t.Errorf("an error of the server is not an answer: %v", err)
	}

	exec(t, conn, "GRANT USAGE ON SCHEMA pgid TO PUBLIC")
	for range maxPause {
		if poll(tick); only(t, ws).Readable() {
			break
		}
	}
	if got := only(t, ws); !got.Readable() || !got.Confirmed.After(second.Confirmed) {
		t.Errorf("with the right to read again: %+v", got)
	}
}

func TestAnswersPollsWhatNobodyUses(t *testing.T) {
	_, url := installed(t, devpgtest.Server(t))
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	ws, tick := testWatchers(t, config)
	for range 2 {
		if err := answers(t, ws, config.Database); err != nil {
			t.Fatal(err)
		}
		if got := only(t, ws); got.Sessions != 0 || !got.Readable() {
			t.Errorf("got %+v", got)
		}
		for range unusedPolls {
			tick <- time.Time{}
		}
		for end := time.Now().Add(10 * time.Second); len(ws.Status()) > 0; {
			if time.Now().After(end) {
				t.Fatal("a database that was only asked after stays watched")
			}
		}
	}
}

func TestAnswersWhileTheSchemaChanges(t *testing.T) {
	_, url := installed(t, devpgtest.Server(t))
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	ws, tick := testWatchers(t, config)
	d := ws.Database(config.Database)
	fresh(t, d)
	d.Begin()
	poll(tick)
	if err := answers(t, ws, config.Database); err != nil {
		t.Error(err)
	}
	d.End()
}

func TestAnswersSeesServersGo(t *testing.T) {
	s := devpgtest.Private(t, nil)
	_, d, tick := watched(t, s)
	name := d.w.config.Database
	if err := answers(t, d.set, name); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	poll(tick)
	if err := answers(t, d.set, name); err == nil {
		t.Error("a server that has gone answers")
	}
	if err := s.Restart(context.Background()); err != nil {
		t.Fatal(err)
	}
	for range maxPause {
		if poll(tick); answers(t, d.set, name) == nil {
			break
		}
	}
	if err := answers(t, d.set, name); err != nil {
		t.Error(err)
	}
}

func TestAnswersOfOthers(t *testing.T) {
	s := devpgtest.Server(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	url := func(l net.Listener) string { return "postgres://u:s3cret@" + l.Addr().String() + "/db?sslmode=disable" }
	waiting, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	over, cancel := context.WithCancel(waiting)
	cancel()
	tests := []struct {
		name, url, want string
		ctx             context.Context
		listed          int
	}{
		{"no such database", s.URL("no_such_database"), noSuchDatabase, waiting, 0},
		{"nobody listens", url(closed), "refused", waiting, 1},
		{"nobody says a word", url(silent), "wait for a poll", over, 0},
	}
	for _, tt := range tests {
		config, err := pgx.ParseConfig(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		ws, _ := testWatchers(t, config)
		err = ws.Answers(tt.ctx, config.Database)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
		all := ws.Status()
		if len(all) != tt.listed || len(all) > 0 && all[0].Readable() {
			t.Errorf("%s: got %+v", tt.name, all)
		}
		ws.Close()
		if err := answers(t, ws, "another"); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v from a closed set", tt.name, err)
		}
	}
}
