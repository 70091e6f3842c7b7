package rewrite

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/pgidproxy/pgidproxy/gen"
)

func TestCacheBounds(t *testing.T) {
	t.Parallel()
	id := NewCatalog(CatalogData{})
	basis := Basis{frame: id.facts.frame}
	c := newPlanCache(100)
	for i := range 1000 {
		c.put(id, Simple, fmt.Append(nil, i), &Plan{Basis: basis})
		c.get(id, Simple, []byte("0"))
	}
	if got := c.len(); got != 100 || len(c.plans) != 100 {
		t.Errorf("%d plans in the ring, %d in the map; want 100", got, len(c.plans))
	}
	if c.get(id, Simple, []byte("0")) == nil {
		t.Error("the plan that was used all the time is gone")
	}
	if c.get(id, Simple, []byte("999")) == nil || c.get(id, Simple, []byte("1")) != nil {
		t.Error("the last plan is gone, or the first unused one is there")
	}
	long := make([]byte, maxShape)
	wide := newPlanCache(1 << 20)
	for i := range 2 * maxPlanBytes / maxShape {
		long[0], long[1] = byte(i), byte(i>>8)
		wide.put(id, Simple, long, &Plan{Basis: basis})
	}
	if wide.bytes > maxPlanBytes || wide.len() < maxPlanBytes/maxShape/2 {
		t.Errorf("%d plans of %d bytes", wide.len(), wide.bytes)
	}
	n := wide.len()
	wide.put(id, Simple, make([]byte, maxShape+1), &Plan{})
	if wide.len() != n {
		t.Error("a plan with too long a key was kept")
	}
}

func TestCacheKeys(t *testing.T) {
	t.Parallel()
	a, b := NewCatalog(CatalogData{}), NewCatalog(CatalogData{})
	c := newPlanCache(10)
	plan := &Plan{Basis: Basis{frame: a.facts.frame}}
	c.put(a, Simple, []byte("x"), plan)
	if c.get(a, Simple, []byte("x")) != plan {
		t.Error("not found")
	}
	if c.get(b, Simple, []byte("x")) != nil || c.get(a, Extended, []byte("x")) != nil || c.get(a, Simple, []byte("xy")) != nil {
		t.Error("found under another key")
	}
}

func TestCacheIsShared(t *testing.T) {
	t.Parallel()
	r := New(Config{PlanCache: 20})
	catalogs := []*Catalog{benchCatalog(), benchCatalog()}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			var sc Scratch
			snow := []int64{int64(g)}
			for i := range 300 {
				text := fmt.Sprintf("insert into acct (id, a) values (next_snowflake(), c%d)", (i+g)%30)
				p := r.Plan(&sc, []byte(text), catalogs[i%2], Mode(i/2%2))
				want := strings.Replace(text, "next_snowflake()", fmt.Sprintf("%d::int8", g), 1)
				if got := string(p.AppendLiterals(nil, snow, nil)); got != want {
					t.Errorf("got %s, want %s", got, want)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := r.Plans(); n > 20 {
		t.Errorf("%d plans kept, want at most 20", n)
	}
}

// TestPlansDoNotGrow sends texts that differ in comments, constants, numbers of
// parameters and rows.
func TestPlansDoNotGrow(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	c := benchCatalog()
	var sc Scratch
	for i := range 1000 {
		text := fmt.Sprintf("insert into acct (id, a, b) values /* %d */ (next_snowflake(), 'v%d', $%d)%s -- %d", i, i, i+1,
			strings.Repeat(", (next_snowflake(), 'w', $1)", i%7+1), i)
		if p := r.Plan(&sc, []byte(text), c, Extended); p.Snowflakes != i%7+2 || p.MaxParam != i+1 {
			t.Fatalf("%s: %d ids, $%d", text, p.Snowflakes, p.MaxParam)
		}
	}
	if n := r.Plans(); n != 1 {
		t.Errorf("%d plans kept, want 1", n)
	}
	if hits, misses := r.Lookups(); hits != 999 || misses != 1 {
		t.Errorf("%d hits, %d misses; want 999, 1", hits, misses)
	}
}

func TestKnownShapeAllocatesNothing(t *testing.T) {
	c := benchCatalog()
	r := New(Config{})
	snow, uuids := make([]int64, 100), make([]gen.UUID, 100)
	for _, text := range []string{shortInsert, manyRows} {
		for _, m := range []Mode{Simple, Extended} {
			b := []byte(text)
			var sc Scratch
			var dst []byte
			var pos PositionMap
			n := testing.AllocsPerRun(100, func() {
				p := r.Plan(&sc, b, c, m)
				if !p.Replaces {
					t.Fatal("not replaced")
				}
				if m == Simple {
					dst = p.AppendLiterals(dst[:0], snow, uuids)
				} else {
					h, _ := p.Hide(0)
					dst = p.AppendParams(dst[:0], 1, h)
				}
				p.Positions(&pos)
			})
			if n != 0 {
				t.Errorf("%.30s, mode %d: %v allocations", text, m, n)
			}
		}
	}
}

// TestPlansForgetCatalogs holds that a plan does not keep the catalog alive
// that it was made for.
func TestPlansForgetCatalogs(t *testing.T) {
	t.Parallel()
	r := New(Config{})
	c := benchCatalog()
	old := weak.Make(c.facts)
	if !r.Plan(new(Scratch), []byte(shortInsert), c, Simple).Replaces {
		t.Fatal("not replaced")
	}
	c = nil
	for range 10 {
		if runtime.GC(); old.Value() == nil {
			break
		}
	}
	if old.Value() != nil || r.Plans() != 1 {
		t.Errorf("the catalog is kept by %d plans", r.Plans())
	}
}

// TestLongTextIsLeft: what would take long to parse is left to the server, but
// for rows that repeat.
func TestLongTextIsLeft(t *testing.T) {
	r, c := New(Config{}), testCatalog()
	var sc Scratch
	long := "SELECT next_snowflake()" + strings.Repeat(", a", maxPlanText/3)
	p := r.Plan(&sc, []byte(long), c, Simple)
	if calls := p.Calls(); p.Replaces || len(calls) != 1 || calls[0].Reason != TooLong {
		t.Errorf("replaced %v, calls %v", p.Replaces, calls)
	}
	rows := "INSERT INTO t VALUES (next_snowflake())" + strings.Repeat(", (next_snowflake())", maxPlanText/8)
	if p := r.Plan(&sc, []byte(rows), c, Simple); !p.Replaces {
		t.Error("rows that repeat are left")
	}
}

// TestFailureIsNotKept: a text that one bad constant makes wrong does not speak
// for its shape.
func TestFailureIsNotKept(t *testing.T) {
	r, c := New(Config{}), testCatalog()
	var sc Scratch
	if p := r.Plan(&sc, []byte(`SELECT next_snowflake(), E'\uZZZZ'`), c, Simple); p.Replaces {
		t.Error("replaced in a text that does not parse")
	}
	if p := r.Plan(&sc, []byte(`SELECT next_snowflake(), E'\n'`), c, Simple); !p.Replaces {
		t.Error("left because another text of the shape failed")
	}
}
