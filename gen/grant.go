package gen

import (
	"math"
	"sync/atomic"
)

// A grant is what a generator may mint: ids of one node, from floor up to
// ceiling, both words of ms<<12 | sequence. Ids minted under a grant that was
// just replaced stay within it, so that replacing needs no lock.
type grant struct {
	node    int64 // in its place in a snowflake
	floor   int64
	ceiling atomic.Int64
}

// Grant lets a leased generator mint the node's ids from time floor on up to
// just below mark, in ms since 1970, in place of what it was granted before. The
// caller vouches that nobody else has minted or will mint in between. It fails
// with a *SecondError where another generator of the process has the node.
func (g *Generator) Grant(node int, floor, mark int64) error {
	if err := g.party.Take(node); err != nil {
		return err
	}
	n := &grant{node: int64(node) << SequenceBits, floor: max(word(floor), g.party.kept()+1)}
	n.ceiling.Store(word(mark) - 1)
	g.grant.Store(n)
	return nil
}

// Extend moves the mark of the last Grant up; a lower one changes nothing.
func (g *Generator) Extend(mark int64) {
	n := g.grant.Load()
	if n == nil {
		return
	}
	for c := word(mark) - 1; ; {
		now := n.ceiling.Load()
		if c <= now || n.ceiling.CompareAndSwap(now, c) {
			return
		}
	}
}

// Revoke takes back what was granted. Calls that have begun may still get ids
// of it.
func (g *Generator) Revoke() {
	g.grant.Store(nil)
	_ = g.party.Take(-1)
}

// word is the first word of a millisecond since 1970, within those that there
// are; one more than the last for a time past the end.
func word(ms int64) int64 {
	return min(max(ms-Epoch, 0), 1<<TimeBits) << SequenceBits
}

// unbounded is the grant of a generator whose node is its own for good.
func unbounded(node int, floor int64) *grant {
	n := &grant{node: int64(node) << SequenceBits, floor: floor}
	n.ceiling.Store(maxWord)
	return n
}

// Close frees the generator's place in its process. It mints no snowflake any
// more; the next generator of its node goes on above its last one. It may be
// called again.
func (g *Generator) Close() {
	g.grant.Store(nil)
	// Calls that have begun fail from here on: nothing fits behind this word.
	if last := g.snowflakes.Swap(math.MaxInt64 - 1); last != math.MaxInt64-1 {
		g.party.keep(last)
	}
	g.party.Leave()
}
