package lease_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

var (
	seed   = flag.Uint64("seed", 0, "seed of the random runs; 0 draws one")
	worlds = flag.Int("worlds", 12, "number of random runs of each kind")
)

// TestRandomWorlds lets some processes live through hours of random trouble, in
// a time of their own, and holds that no id is minted twice. Its seed is printed
// and repeats a run.
//
// With a registry that loses nothing clocks may do what they like. Where it may
// lose data, time has to help: then all clocks, the registry's too, stay within
// some seconds of one another.
func TestRandomWorlds(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	var minted atomic.Int64
	t.Cleanup(func() {
		if per := minted.Load() / int64(*worlds); per < 300 {
			t.Errorf("only %d batches a world were minted", per)
		}
	})
	for i := range *worlds {
		for _, loses := range []bool{false, true} {
			n := first + uint64(i)
			t.Run(fmt.Sprintf("seed %d, loses %t", n, loses), func(t *testing.T) {
				world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
					n := randomWorld(t, rand.New(rand.NewPCG(n, 0)), registry, ids, loses)
					minted.Add(n)
				})
			})
		}
	}
}

func randomWorld(t *testing.T, r *rand.Rand, registry *leasetest.Memory, ids *idSet, loses bool) (minted int64) {
	if r.IntN(3) == 0 {
		registry.StopClock()
	}
	parties := make([]*party, 5)
	for i := range parties {
		p := newParty(t, fmt.Sprint("p", i), registry, ids)
		// Fewer nodes than processes at times, so that they take over from one another.
		p.config.First, p.config.Last = 0, 3
		if r.IntN(4) == 0 {
			p.config.First, p.config.Last = i, i
		}
		p.config.Registry.ID = ""
		parties[i] = p
	}
	defer func() {
		for _, p := range parties {
			p.mend()
			p.end()
		}
	}()
	most := int64(2 * time.Hour)
	if loses {
		most = int64(4 * time.Second)
	}
	failOver := func() {}
	for range 2500 {
		time.Sleep(time.Duration(r.Int64N(int64(1500 * time.Millisecond))))
		p := parties[r.IntN(len(parties))]
		switch n := r.IntN(100); {
		case n < 6 && p.k == nil:
			_ = p.begin()
		case n < 7:
			p.kill()
		case n < 8:
			p.mend()
			p.end()
		case n < 12:
			p.cut(leasetest.Fate(1 + r.IntN(2)))
		case n < 14:
			own := rand.New(rand.NewPCG(r.Uint64(), 0)) // it is asked by the party's goroutine
			p.store.Set(func(string) leasetest.Fate { return leasetest.Fate(own.IntN(3)) })
		case n < 22:
			p.mend()
		case n < 24:
			p.offset.Store((r.Int64N(2*most) - most) / (1 + 499*r.Int64N(2)))
		case n < 27:
			p.offset.Store(0)
		case n < 28 && !loses:
			registry.Step(time.Duration(r.Int64N(2*most) - most))
		case n < 28:
			switch r.IntN(4) {
			case 0:
				registry.Empty()
			case 1:
				failOver()
				failOver = func() {}
			default:
				failOver = registry.Save()
			}
		}
		for _, p := range parties {
			batch := 1 + r.IntN(20)
			if r.IntN(50) == 0 {
				batch = 20_000
			}
			if _, err := p.mint(batch); err == nil {
				minted++
			}
		}
	}
	return minted
}
