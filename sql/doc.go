// Package sql holds all that is run in a user's database: the functions that
// stand behind the proxy, the query that reads the catalog, and the Go that
// applies and watches them.
//
// next_snowflake() is safe by this argument. One sequence holds the last
// ms<<12 | sequence that was given out, so nextval alone is unique and
// increasing. Only where it has fallen behind the clock is it moved up, under a
// lock that no ordinary user may take and that the end of a subtransaction
// always frees. While it is moved a second sequence, the gate, is odd, and
// whoever sees that does not use nextval. A session that saw it even before may
// still call nextval once; there are at most 2^18 sessions, and the sequence is
// moved only when it is more than that behind, so the move never goes back. A
// mover that dies leaves the gate odd, and the next one finishes what it began.
package sql
