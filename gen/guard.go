package gen

import (
	"fmt"
	"sync"
)

// A Guard keeps the parties of one process apart: two generators of one node
// would each start at the clock and mint equal ids. The zero value is ready; it
// is safe for concurrent use. A process has one, which a nil Guard in a Config
// stands for; tests that play several processes give each its own.
type Guard struct {
	mu      sync.Mutex
	parties map[*Party]bool
	last    map[int]int64 // the last word that a generator of the node gave out before it was closed
}

// process is the guard of this process: that there are two parties in it can
// only be seen by something that all of them share.
var process Guard

// A Party is a generator or a lease that has its place in a Guard.
type Party struct {
	guard *Guard
	what  string // "generator" or "lease"
	name  string
	node  int // -1: none yet
}

// A SecondError says that a process has such a party already.
type SecondError struct {
	What   string // "generator" or "lease"
	Node   int    // the other's node, -1 where it has none yet
	Holder string // the name of the other, or where it was made
	Same   bool   // both want that node; otherwise a second one was not allowed at all
}

func (e *SecondError) Error() string {
	if e.Same {
		return fmt.Sprintf("node %d is held by another %s of this process (%s): close that one first, or share it", e.Node, e.What, e.Holder)
	}
	return fmt.Sprintf("there is another %s in this process (%s): share it, close it first, or set AllowMore where each has a node of its own", e.What, e.Holder)
}

// Enter takes a place for a generator or a lease without a node, which is
// refused with a *SecondError while another of the kind is there, unless more
// are allowed. A nil Guard is that of the process.
func (g *Guard) Enter(what, name string, more bool) (*Party, error) {
	if g == nil {
		g = &process
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.parties {
		if p.what == what && !more {
			return nil, &SecondError{What: what, Node: p.node, Holder: p.name}
		}
	}
	p := &Party{guard: g, what: what, name: name, node: -1}
	if g.parties == nil {
		g.parties = map[*Party]bool{}
	}
	g.parties[p] = true
	return p, nil
}

// Take claims a node in place of the one that the party had, -1 none, which fails
// with a *SecondError while another party of the kind has it.
func (p *Party) Take(node int) error {
	p.guard.mu.Lock()
	defer p.guard.mu.Unlock()
	for o := range p.guard.parties {
		if o != p && o.what == p.what && o.node == node && node >= 0 {
			return &SecondError{What: p.what, Node: node, Holder: o.name, Same: true}
		}
	}
	p.node = node
	return nil
}

// Leave gives up the place. It may be called again.
func (p *Party) Leave() {
	p.guard.mu.Lock()
	defer p.guard.mu.Unlock()
	delete(p.guard.parties, p)
}

// keep remembers the last word of a generator that is closed: its ids may be
// ahead of the clock, where the next one of its node would start.
func (p *Party) keep(last int64) {
	p.guard.mu.Lock()
	defer p.guard.mu.Unlock()
	if p.guard.last == nil {
		p.guard.last = map[int]int64{}
	}
	p.guard.last[p.node] = max(p.guard.last[p.node], last)
}

// kept returns the last word of the closed generators of the party's node, -1
// where there was none.
func (p *Party) kept() int64 {
	p.guard.mu.Lock()
	defer p.guard.mu.Unlock()
	if last, ok := p.guard.last[p.node]; ok {
		return last
	}
	return -1
}
