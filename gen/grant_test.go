package gen

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestGrant(t *testing.T) {
	t.Parallel()
	c := newClock(1000)
	g := newGenerator(t, c, Config{Leased: true, ZeroStart: true})
	refused := func(want error) {
		t.Helper()
		if _, err := g.Snowflake(); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		if err := g.WaitReady(t.Context()); !errors.Is(err, want) {
			t.Errorf("WaitReady: got %v, want %v", err, want)
		}
	}
	refused(ErrNoNode)
	if g.Node() != -1 {
		t.Errorf("got node %d before a grant", g.Node())
	}
	mustUUID(t, g) // UUIDs need no node

	if err := g.Grant(5, Epoch+1200, Epoch+1201); err != nil {
		t.Fatal(err)
	}
	if id := mustSnowflake(t, g); id != 1200<<22|5<<12 || g.Node() != 5 {
		t.Errorf("got %x of node %d, want the first id of the floor", id, g.Node())
	}
	if err := g.Snowflakes(make([]int64, 4096)); !errors.Is(err, ErrMark) {
		t.Errorf("a batch across the mark: got %v", err)
	}
	if err := g.Snowflakes(make([]int64, 4095)); err != nil {
		t.Errorf("a batch up to the mark: %v", err)
	}
	refused(ErrMark)
	g.Extend(Epoch + 1100) // lower: nothing
	refused(ErrMark)
	g.Extend(Epoch + 1300)
	if id := mustSnowflake(t, g); id>>22 != 1201 {
		t.Errorf("got an id of %d, want 1201", id>>22)
	}
	c.set(1300)
	refused(ErrMark) // the clock is past the mark
	g.Revoke()
	g.Extend(Epoch + 5000)
	refused(ErrNoNode)

	// Another node goes on above what this process gave out before.
	if err := g.Grant(6, Epoch, Epoch+9000); err != nil {
		t.Fatal(err)
	}
	c.set(1000)
	if id := mustSnowflake(t, g); id>>22 != 1201 || id>>12&MaxNode != 6 {
		t.Errorf("got an id of %d, node %d, want 1201, 6", id>>22, id>>12&MaxNode)
	}
	if err := g.Grant(6, Epoch+1000+16_000, Epoch+99_000); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Snowflake(); !errors.Is(err, ErrAhead) {
		t.Errorf("a floor beyond the run-ahead: got %v", err)
	}
}

// Whatever is granted while ids are minted, each is within a grant of its node,
// and none is repeated.
func TestGrantWhileMinting(t *testing.T) {
	t.Parallel()
	g := newGenerator(t, nil, Config{Leased: true, RunAhead: time.Hour})
	start := time.Now().UnixMilli()
	const nodes, step = 100, 50 // ms granted each
	var wg sync.WaitGroup
	done := make(chan struct{})
	minted := make([][]int64, 4)
	for i := 1; i < len(minted); i++ {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				ids := make([]int64, 8)
				if g.Snowflakes(ids) == nil {
					minted[i] = append(minted[i], ids...)
				}
			}
		})
	}
	for n := range int64(nodes) {
		if err := g.Grant(int(n), start+n*step, start+n*step+step/2); err != nil {
			t.Fatal(err)
		}
		g.Extend(start + n*step + step)
		for range 1000 {
			if id, err := g.Snowflake(); err == nil {
				minted[0] = append(minted[0], id)
			}
		}
		g.Revoke()
	}
	close(done)
	wg.Wait()
	seen := map[int64]bool{}
	for _, ids := range minted {
		for _, id := range ids {
			node, ms := id>>12&MaxNode, id>>22+Epoch
			if ms < start+node*step || ms >= start+node*step+step {
				t.Fatalf("an id of node %d is of %d ms after its floor", node, ms-start-node*step)
			}
			if seen[id] {
				t.Fatalf("id %d twice", id)
			}
			seen[id] = true
		}
	}
	if len(seen) == 0 {
		t.Error("nothing was minted")
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	guard := new(Guard)
	c := newClock(1000)
	one, err := New(Config{Node: 1, Now: c.now, Guard: guard, Name: "the first", ZeroStart: true})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(config Config, want string) {
		t.Helper()
		config.Now, config.Guard = c.now, guard
		_, err := New(config)
		var second *SecondError
		if !errors.As(err, &second) || second.Holder != "the first" || second.Node != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	refused(Config{Node: 1, AllowMore: true}, "node 1 is held by another generator of this process (the first)")
	refused(Config{Node: 2}, "there is another generator in this process (the first)")
	refused(Config{Leased: true}, "there is another generator in this process (the first)")

	leased, err := New(Config{Leased: true, Now: c.now, Guard: guard, AllowMore: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := leased.Grant(1, Epoch, Epoch+99_000); err == nil {
		t.Error("a node was granted that another generator has")
	}
	if _, err := leased.Snowflake(); !errors.Is(err, ErrNoNode) {
		t.Errorf("got %v", err)
	}
	ids := make([]int64, 5000) // runs ahead of the clock
	if err := one.Snowflakes(ids); err != nil {
		t.Fatal(err)
	}
	one.Close()
	one.Close()
	if _, err := one.Snowflake(); !errors.Is(err, ErrNoNode) {
		t.Errorf("after Close: got %v", err)
	}
	leased.Close()
	again, err := New(Config{Node: 1, Now: c.now, Guard: guard})
	if err != nil {
		t.Fatalf("Close did not free the place: %v", err)
	}
	if id := mustSnowflake(t, again); id != ids[4999]+1 {
		t.Errorf("got %d after %d of the generator before", id, ids[4999])
	}
	// All of a process share one guard unless told otherwise.
	first, err := New(Config{Node: 9})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := New(Config{Node: 9}); err == nil || !strings.Contains(err.Error(), "made at grant_test.go:") {
		t.Errorf("got %v", err)
	}
}
