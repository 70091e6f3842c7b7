package leasetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/gen/lease"
)

// A Subject is a kind of store that is tested.
type Subject struct {
	// New opens an empty registry of a test's own, to be closed by the test.
	New func(t *testing.T) lease.Store
	// Again opens another connection to the registry that New opened last for t;
	// nil where there is only one party by nature.
	Again func(t *testing.T, s lease.Store) lease.Store
	// Empty loses the registry's data.
	Empty func(t *testing.T, s lease.Store)
	// Clock is set where the store tells the time.
	Clock bool
	// Nodes are numbers that the store can hold; nil means all.
	Nodes []int
}

// node is the i-th number that is used in a test.
func (s Subject) node(i int) int {
	if s.Nodes != nil {
		return s.Nodes[i]
	}
	return i
}

// Run holds a store to what lease.Store says of it.
func Run(t *testing.T, s Subject) {
	t.Run("contract", s.contract)
	if s.Again != nil {
		t.Run("concurrent", s.concurrent)
	}
	t.Run("holding", s.holding)
	for call := range 8 {
		for _, fate := range []Fate{Lost, Unproven} {
			t.Run(fmt.Sprintf("call %d fails, fate %d", call, fate), func(t *testing.T) { s.failing(t, call, fate) })
		}
	}
}

const wait = time.Minute

func (s Subject) contract(t *testing.T) {
	store := s.New(t)
	ctx := t.Context()
	first := s.load(t, store)
	if first.Head != nil || len(first.Records) != 0 || first.Server == "" || first.Copied {
		t.Fatalf("an empty registry holds %+v", first)
	}
	swap := lease.Swap{Era: "e1", Expect: []string{""}, Node: s.node(0), Kind: lease.KindLease, Token: "t1", Holder: "me",
		Mark: 5000, Every: 5 * time.Second, TTL: time.Hour}
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	do := func(w lease.Swap) error {
		now, err := store.Swap(ctx, w)
		if err == nil && (now != 0) != s.Clock {
			t.Errorf("the store's clock is %d", now)
		}
		return err
	}
	check("Swap without a head", do(swap), lease.ErrEra)
	head := lease.Head{ID: "r", Era: "e1", Server: first.Server, Floor: 77}
	check("Found behind an era that is not there", store.Found(ctx, "e0", head, 0), lease.ErrChanged)
	check("Found", store.Found(ctx, "", head, 0), nil)
	check("Found again", store.Found(ctx, "", head, 0), lease.ErrChanged)
	if got := s.load(t, store); got.Head == nil || *got.Head != head || got.Wait != 0 {
		t.Fatalf("got %+v, wait %s", got.Head, got.Wait)
	}

	check("Swap expecting a record", do(with(swap, func(w *lease.Swap) { w.Expect = []string{"t0"} })), lease.ErrChanged)
	check("Swap", do(swap), nil)
	check("Swap again", do(swap), lease.ErrChanged)
	rec := s.record(t, store)
	if want := (lease.Record{Node: s.node(0), Kind: lease.KindLease, Token: "t1", Holder: "me", Mark: 5000, Every: 5 * time.Second,
		TTL: time.Hour, Since: rec.Since, Until: rec.Until, Live: true}); rec != want {
		t.Errorf("got %+v, want %+v", rec, want)
	}
	if d := rec.Until.Sub(rec.Since); d < time.Hour-time.Second || d > time.Hour+time.Second || time.Since(rec.Since).Abs() > time.Minute {
		t.Errorf("since %s until %s", rec.Since, rec.Until)
	}
	renewal := with(swap, func(w *lease.Swap) {
		w.Expect, w.Token, w.Mark, w.Renew = []string{"t0", "t1", "t9"}, "t2", 4000, true
	})
	check("renewal", do(renewal), nil)
	since := rec.Since
	if rec = s.record(t, store); rec.Token != "t2" || rec.Mark != 5000 || !rec.Since.Equal(since) || !rec.Live {
		t.Errorf("after a renewal with a lower mark: %+v", rec)
	}
	check("renewal of an older copy", do(renewal), lease.ErrChanged)
	check("Swap of another era", do(with(renewal, func(w *lease.Swap) { w.Era, w.Expect = "e2", []string{"t2"} })), lease.ErrEra)
	check("free", do(with(renewal, func(w *lease.Swap) {
		w.Kind, w.Expect, w.Token, w.TTL, w.Mark = lease.KindFree, []string{"t2"}, "t3", 0, 6000
	})), nil)
	if rec = s.record(t, store); rec.Live || rec.Kind != lease.KindFree || rec.Mark != 6000 {
		t.Errorf("after it was freed: %+v", rec)
	}
	check("functions", do(with(swap, func(w *lease.Swap) {
		w.Kind, w.Expect, w.Token, w.TTL, w.Holder = lease.KindFunctions, []string{"t3"}, "t4", 0, "db"
	})), nil)
	if rec = s.record(t, store); !rec.Live || rec.Kind != lease.KindFunctions || rec.Holder != "db" {
		t.Errorf("of functions: %+v", rec)
	}
	check("a short lease", do(with(swap, func(w *lease.Swap) { w.Expect, w.Token, w.TTL = []string{"t4"}, "t5", time.Second })), nil)
	for deadline := time.Now().Add(20 * time.Second); s.record(t, store).Live; {
		if time.Now().After(deadline) {
			t.Fatal("the lease does not expire")
		}
		time.Sleep(50 * time.Millisecond) // only the store knows when it expires
	}

	next := lease.Head{ID: "r", Era: "e2", Server: first.Server, Floor: 88}
	check("a new era", store.Found(ctx, "e1", next, wait), nil)
	got := s.load(t, store)
	if *got.Head != next || got.Wait <= 0 || got.Wait > wait+time.Second || len(got.Records) != 1 || got.Records[0].Token != "t5" {
		t.Errorf("in a new era: %+v, wait %s, %+v", got.Head, got.Wait, got.Records)
	}
	check("Swap of the old era", do(with(swap, func(w *lease.Swap) { w.Expect = []string{"t5"} })), lease.ErrEra)
	check("an era of another server", store.Found(ctx, "e2", lease.Head{ID: "r", Era: "e3", Server: "another"}, 0), nil)
	check("Swap while the head is another server's", do(with(swap, func(w *lease.Swap) { w.Era, w.Expect = "e3", []string{"t5"} })), lease.ErrEra)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := store.Load(cancelled); err == nil {
		t.Error("Load does not obey its context")
	}
	s.load(t, store) // and works again
	if s.Empty != nil {
		s.Empty(t, store)
		if got := s.load(t, store); got.Head != nil || len(got.Records) != 0 {
			t.Errorf("after its data was lost: %+v", got)
		}
		check("Swap after the data was lost", do(with(swap, func(w *lease.Swap) { w.Era = "e3" })), lease.ErrEra)
	}
}

// Of many who want the same at once one gets it.
func (s Subject) concurrent(t *testing.T) {
	store := s.New(t)
	r := &lease.Registry{Store: store}
	snap, err := r.Init(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	const parties = 8
	stores := make([]lease.Store, parties)
	for i := range stores {
		stores[i] = s.Again(t, store)
	}
	expect := ""
	for round := range 10 {
		var wg sync.WaitGroup
		winners := make([]string, parties)
		for i := range stores {
			wg.Go(func() {
				token := fmt.Sprintf("round %d party %d", round, i)
				_, err := stores[i].Swap(t.Context(), lease.Swap{Era: snap.Head.Era, Expect: []string{expect}, Node: s.node(0),
					Kind: lease.KindLease, Token: token, Holder: "x", Mark: int64(i), TTL: time.Minute})
				switch {
				case err == nil:
					winners[i] = token
				case !errors.Is(err, lease.ErrChanged):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		winners = slices.DeleteFunc(winners, func(w string) bool { return w == "" })
		if got := s.record(t, store).Token; len(winners) != 1 || winners[0] != got {
			t.Fatalf("round %d: winners %v, the record is of %q", round, winners, got)
		}
		expect = winners[0]
	}
	eras := make([]string, parties)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			head := *snap.Head
			head.Era = fmt.Sprint("era ", i)
			if err := stores[i].Found(t.Context(), snap.Head.Era, head, 0); err == nil {
				eras[i] = head.Era
			} else if !errors.Is(err, lease.ErrChanged) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	eras = slices.DeleteFunc(eras, func(e string) bool { return e == "" })
	if got := s.load(t, store).Head.Era; len(eras) != 1 || eras[0] != got {
		t.Errorf("eras %v were begun, it is %s", eras, got)
	}
}

// holding is a lease from end to end: held, refused to others, freed, and taken
// over above its mark.
func (s Subject) holding(t *testing.T) {
	store := s.New(t)
	if _, err := (&lease.Registry{Store: store}).Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	one, first := s.hold(t, store, "one")
	last := mint(t, first)
	if s.Again != nil {
		c, _ := s.config(s.Again(t, store), "two")
		_, err := lease.Hold(t.Context(), c)
		var held *lease.HeldError
		if !errors.As(err, &held) || held.Holder != "one" {
			t.Errorf("a second holder: got %v", err)
		}
	}
	if err := one.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := first.Snowflake(); !errors.Is(err, gen.ErrNoNode) {
		t.Errorf("after Close: got %v", err)
	}
	two, second := s.hold(t, store, "two")
	defer two.Close(context.Background())
	if id := mint(t, second); id <= last {
		t.Errorf("got %d after %d of the holder before", id, last)
	}
}

// failing is the same with one call of the store failing.
func (s Subject) failing(t *testing.T, call int, fate Fate) {
	n := -1
	store := NewFaulty(s.New(t), nil)
	store.Set(func(string) Fate {
		if n++; n == call {
			return fate
		}
		return Done
	})
	for {
		if _, err := (&lease.Registry{Store: store}).Init(t.Context(), false); err == nil {
			break
		} else if !errors.Is(err, ErrInjected) {
			t.Fatal(err)
		}
	}
	var last int64
	for holder := range 3 {
		k, g := s.hold(t, store, fmt.Sprint("holder ", holder))
		id := mint(t, g)
		if id <= last {
			t.Errorf("got %d after %d of the holder before", id, last)
		}
		last = id
		if err := k.Close(t.Context()); err != nil {
			// The record stays; it is taken over as one that expired.
			if _, err := (&lease.Registry{Store: store}).Release(t.Context(), s.node(0), false); err != nil && !errors.As(err, new(*lease.FreeError)) {
				t.Fatal(err)
			}
		}
	}
}

func (s Subject) config(store lease.Store, name string) (lease.Config, *gen.Generator) {
	guard := new(gen.Guard)
	g, err := gen.New(gen.Config{Leased: true, Guard: guard})
	if err != nil {
		panic(err)
	}
	return lease.Config{Registry: &lease.Registry{Store: store}, Minter: g, First: s.node(0), Last: s.node(0), Holder: name, Guard: guard,
		Heartbeat: 300 * time.Millisecond}, g
}

// hold holds the subject's first node, and waits until it is held.
func (s Subject) hold(t *testing.T, store lease.Store, name string) (*lease.Keeper, *gen.Generator) {
	t.Helper()
	c, g := s.config(store, name)
	k, err := lease.Hold(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); g.Node() < 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no node is held: %v", k.Status().Err)
		}
	}
	return k, g
}

func mint(t *testing.T, g *gen.Generator) int64 {
	t.Helper()
	id, err := g.Snowflake()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (s Subject) load(t *testing.T, store lease.Store) lease.Snapshot {
	t.Helper()
	snap, err := store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func (s Subject) record(t *testing.T, store lease.Store) lease.Record {
	t.Helper()
	snap := s.load(t, store)
	if len(snap.Records) != 1 {
		t.Fatalf("got %d records, want one", len(snap.Records))
	}
	return snap.Records[0]
}

// with is a changed copy of a swap.
func with(s lease.Swap, change func(*lease.Swap)) lease.Swap {
	s.Expect = slices.Clone(s.Expect)
	change(&s)
	return s
}
