package gen

import (
	"encoding/binary"
	"math"
)

// UUID is a UUID in its binary form. Compared as bytes, UUIDs are in the order
// of their text forms and of PostgreSQL's type uuid.
type UUID [16]byte

// UUIDv7 mints one UUID (RFC 9562 section 5.7). The 12 bits below the
// millisecond are its fraction (section 6.2, method 3); where that has not moved
// on they count upwards and carry into the millisecond, so that the UUIDs of one
// Generator are strictly increasing as bytes. It fails with ErrAhead or
// ErrClockBack.
func (g *Generator) UUIDv7() (u UUID, err error) {
	w, err := g.uuidWords(1)
	if err == nil {
		putUUIDv7(&u, w, g.rand())
	}
	return u, err
}

// UUIDv7s fills dst with ascending UUIDs, taken in one step: all of them or,
// with the errors of UUIDv7, none. The bound is that of Snowflakes.
func (g *Generator) UUIDv7s(dst []UUID) error {
	if len(dst) == 0 {
		return nil
	}
	w, err := g.uuidWords(int64(len(dst)))
	if err != nil {
		return err
	}
	for i := range dst {
		putUUIDv7(&dst[i], w+int64(i), g.rand())
	}
	return nil
}

func (g *Generator) uuidWords(n int64) (int64, error) {
	now := g.now()
	if g.policy == Refuse {
		var err error
		if now, err = g.forward(now); err != nil {
			return 0, err
		}
	}
	ms := now / nsPerMs
	start := ms<<SequenceBits | int64(uint64(now-ms*nsPerMs)<<SequenceBits/uint64(nsPerMs))
	return take(&g.uuids, g.uuids.Load(), start, n, g.bound(ms), math.MaxInt64, ErrExhausted)
}

func putUUIDv7(u *UUID, w int64, random uint64) {
	ms := uint64(w) >> SequenceBits
	binary.BigEndian.PutUint64(u[:8], ms<<16|0x7000|uint64(w)&sequenceMask)
	binary.BigEndian.PutUint64(u[8:], random>>2|1<<63)
}
