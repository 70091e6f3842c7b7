package gen

import (
	"context"
	"sync"
	"testing"
	"time"
)

// fakeClock is a clock that moves only when told to. Its sleepers are woken by
// every move, so that a test never waits for real time to pass.
type fakeClock struct {
	mu      sync.Mutex
	ns      int64
	reads   int
	moved   chan struct{} // closed at the next move
	asleep  int           // calls of sleep that have not returned
	changed *sync.Cond    // asleep changed
}

// newClock returns a clock that stands at ms since Epoch.
func newClock(ms int64) *fakeClock {
	c := &fakeClock{ns: (ms + Epoch) * nsPerMs, moved: make(chan struct{})}
	c.changed = sync.NewCond(&c.mu)
	return c
}

func (c *fakeClock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	return c.ns
}

// set moves the clock to ms since Epoch, forwards or back.
func (c *fakeClock) set(ms int64) { c.add(time.Duration((ms+Epoch)*nsPerMs - c.now())) }

func (c *fakeClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ns += int64(d)
	close(c.moved)
	c.moved = make(chan struct{})
}

func (c *fakeClock) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	until := c.ns + int64(d)
	c.asleep++
	c.changed.Broadcast()
	defer func() {
		c.asleep--
		c.changed.Broadcast()
		c.mu.Unlock()
	}()
	for c.ns < until {
		moved := c.moved
		c.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// waitAsleep returns as soon as n callers sleep.
func (c *fakeClock) waitAsleep(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.asleep != n {
		c.changed.Wait()
	}
}

// newGenerator fills in clock and node and fails the test on an error.
func newGenerator(t testing.TB, c *fakeClock, config Config) *Generator {
	t.Helper()
	if c != nil {
		config.Now, config.Sleep = c.now, c.sleep
	}
	if config.Guard == nil {
		config.Guard = new(Guard) // as if each test had a process of its own
	}
	g, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustSnowflake(t testing.TB, g *Generator) int64 {
	t.Helper()
	id, err := g.Snowflake()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func mustUUID(t testing.TB, g *Generator) UUID {
	t.Helper()
	u, err := g.UUIDv7()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// times returns the milliseconds since Epoch of ids.
func times(ids []int64) []int64 {
	ms := make([]int64, len(ids))
	for i, id := range ids {
		ms[i] = id >> (NodeBits + SequenceBits)
	}
	return ms
}

// checkAscending fails the test unless ids are strictly increasing.
func checkAscending(t testing.TB, ids []int64) {
	t.Helper()
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			t.Fatalf("id %d is %d, after %d", i, ids[i], ids[i-1])
		}
	}
}
