package gen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Layout of a snowflake, in bits from the top below the sign.
const (
	TimeBits     = 41
	NodeBits     = 10
	SequenceBits = 12

	// Epoch is the Unix time of millisecond 0 of a snowflake, in ms:
	// 2024-01-01T00:00:00Z.
	Epoch = 1704067200000

	// MaxNode is the largest node number.
	MaxNode = 1<<NodeBits - 1

	// DefaultRunAhead is how far ids may run ahead of the clock.
	DefaultRunAhead = 10 * time.Second
)

const (
	sequenceMask = 1<<SequenceBits - 1
	maxWord      = 1<<(TimeBits+SequenceBits) - 1 // the last snowflake's time and sequence
	startBelow   = 256                            // bound of a randomised sequence start
	nsPerMs      = int64(time.Millisecond)
)

// Errors of the minting methods. Callers branch on them with errors.Is.
var (
	// ErrAhead: the ids have run further ahead of the clock than the bound
	// allows, since the clock stepped back or a burst went on for too long.
	ErrAhead = errors.New("ids are further ahead of the clock than the bound allows")
	// ErrClockBack: the clock stepped back, under policy Refuse.
	ErrClockBack = errors.New("the clock stepped back")
	// ErrExhausted: the 41 bits of time are used up.
	ErrExhausted = errors.New("the 41 bits of a snowflake's time are used up")
)

// Policy says what happens when ids would run too far ahead of the clock.
type Policy uint8

const (
	// Ahead mints up to the bound, then fails with ErrAhead until the clock is
	// back within it.
	Ahead Policy = iota
	// Wait fails in the same way; a caller then waits with WaitReady.
	Wait
	// Refuse fails with ErrClockBack at any step back of the clock until it has
	// reached the highest value that was seen. Bursts may run ahead up to the
	// bound.
	Refuse
)

var policyNames = [...]string{Ahead: "ahead", Wait: "wait", Refuse: "refuse"}

func (p Policy) String() string { return policyNames[p] }

// ParsePolicy returns the policy of that name: ahead, wait or refuse.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("parse clock policy %q: want ahead, wait or refuse", name)
}

// Config describes a Generator. The zero value of each field but Node has a
// meaning of its own, given there.
type Config struct {
	// Node is the number that this generator alone mints under, 0 to MaxNode.
	Node int
	// Now returns the time in nanoseconds since 1970; nil means the system's
	// clock. It is called by every minting method, from any goroutine.
	Now func() int64
	// Rand returns 64 random bits, from any goroutine; nil means the runtime's
	// ChaCha8 generator, which is seeded by the operating system and erases its
	// keys as it goes. UUIDs need not be secret (RFC 9562 section 8), but they
	// should not be guessable either, and that it gives without a lock.
	Rand func() uint64
	// RunAhead bounds how far ids may be ahead of the clock; 0 means
	// DefaultRunAhead.
	RunAhead time.Duration
	// Policy decides what happens past the bound.
	Policy Policy
	// ZeroStart makes the sequence of a new millisecond start at 0. Otherwise it
	// starts at a random number below 256, so that id % 16 is spread evenly at
	// low rates too.
	ZeroStart bool
	// Sleep waits for d or until ctx is done; nil means a timer. Only WaitReady
	// calls it.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Generator mints ids. All methods are safe for concurrent use, never sleep
// (but for WaitReady) and allocate nothing.
type Generator struct {
	snowflakes atomic.Int64 // last ms<<12 | sequence given out
	_          [56]byte     // the two words are on cache lines of their own
	uuids      atomic.Int64 // last ms<<12 | fraction given out
	_          [56]byte
	seen       atomic.Int64 // highest clock seen, in ns; kept under Refuse only

	node     int64
	now      func() int64
	rand     func() uint64
	runAhead int64 // ms
	policy   Policy
	zero     bool
	sleep    func(context.Context, time.Duration) error
}

// New returns a Generator. It fails for a node that does not fit the layout and
// for a clock outside of the time that a snowflake can hold.
func New(c Config) (*Generator, error) {
	if c.Node < 0 || c.Node > MaxNode {
		return nil, fmt.Errorf("node %d is out of range: want 0 to %d", c.Node, MaxNode)
	}
	if c.RunAhead < 0 {
		return nil, fmt.Errorf("run-ahead bound %v is negative", c.RunAhead)
	}
	g := &Generator{
		node:     int64(c.Node) << SequenceBits,
		now:      c.Now,
		rand:     c.Rand,
		runAhead: cmp.Or(c.RunAhead, DefaultRunAhead).Milliseconds(),
		policy:   c.Policy,
		zero:     c.ZeroStart,
		sleep:    c.Sleep,
	}
	if g.now == nil {
		g.now = systemClock
	}
	if g.rand == nil {
		g.rand = rand.Uint64
	}
	if g.sleep == nil {
		g.sleep = sleep
	}
	switch ms := g.now()/nsPerMs - Epoch; {
	case ms < 0:
		return nil, fmt.Errorf("the clock is %v before the epoch %s: set it first",
			time.Duration(-ms)*time.Millisecond, time.UnixMilli(Epoch).UTC().Format(time.RFC3339))
	case ms >= 1<<TimeBits:
		return nil, ErrExhausted
	}
	return g, nil
}

func systemClock() int64 { return time.Now().UnixNano() }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Node returns the node number.
func (g *Generator) Node() int { return int(g.node >> SequenceBits) }

// clock reads the clock, and under Refuse checks that it has not stepped back.
func (g *Generator) clock() (int64, error) {
	now := g.now()
	if g.policy != Refuse {
		return now, nil
	}
	for {
		seen := g.seen.Load()
		if now/nsPerMs < seen/nsPerMs {
			// Another goroutine may have read a later time since: look again.
			if now = g.now(); now/nsPerMs < seen/nsPerMs {
				return 0, ErrClockBack
			}
		}
		if now <= seen || g.seen.CompareAndSwap(seen, now) {
			return now, nil
		}
	}
}

// take moves a word on by n steps and returns the first of them. floor is the
// word of the present millisecond, start the earliest value in it.
func (g *Generator) take(word *atomic.Int64, floor, start, n int64) (int64, error) {
	limit := floor + g.runAhead<<SequenceBits | sequenceMask
	for {
		last := word.Load()
		first := last + 1
		if start > last {
			first = start
		}
		if first+n-1 > limit {
			return 0, ErrAhead
		}
		if word.CompareAndSwap(last, first+n-1) {
			return first, nil
		}
	}
}

// Snowflake mints one id. It fails with ErrAhead, ErrClockBack or ErrExhausted.
func (g *Generator) Snowflake() (int64, error) {
	w, err := g.snowflakeWords(1)
	if err != nil {
		return 0, err
	}
	return g.snowflake(w), nil
}

// Snowflakes fills dst with ascending ids, taken in one step: all of them or,
// with the errors of Snowflake, none.
func (g *Generator) Snowflakes(dst []int64) error {
	if len(dst) == 0 {
		return nil
	}
	w, err := g.snowflakeWords(int64(len(dst)))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = g.snowflake(w + int64(i))
	}
	return nil
}

func (g *Generator) snowflake(w int64) int64 {
	return w&^sequenceMask<<NodeBits | g.node | w&sequenceMask
}

func (g *Generator) snowflakeWords(n int64) (int64, error) {
	now, err := g.clock()
	if err != nil {
		return 0, err
	}
	floor := (now/nsPerMs - Epoch) << SequenceBits
	start := floor
	if !g.zero && floor > g.snowflakes.Load() {
		start |= int64(g.rand() % startBelow)
	}
	if max(start, g.snowflakes.Load()+1)+n-1 > maxWord {
		return 0, ErrExhausted
	}
	return g.take(&g.snowflakes, floor, start, n)
}

// UUID is a UUID in its binary form.
type UUID [16]byte

// UUIDv7 mints one UUID (RFC 9562 section 5.7). The 12 bits below the
// millisecond are its fraction and count upwards when it does not move (section
// 6.2, methods 1 and 3): UUIDs of one Generator are strictly increasing as
// bytes. It fails with ErrAhead or ErrClockBack.
func (g *Generator) UUIDv7() (UUID, error) {
	w, err := g.uuidWords(1)
	if err != nil {
		return UUID{}, err
	}
	var u UUID
	putUUID(&u, w, g.rand())
	return u, nil
}

// UUIDv7s fills dst with ascending UUIDs, taken in one step: all or none.
func (g *Generator) UUIDv7s(dst []UUID) error {
	if len(dst) == 0 {
		return nil
	}
	w, err := g.uuidWords(int64(len(dst)))
	if err != nil {
		return err
	}
	for i := range dst {
		putUUID(&dst[i], w+int64(i), g.rand())
	}
	return nil
}

func (g *Generator) uuidWords(n int64) (int64, error) {
	now, err := g.clock()
	if err != nil {
		return 0, err
	}
	ms := now / nsPerMs
	floor := ms << SequenceBits
	start := floor | (now-ms*nsPerMs)<<SequenceBits/nsPerMs
	return g.take(&g.uuids, floor, start, n)
}

func putUUID(u *UUID, w int64, random uint64) {
	ms := uint64(w) >> SequenceBits
	putUint64(u[:8], ms<<16|0x7000|uint64(w)&sequenceMask)
	putUint64(u[8:], random&(1<<62-1)|1<<63)
}

// WaitReady waits until an id could be minted, in the state that other callers
// leave, or ctx is done. It holds no lock and sleeps for as long as the clock is
// out of bounds. It fails with ctx's error or with ErrExhausted.
func (g *Generator) WaitReady(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := g.now()
		ms := now/nsPerMs - Epoch
		if ms >= 1<<TimeBits {
			return ErrExhausted
		}
		behind := max(g.snowflakes.Load()>>SequenceBits-ms, g.uuids.Load()>>SequenceBits-now/nsPerMs) - g.runAhead
		wait := time.Duration(behind) * time.Millisecond
		if g.policy == Refuse {
			wait = max(wait, time.Duration(g.seen.Load()-now))
		}
		// At the bound itself a full millisecond may be used up already.
		if behind == 0 && (g.snowflakes.Load()&sequenceMask == sequenceMask || g.uuids.Load()&sequenceMask == sequenceMask) {
			wait = max(wait, time.Millisecond)
		}
		if wait <= 0 {
			return nil
		}
		if err := g.sleep(ctx, wait); err != nil {
			return err
		}
	}
}
