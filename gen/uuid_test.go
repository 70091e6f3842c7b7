package gen

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func compareUUID(a, b UUID) int { return bytes.Compare(a[:], b[:]) }

// checkUUIDs fails the test unless all are v7 of RFC 9562's variant and strictly
// increasing.
func checkUUIDs(t *testing.T, us []UUID) {
	t.Helper()
	for i, u := range us {
		if u[6]>>4 != 7 || u[8]>>6 != 0b10 {
			t.Fatalf("UUID %d: version or variant of %v", i, u)
		}
		if i > 0 && compareUUID(us[i-1], u) >= 0 {
			t.Fatalf("UUID %d: %v after %v", i, u, us[i-1])
		}
	}
}

func TestUUIDv7Layout(t *testing.T) {
	t.Parallel()
	c := newClock(0)
	c.ns = 0x019400000000*nsPerMs + nsPerMs/2
	g := newGenerator(t, c, Config{Rand: func() uint64 { return 0xfedcba9876543210 }})
	if got, want := mustUUID(t, g).String(), "01940000-0000-7800-bfb7-2ea61d950c84"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.add(time.Millisecond/2 - 1)
	if got, want := mustUUID(t, g).String(), "01940000-0000-7fff-bfb7-2ea61d950c84"; got != want {
		t.Errorf("last of the millisecond: got %s, want %s", got, want)
	}
	// What follows carries into the millisecond; it does not wrap within it.
	if got, want := mustUUID(t, g).String(), "01940000-0001-7000-bfb7-2ea61d950c84"; got != want {
		t.Errorf("one more: got %s, want %s", got, want)
	}
}

// A frozen clock, many goroutines, a step back (case GN-04).
func TestUUIDv7Order(t *testing.T) {
	t.Parallel()
	c := newClock(5000)
	g := newGenerator(t, c, Config{})
	us := make([]UUID, 0, 300_000)
	for range 200_000 {
		us = append(us, mustUUID(t, g))
	}
	var lists [8][]UUID
	var wg sync.WaitGroup
	for i := range lists {
		wg.Go(func() {
			for range 5 {
				batch := make([]UUID, 5_000)
				if err := g.UUIDv7s(batch); err != nil {
					t.Error(err)
					return
				}
				lists[i] = append(lists[i], batch...)
				for range 5_000 {
					u, err := g.UUIDv7()
					if err != nil {
						t.Error(err)
						return
					}
					lists[i] = append(lists[i], u)
				}
			}
		})
	}
	wg.Wait()
	all := us
	for _, list := range lists {
		checkUUIDs(t, list)
		all = append(all, list...)
	}
	checkUUIDs(t, us)
	slices.SortFunc(all[len(us):], compareUUID)
	for _, d := range []time.Duration{-time.Millisecond, -5 * time.Second, time.Millisecond} {
		c.add(d)
		all = append(all, mustUUID(t, g))
	}
	checkUUIDs(t, all)
	if got, want := len(all), 200_000+8*50_000+3; got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// The order of the bytes is that of the text forms and of the numbers, which is
// what ORDER BY gives for uuid.
func TestUUIDOrderOfForms(t *testing.T) {
	t.Parallel()
	c := newClock(0)
	g := newGenerator(t, c, Config{})
	us := make([]UUID, 0, 2000)
	for i := range 2000 {
		c.set(int64(i) * int64(i))
		us = append(us, mustUUID(t, g))
	}
	checkUUIDs(t, us)
	for i := 1; i < len(us); i++ {
		a, b := us[i-1], us[i]
		if strings.Compare(a.String(), b.String()) >= 0 || new(big.Int).SetBytes(a[:]).Cmp(new(big.Int).SetBytes(b[:])) >= 0 {
			t.Fatalf("%v is not below %v in every form", a, b)
		}
		if at, _ := UUIDTime(b); at.UnixMilli() != Epoch+int64(i)*int64(i) {
			t.Fatalf("time of %v: got %v", b, at)
		}
	}
}

// Fractions of a millisecond show in the 12 bits, so that UUIDs of several
// generators on one clock interleave finely.
func TestUUIDv7Fraction(t *testing.T) {
	t.Parallel()
	c := newClock(7)
	g := newGenerator(t, c, Config{})
	for i := range 1000 {
		if got, want := DecodeUUID(mustUUID(t, g)).Sequence, i*4096/1000; got != want {
			t.Fatalf("at %d µs: got %d, want %d", i, got, want)
		}
		c.add(time.Microsecond)
	}
}

// The 62 bits of the default source: every bit moves, no tail repeats.
func TestUUIDv7Random(t *testing.T) {
	t.Parallel()
	g := newGenerator(t, nil, Config{})
	const n = 4096
	us := make([]UUID, n)
	if err := g.UUIDv7s(us); err != nil {
		t.Fatal(err)
	}
	var ones [64]int
	tails := map[[8]byte]bool{}
	for _, u := range us {
		tails[[8]byte(u[8:])] = true
		for bit := range ones {
			ones[bit] += int(u[8+bit/8] >> (7 - bit%8) & 1)
		}
	}
	if len(tails) != n {
		t.Errorf("%d tails of %d differ", len(tails), n)
	}
	for bit, k := range ones {
		// Ten standard deviations: 320.
		if bit >= 2 && (k < n/2-320 || k > n/2+320) {
			t.Errorf("bit %d is set in %d of %d", bit, k, n)
		}
	}
}

func TestUUIDForms(t *testing.T) {
	t.Parallel()
	u := UUID{0x01, 0x7f, 0x22, 0xe2, 0x79, 0xb0, 0x7c, 0xc3, 0x98, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f}
	if got, want := string(AppendUUID([]byte("x"), u)), "x017f22e2-79b0-7cc3-98c4-dc0c0c07398f"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(AppendUUIDBinary([]byte("x"), u)), "x"+string(u[:]); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
}
