package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Defaults of a lease's times.
const (
	DefaultTTL       = 30 * time.Second
	DefaultHeartbeat = 5 * time.Second
	DefaultMarkAhead = 12 * time.Second
)

// An OtherRegistryError says that a registry is not the one that is expected.
type OtherRegistryError struct{ Want, Got string }

func (e *OtherRegistryError) Error() string {
	return fmt.Sprintf("this is registry %s, but the database records registry %s: node numbers of two registries collide. "+
		"use the --registry that it was installed with, or move the database to this one with pgidproxy install --registry URL --new-function-node; "+
		"one that was only set up in place of it, since it had lost its data, gets its id with pgidproxy nodes init --id %[2]s", e.Got, e.Want)
}

// An EmptyRegistryError says that nothing is where a registry is expected.
type EmptyRegistryError struct{ ID string }

func (e *EmptyRegistryError) Error() string {
	return fmt.Sprintf("this registry is empty, but the database records registry %s: either it is not the one that the database was installed with "+
		"(give that with --registry), or it has lost its data, which a proxy that still runs mends, or else pgidproxy nodes init --id %[1]s", e.ID)
}

// A CopiedError says that a registry came here with a copy of its database.
type CopiedError struct{ ID string }

func (e *CopiedError) Error() string {
	return fmt.Sprintf("registry %s came here with a copy of the database that it was made in, and both would hand out the same nodes: "+
		"run pgidproxy nodes init where the other one is no more (moved, restored, upgraded), or pgidproxy nodes init --new-registry and "+
		"pgidproxy install --new-function-node where it lives on", e.ID)
}

// A Registry is what a Store holds, with its meaning.
type Registry struct {
	Store Store
	// ID is the registry that is expected; "" takes any, and an empty one gets an
	// id of its own.
	ID string
	// Seen is set by who has seen that ID in this very store: if it is empty now, it
	// has lost its data, and gets its id back. For all others it may be another
	// store, at a wrong URL.
	Seen bool
	// TTL is the longest one that is known, for how long a registry in doubt hands
	// out nothing; 0 means DefaultTTL.
	TTL time.Duration
	// Now is the wall clock in ns since 1970; nil means the system's.
	Now func() int64
}

// Open reads the registry and sees to it that its head is of the server that
// serves it. Where it is not, a new era begins with a wait.
func (r *Registry) Open(ctx context.Context) (Snapshot, error) {
	for {
		s, err := r.Store.Load(ctx)
		if err != nil {
			return s, err
		}
		switch {
		case r.ID == "":
		case s.Head == nil && !r.Seen:
			return s, &EmptyRegistryError{ID: r.ID}
		case s.Head != nil && s.Head.ID != r.ID:
			return s, &OtherRegistryError{Want: r.ID, Got: s.Head.ID}
		}
		if s.Copied {
			return s, &CopiedError{ID: s.Head.ID}
		}
		if s.Head != nil && s.Head.Server == s.Server {
			return s, nil
		}
		// All terms start above the end of the wait, by the store's clock where it has
		// one, and above where those of the era before did: that clock may have been set back.
		wait := r.longest(s)
		floor := r.ms(s) + wait.Milliseconds()
		if s.Head != nil {
			floor = max(floor, s.Head.Floor)
		}
		if err := r.begin(ctx, s, wait, floor); err != nil && !errors.Is(err, ErrChanged) {
			return s, err
		}
	}
}

// Init begins a new era without a wait, which is safe where no holder of a node
// is left and none was within the last TTL, as in a registry that is really new.
// renew gives the registry a new id, as a copy of another one needs; one without
// records, on which nobody relies yet, gets the one that is expected.
func (r *Registry) Init(ctx context.Context, renew bool) (Snapshot, error) {
	for {
		s, err := r.Store.Load(ctx)
		if err != nil {
			return s, err
		}
		floor := r.past(s)
		switch {
		case s.Head == nil:
		case r.ID != "" && s.Head.ID != r.ID && len(s.Records) > 0:
			return s, &OtherRegistryError{Want: r.ID, Got: s.Head.ID}
		case r.ID != "" && s.Head.ID != r.ID: // set up in place of one that had lost its data
			s.Head.ID, floor = r.ID, r.ms(s)
		case renew:
			s.Head.ID = newID()
		}
		if err := r.begin(ctx, s, 0, floor); err == nil {
			return r.Store.Load(ctx)
		} else if !errors.Is(err, ErrChanged) {
			return s, err
		}
	}
}

// past is the floor of an era that begins without a wait: now, where records may
// be missing or older than the last ones, and otherwise what it was. One in the
// future is of a clock that was wrong: no holder is left that has come so far.
func (r *Registry) past(s Snapshot) int64 {
	switch {
	case s.Head == nil && r.ID == "":
		return 0
	case s.Head != nil && s.Head.Server == s.Server && strings.HasPrefix(s.Head.Era, eraNew):
		return min(s.Head.Floor, r.ms(s))
	}
	return r.ms(s)
}

// begin starts an era behind the one of s, with the head's id.
func (r *Registry) begin(ctx context.Context, s Snapshot, wait time.Duration, floor int64) error {
	head, old := Head{ID: r.ID}, ""
	if s.Head != nil {
		head, old = *s.Head, s.Head.Era
	}
	kind := eraDoubt
	switch {
	case head.ID == "":
		head.ID = newID()
		kind = eraNew
	case s.Head == nil || strings.HasPrefix(old, eraLost):
		kind = eraLost
	}
	if wait == 0 {
		kind = eraNew
	}
	head.Era, head.Server, head.Floor = kind+newToken(), s.Server, floor
	return r.Store.Found(ctx, old, head, wait)
}

// How an era began is the beginning of its name.
const (
	eraNew   = "new-"   // empty and never seen before, or as somebody has vouched
	eraLost  = "lost-"  // empty, and there was a registry before
	eraDoubt = "doubt-" // with records that may be older than the last ones
)

// longest is the longest TTL that is known.
func (r *Registry) longest(s Snapshot) time.Duration {
	longest := max(r.TTL, DefaultTTL)
	for _, rec := range s.Records {
		longest = max(longest, rec.TTL)
	}
	return longest
}

// ms is the time in ms since 1970, by the store's clock where it has one.
func (r *Registry) ms(s Snapshot) int64 {
	if s.Now != 0 {
		return s.Now
	}
	return r.wall()
}

func (r *Registry) wall() int64 {
	if r.Now == nil {
		return time.Now().UnixMilli()
	}
	return r.Now() / int64(time.Millisecond)
}

// Release frees a node, whoever holds it, with its mark kept: a holder that is
// still there notices at its next heartbeat, and mints below its mark till then.
// It returns the record as it was, and fails with a *FreeError where nobody holds
// the node. The node of a database's functions is freed only if functions is set,
// since they cannot notice: its mark is put a minute ahead.
func (r *Registry) Release(ctx context.Context, node int, functions bool) (Record, error) {
	for {
		s, err := r.Store.Load(ctx)
		if err == nil && s.Head == nil {
			// To be set up by who knows its id.
			return Record{Node: node}, &FreeError{Node: node}
		}
		if err == nil {
			s, err = r.Open(ctx)
		}
		if err != nil {
			return Record{}, err
		}
		rec, ok := s.record(node)
		if !ok || rec.Kind == KindFree {
			return rec, &FreeError{Node: node}
		}
		mark := rec.Mark
		if rec.Kind == KindFunctions {
			if !functions {
				return rec, &HeldError{Record: rec}
			}
			mark = max(mark, r.ms(s)+functionsMark.Milliseconds())
		}
		_, err = r.Store.Swap(ctx, Swap{Era: s.Head.Era, Expect: []string{rec.Token}, Node: node, Kind: KindFree,
			Token: newToken(), Holder: rec.Holder, Mark: mark, Every: rec.Every, Renew: true})
		if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrEra) {
			return rec, err
		}
	}
}

// functionsMark is how far server functions may be ahead of the store's clock,
// generously, when their number is given to others.
const functionsMark = time.Minute

// record returns the record of a node.
func (s Snapshot) record(node int) (Record, bool) {
	for _, rec := range s.Records {
		if rec.Node == node {
			return rec, true
		}
	}
	return Record{Node: node}, false
}

// expect is what a Swap on the record expects: its token, or that there is none.
func (s Snapshot) expect(node int) []string {
	rec, _ := s.record(node)
	return []string{rec.Token}
}

// newToken draws a token. It comes from the kernel at each call, so that a
// process that was copied with its memory draws others than its original.
func newToken() string { return rand.Text() }

// newID draws the id of a registry.
func newID() string { return rand.Text() }

// A FreeError says that nobody holds a node.
type FreeError struct{ Node int }

func (e *FreeError) Error() string { return fmt.Sprintf("node %d is free already", e.Node) }

// A HeldError says that a node is held by another.
type HeldError struct{ Record }

func (e *HeldError) Error() string {
	if e.Kind == KindFunctions {
		return fmt.Sprintf("node %d is that of the server functions of a database (%s), for good: choose another", e.Node, e.Holder)
	}
	return fmt.Sprintf("node %d is held by %s since %s, until %s at least: give every proxy a number of its own, or end the other one",
		e.Node, e.Holder, stamp(e.Since), stamp(e.Until))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// An ExhaustedError says that all nodes of a range are held.
type ExhaustedError struct {
	First, Last int
	Holders     int // live leases among them; the others are functions'
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("the pool is exhausted: all nodes from %d to %d are held (%d leases, %d databases' functions). "+
		"pgidproxy nodes list shows by whom; end what is not needed, widen --node-range, or wait until leases of what has died expire",
		e.First, e.Last, e.Holders, e.Last-e.First+1-e.Holders)
}
