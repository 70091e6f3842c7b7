package rewrite

import "strconv"

// MaxParams is the number of parameters that a statement can have.
const MaxParams = 65535

// hiddenArray is the number of ids in one array parameter. The server copies the
// whole array for every element that a statement takes from it, so one array for
// all would cost the square of their number: 14 s for 30,000.
const hiddenArray = 64

// Hidden says how the ids of one execution are laid out in hidden parameters: one
// for each id, or, where these would be too many, arrays of up to 64 ids.
type Hidden struct {
	snow, uuids int
	arrays      bool
}

// Hide lays out the ids behind a number of the client's own parameters; ok is
// false when they do not fit.
func (p *Prepared) Hide(params int) (h Hidden, ok bool) {
	h = Hidden{snow: p.Snowflakes, uuids: p.UUIDs}
	h.arrays = params+h.Params() > MaxParams
	return h, params+h.Params() <= MaxParams
}

// Params is the number of hidden parameters.
func (h Hidden) Params() int { return h.Snowflakes() + h.UUIDs() }

// Snowflakes is the number of those that hold snowflakes.
func (h Hidden) Snowflakes() int { return h.params(h.snow) }

// UUIDs is the number of those that hold UUIDs.
func (h Hidden) UUIDs() int { return h.params(h.uuids) }

// Arrays tells whether they are arrays.
func (h Hidden) Arrays() bool { return h.arrays }

// Of returns which of n ids parameter i of their kind, from 0, holds: [from, to).
func (h Hidden) Of(i, n int) (from, to int) {
	if !h.arrays {
		return i, i + 1
	}
	return i * hiddenArray, min((i+1)*hiddenArray, n)
}

func (h Hidden) params(n int) int {
	if h.arrays {
		return (n + hiddenArray - 1) / hiddenArray
	}
	return n
}

// appendParam appends id i of those whose first parameter is $first: $n, or
// ($n::type[])[i].
func (h Hidden) appendParam(dst []byte, first, i int, array string) []byte {
	if !h.arrays {
		return strconv.AppendInt(append(dst, '$'), int64(first+i), 10)
	}
	dst = strconv.AppendInt(append(dst, "($"...), int64(first+i/hiddenArray), 10)
	dst = strconv.AppendInt(append(dst, array...), int64(i%hiddenArray+1), 10)
	return append(dst, ']')
}
