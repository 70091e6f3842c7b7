package rewrite

import (
	"sync"
	"sync/atomic"
)

// maxPlanBytes bounds the memory of the plans that are kept, and maxShape the
// size of one's key.
const (
	maxPlanBytes = 32 << 20
	maxShape     = 64 << 10
)

// A planKey is what a plan was made for. Keys are compared in full. The catalog
// is named by its identity, so that a plan does not keep an old one alive.
type planKey struct {
	catalog *identity
	mode    Mode
	shape   string
}

// A planCache keeps plans within bounds. It is safe for concurrent use. When it
// is full, a hand goes round over the plans and drops the first one that was
// not used since it came by last (the CLOCK algorithm): a use costs no more
// than a look and, once, a mark.
type planCache struct {
	limit int // entries

	mu    sync.RWMutex
	plans map[planKey]*planEntry
	ring  []*planEntry
	hand  int
	bytes int
}

type planEntry struct {
	key  planKey
	plan *Plan
	size int
	used atomic.Bool
}

func newPlanCache(limit int) *planCache {
	return &planCache{limit: max(limit, 1), plans: map[planKey]*planEntry{}}
}

// get returns a plan, or nil.
func (c *planCache) get(catalog *identity, m Mode, shape []byte) *Plan {
	c.mu.RLock()
	e := c.plans[planKey{catalog, m, string(shape)}]
	c.mu.RUnlock()
	if e == nil {
		return nil
	}
	if !e.used.Load() {
		e.used.Store(true)
	}
	return e.plan
}

// put keeps a plan, unless its key is too long.
func (c *planCache) put(catalog *identity, m Mode, shape []byte, p *Plan) {
	if len(shape) > maxShape {
		return
	}
	e := &planEntry{key: planKey{catalog, m, string(shape)}, plan: p, size: len(shape) + p.size()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans[e.key] != nil {
		return
	}
	for len(c.ring) > 0 && (len(c.ring) >= c.limit || c.bytes+e.size > maxPlanBytes) {
		c.drop()
	}
	c.plans[e.key] = e
	c.ring = append(c.ring, e)
	c.bytes += e.size
}

// drop drops one plan. The last one, which is new, takes its place, and the
// hand goes past it.
func (c *planCache) drop() {
	for {
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		if !c.ring[c.hand].used.Swap(false) {
			break
		}
		c.hand++
	}
	e, last := c.ring[c.hand], len(c.ring)-1
	delete(c.plans, e.key)
	c.bytes -= e.size
	c.ring[c.hand] = c.ring[last]
	c.ring[last] = nil
	c.ring = c.ring[:last]
	c.hand++
}

// len returns the number of plans kept.
func (c *planCache) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.ring)
}

// size estimates the memory of a plan in bytes.
func (p *Plan) size() int {
	const entry, edit, call, name = 256, 48, 56, 16
	n := entry + edit*len(p.Edits) + call*len(p.Calls) + name*len(p.Relations)
	for _, e := range p.Edits {
		n += len(e.Text)
	}
	for _, r := range p.Relations {
		n += len(r)
	}
	return n
}
