package gen

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// A frozen clock, 64 goroutines, 3 × 4096 + 1 ids, a deadline, then the clock
// moves on (case GN-03).
func TestWaitOnFrozenClock(t *testing.T) {
	t.Parallel()
	c := newClock(1000)
	g := newGenerator(t, c, Config{Policy: Wait, RunAhead: 2 * time.Millisecond, ZeroStart: true})
	const callers, ids = 64, 3 * 4096
	var lists [callers][]int64
	var wg sync.WaitGroup
	mint := func(i, n int) {
		for range n {
			id, err := g.Snowflake()
			for errors.Is(err, ErrAhead) {
				if err := g.WaitReady(t.Context()); err != nil {
					t.Error(err)
					return
				}
				id, err = g.Snowflake()
			}
			if err != nil {
				t.Error(err)
				return
			}
			lists[i] = append(lists[i], id)
		}
	}
	for i := range callers {
		wg.Go(func() { mint(i, ids/callers) })
	}
	wg.Wait()
	if got := checkDistinct(t, lists[:]); len(got) != ids || times(got)[0] != 1000 || times(got)[ids-1] != 1002 {
		t.Fatalf("got %d ids of %d to %d", len(got), times(got)[0], times(got)[len(got)-1])
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := g.WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitReady on a frozen clock: got %v", err)
	}

	// All of them want one more. They sleep, without a look at the clock.
	for i := range callers {
		wg.Go(func() { mint(i, 1) })
	}
	c.waitAsleep(callers)
	c.mu.Lock()
	before := c.reads
	c.mu.Unlock()
	c.add(time.Millisecond / 2)
	c.mu.Lock()
	if c.reads != before || c.asleep != callers {
		t.Errorf("half a millisecond woke callers: %d reads, %d asleep", c.reads-before, c.asleep)
	}
	c.mu.Unlock()
	c.add(time.Millisecond / 2)
	wg.Wait()
	got := checkDistinct(t, lists[:])
	if len(got) != ids+callers {
		t.Errorf("got %d ids, want %d", len(got), ids+callers)
	}
	if last := got[len(got)-1]; last != 1003<<22|callers-1 {
		t.Errorf("last id: got time %d, sequence %d", last>>22, last&sequenceMask)
	}
}

// Each policy: WaitReady returns as soon as a call would succeed, not before.
func TestWaitReadyAfterStepBack(t *testing.T) {
	t.Parallel()
	const start = 600_000
	for policy, ready := range map[Policy]int64{Wait: start - 15_000, Ahead: start - 15_000, Refuse: start} {
		c := newClock(start)
		g := newGenerator(t, c, Config{Policy: policy, ZeroStart: true})
		mustSnowflake(t, g)
		if err := g.WaitReady(t.Context()); err != nil {
			t.Errorf("%v: clock in order: %v", policy, err)
		}
		c.set(start - 300_000)
		if _, err := g.Snowflake(); err == nil {
			t.Fatalf("%v: minted after a step back", policy)
		}
		done := make(chan error, 1)
		go func() { done <- g.WaitReady(t.Context()) }()
		c.waitAsleep(1)
		c.set(ready - 1)
		c.waitAsleep(1)
		select {
		case err := <-done:
			t.Fatalf("%v: returned %v at %d", policy, err, ready-1)
		default:
		}
		c.set(ready)
		if err := <-done; err != nil {
			t.Errorf("%v: %v", policy, err)
		}
		mustSnowflake(t, g)
		mustUUID(t, g)
	}
}

// UUIDs that ran ahead are waited for too.
func TestWaitReadyForUUIDs(t *testing.T) {
	t.Parallel()
	c := newClock(1000)
	g := newGenerator(t, c, Config{Policy: Wait, RunAhead: time.Millisecond})
	if err := g.UUIDv7s(make([]UUID, 2*4096)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- g.WaitReady(t.Context()) }()
	c.waitAsleep(1)
	c.set(1001)
	if err := <-done; err != nil {
		t.Error(err)
	}
	mustUUID(t, g)
}

func TestWaitReadyCancelled(t *testing.T) {
	t.Parallel()
	c := newClock(60_000)
	g := newGenerator(t, c, Config{Policy: Wait})
	mustSnowflake(t, g)
	c.set(0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.WaitReady(ctx) }()
	c.waitAsleep(1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := g.WaitReady(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("with a ctx that is done: got %v", err)
	}
}

// The timer behind the real clock: it ends, and it obeys ctx.
func TestSleep(t *testing.T) {
	t.Parallel()
	if err := sleep(t.Context(), time.Microsecond); err != nil {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A clock that is set forward ends the wait although the timer runs on: no sleep
// is longer than recheck.
func TestWaitReadyLooksAgain(t *testing.T) {
	t.Parallel()
	c := newClock(600_000)
	var longest time.Duration
	g, err := New(Config{Policy: Wait, Now: c.now, Guard: new(Guard), Sleep: func(_ context.Context, d time.Duration) error {
		longest = max(longest, d)
		c.add(d * 500)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	mustSnowflake(t, g)
	c.set(0)
	if err := g.WaitReady(t.Context()); err != nil {
		t.Error(err)
	}
	if longest != recheck {
		t.Errorf("slept for %v, want %v at most", longest, recheck)
	}
}
