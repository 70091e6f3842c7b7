package lease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
)

// Functions says which node a database's server functions shall have.
type Functions struct {
	// Database is the key of the database: what tells it from all others. Name is
	// for people.
	Database, Name string
	// Node is the number that they have, or shall have; -1 for any.
	Node int
	// Was is the key that the database had before it was moved, restored or
	// upgraded: its number is taken over. "" for none.
	Was string
	// Fresh takes a number that the database does not have yet.
	Fresh bool
	// Weak is set where another database may have the same key: then a number is the
	// database's only if that records it, Recorded of the registry with id Registry.
	Weak     bool
	Recorded int
	Registry string
	// Now is the clock that the functions go by, in ms since 1970; 0 means the store's.
	Now int64
}

// ClaimFunctions gives the functions of a database a node of their own, for good:
// the one that they have there already, or the highest that was never used. It
// fails with a *HeldError where a given one is another database's or a live
// lease's, with a *RecentError where it was minted under a moment ago, and with an
// *ExhaustedError where there is none left. While records of other databases may
// be missing a number that is not given fails with a *WaitError, or with a
// *DataLostError where somebody has to look after it.
func (r *Registry) ClaimFunctions(ctx context.Context, f Functions) (node int, err error) {
	for {
		s, err := r.Open(ctx)
		if err != nil {
			return 0, err
		}
		node, err := s.functionsNode(f)
		if err != nil {
			return 0, err
		}
		if rec, ok := s.record(node); ok && s.has(f, rec) {
			return node, nil
		}
		now := r.ms(s)
		if f.Now != 0 {
			now = min(now, f.Now)
		}
		if f.Node < 0 {
			if err := s.complete(); err != nil {
				return 0, err
			}
		} else if rec, _ := s.record(node); rec.Mark > now-functionsMark.Milliseconds() && !rec.functionsOf(f.Was) {
			return 0, &RecentError{Node: node, Left: time.Duration(rec.Mark-now)*time.Millisecond + functionsMark}
		}
		_, err = r.Store.Swap(ctx, Swap{Era: s.Head.Era, Expect: s.expect(node), Node: node, Kind: KindFunctions,
			Token: newToken(), Holder: f.holder()})
		if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrEra) {
			return node, err
		}
	}
}

// A RecentError says that ids of a node may be as late as what functions would
// mint under it.
type RecentError struct {
	Node int
	Left time.Duration
}

func (e *RecentError) Error() string {
	return fmt.Sprintf("node %d was minted under until a moment ago, and functions keep no mark that would keep them from the same ids: choose another, or try again in %s",
		e.Node, e.Left.Round(time.Second))
}

// complete fails where records of functions may be missing, so that a number that
// seems free could be another database's.
func (s Snapshot) complete() error {
	switch {
	case strings.HasPrefix(s.Head.Era, eraLost):
		return &DataLostError{}
	case strings.HasPrefix(s.Head.Era, eraDoubt) && s.Wait > 0:
		return &WaitError{s.Wait} // in which proxies write the missing ones
	}
	return nil
}

// holder is what stands in the record.
func (f Functions) holder() string {
	return strings.TrimSuffix(f.Database+", named "+f.Name, ", named ")
}

// has tells whether a record is of the database's functions.
func (s Snapshot) has(f Functions, rec Record) bool {
	return rec.functionsOf(f.Database) && (!f.Weak || f.Registry == s.Head.ID && f.Recorded == rec.Node)
}

// functionsOf tells whether a record is of the functions of a database.
func (r Record) functionsOf(database string) bool {
	return r.Kind == KindFunctions && database != "" && (r.Holder == database || strings.HasPrefix(r.Holder, database+", named "))
}

// A DataLostError says that a registry has lost the records of databases'
// functions.
type DataLostError struct{}

func (*DataLostError) Error() string {
	return "the registry has lost its data, so that a number which seems free may be another database's: run pgidproxy install once more " +
		"on all databases that use it, which gives them back their numbers, then pgidproxy nodes init"
}

// functionsNode chooses the node: the given one, the one that the database has,
// or the highest that nobody ever had.
func (s Snapshot) functionsNode(f Functions) (int, error) {
	if f.Node >= 0 {
		rec, _ := s.record(f.Node)
		if rec.Live && !s.has(f, rec) && !rec.functionsOf(f.Was) {
			return 0, &HeldError{rec}
		}
		return f.Node, nil
	}
	if !f.Fresh {
		for _, rec := range s.Records {
			if s.has(f, rec) {
				return rec.Node, nil
			}
		}
	}
	// Server functions keep no mark: a number that was used before could be one
	// whose ids are ahead of the clock.
	for node := gen.MaxNode; node > 0; node-- {
		if _, used := s.record(node); !used {
			return node, nil
		}
	}
	return 0, &ExhaustedError{First: 1, Last: gen.MaxNode}
}

// A WaitError says that a registry hands out nothing yet.
type WaitError struct{ Wait time.Duration }

func (e *WaitError) Error() string {
	return fmt.Sprintf("the registry is new, or was restarted, restored or failed over, and hands out nothing for another %s, "+
		"until all holders of before have stopped: wait, or skip this with pgidproxy nodes init where there are none", e.Wait.Round(time.Second))
}
