package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
)

const (
	// callTimeout bounds a call of the store: shorter than a heartbeat, so that the
	// next one is not late.
	callTimeout = 3 * time.Second
	// takeTimeout bounds taking a node, which needs several calls and keeps no
	// heartbeat waiting. The first try has callTimeout, since a start waits for it.
	takeTimeout = 4 * callTimeout
	// retryEvery is the pause after a call that failed.
	retryEvery     = time.Second
	leastHeartbeat = 100 * time.Millisecond
	// step is what a term may mint at least before its first heartbeat, in time of
	// ids: 4 million ids.
	step = time.Second
	// deadlineMargin is how long before the TTL is over minting stops.
	deadlineMargin = 2 * time.Second
)

// A Minter is what a Keeper lets mint: a *gen.Generator that was made with Leased.
type Minter interface {
	Grant(node int, floor, mark int64) error
	Extend(mark int64)
	Revoke()
}

// Config says how a node is held.
type Config struct {
	Registry *Registry
	Minter   Minter
	// First and Last are the nodes of which one is held, the lowest free one.
	// Where they are the same it is that or none.
	First, Last int
	// Holder tells others who this is: host, process, address.
	Holder string
	// TTL is how long a node is held without a heartbeat, Heartbeat the time
	// between two, and MarkAhead how far the mark is ahead of the clock; 0 means
	// the defaults. Heartbeat must be less than MarkAhead, and that less than TTL.
	TTL, Heartbeat, MarkAhead time.Duration
	// RunAhead is the generator's bound: a node whose mark is further ahead could
	// not be minted under yet, and is taken only where there is no other. 0 means
	// gen.DefaultRunAhead.
	RunAhead time.Duration
	// MaxClockOffset is how far the clock may be from the store's before it is
	// logged; 0 means a second.
	MaxClockOffset time.Duration
	// Claim is called with each new era, before a node is taken: for what else has
	// to be in the registry. It may be nil.
	Claim func(ctx context.Context) error
	// Now is the wall clock in ns since 1970; nil means the system's.
	Now func() int64
	Log *slog.Logger
	// AllowMore lets a process hold several leases.
	AllowMore bool
	// Guard is where the lease takes its place; nil means that of the process.
	Guard *gen.Guard
}

// check fills in defaults and refuses what would not be safe or not work.
func (c *Config) check() error {
	c.TTL, c.Heartbeat = cmp.Or(c.TTL, DefaultTTL), cmp.Or(c.Heartbeat, DefaultHeartbeat)
	c.MarkAhead, c.RunAhead = cmp.Or(c.MarkAhead, DefaultMarkAhead), cmp.Or(c.RunAhead, gen.DefaultRunAhead)
	c.MaxClockOffset = cmp.Or(c.MaxClockOffset, time.Second)
	switch {
	case c.First < 0 || c.Last > gen.MaxNode || c.First > c.Last:
		return fmt.Errorf("nodes %d to %d are no range within 0 to %d", c.First, c.Last, gen.MaxNode)
	case c.Heartbeat < leastHeartbeat || c.MarkAhead <= c.Heartbeat || c.TTL <= c.MarkAhead:
		return fmt.Errorf("heartbeat %s, mark-ahead %s and TTL %s do not go together: each must be less than the next, and the heartbeat %s at least", c.Heartbeat, c.MarkAhead, c.TTL, leastHeartbeat)
	case c.TTL > MaxTTL:
		return fmt.Errorf("TTL %s is too long: a registry that has lost its data waits for that time, at most %s", c.TTL, MaxTTL)
	}
	if c.Now == nil {
		c.Now = func() int64 { return time.Now().UnixNano() }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// MaxTTL is the longest TTL that a lease may have.
const MaxTTL = 5 * time.Minute

// A Status is what a Keeper can say of itself.
type Status struct {
	Registry string    // its id; "": not known yet
	Node     int       // -1: none is held
	Mark     time.Time // of the node
	Since    time.Time // when the node was taken, by the wall clock
	Renewed  time.Time // when the last acknowledged heartbeat was sent, likewise
	Offset   time.Duration
	Clocked  bool  // Offset, by which the wall clock is ahead of the store's, is known
	Doubted  bool  // the wall clock jumped, and is not followed
	Err      error // why no node is held, or why the last heartbeat failed; nil: all is well
}

// A Keeper holds a node for a Minter, and takes another one when it is lost. All
// methods are safe for concurrent use.
type Keeper struct {
	c      Config
	party  *gen.Party
	start  time.Time // origin of monotonic times
	cancel context.CancelFunc
	done   chan struct{}

	// These belong to the goroutine of run; before that to Hold, behind it to Close.
	time    reckoning
	era     string
	node    int    // -1: none
	token   string // the last that was acknowledged
	pending string // one that was sent and may be stored; "": none
	floor   int64  // of the term
	mark    int64  // the highest that was sent
	claimed string // the era in which Claim was called
	seen    map[int]sighting

	mu       sync.Mutex
	status   Status
	renewals int         // tells the deadline of one renewal from that of another
	revoked  bool        // the deadline has passed
	deadline *time.Timer // revokes when the TTL is nearly over
	trouble  string      // what was logged last; "": all is well
	apart    bool        // that the clocks are apart was logged
}

// Hold takes a node and keeps it until Close. It fails where trying again would
// not help: with a *HeldError where the only node that it may have is held by
// another that is alive, and with *ExhaustedError, *OtherRegistryError,
// *CopiedError, *SetupError and *gen.SecondError. Where the registry does not
// answer, or hands out nothing yet, it returns a Keeper that goes on trying, which
// the log and Status tell.
func Hold(ctx context.Context, c Config) (*Keeper, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	party, err := c.Guard.Enter("lease", cmp.Or(c.Holder, "unnamed"), c.AllowMore)
	if err != nil {
		return nil, err
	}
	r := *c.Registry
	r.TTL, r.Now, r.Store = max(r.TTL, c.TTL), c.Now, timed{r.Store}
	c.Registry = &r
	k := &Keeper{c: c, party: party, start: time.Now(), done: make(chan struct{}), node: -1, seen: map[int]sighting{}}
	k.status.Node = -1
	next, err := k.first(ctx)
	if err != nil {
		party.Leave()
		return nil, err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k.cancel = cancel
	go k.run(run, next)
	return k, nil
}

// first tries once, or, where another holds the only node that there may be, for
// as long as it takes to tell whether that one is alive.
func (k *Keeper) first(ctx context.Context) (next time.Duration, err error) {
	var before *HeldError
	var limit time.Duration
	for {
		next, err = k.try(ctx, callTimeout)
		if permanent(err) {
			return 0, err
		}
		k.report(err)
		var held *HeldError
		switch {
		case !errors.As(err, &held):
			return next, nil
		case before == nil:
			before, limit = held, k.mono()+2*min(held.Every, MaxTTL)+callTimeout
		case held.Token != before.Token:
			return 0, err // it has renewed its lease
		case k.mono() > limit:
			return next, nil // dead or cut off: the node is free when its lease expires
		}
		if err := sleep(ctx, retryEvery); err != nil {
			return 0, err
		}
	}
}

// permanent tells whether trying again would not help.
func permanent(err error) bool {
	var exhausted *ExhaustedError
	var other *OtherRegistryError
	var copied *CopiedError
	var setup *SetupError
	var second *gen.SecondError
	var held *HeldError
	return errors.As(err, &held) && held.Kind == KindFunctions || errors.As(err, &exhausted) || errors.As(err, &other) || errors.As(err, &copied) || errors.As(err, &setup) || errors.As(err, &second)
}

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

// run holds a node until ctx is done.
func (k *Keeper) run(ctx context.Context, next time.Duration) {
	defer close(k.done)
	for sleep(ctx, next) == nil {
		var err error
		if next, err = k.try(ctx, takeTimeout); ctx.Err() == nil {
			k.report(err)
		}
	}
}

// try renews the lease, or takes a node where none is held, for which it has some
// time, and returns when to do so again.
func (k *Keeper) try(ctx context.Context, patience time.Duration) (next time.Duration, err error) {
	if k.node >= 0 {
		patience = callTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if k.node >= 0 {
		return k.renew(ctx)
	}
	return k.acquire(ctx)
}

func (k *Keeper) mono() time.Duration { return time.Since(k.start) }

func (k *Keeper) wall() int64 { return k.c.Now() / int64(time.Millisecond) }
