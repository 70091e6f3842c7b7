package gen

import (
	"context"
	"fmt"
	"time"
)

// recheck is the longest sleep of WaitReady: a timer does not notice that the
// clock was set forward again.
const recheck = 100 * time.Millisecond

// WaitReady blocks until the clock is back within the bound, so that the next
// id of either kind could be minted, or ctx is done. It holds no lock and sleeps
// all the time, also when many wait; between its return and a try of the caller
// others may have used up the room, so that the caller calls it again when its
// try fails. It fails with ctx's error, and, as no clock will change that soon,
// with ErrExhausted, ErrNoNode or ErrMark, all wrapped.
func (g *Generator) WaitReady(ctx context.Context) error {
	for {
		err := ctx.Err()
		if err == nil {
			var d time.Duration
			if d, err = g.delay(); err == nil && d <= 0 {
				return nil
			}
			if err == nil {
				err = g.sleep(ctx, min(d, recheck))
			}
		}
		if err != nil {
			return fmt.Errorf("wait for the clock: %w", err)
		}
	}
}

// delay tells how far the clock is from letting the next ids be minted; it is
// not positive when they could be minted now.
func (g *Generator) delay() (time.Duration, error) {
	grant := g.grant.Load()
	if grant == nil {
		return 0, ErrNoNode
	}
	now, next := g.now(), max(g.snowflakes.Load()+1, grant.floor)
	switch ceiling := grant.ceiling.Load(); {
	case next > maxWord || now/nsPerMs-Epoch >= 1<<TimeBits:
		return 0, ErrExhausted
	case max(next, (now/nsPerMs-Epoch)<<SequenceBits) > ceiling:
		return 0, ErrMark
	}
	ready := max(next>>SequenceBits+Epoch, (g.uuids.Load()+1)>>SequenceBits) - g.runAhead
	if g.policy == Refuse {
		ready = max(ready, g.seen.Load())
	}
	return time.Duration(ready*nsPerMs - now), nil
}

// sleep is the default of Config.Sleep.
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
