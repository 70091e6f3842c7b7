package lease_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
)

// for mints a few ids a second for some time, and returns how many attempts
// failed, and the least and the most that ids were ahead of the true time.
func (p *party) during(d time.Duration) (failed int, least, most time.Duration) {
	least, most = time.Duration(1<<62), -time.Duration(1<<62)
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		id, err := p.mint(3)
		if err != nil {
			failed++
			continue
		}
		ahead := time.Until(timeOf(id))
		least, most = min(least, ahead), max(most, ahead)
	}
	return failed, least, most
}

// eachStore runs a test with a store that tells the time, and with one that does
// not.
func eachStore(t *testing.T, do func(t *testing.T, clocked bool, registry *leasetest.Memory, ids *idSet)) {
	for _, clocked := range []bool{true, false} {
		t.Run(fmt.Sprint("clocked ", clocked), func(t *testing.T) {
			world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) { do(t, clocked, registry, ids) })
		})
	}
}

// A clock that steps forward while neither the monotonic clock nor the
// registry's does is not followed beyond the mark; back again, all is as before.
func TestStepForwardNotFollowed(t *testing.T) {
	eachStore(t, func(t *testing.T, clocked bool, registry *leasetest.Memory, ids *idSet) {
		if !clocked {
			registry.StopClock()
		}
		var log bytes.Buffer
		a := newParty(t, "a", registry, ids)
		a.config.Log = slog.New(slog.NewTextHandler(&log, nil))
		a.mustBegin()
		defer a.end()
		time.Sleep(time.Second)
		a.step(time.Hour)
		if failed, _, _ := a.during(20 * time.Second); failed != 80 {
			t.Errorf("%d of 80 were refused", failed)
		}
		if s := a.k.Status(); s.Mark.After(time.Now().Add(13*time.Second)) || !s.Doubted {
			t.Errorf("a mark %s ahead was stored, doubted: %t", time.Until(s.Mark), s.Doubted)
		}
		a.step(-time.Hour)
		if failed, _, most := a.during(10 * time.Second); failed > 0 || most > time.Millisecond {
			t.Errorf("back again: %d refused, ids up to %s ahead", failed, most)
		}
		text := log.String()
		if clocked && (strings.Count(text, "the clock is not that of the registry") != 1 || !strings.Contains(text, "followed=false") ||
			!strings.Contains(text, "the clock is that of the registry again")) {
			t.Errorf("logged:\n%s", text)
		}
	})
}

// Where the registry's clock has moved too, as after a suspended machine has
// woken up, the clock is followed at once; without its clock once it has lasted.
func TestStepForwardFollowed(t *testing.T) {
	eachStore(t, func(t *testing.T, clocked bool, registry *leasetest.Memory, ids *idSet) {
		if !clocked {
			registry.StopClock()
		}
		a := newParty(t, "a", registry, ids)
		a.mustBegin()
		defer a.end()
		a.step(time.Hour)
		registry.Step(time.Hour)
		want := 6 * time.Second
		if !clocked {
			want = 40 * time.Second
		}
		began := time.Now()
		for !a.mints() {
			time.Sleep(50 * time.Millisecond)
		}
		if d := time.Since(began); d > want || !clocked && d < 30*time.Second {
			t.Errorf("followed after %s", d)
		}
		if failed, least, _ := a.during(time.Minute); failed > 0 || least < time.Hour-time.Second {
			t.Errorf("%d refused, ids %s ahead", failed, least)
		}
	})
}

// Steps within the mark are followed in minting; steps back within the run-ahead
// bound are no event, and one of an hour is the generator's to refuse.
func TestSmallSteps(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a := newParty(t, "a", registry, ids)
		a.mustBegin()
		defer a.end()
		var now time.Duration
		for _, offset := range []time.Duration{3 * time.Second, -10 * time.Second, 4 * time.Second, 0, 6 * time.Second, -8 * time.Second, 0} {
			a.step(offset - now)
			now = offset
			if failed, _, _ := a.during(time.Minute); failed > 0 {
				t.Errorf("clock at %s: %d of 240 were refused", offset, failed)
			}
		}
		a.step(-time.Hour)
		if failed, _, _ := a.during(time.Minute); failed != 240 {
			t.Errorf("an hour back: %d of 240 were refused", failed)
		}
		a.step(time.Hour)
		if failed, _, _ := a.during(time.Minute); failed > 0 {
			t.Errorf("right again: %d of 240 were refused", failed)
		}
	})
}

// A clock that is wrong from the start.
func TestWrongFromTheStart(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a, b := newParty(t, "ahead", registry, ids), newParty(t, "behind", registry, ids)
		a.step(time.Hour)
		b.step(-time.Hour)
		a.mustBegin()
		defer a.end()
		b.mustBegin()
		defer b.end()
		if failed, _, _ := a.during(time.Minute); failed != 240 {
			t.Errorf("ahead: %d of 240 were refused", failed)
		}
		if s := a.k.Status(); s.Mark.After(time.Now().Add(13*time.Second)) || s.Offset != time.Hour {
			t.Errorf("mark %s ahead, offset %s", time.Until(s.Mark), s.Offset)
		}
		if failed, _, most := b.during(time.Minute); failed > 0 || most > -time.Hour+time.Second {
			t.Errorf("behind: %d of 240 were refused, ids of %s", failed, most)
		}
	})
}

// The registry's clock steps back, so that the leases of the dead do not expire
// by it.
func TestRegistryStepsBack(t *testing.T) {
	world(t, func(t *testing.T, registry *leasetest.Memory, ids *idSet) {
		a, b, c := newParty(t, "a", registry, ids), newParty(t, "b", registry, ids), newParty(t, "c", registry, ids)
		for _, p := range []*party{a, b, c} {
			p.config.First, p.config.Last = 0, 1
		}
		a.mustBegin()
		b.mustBegin()
		defer b.end()
		c.cut(leasetest.Lost)
		c.mustBegin()
		defer c.end()
		registry.Step(-time.Hour)
		c.mend()
		if failed, _, _ := b.during(time.Minute); failed > 0 || c.mints() {
			t.Errorf("b: %d of 240 were refused; c mints: %t", failed, c.mints())
		}
		a.kill()
		died := time.Now()
		for !c.mints() {
			if time.Since(died) > time.Minute {
				t.Fatal("the node of the dead is not taken over")
			}
			time.Sleep(time.Second)
		}
		b.mustMint()
	})
}
