package lease

import "time"

const (
	// doubtful is how far the wall clock may move against the monotonic one before
	// it has to be confirmed.
	doubtful = 5 * time.Second
	// unconfirmed is how long a clock that jumped must go on steadily before it is
	// followed where no store's clock can be asked.
	unconfirmed = 30 * time.Second
)

// A reckoning is the time that a keeper goes by: the wall clock's, except after a
// jump that the monotonic clock contradicts. Then the store's clock decides which
// of both is right; without one the jump is followed once it has lasted. All
// times but the monotonic ones are in ms since 1970.
type reckoning struct {
	at    time.Duration // monotonic time of the last look
	ms    int64         // the time at that moment
	known bool

	jumped  time.Duration // monotonic time since when the wall clock is in doubt
	doubted bool

	storeAt time.Duration // monotonic time at which the store's clock was read
	storeMs int64         // 0: it never was
	peers   int64         // up to where other holders' clocks have come, at least
}

// hear takes a reading of the store's clock.
func (r *reckoning) hear(mono time.Duration, store int64) {
	if store != 0 {
		r.storeAt, r.storeMs = mono, store
	}
}

// store is the store's clock as it should be now; 0 where it is not known.
func (r *reckoning) store(mono time.Duration) int64 {
	if r.storeMs == 0 {
		return 0
	}
	return r.storeMs + (mono - r.storeAt).Milliseconds()
}

// look returns the time. mono and wall are readings of one moment.
func (r *reckoning) look(mono time.Duration, wall int64) int64 {
	store := r.store(mono)
	if !r.known {
		// A clock that is ahead from the start is not trusted alone: it is that one or
		// the store's which is wrong. Ids of one that is behind are kept from harm by
		// the floor of the term.
		r.known = true
		r.at, r.ms = mono, wall
		if store != 0 && wall > max(store, r.peers)+doubtful.Milliseconds() {
			r.ms, r.doubted, r.jumped = store, true, mono
		}
		return r.ms
	}
	reckoned := r.ms + (mono - r.at).Milliseconds()
	off := abs(wall - reckoned)
	switch {
	case off > doubtful.Milliseconds() && !r.doubted:
		r.doubted, r.jumped = true, mono
		fallthrough
	case off > doubtful.Milliseconds():
		confirmed := mono-r.jumped >= unconfirmed
		if store != 0 {
			confirmed = abs(wall-store) < abs(reckoned-store)
		}
		if !confirmed {
			break
		}
		fallthrough
	default:
		reckoned, r.doubted = wall, false
	}
	r.at, r.ms = mono, reckoned
	return reckoned
}

func abs(n int64) int64 { return max(n, -n) }
