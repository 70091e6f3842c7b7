package bench

import (
	"sync"
	"testing"
	"time"

	google "github.com/google/uuid"
	"github.com/pgidproxy/pgidproxy/gen"
)

// mutexed mints as gen.Generator does and keeps the same bounds, but with a mutex
// in place of the compare-and-swap: what that one must never be slower than.
type mutexed struct {
	now      func() int64
	runAhead int64 // in ms

	mu   sync.Mutex
	last int64
}

func newMutexed() *mutexed {
	return &mutexed{now: func() int64 { return time.Now().UnixNano() }, runAhead: (24 * time.Hour).Milliseconds()}
}

// next reads the clock before it takes the lock, which is the better way.
func (m *mutexed) next() (int64, error) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.take(now)
}

// nextClockInside is how most libraries do it.
func (m *mutexed) nextClockInside() (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.take(m.now())
}

func (m *mutexed) take(now int64) (int64, error) {
	ms := now/int64(time.Millisecond) - gen.Epoch
	w := max(ms<<gen.SequenceBits, m.last+1)
	if w >= 1<<(gen.TimeBits+gen.SequenceBits) {
		return 0, gen.ErrExhausted
	}
	if w > (ms+m.runAhead+1)<<gen.SequenceBits {
		return 0, gen.ErrAhead
	}
	m.last = w
	return word(w), nil
}

func word(w int64) int64 {
	const mask = 1<<gen.SequenceBits - 1
	return w&^mask<<gen.NodeBits | 1<<gen.SequenceBits | w&mask
}

// shared lists what two goroutines mint from together.
func shared(tb testing.TB) []candidate {
	g := newGenerator(tb)
	m, inside := newMutexed(), newMutexed()
	return []candidate{
		{"gen", 1, func() { _, _ = g.Snowflake() }},
		{"mutex", 1, func() { _, _ = m.next() }},
		{"mutex_clock_inside", 1, func() { _, _ = inside.nextClockInside() }},
		{"gen_uuid", 1, func() { _, _ = g.UUIDv7() }},
		{"google_uuid", 1, func() { _, _ = google.NewV7() }},
	}
}

// both makes two goroutines call c n times each and returns the wall time an id
// of both together.
func both(c candidate, n int) float64 {
	var wg sync.WaitGroup
	begin := time.Now()
	for range 2 {
		wg.Go(func() {
			for range n {
				c.call()
			}
		})
	}
	wg.Wait()
	return float64(time.Since(begin)) / float64(2*n)
}

// BenchmarkTwoGoroutines has two goroutines mint from one source, in turns like
// those of BenchmarkTargets. gen/mutex must not be above 1.
func BenchmarkTwoGoroutines(b *testing.B) {
	cs := shared(b)
	best := make([]float64, len(cs))
	for b.Loop() {
		for i, c := range cs {
			if ns := both(c, 20_000); best[i] == 0 || ns < best[i] {
				best[i] = ns
			}
		}
	}
	for i, c := range cs {
		b.ReportMetric(best[i], "ns/"+c.name)
	}
	b.ReportMetric(best[0]/best[1], "gen/mutex")
	b.ReportMetric(0, "ns/op")
}
