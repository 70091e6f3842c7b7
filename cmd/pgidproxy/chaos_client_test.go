//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A chaosClient inserts, through a proxy or past all of them.
type chaosClient struct {
	c     *chaos
	p     *chaosProxy // nil: directly
	shard int         // then
	name  string
}

// run works until ctx is done.
func (k *chaosClient) run(ctx context.Context) {
	target := k.c.shards[k.shard]
	if k.p != nil {
		target = k.p.url
	}
	for ctx.Err() == nil {
		before := 0
		if k.p != nil {
			var away bool
			if before, away = k.p.troubles(); away {
				before-- // it may be back when the error is looked at
			}
		}
		k.excuse(before, k.connected(ctx, target))
	}
}

// excuse fails the test for an error, unless the proxy was killed or stopped
// since before: then the connection breaks, as a server's would. What the server
// itself says is never excused.
func (k *chaosClient) excuse(before int, err error) {
	var reply *pgconn.PgError
	switch {
	case err == nil:
	case errors.As(err, &reply) && reply.Code != "57P01": // the proxy ends
		k.c.t.Errorf("%s: %v", k.name, err)
	case k.p == nil:
		k.c.t.Errorf("%s: %v", k.name, err)
	default:
		if now, away := k.p.troubles(); now == before && !away {
			k.c.t.Errorf("%s: %v", k.name, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// connected works on one connection until it breaks or ctx is done.
func (k *chaosClient) connected(ctx context.Context, target string) error {
	// A statement may wait for a process that is stopped.
	limit := 2*chaosTTL + 10*time.Second
	opening, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := pgx.Connect(opening, target)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn.Close(closing)
	}()
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(context.Background(), limit)
		err := k.statement(call, conn)
		cancel()
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond) // two cores have to do for all
	}
	return nil
}

// statement runs one of the ways in which ids come to be.
func (k *chaosClient) statement(ctx context.Context, conn *pgx.Conn) error {
	var text string
	var args []any
	stored := true
	switch rand.IntN(6) {
	case 0:
		text, args = "INSERT INTO t (source) VALUES ($1) RETURNING id", []any{k.name}
	case 1:
		text, args = "INSERT INTO t (id, source) VALUES (next_snowflake(), $1) RETURNING id", []any{k.name}
	case 2:
		text = "INSERT INTO t (source) VALUES ('x')" + strings.Repeat(", ('y')", 1+rand.IntN(60)) + " RETURNING id"
		args = []any{pgx.QueryExecModeSimpleProtocol}
	case 3:
		text, stored = "SELECT next_snowflake()", false
	case 4:
		text = "INSERT INTO t DEFAULT VALUES RETURNING id"
	default: // always the server's
		text, args = "INSERT INTO t (source) SELECT $1 FROM generate_series(1, 3) RETURNING id", []any{k.name}
	}
	rows, _ := conn.Query(ctx, text, args...)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	if stored {
		k.c.ledger.stored(ids, k.name)
	} else {
		k.c.ledger.selected(ids, k.name)
	}
	return nil
}

// A sharedClock is the system's clock with an offset that another process can
// set: 8 bytes of a file, mapped into both.
type sharedClock struct {
	path   string
	memory []byte
}

func newSharedClock(t *testing.T, path string) *sharedClock {
	t.Helper()
	must(t, os.WriteFile(path, make([]byte, 8), 0o600))
	c, err := openSharedClock(path, syscall.PROT_READ|syscall.PROT_WRITE)
	must(t, err)
	t.Cleanup(func() { _ = syscall.Munmap(c.memory) })
	return c
}

func openSharedClock(path string, protection int) (*sharedClock, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	memory, err := syscall.Mmap(int(f.Fd()), 0, 8, protection, syscall.MAP_SHARED)
	return &sharedClock{path: path, memory: memory}, err
}

func (c *sharedClock) offset() *int64 { return (*int64)(unsafe.Pointer(&c.memory[0])) }

func (c *sharedClock) now() int64 { return time.Now().UnixNano() + atomic.LoadInt64(c.offset()) }

func (c *sharedClock) step(d time.Duration) { atomic.AddInt64(c.offset(), int64(d)) }

func (c *sharedClock) reset() { atomic.StoreInt64(c.offset(), 0) }
