package sql

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

const (
	pollInterval = time.Second
	// staleAfter is how long a catalog is relied on without a poll that has
	// confirmed it.
	staleAfter = 5 * time.Second
	// attemptTimeout bounds one attempt to connect, poll and read.
	attemptTimeout = 30 * time.Second
	// maxPause is the longest pause between attempts that fail, in polls.
	maxPause = 16
)

//go:embed catalog_fingerprint.sql
var fingerprintQuery string

// configQuery and migrationsQuery give values that change with every change of
// these tables.
const (
	configQuery = `SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(c.xmin, c.ctid), 0)))
	FROM pgid.config c`
	migrationsQuery = `SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(m.xmin, m.ctid), 0)))
	FROM pgid.migrations m`
)

// unknown is the catalog of a database that cannot be read.
var unknown = rewrite.NewCatalog(rewrite.CatalogData{})

// A Watcher keeps one database's catalog up to date: it polls, and reads again
// when told of a change. Its methods are safe for concurrent use.
//
// What may be relied on is, at any time, one of:
//
//	not read yet     nil
//	being changed    nil, from the first Begin until an attempt that started after the last End has ended
//	heard of         nil, from a notification until an attempt whose fingerprint is of later has ended
//	current          the catalog, confirmed by an attempt that started after the last End, with a
//	                 fingerprint of after the last notification
//	read otherwise   nil: there is a catalog, but of when the proxy minted under another node
//	stale            nil: there is a catalog, but no poll has confirmed it for staleAfter
//	unreadable       unknown: there never was a catalog, and the last attempt to read one failed
//
// The server sends a notification when others can see what it is about, and not
// within a transaction: what has come before the row with the fingerprint, the
// fingerprint shows. So DDL through the proxy, which is heard of too, costs one
// attempt.
type Watcher struct {
	config *pgx.ConnConfig
	self   func() self
	node   func() int // of self, at the cost of a load
	log    *slog.Logger
	wake   chan struct{} // capacity 1: try now
	stale  time.Duration

	// current is what the fields below come to. It is stored under mu and
	// loaded without.
	current atomic.Pointer[reliable]

	mu          sync.Mutex
	catalog     *rewrite.Catalog // the last one read; nil before the first
	reader      int              // the node that the proxy minted under then
	fingerprint string           // of catalog
	generation  uint64           // readings so far
	notes       []string         // of the last reading, as logged
	inFlight    int              // Begins without their End
	changes     uint64           // Begins and Ends so far
	heard       uint64           // notifications so far
	hearAgain   time.Time        // of the last attempt that they asked for, which may be to come
	valid       bool             // catalog is confirmed
	blind       bool             // there is no catalog, and an attempt after the last End has failed
	failures    int              // attempts that failed since the last that did not
	pause       int              // polls that are still left out after those
	confirmed   uint64           // attempts that succeeded
	expiry      *time.Timer      // ends valid
	news        chan struct{}    // closed after each attempt
	last        lastPolls

	// Owned by the set, under its lock.
	users   int           // sessions
	running bool          // run is
	hangUp  chan struct{} // capacity 1: end if there are no users
}

func newWatcher(config *pgx.ConnConfig, who func() self, stale time.Duration, log *slog.Logger) *Watcher {
	return &Watcher{
		config: config, self: who, node: func() int { return who().node }, log: log, stale: stale,
		wake: make(chan struct{}, 1), hangUp: make(chan struct{}, 1), news: make(chan struct{}),
	}
}

// reliable is a catalog that may be relied on by a proxy that mints under a node.
type reliable struct {
	catalog *rewrite.Catalog
	node    int
}

// Current returns what may be relied on now, nil for nothing: see Watcher. A
// catalog that was read for another node does not tell whether the functions of
// the database mint under the one that the proxy has just taken.
func (w *Watcher) Current() *rewrite.Catalog {
	c := w.current.Load()
	if c == nil {
		return nil
	}
	if node := w.node(); node >= 0 && node != c.node && c.catalog != unknown {
		w.tryNow()
		return nil
	}
	return c.catalog
}

// Last returns the last reading, whether it may be relied on or not.
func (w *Watcher) Last() *rewrite.Catalog {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.catalog
}

// publish is called with w.mu held after every change of state.
func (w *Watcher) publish() {
	var c *reliable
	switch {
	case w.inFlight > 0:
	case w.valid:
		c = &reliable{w.catalog, w.reader}
	case w.blind:
		c = &reliable{catalog: unknown}
	}
	w.current.Store(c)
}

// Begin tells that statements which may change the schema are under way.
func (w *Watcher) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight++
	w.changes++
	w.valid, w.blind = false, false
	w.publish()
}

// End tells that what a Begin announced is done, committed or not.
func (w *Watcher) End() {
	w.mu.Lock()
	w.inFlight--
	w.changes++
	w.mu.Unlock()
	w.tryNow()
}

func (w *Watcher) tryNow() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Fresh waits until Current is not nil or ctx is done, for as long as the database
// answers and no change is under way, which may take its time.
func (w *Watcher) Fresh(ctx context.Context) {
	for {
		w.mu.Lock()
		news, over := w.news, w.Current() != nil || w.failures > 0 || w.inFlight > 0
		w.mu.Unlock()
		if over {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
	}
}

// attempt connects where it must, polls, and reads the catalog when that has
// changed. It returns the connection to go on with, nil after a failure to make
// one.
func (w *Watcher) attempt(ctx context.Context, conn *pgx.Conn) *pgx.Conn {
	changes, last, ok := w.due()
	if !ok {
		return conn
	}
	bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	who := w.self()
	conn, l, r, err := w.read(bounded, conn, who, last)
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "42P01" {
		// A migration that ends drops its tables, here between two looks at them.
		conn, l, r, err = w.read(bounded, conn, who, last)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return conn
	}
	if err != nil {
		w.failed(err, changes)
		return conn
	}
	if r != nil {
		w.adopt(r, who.node, l.fingerprint)
	}
	w.succeeded(changes, l.heard)
	return conn
}

// read polls, and reads the catalog unless its fingerprint is still the last one.
func (w *Watcher) read(ctx context.Context, conn *pgx.Conn, who self, last string) (*pgx.Conn, look, *reading, error) {
	conn, l, err := w.poll(ctx, conn)
	l.fingerprint += fmt.Sprintf("/%d/%s", who.node, who.registry)
	if err != nil || l.fingerprint == last {
		return conn, l, nil, err
	}
	r, err := readCatalog(ctx, conn, who)
	return conn, l, &r, err
}

// due tells whether an attempt is to be made now, and what it starts from. What
// is being changed is read when that is done. One that is left out after
// failures counts as another failure.
func (w *Watcher) due() (changes uint64, fingerprint string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pause > 0 {
		w.pause--
		w.blind = w.catalog == nil && w.inFlight == 0
		w.announce()
		return 0, "", false
	}
	return w.changes, w.fingerprint, w.inFlight == 0
}

// A look is what a poll gives.
type look struct {
	fingerprint string
	heard       uint64 // notifications that had come before it
}

// poll takes the fingerprint, before the catalog is read: a change between the
// two makes the next one differ.
func (w *Watcher) poll(ctx context.Context, conn *pgx.Conn) (*pgx.Conn, look, error) {
	var l look
	if conn == nil || conn.IsClosed() {
		c, err := pgx.ConnectConfig(ctx, w.config)
		if err != nil {
			return nil, l, err
		}
		conn = c
	}
	err := undisturbed(ctx, conn, func(q querier) (err error) {
		l, err = w.look(ctx, q)
		return err
	})
	return conn, l, err
}

func (w *Watcher) look(ctx context.Context, q querier) (l look, err error) {
	var fingerprint, config, migrations string
	var installed, migrating bool
	rows, _ := q.Query(ctx, fingerprintQuery)
	_, err = pgx.ForEachRow(rows, []any{&fingerprint, &installed, &migrating}, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		l.heard = w.heard
		return nil
	})
	if err == nil && installed {
		err = q.QueryRow(ctx, configQuery).Scan(&config)
	}
	if err == nil && migrating {
		err = q.QueryRow(ctx, migrationsQuery).Scan(&migrations)
	}
	l.fingerprint = fingerprint + "/" + config + "/" + migrations
	return l, err
}

// adopt makes r the catalog. Plans stay that rest on what it says as the last one
// did. w.mu is held.
func (w *Watcher) adopt(r *reading, node int, fingerprint string) {
	c := rewrite.NewCatalog(r.data)
	if w.catalog != nil {
		c = c.After(w.catalog)
	}
	w.generation++
	w.catalog, w.reader, w.fingerprint = c.At(w.generation), node, fingerprint
	if !slices.Equal(w.notes, r.notes) {
		for _, note := range r.notes {
			w.log.Warn(note)
		}
	}
	w.notes = r.notes
	w.log.Debug("catalog read", "generation", w.generation, "relations", len(r.data.Relations))
}

// succeeded confirms the catalog for an attempt that began when w.changes was
// changes, and took its fingerprint when w.heard was heard. w.mu is held.
func (w *Watcher) succeeded(changes, heard uint64) {
	if w.failures > 0 {
		w.log.Info("catalog can be read again")
	}
	w.failures, w.pause = 0, 0
	w.confirmed++
	w.last.confirmed = time.Now()
	if w.changes == changes && w.heard == heard {
		w.valid, w.blind = true, false
		n := w.confirmed
		w.stopExpiry()
		w.expiry = time.AfterFunc(w.stale, func() { w.expire(n) })
	}
	w.announce()
}

// failed takes down an attempt that failed. w.mu is held.
func (w *Watcher) failed(err error, changes uint64) {
	if w.failures == 0 {
		w.log.Warn("catalog cannot be read: calls are left to the server, or, where it never could be, replaced only where no table has to be known", "err", err)
	}
	w.last.err = err
	w.pause = min(1<<w.failures, maxPause) - 1
	w.failures = min(w.failures+1, maxPause)
	if w.catalog == nil && w.changes == changes {
		w.blind = true
	}
	w.announce()
}

// announce publishes, and wakes those who wait in Fresh. w.mu is held.
func (w *Watcher) announce() {
	w.publish()
	close(w.news)
	w.news = make(chan struct{})
}

// expire ends what the nth success has confirmed, unless there was another one.
func (w *Watcher) expire(n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.confirmed == n {
		w.valid = false
		w.publish()
	}
}

func (w *Watcher) stopExpiry() {
	if w.expiry != nil {
		w.expiry.Stop()
	}
}

// rest ends what is confirmed, since nobody polls any more.
func (w *Watcher) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopExpiry()
	w.confirmed++
	w.valid, w.blind, w.failures, w.pause = false, false, 0, 0
	w.publish()
}
