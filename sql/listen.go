package sql

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// listen is refused on a standby, and what it asks for does not come through
// some poolers: notifications only make a watcher faster.
const listen = "LISTEN pgidproxy_catalog"

// hearInterval is the least time between attempts that notifications ask for.
const hearInterval = 100 * time.Millisecond

// hear takes down a notification. The first of a burst is acted on at once.
func (w *Watcher) hear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard++
	w.valid = false
	w.publish()
	now := time.Now()
	if w.failures > 0 || w.hearAgain.After(now) {
		return // polls go on, or an attempt is to come
	}
	if w.hearAgain = w.hearAgain.Add(hearInterval); w.hearAgain.Before(now) {
		w.hearAgain = now
	}
	time.AfterFunc(w.hearAgain.Sub(now), w.tryNow)
}

// attend reads what the server sends to a connection that has nothing to do,
// until stop returns. Interrupting it leaves the connection as it was.
func attend(ctx context.Context, conn *pgx.Conn) (stop func()) {
	if conn == nil || conn.IsClosed() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	reader.Go(func() {
		for conn.PgConn().WaitForNotification(ctx) == nil {
		}
	})
	return func() {
		cancel()
		reader.Wait()
	}
}
