// Package gen mints and decodes sortable ids: snowflakes, UUIDv7 (RFC 9562) and
// ULIDs (decoding only). It knows neither SQL nor sockets.
//
// A Generator holds one 64-bit word a kind of id, time and counter in one
// number. The next id is the larger of the clock and the last one plus one,
// taken by compare-and-swap, so that ids are unique and increasing whatever the
// clock does: a step back, a burst and a repeated second only make the word run
// ahead of the clock. How far is bounded; past the bound the Policy decides, and
// under none of them is an id given out twice.
//
//	snowflake  0 | 41 bits ms since Epoch | 10 bits node | 12 bits sequence
//	UUIDv7     48 bits Unix ms | 0111 | 12 bits of a ms | 10 | 62 random bits
package gen
