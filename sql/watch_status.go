package sql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A DatabaseStatus is what is known of a database that is watched.
type DatabaseStatus struct {
	Database  string
	Sessions  int
	Relations int       // in the last reading
	Confirmed time.Time // when the last poll that succeeded was over; zero: none has
	Err       error     // why the last poll failed, without secrets; nil: it did not
}

// Readable tells whether the last poll could read the catalog.
func (s DatabaseStatus) Readable() bool { return s.Err == nil }

// lastPolls is what a Watcher keeps for Status alone, under its lock.
type lastPolls struct {
	confirmed time.Time // of the last that succeeded
	err       error     // of the last that failed
}

// noSuchDatabase is the SQLSTATE of a connection to a name that is no database's.
const noSuchDatabase = "3D000"

// Status describes the databases that are watched, by name. Names are left out
// until the server is known to have such a database, or not to answer: clients
// that are not signed on choose them freely.
func (ws *Watchers) Status() []DatabaseStatus {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var all []DatabaseStatus
	for name, w := range ws.all {
		if !w.running {
			continue
		}
		s := w.status()
		s.Database, s.Sessions = name, w.users
		var reply *pgconn.PgError
		if s.Err == nil && s.Confirmed.IsZero() || errors.As(s.Err, &reply) && reply.Code == noSuchDatabase {
			continue
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b DatabaseStatus) int { return cmp.Compare(a.Database, b.Database) })
	return all
}

func (w *Watcher) status() DatabaseStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := DatabaseStatus{Confirmed: w.last.confirmed}
	if w.failures > 0 {
		s.Err = w.last.err
	}
	if w.catalog != nil {
		s.Relations = w.catalog.Relations()
	}
	return s
}

// Answers returns nil if the database answered its last poll, were it with an
// error. Where nobody watches it, or the last poll is too long ago, it waits
// for one until ctx is done.
func (ws *Watchers) Answers(ctx context.Context, name string) error {
	w := ws.Database(name).watcher()
	defer ws.Release(name)
	for {
		w.mu.Lock()
		news, failed, err := w.news, w.failures > 0, w.last.err
		// While it is being changed it is not polled, but has let a session in.
		current := w.valid || w.inFlight > 0
		w.mu.Unlock()
		switch {
		case failed && !answered(err):
			return err
		case failed || current:
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("wait for a poll: %w", ctx.Err())
		case <-ws.ctx.Done():
			return errors.New("databases are not watched any more")
		}
	}
}

// answered tells whether the error of a poll is the server's reply to its
// queries; others mean that it is away, or lets nobody in.
func answered(err error) bool {
	var connect *pgconn.ConnectError
	var reply *pgconn.PgError
	return !errors.As(err, &connect) && errors.As(err, &reply) && reply.SeverityUnlocalized == "ERROR"
}
