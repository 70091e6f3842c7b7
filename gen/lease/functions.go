package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
)

// Functions says which node a database's server functions shall have.
type Functions struct {
	// Database is the key of the database: what tells it from all others.
	Database string
	// Node is the number that they have, or shall have; -1 for any.
	Node int
	// Was is the key that the database had before it was moved, restored or
	// upgraded: its number is taken over. "" for none.
	Was string
	// Fresh takes a number that the database does not have yet.
	Fresh bool
}

// ClaimFunctions gives the functions of a database a node of their own, for good:
// the one that they have there already, or the highest that was never used. It
// fails with a *HeldError where a given one is another database's or a live
// lease's, with an *ExhaustedError where there is none left, and with a
// *WaitError while the registry is in doubt, when others' records may be missing.
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
		if rec, ok := s.record(node); ok && rec.Kind == KindFunctions && rec.Holder == f.Database {
			return node, nil
		}
		if s.Wait > 0 && (r.ID != "" || len(s.Records) > 0) && f.Node < 0 {
			return 0, &WaitError{s.Wait}
		}
		_, err = r.Store.Swap(ctx, Swap{Era: s.Head.Era, Expect: s.expect(node), Node: node, Kind: KindFunctions,
			Token: newToken(), Holder: f.Database})
		if !errors.Is(err, ErrChanged) && !errors.Is(err, ErrEra) {
			return node, err
		}
	}
}

// functionsNode chooses the node: the given one, the one that the database has,
// or the highest that nobody ever had.
func (s Snapshot) functionsNode(f Functions) (int, error) {
	if f.Node >= 0 {
		rec, _ := s.record(f.Node)
		if rec.Live && !(rec.Kind == KindFunctions && (rec.Holder == f.Database || f.Was != "" && rec.Holder == f.Was)) {
			return 0, &HeldError{rec}
		}
		return f.Node, nil
	}
	if !f.Fresh {
		for _, rec := range s.Records {
			if rec.Kind == KindFunctions && rec.Holder == f.Database {
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
