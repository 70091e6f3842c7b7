package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
)

// oneRecord is a store of one node, enough for a heartbeat.
type oneRecord struct {
	Store
	rec Record
}

func (s *oneRecord) Swap(_ context.Context, w Swap) (int64, error) {
	for _, token := range w.Expect {
		if token == s.rec.Token {
			s.rec.Token, s.rec.Mark = w.Token, w.Mark
			return time.Now().UnixMilli(), nil
		}
	}
	return 0, ErrChanged
}

// A holder that was cloned with its memory: at the next heartbeats one of both
// stops.
func TestClone(t *testing.T) {
	t.Parallel()
	for _, pending := range []string{"", "sent before the clone was made"} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)))
			store := &oneRecord{rec: Record{Token: "t"}}
			clone := func() (*Keeper, *gen.Generator) {
				g, err := gen.New(gen.Config{Leased: true, Guard: new(gen.Guard)})
				if err != nil {
					t.Fatal(err)
				}
				c := Config{Registry: &Registry{Store: store}, Minter: g}
				if err := c.check(); err != nil {
					t.Fatal(err)
				}
				party, err := new(gen.Guard).Enter("lease", "clone", false)
				if err != nil {
					t.Fatal(err)
				}
				k := &Keeper{c: c, party: party, start: time.Now(), node: 5, token: "t", pending: pending}
				k.mark = time.Now().UnixMilli()
				if err := k.confirm(k.mono(), 0, false); err != nil {
					t.Fatal(err)
				}
				return k, g
			}
			original, a := clone()
			copied, b := clone()
			if _, err := original.renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			if pending != "" {
				// The copy repeats what it believes to have sent, under the same token:
				// that is why the next one is drawn anew.
				if _, err := copied.renew(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			_, first := original.renew(t.Context())
			_, second := copied.renew(t.Context())
			var lost *LostError
			if (first == nil) == (second == nil) || !errors.As(errors.Join(first, second), &lost) {
				t.Fatalf("got %v and %v, want one to lose the node", first, second)
			}
			if (a.Node() < 0) == (b.Node() < 0) {
				t.Errorf("nodes %d and %d", a.Node(), b.Node())
			}
			original.drop()
			copied.drop()
		})
	}
}
