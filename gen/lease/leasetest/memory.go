// Package leasetest has what tests of package lease and of its stores share: a
// store in memory, one whose calls fail, and the suite that every store passes.
package leasetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

// Memory is a store in memory, on the clock of the process or of a synctest
// bubble. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	server  int
	offset  time.Duration
	noClock bool
	head    *lease.Head
	ready   time.Time
	records map[int]lease.Record
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{records: map[int]lease.Record{}} }

// Step moves the store's clock.
func (m *Memory) Step(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offset += d
}

// StopClock makes a store that tells no time.
func (m *Memory) StopClock() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noClock = true
}

// Empty loses all data.
func (m *Memory) Empty() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.head, m.records = nil, map[int]lease.Record{}
}

// Save returns a function that sets the store back to what it holds now, as a
// replica that is promoted without the last writes does: another server.
func (m *Memory) Save() (failOver func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head, records := m.head, map[int]lease.Record{}
	for n, r := range m.records {
		records[n] = r
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.head, m.records = head, records
		m.server++
	}
}

func (m *Memory) name() string { return fmt.Sprintf("server %d", m.server) }

func (m *Memory) now() time.Time { return time.Now().Add(m.offset) }

// Load implements lease.Store.
func (m *Memory) Load(ctx context.Context) (lease.Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return lease.Snapshot{}, err
	}
	s := lease.Snapshot{Server: m.name(), Wait: max(time.Until(m.ready), 0)}
	if !m.noClock {
		s.Now = m.now().UnixMilli()
	}
	if m.head != nil {
		h := *m.head
		s.Head = &h
	}
	for _, r := range m.records {
		r.Live = r.Kind == lease.KindFunctions || r.Kind == lease.KindLease && r.Until.After(m.now())
		s.Records = append(s.Records, r)
	}
	slices.SortFunc(s.Records, func(a, b lease.Record) int { return cmp.Compare(a.Node, b.Node) })
	return s, nil
}

// Found implements lease.Store.
func (m *Memory) Found(ctx context.Context, old string, head lease.Head, wait time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	era := ""
	if m.head != nil {
		era = m.head.Era
	}
	if era != old {
		return lease.ErrChanged
	}
	m.head, m.ready = &head, time.Now().Add(wait)
	return nil
}

// Swap implements lease.Store.
func (m *Memory) Swap(ctx context.Context, s lease.Swap) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if m.head == nil || m.head.Era != s.Era || m.head.Server != m.name() {
		return 0, lease.ErrEra
	}
	old, now := m.records[s.Node], m.now()
	if !slices.Contains(s.Expect, old.Token) {
		return 0, lease.ErrChanged
	}
	r := lease.Record{Node: s.Node, Kind: s.Kind, Token: s.Token, Holder: s.Holder, Mark: max(s.Mark, old.Mark),
		Every: s.Every, TTL: s.TTL, Since: now, Until: now.Add(s.TTL)}
	if s.Renew {
		r.Since = old.Since
	}
	m.records[s.Node] = r
	if m.noClock {
		return 0, nil
	}
	return now.UnixMilli(), nil
}

// Close implements lease.Store.
func (m *Memory) Close() error { return nil }
