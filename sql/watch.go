package sql

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

const (
	pollInterval = time.Second
	// staleAfter is how long a catalog is relied on while it cannot be polled.
	staleAfter = 3 * time.Second
	// queryTimeout bounds one reading of the catalog.
	queryTimeout = 10 * time.Second
)

// Watchers holds a Watcher for each database that sessions were opened to. It
// is safe for concurrent use.
type Watchers struct {
	config *pgx.ConnConfig // server and role; each database is read on a connection of its own
	log    *slog.Logger
	tick   <-chan time.Time // when to poll; nil: every second. Tests poll when they like.
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu  sync.Mutex
	all map[string]*Watcher
}

// NewWatchers returns an empty set that reads with the server and role of
// config. Close ends what it starts.
func NewWatchers(config *pgx.ConnConfig, log *slog.Logger) *Watchers {
	ctx, cancel := context.WithCancel(context.Background())
	return &Watchers{config: config, log: log, ctx: ctx, cancel: cancel, all: map[string]*Watcher{}}
}

// Database returns the catalog of a database, which is read from the first use
// on: a name that is only asked for, before the server has let the client in,
// costs nothing.
func (ws *Watchers) Database(name string) *Database { return &Database{set: ws, name: name} }

// watcher returns the watcher of a database, which begins to read it at its
// first use.
func (ws *Watchers) watcher(name string) *Watcher {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.all[name]
	if w == nil {
		w = newWatcher(ws.config, ws.log.With("database", name), name)
		w.tick = ws.tick
		ws.all[name] = w
		ws.group.Go(func() { w.run(ws.ctx) })
	}
	return w
}

// A Database is what a session asks of its database's Watcher. Its methods are
// those of Watcher.
type Database struct {
	set  *Watchers
	name string
	once sync.Once
	w    *Watcher
}

func (d *Database) watcher() *Watcher {
	d.once.Do(func() { d.w = d.set.watcher(d.name) })
	return d.w
}

// Current returns what may be relied on now, or nil.
func (d *Database) Current() *rewrite.Catalog { return d.watcher().Current() }

// Begin tells that statements which may change the schema are under way.
func (d *Database) Begin() { d.watcher().Begin() }

// End tells that they are done.
func (d *Database) End() { d.watcher().End() }

// Fresh waits until Current is not nil or ctx is done.
func (d *Database) Fresh(ctx context.Context) { d.watcher().Fresh(ctx) }

// Close ends all watchers and waits for them.
func (ws *Watchers) Close() {
	ws.cancel()
	ws.group.Wait()
}

// A Watcher keeps one database's catalog up to date: it polls, and reads again
// when told of a change. Its methods are safe for concurrent use.
type Watcher struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn // owned by run
	log    *slog.Logger
	tick   <-chan time.Time

	wake chan struct{} // capacity 1: read now

	mu         sync.Mutex
	catalog    *rewrite.Catalog // the last one read; nil before the first
	unreadable bool             // the last attempt failed
	dirty      bool             // catalog is from before the last End
	inFlight   int              // Begins without their End
	changes    uint64           // Begins so far: a load during which it moved is not fresh
	generation uint64
	readAt     time.Time     // when catalog was last known to be right
	fresh      chan struct{} // closed when Current may have become non-nil
}

func newWatcher(config *pgx.ConnConfig, log *slog.Logger, database string) *Watcher {
	config = config.Copy()
	config.Database = database
	config.RuntimeParams["application_name"] = "pgidproxy catalog"
	config.RuntimeParams["statement_timeout"] = "10000"
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	return &Watcher{config: config, log: log, wake: make(chan struct{}, 1), fresh: make(chan struct{})}
}

// unknown is the catalog of a database that cannot be read.
var unknown = rewrite.NewCatalog(rewrite.CatalogData{})

// Current returns what may be relied on now; nil while the database is being
// changed or read again.
func (w *Watcher) Current() *rewrite.Catalog {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current()
}

// current is Current with w.mu held.
func (w *Watcher) current() *rewrite.Catalog {
	switch {
	case w.inFlight > 0 || w.dirty:
		return nil
	case w.catalog != nil && (!w.unreadable || time.Since(w.readAt) < staleAfter):
		return w.catalog
	case w.unreadable:
		return unknown
	}
	return nil
}

// Begin and End enclose statements that may change the schema.
func (w *Watcher) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight++
	w.changes++
	w.dirty = true
}

// End is called when such a statement is done: the catalog is read again.
func (w *Watcher) End() {
	w.mu.Lock()
	w.inFlight--
	w.changes++
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Fresh waits until Current is not nil or ctx is done.
func (w *Watcher) Fresh(ctx context.Context) {
	for {
		w.mu.Lock()
		fresh, ok := w.fresh, w.current() != nil
		w.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-fresh:
		case <-ctx.Done():
			return
		}
	}
}

// run reads and polls until ctx is done.
func (w *Watcher) run(ctx context.Context) {
	defer func() {
		if w.conn != nil {
			w.conn.Close(context.WithoutCancel(ctx))
		}
	}()
	tick := w.tick
	if tick == nil {
		t := time.NewTicker(pollInterval)
		defer t.Stop()
		tick = t.C
	}
	fingerprint := ""
	for {
		fingerprint = w.refresh(ctx, fingerprint)
		select {
		case <-ctx.Done():
			return
		case <-tick:
		case <-w.wake:
		}
	}
}

// refresh reads the catalog when its fingerprint is another than last, and
// returns the present one, "" when it could not be read.
func (w *Watcher) refresh(ctx context.Context, last string) string {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	w.mu.Lock()
	changes, busy := w.changes, w.inFlight > 0
	w.mu.Unlock()
	if busy {
		return last // what is being changed is read when it is done
	}
	fingerprint, loaded, err := w.read(ctx, last)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil && !w.unreadable {
			w.log.Warn("catalog cannot be read: calls are replaced only where no table has to be known", "err", err)
		}
		w.unreadable = true
		if w.changes == changes {
			w.dirty = w.dirty && w.catalog != nil && time.Since(w.readAt) < staleAfter
		}
		w.announce()
		return ""
	}
	if w.unreadable {
		w.log.Info("catalog can be read again")
		w.unreadable = false
	}
	w.readAt = time.Now()
	if loaded != nil {
		w.generation++
		if w.catalog != nil && w.catalog.Equal(loaded) {
			loaded = w.catalog
		}
		w.catalog = loaded.At(w.generation)
	}
	if w.changes == changes {
		w.dirty = false
	}
	w.announce()
	return fingerprint
}

// announce wakes those who wait in Fresh. w.mu is held.
func (w *Watcher) announce() {
	close(w.fresh)
	w.fresh = make(chan struct{})
}

// read takes the fingerprint, and the catalog where it has changed. The
// fingerprint comes first: a change between the two makes the next one differ.
func (w *Watcher) read(ctx context.Context, last string) (fingerprint string, c *rewrite.Catalog, err error) {
	if w.conn == nil || w.conn.IsClosed() {
		if w.conn, err = pgx.ConnectConfig(ctx, w.config); err != nil {
			w.conn = nil
			return "", nil, err
		}
	}
	if err = w.conn.QueryRow(ctx, fingerprintQuery).Scan(&fingerprint); err != nil {
		return "", nil, err
	}
	if fingerprint != last {
		c, err = LoadCatalog(ctx, w.conn)
	}
	return fingerprint, c, err
}
