package sql

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

const (
	connectTimeout = 5 * time.Second
	// unusedPolls is how many polls a database is still watched after its last
	// session. DROP DATABASE waits 5 s for others to leave (CountOtherDBBackends
	// in procarray.c), so it must be less.
	unusedPolls = 3
	// keepUnread is the number of databases up to which the catalogs of those
	// without sessions are kept.
	keepUnread = 32
)

// Watchers holds a Watcher for each database that sessions were opened to. It
// is safe for concurrent use. A database without sessions is not watched, so
// that the proxy's own connection does not stand in the way of DROP DATABASE.
type Watchers struct {
	// Node returns the number that the proxy mints under, -1 for none now:
	// next_snowflake is left to the server where a database's functions have the
	// same. Registry returns the id of the registry that gave it out, "" where there
	// is none or it is not known: likewise where a database records another. Both
	// are set before the first use, or nil.
	Node     func() int
	Registry func() string

	config *pgx.ConnConfig // server and role; each database is read on a connection of its own
	log    *slog.Logger
	tick   <-chan time.Time // when to poll; nil: every second. Tests poll when they like.
	stale  time.Duration    // staleAfter but in tests
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	all    map[string]*Watcher
}

// NewWatchers returns an empty set that reads with the server and role of
// config. Close ends what it starts.
func NewWatchers(config *pgx.ConnConfig, log *slog.Logger) *Watchers {
	config = config.Copy()
	config.RuntimeParams["application_name"] = "pgidproxy catalog"
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	if config.ConnectTimeout == 0 || config.ConnectTimeout > connectTimeout {
		config.ConnectTimeout = connectTimeout
	}
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		return setUp(ctx, conn)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Watchers{config: config, log: log, stale: staleAfter, ctx: ctx, cancel: cancel, all: map[string]*Watcher{}}
}

// self is what the proxy mints under now.
func (ws *Watchers) self() self {
	s := nobody
	if ws.Node != nil {
		s.node = ws.Node()
	}
	if ws.Registry != nil {
		s.registry = ws.Registry()
	}
	return s
}

// Database returns the catalog of a database for one session, until Release.
// It is read from the first use on: a name that is only asked for, before the
// server has let the client in, costs no connection.
func (ws *Watchers) Database(name string) *Database {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.all[name]
	if w == nil {
		ws.makeRoom()
		config := ws.config.Copy()
		config.Database = name
		w = newWatcher(config, ws.self, ws.stale, ws.log.With("database", name))
		config.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { w.hear() }
		if ws.Node != nil {
			w.node = ws.Node
		}
		ws.all[name] = w
	}
	w.users++
	return &Database{set: ws, w: w}
}

// Release says that a session to that database has ended, for which Database
// was called.
func (ws *Watchers) Release(name string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.all[name]
	if w == nil {
		return
	}
	w.users--
	if w.users == 0 && !w.running && w.empty() {
		delete(ws.all, name)
	}
}

// makeRoom forgets databases without sessions. ws.mu is held.
func (ws *Watchers) makeRoom() {
	if len(ws.all) < keepUnread {
		return
	}
	for name, w := range ws.all {
		if w.users == 0 && !w.running {
			delete(ws.all, name)
		}
	}
}

// empty tells whether w holds nothing worth keeping.
func (w *Watcher) empty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.catalog == nil && w.inFlight == 0
}

// start begins to watch.
func (ws *Watchers) start(w *Watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w.running || ws.closed {
		return
	}
	w.running = true
	ws.group.Go(func() { ws.run(w) })
}

// leave ends watching unless there are users, and tells whether it did.
func (ws *Watchers) leave(w *Watcher) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w.users > 0 {
		return false
	}
	w.running = false
	w.rest()
	if w.empty() {
		delete(ws.all, w.config.Database)
	}
	return true
}

// used tells whether a database has sessions.
func (ws *Watchers) used(w *Watcher) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return w.users > 0
}

// hangUpUnused gives up the connections to databases without sessions at once:
// a statement that begins now may be DROP DATABASE.
func (ws *Watchers) hangUpUnused() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.all {
		if w.running && w.users == 0 {
			select {
			case w.hangUp <- struct{}{}:
			default:
			}
		}
	}
}

// run reads, polls and listens until the set is closed or the database is left.
func (ws *Watchers) run(w *Watcher) {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ws.ctx), time.Second)
			defer cancel()
			_ = conn.Close(ctx)
		}
	}()
	tick := ws.tick
	if tick == nil {
		t := time.NewTicker(pollInterval)
		defer t.Stop()
		tick = t.C
	}
	unused := 0
	for due := true; ; {
		if due {
			conn = w.attempt(ws.ctx, conn)
		}
		due = true
		stop := attend(ws.ctx, conn)
		select {
		case <-ws.ctx.Done():
		case <-w.hangUp:
			unused = unusedPolls
		case <-w.wake:
			due = w.Current() == nil // else an attempt since has done it
		case <-tick:
			unused++
		}
		stop()
		switch {
		case ws.ctx.Err() != nil:
			w.rest()
			return
		case ws.used(w):
			unused = 0
		case unused >= unusedPolls && ws.leave(w):
			return
		}
	}
}

// Close ends all watchers and waits for them. Nothing is to be relied on
// afterwards.
func (ws *Watchers) Close() {
	ws.mu.Lock()
	ws.closed = true
	ws.mu.Unlock()
	ws.cancel()
	ws.group.Wait()
}

// A Database is what a session asks of its database's Watcher. Its methods are
// those of Watcher, and safe for concurrent use.
type Database struct {
	set     *Watchers
	w       *Watcher
	started atomic.Bool
}

func (d *Database) watcher() *Watcher {
	if !d.started.Load() {
		d.set.start(d.w)
		d.started.Store(true)
	}
	return d.w
}

// Current returns what may be relied on now, nil for nothing: see Watcher.
func (d *Database) Current() *rewrite.Catalog { return d.watcher().Current() }

// Last returns the last reading, whether it may be relied on or not.
func (d *Database) Last() *rewrite.Catalog { return d.watcher().Last() }

// Begin tells that statements which may change the schema are under way.
func (d *Database) Begin() {
	d.set.hangUpUnused()
	d.watcher().Begin()
}

// End tells that they are done.
func (d *Database) End() { d.watcher().End() }

// Fresh waits until Current is not nil: see Watcher.
func (d *Database) Fresh(ctx context.Context) { d.watcher().Fresh(ctx) }
