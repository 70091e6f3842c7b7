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

// A planKey is what a plan was made for. Keys are compared in full. The frame of
// the catalog is named by its identity, so that a plan does not keep an old one
// alive; the relations that a plan rests on are compared when it is found.
type planKey struct {
	frame *identity
	mode  Mode
	shape string
}

// A planCache keeps plans within bounds. It is safe for concurrent use. When it
// is full, a hand goes round over the plans and drops the first one that was
// not used since it came by last (the CLOCK algorithm): a use costs no more
// than a look and, once, a mark.
type planCache struct {
	limit int // entries

	mu sync.RWMutex
	// Beside the lock, whose cache line every lookup writes to anyway.
	hits, misses atomic.Uint64

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

// get returns a plan that holds for a catalog, or nil.
func (c *planCache) get(catalog *Catalog, m Mode, shape []byte) *Plan {
	var p *Plan
	c.mu.RLock()
	e := c.plans[planKey{catalog.facts.frame, m, string(shape)}]
	if e != nil {
		p = e.plan
	}
	c.mu.RUnlock()
	if p == nil || !catalog.Still(p.Basis) {
		c.misses.Add(1)
		return nil
	}
	c.hits.Add(1)
	if !e.used.Load() {
		e.used.Store(true)
	}
	return p
}

// put keeps a plan, unless its key is too long, in place of one that does not
// hold any more.
func (c *planCache) put(catalog *Catalog, m Mode, shape []byte, p *Plan) {
	if len(shape) > maxShape {
		return
	}
	e := &planEntry{key: planKey{catalog.facts.frame, m, string(shape)}, plan: p, size: len(shape) + p.size()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.plans[e.key]; old != nil {
		if !catalog.Still(old.plan.Basis) {
			c.bytes += e.size - old.size
			old.plan, old.size = p, e.size
		}
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
	const entry, edit, call, name, dep = 256, 80, 72, 16, 24
	n := entry + edit*len(p.Edits) + call*len(p.Calls) + name*len(p.Relations) + dep*len(p.Basis.names)
	for _, e := range p.Edits {
		n += len(e.Text)
	}
	for _, r := range p.Relations {
		n += len(r)
	}
	return n
}
