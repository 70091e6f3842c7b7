package gen

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	at := func(ms int64) func() int64 { return newClock(ms).now }
	tests := []struct {
		config Config
		want   string
	}{
		{Config{Node: -1}, "node -1 is out of range: want 0 to 1023"},
		{Config{Node: 1024}, "node 1024 is out of range: want 0 to 1023"},
		{Config{RunAhead: -1}, "run-ahead bound -1ns is negative"},
		{Config{Policy: 3}, "clock policy 3 is unknown"},
		{Config{Now: at(-1)}, "the clock (2023-12-31T23:59:59Z) is before the epoch of the ids (2024-01-01T00:00:00Z): set it first"},
		{Config{Now: func() int64 { return 0 }}, "the clock (1970-01-01T00:00:00Z) is before the epoch of the ids (2024-01-01T00:00:00Z): set it first"},
		{Config{Now: at(1 << TimeBits)}, "the clock (2093-09-06T15:47:35Z) is past the end of the ids: the 41 bits of a snowflake's time are used up"},
	}
	for _, tt := range tests {
		if _, err := New(tt.config); err == nil || err.Error() != tt.want {
			t.Errorf("New(%+v): got %v, want %s", tt.config, err, tt.want)
		}
	}
	for _, c := range []Config{{}, {Node: MaxNode}, {Now: at(0)}, {Now: at(1<<TimeBits - 1)}} {
		c.Guard = new(Guard)
		if _, err := New(c); err != nil {
			t.Errorf("New(%+v): got %v", c, err)
		}
	}
}

func TestPolicyNames(t *testing.T) {
	t.Parallel()
	for _, p := range []Policy{Ahead, Wait, Refuse} {
		if got, err := ParsePolicy(p.String()); err != nil || got != p {
			t.Errorf("ParsePolicy(%q): got %v, %v", p.String(), got, err)
		}
	}
	if _, err := ParsePolicy("Ahead"); err == nil || !strings.Contains(err.Error(), "want ahead, wait or refuse") {
		t.Errorf("got %v", err)
	}
}

func TestSnowflakeLayout(t *testing.T) {
	t.Parallel()
	for _, node := range []int{0, 1, 7, MaxNode} {
		g := newGenerator(t, newClock(92160000000), Config{Node: node, ZeroStart: true})
		id := mustSnowflake(t, g)
		if want := int64(92160000000)<<22 | int64(node)<<12; id != want {
			t.Errorf("node %d: got %d, want %d", node, id, want)
		}
		if id = mustSnowflake(t, g); id&sequenceMask != 1 {
			t.Errorf("second id's sequence: got %d, want 1", id&sequenceMask)
		}
		if g.Node() != node {
			t.Errorf("Node: got %d, want %d", g.Node(), node)
		}
	}
}

func TestSequenceStart(t *testing.T) {
	t.Parallel()
	c := newClock(1000)
	var next uint64
	g := newGenerator(t, c, Config{Rand: func() uint64 { next += 255; return next }})
	for i := range 4 {
		c.set(int64(2000 + i))
		first, second := mustSnowflake(t, g)&sequenceMask, mustSnowflake(t, g)&sequenceMask
		if want := int64(255 - i); first != want || second != want+1 {
			t.Errorf("millisecond %d: got %d, %d, want %d, %d", i, first, second, want, want+1)
		}
	}

	// At low rates the real thing spreads over shards.
	g = newGenerator(t, c, Config{})
	var shards [16]int
	for i := range 1600 {
		c.set(int64(3000 + i))
		shards[mustSnowflake(t, g)%16]++
	}
	for i, n := range shards {
		if n < 40 || n > 200 {
			t.Errorf("shard %d has %d of 1600 ids", i, n)
		}
	}
}

// A clock that goes back (case GN-01): nothing repeats, nothing decreases.
func TestClockStepsBack(t *testing.T) {
	t.Parallel()
	for _, zero := range []bool{false, true} {
		c := newClock(1000)
		g := newGenerator(t, c, Config{Node: 5, ZeroStart: zero})
		var ids []int64
		mint := func(ms int64, n int) {
			c.set(ms)
			for range n {
				ids = append(ids, mustSnowflake(t, g))
			}
		}
		mint(1000, 3)
		mint(999, 2)
		mint(1000, 3)
		mint(1001, 1)
		if got, want := times(ids), []int64{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1001}; !slices.Equal(got, want) {
			t.Errorf("times: got %v, want %v", got, want)
		}

		// A leap second as a repeated second, at 2,000 ids a second.
		for _, second := range []int64{58_000, 59_000, 59_000, 60_000} {
			for ms := range int64(1000) {
				mint(second+ms, 2)
			}
		}
		if got := times(ids[len(ids)-1:])[0]; got != 60_999 {
			t.Errorf("after the leap second ids are of %d, want 60999", got)
		}
		checkAscending(t, ids)
	}
}

func TestStepBackPolicies(t *testing.T) {
	t.Parallel()
	const start, back = 600_000, 300_000
	tests := []struct {
		policy Policy
		want   error
		again  int64 // the clock from which on ids are minted again
	}{
		{Ahead, ErrAhead, start - 15_000},
		{Wait, ErrAhead, start - 15_000},
		{Refuse, ErrClockBack, start},
	}
	for _, tt := range tests {
		c := newClock(start)
		g := newGenerator(t, c, Config{Policy: tt.policy, ZeroStart: true})
		ids, last := []int64{mustSnowflake(t, g)}, mustUUID(t, g)
		for _, ms := range []int64{start - back, start - back/2, tt.again - 1} {
			c.set(ms)
			if _, err := g.Snowflake(); !errors.Is(err, tt.want) {
				t.Errorf("%v: Snowflake at %d: got %v, want %v", tt.policy, ms, err, tt.want)
			}
			if err := g.Snowflakes(make([]int64, 3)); !errors.Is(err, tt.want) {
				t.Errorf("%v: Snowflakes at %d: got %v, want %v", tt.policy, ms, err, tt.want)
			}
			if _, err := g.UUIDv7(); !errors.Is(err, tt.want) {
				t.Errorf("%v: UUIDv7 at %d: got %v, want %v", tt.policy, ms, err, tt.want)
			}
			if err := g.UUIDv7s(make([]UUID, 3)); !errors.Is(err, tt.want) {
				t.Errorf("%v: UUIDv7s at %d: got %v, want %v", tt.policy, ms, err, tt.want)
			}
		}
		c.set(tt.again)
		ids = append(ids, mustSnowflake(t, g))
		checkAscending(t, ids)
		if ids[1] != ids[0]+1 {
			t.Errorf("%v: after failed calls: got %d after %d: they used ids up", tt.policy, ids[1], ids[0])
		}
		if u := mustUUID(t, g); compareUUID(u, last) <= 0 {
			t.Errorf("%v: UUID %v after %v", tt.policy, u, last)
		}
	}
}

// The clock below the epoch while running: no negative id.
func TestClockBeforeEpoch(t *testing.T) {
	t.Parallel()
	c := newClock(1)
	g := newGenerator(t, c, Config{})
	c.set(-2000)
	for range 3 {
		if id := mustSnowflake(t, g); id <= 0 {
			t.Errorf("got %d", id)
		}
	}
	c.set(-15_001)
	if id, err := g.Snowflake(); !errors.Is(err, ErrAhead) {
		t.Errorf("got %d, %v", id, err)
	}
}

// The last millisecond that 41 bits hold, and what follows (case GN-09).
func TestExhausted(t *testing.T) {
	t.Parallel()
	c := newClock(1<<TimeBits - 1)
	g := newGenerator(t, c, Config{Node: MaxNode, ZeroStart: true})
	ids := make([]int64, 4095)
	if err := g.Snowflakes(ids); err != nil {
		t.Fatal(err)
	}
	if err := g.Snowflakes(make([]int64, 2)); !errors.Is(err, ErrExhausted) {
		t.Errorf("two of one left: got %v", err)
	}
	if id := mustSnowflake(t, g); id != math.MaxInt64 {
		t.Errorf("the last id: got %d, want %d", id, int64(math.MaxInt64))
	}
	for _, ms := range []int64{1<<TimeBits - 1, 1 << TimeBits, 1<<TimeBits + 5} {
		c.set(ms)
		if id, err := g.Snowflake(); !errors.Is(err, ErrExhausted) {
			t.Errorf("past the last id: got %d, %v", id, err)
		}
		if err := g.WaitReady(t.Context()); !errors.Is(err, ErrExhausted) {
			t.Errorf("WaitReady: got %v", err)
		}
		mustUUID(t, g)
	}

	// Many at once must not overtake each other's check.
	c = newClock(1<<TimeBits - 1)
	g = newGenerator(t, c, Config{ZeroStart: true})
	var all [8][]int64
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			for {
				id, err := g.Snowflake()
				if err != nil {
					return
				}
				all[i] = append(all[i], id)
			}
		})
	}
	wg.Wait()
	if ids := checkDistinct(t, all[:]); len(ids) != 4096 || ids[0] < 0 {
		t.Errorf("got %d ids from %d on, want 4096", len(ids), ids[0])
	}
}

// checkDistinct fails the test unless each list ascends and no id is in two of
// them. It returns all in order.
func checkDistinct(t *testing.T, lists [][]int64) []int64 {
	t.Helper()
	var all []int64
	for _, ids := range lists {
		checkAscending(t, ids)
		all = append(all, ids...)
	}
	slices.Sort(all)
	checkAscending(t, all)
	return all
}

// A batch is one step: consecutive words, also over the end of a millisecond.
func TestSnowflakesAreOneStep(t *testing.T) {
	t.Parallel()
	c := newClock(1000)
	g := newGenerator(t, c, Config{Node: 9, ZeroStart: true})
	if err := g.Snowflakes(nil); err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, 10_000)
	if err := g.Snowflakes(ids); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		d := DecodeSnowflake(id)
		want := Decoded{Kind: KindSnowflake, HasTime: true, Node: 9, Sequence: i % 4096,
			Time: time.UnixMilli(Epoch + 1000 + int64(i)/4096).UTC()}
		if d != want {
			t.Fatalf("id %d: got %+v, want %+v", i, d, want)
		}
	}
}

// The bound holds for the first id of a batch, and a failed call takes nothing.
func TestRunAheadBound(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{1, time.Millisecond, 3 * time.Millisecond, 3*time.Millisecond + 999_999} {
		c := newClock(1000)
		g := newGenerator(t, c, Config{RunAhead: ahead, ZeroStart: true})
		room := 4096 * int(1+ahead.Milliseconds())
		ids := make([]int64, room-1)
		if err := g.Snowflakes(ids); err != nil {
			t.Fatal(err)
		}
		batch := make([]int64, 5000)
		if err := g.Snowflakes(batch); err != nil {
			t.Fatalf("%v: a batch that begins within the bound: %v", ahead, err)
		}
		if _, err := g.Snowflake(); !errors.Is(err, ErrAhead) {
			t.Errorf("%v: got %v, want %v", ahead, err, ErrAhead)
		}
		c.set(1002)
		ids = append(append(ids, batch...), mustSnowflake(t, g))
		checkAscending(t, ids)
		if got, want := ids[len(ids)-1]&sequenceMask, int64(room+4999)%4096; got != want {
			t.Errorf("%v: sequence %d, want %d", ahead, got, want)
		}
	}
}

// A clock that jumps to and fro under 64 goroutines.
func TestSnowflakesUnderJumpingClock(t *testing.T) {
	t.Parallel()
	for _, policy := range []Policy{Ahead, Refuse} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			now := func() int64 { return (Epoch+50_000+rand.Int64N(4000))*nsPerMs - rand.Int64N(nsPerMs) }
			g := newGenerator(t, nil, Config{Now: now, Policy: policy})
			var all [64][]int64
			var wg sync.WaitGroup
			for i := range all {
				wg.Go(func() {
					var batch [7]int64
					for j := range 500 {
						n := j % len(batch)
						if g.Snowflakes(batch[:n]) == nil {
							all[i] = append(all[i], batch[:n]...)
						}
					}
				})
			}
			wg.Wait()
			ids := checkDistinct(t, all[:])
			if policy == Ahead && len(ids) < 64*1000 {
				t.Errorf("got only %d ids", len(ids))
			}
		})
	}
}

// Callers of Refuse that read the clock in another order than they arrive are
// not taken for a step back.
func TestRefuseUnderForwardClock(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	fast := func() int64 { return begin.UnixNano() + int64(time.Since(begin))*1000 }
	g := newGenerator(t, nil, Config{Policy: Refuse, Now: fast, RunAhead: time.Hour})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20_000 {
				if _, err := g.Snowflake(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestSnowflakeForms(t *testing.T) {
	t.Parallel()
	const id = 386547056640000001
	if got, want := string(AppendSnowflake([]byte("x"), id)), "x386547056640000001"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := AppendSnowflakeBinary([]byte("x"), id), "x\x05\x5d\x4a\x80\x00\x00\x00\x01"; string(got) != want {
		t.Errorf("got %x, want %x", got, want)
	}
}
