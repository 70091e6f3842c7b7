// Package postgres keeps a registry of node numbers in two tables of a
// PostgreSQL database. Each call is one short transaction that leaves nothing in
// the session, so that a transaction pooler may stand in between; the server's
// clock decides when a lease expires.
//
// A write of a record holds a lock on the registry's head that a change of the
// head waits for, and the other way round, so that no record is written under a
// head that is not there any more. That a write is durable before it is
// acknowledged is seen to by raising synchronous_commit where it is off; where a
// standby is promoted that did not get it, the timeline tells; and the head names
// the transaction that wrote it, which is not the row's any more where a restore
// into the same database has put an older one in its place. A server whose data
// were set back to a snapshot of its disk cannot be told from what it was: let all
// holders end before.
package postgres
