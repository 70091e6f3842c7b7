package gen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
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
	DefaultRunAhead = 15 * time.Second
)

const (
	sequenceMask = 1<<SequenceBits - 1
	maxWord      = 1<<(TimeBits+SequenceBits) - 1 // time and sequence of the last snowflake there can be
	startBelow   = 256                            // bound of a randomised sequence start
	nsPerMs      = int64(time.Millisecond)
)

// End is the first moment that a snowflake's 41 bits of time cannot hold.
func End() time.Time { return time.UnixMilli(Epoch + 1<<TimeBits).UTC() }

// Errors of the minting methods. Callers branch on them with errors.Is.
var (
	// ErrAhead: the next id would be further ahead of the clock than the bound
	// allows, since the clock stepped back or a burst went on for too long.
	ErrAhead = errors.New("ids are further ahead of the clock than the bound allows")
	// ErrClockBack: the clock stepped back, under policy Refuse.
	ErrClockBack = errors.New("the clock stepped back")
	// ErrExhausted: the 41 bits of time are used up, or the clock says so.
	ErrExhausted = errors.New("the 41 bits of a snowflake's time are used up")
	// ErrNoNode: a leased generator has no node now, or the generator was closed.
	ErrNoNode = errors.New("no node number is held")
	// ErrMark: the ids below the mark that is stored for the node are used up, or
	// the clock is past it.
	ErrMark = errors.New("the ids below the node's mark are used up")
)

// Config describes a Generator. The zero value of each field but Node has a
// meaning of its own, given there.
type Config struct {
	// Node is the number that this generator alone mints under, 0 to MaxNode.
	Node int
	// Leased makes a generator without a node, which mints snowflakes only as it
	// is granted; Node is not used then.
	Leased bool
	// Name says in errors who this is; "" means the place of the call of New.
	Name string
	// AllowMore lets a process have several generators, each with a node of its
	// own. Two of one node are never allowed.
	AllowMore bool
	// Guard is where the generator takes its place; nil means that of the process.
	Guard *Guard
	// Now returns the time in nanoseconds since 1970; nil means the system's
	// clock. Every minting method calls it once (again where the clock seems to
	// have stepped back under Refuse), from any goroutine.
	Now func() int64
	// Rand returns 64 random bits and is called from any goroutine; nil means
	// math/rand/v2's Uint64. That is ChaCha8 with fast key erasure, one stream a
	// thread, seeded from the kernel's random bytes for this process (Go's
	// runtime/rand.go): as unpredictable as RFC 9562 section 6.9 asks, with
	// neither a lock nor a system call, at a fraction of what crypto/rand costs.
	// That fork would copy its state does not matter, since a Go program does not
	// fork without exec. What must stay secret should be no id in the first place
	// (section 8); whoever wants crypto/rand behind each id sets this.
	Rand func() uint64
	// RunAhead bounds how far ids may be ahead of the clock, in whole
	// milliseconds; 0 means DefaultRunAhead, less than a millisecond not at all.
	RunAhead time.Duration
	// Policy decides what happens past the bound.
	Policy Policy
	// ZeroStart makes the sequence of a new millisecond start at 0. Otherwise it
	// starts at a random number below 256, so that id % 16 is spread evenly at
	// low rates too.
	ZeroStart bool
	// Sleep waits for d or until ctx is done, and then returns its error; nil
	// means a timer. It may return early. Only WaitReady calls it: the owner of a
	// clock that is no real one wakes the sleepers when it moves that clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Generator mints ids. All methods are safe for concurrent use; but for
// WaitReady none sleeps or blocks; none allocates.
//
// Ids of one kind are unique and increasing: one whose call began after another
// call had returned is the larger one. That holds until the process ends, and for
// snowflakes across nodes too. Beyond it, a node number must be kept from others,
// and after a restart from times before it: package gen/lease does, with Grant.
type Generator struct {
	snowflakes atomic.Int64 // last ms<<12 | sequence given out, ms since Epoch
	_          [56]byte     // each word that changes has a cache line of its own
	uuids      atomic.Int64 // last ms<<12 | fraction given out, ms since 1970
	_          [56]byte
	seen       atomic.Int64 // highest clock seen, in ms since 1970; kept under Refuse only
	_          [56]byte

	grant    atomic.Pointer[grant] // nil: none
	party    *Party
	now      func() int64
	rand     func() uint64
	runAhead int64 // in ms
	policy   Policy
	zero     bool
	sleep    func(context.Context, time.Duration) error
}

// New returns a Generator. It fails for a node that does not fit the layout, an
// unknown policy, a negative bound, and a clock outside of the time that a
// snowflake can hold (ErrExhausted past its end).
func New(c Config) (*Generator, error) {
	if c.Node < 0 || c.Node > MaxNode {
		return nil, fmt.Errorf("node %d is out of range: want 0 to %d", c.Node, MaxNode)
	}
	if c.RunAhead < 0 {
		return nil, fmt.Errorf("run-ahead bound %v is negative", c.RunAhead)
	}
	if int(c.Policy) >= len(policyNames) {
		return nil, fmt.Errorf("clock policy %d is unknown", c.Policy)
	}
	g := &Generator{
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
	switch now := time.Unix(0, g.now()).UTC(); {
	case now.UnixMilli() < Epoch:
		return nil, fmt.Errorf("the clock (%s) is before the epoch of the ids (%s): set it first",
			now.Format(time.RFC3339), time.UnixMilli(Epoch).UTC().Format(time.RFC3339))
	case now.UnixMilli() >= Epoch+1<<TimeBits:
		return nil, fmt.Errorf("the clock (%s) is past the end of the ids: %w", now.Format(time.RFC3339), ErrExhausted)
	}
	name := c.Name
	if _, file, line, ok := runtime.Caller(1); ok && name == "" {
		name = fmt.Sprintf("made at %s:%d", filepath.Base(file), line)
	}
	party, err := c.Guard.Enter("generator", name, c.AllowMore)
	if err != nil {
		return nil, err
	}
	g.party = party
	if c.Leased {
		return g, nil
	}
	if err := party.Take(c.Node); err != nil {
		party.Leave()
		return nil, err
	}
	g.grant.Store(unbounded(c.Node, party.kept()+1))
	return g, nil
}

func systemClock() int64 { return time.Now().UnixNano() }

// Node returns the node number, -1 where there is none now.
func (g *Generator) Node() int {
	if n := g.grant.Load(); n != nil {
		return int(n.node >> SequenceBits)
	}
	return -1
}

// forward checks a reading of the clock under Refuse: it must not have stepped
// back by a millisecond or more.
func (g *Generator) forward(now int64) (int64, error) {
	for {
		seen := g.seen.Load()
		if now/nsPerMs < seen {
			// Another goroutine may have read a later time since: look again.
			if now = g.now(); now/nsPerMs < seen {
				return 0, ErrClockBack
			}
		}
		if now/nsPerMs == seen || g.seen.CompareAndSwap(seen, now/nsPerMs) {
			return now, nil
		}
	}
}

// take moves a word on by n steps and returns the first of them: start, or what
// follows the last word if that is more. The first must not be above bound, the
// run-ahead bound; the last must not be above end, or it is past that. last is what the caller read: a second read would make two goroutines on two
// processors fetch the word from each other once more an id.
func take(word *atomic.Int64, last, start, n, bound, end int64, past error) (int64, error) {
	for {
		first := max(start, last+1)
		switch {
		case n > end-first+1:
			return 0, past
		case first > bound:
			return 0, ErrAhead
		case word.CompareAndSwap(last, first+n-1):
			return first, nil
		}
		last = word.Load()
	}
}

// bound is the last word that is within the run-ahead bound of ms.
func (g *Generator) bound(ms int64) int64 {
	return (ms+g.runAhead)<<SequenceBits | sequenceMask
}
