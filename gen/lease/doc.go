// Package lease gives node numbers to generators so that no (node, time) pair is
// ever used by two of them. The argument:
//
//  1. A registry keeps for each node a record with a token and a mark, a time in
//     ms. A record is written only by compare-and-swap on its token, every write
//     draws a new token, and a mark never goes down.
//  2. A holder mints ids of its node only for times below a mark that a write of
//     its own has stored: it is told so before the generator is.
//  3. Who takes a node over does so by a write on the record that it has read, and
//     starts at the mark that it read there. From that write on the former
//     holder's tokens fit no more, so that its mark does not move, and all that it
//     has minted or will mint is below the new holder's start.
//
// So the times of a node are cut into stretches, each with one holder. No clock,
// timer or order of messages is part of this: a holder that was stopped for a day
// and goes on mints below its own mark, or nothing. A write whose reply is lost is
// repeated under either token, and only what was acknowledged is minted. Timers
// only decide when a node counts as abandoned, and clocks where a mark is put.
//
// It rests on one thing: that the registry still has what it acknowledged. Where
// that is in doubt, since it is empty, or served by another server, timeline or
// cluster than its head says, time has to help: a new era begins, the holders of
// the former one notice at their next heartbeat and stop, no node is handed out
// for the longest TTL, and all terms start above the end of that wait.
//
//	what fails                            what stops, and until when
//	holder killed                         its node, for the TTL
//	holder paused or suspended            minting, once the clock is past the mark, until a heartbeat is acknowledged
//	heartbeat lost, registry unreachable  minting, at the mark (12 s) or 2 s before the TTL ends, until it is reached
//	lease taken or released by others     minting, at the next heartbeat, until another node is held
//	holder cloned with its memory         the slower one of the two, at the next heartbeat
//	clock stepped back                    nothing within the run-ahead bound, then minting
//	clock stepped forward                 minting, beyond the mark, until the registry's clock agrees
//	registry emptied, restarted, failed over, restored elsewhere
//	                                      minting, from the next heartbeat on, for a TTL
//
// Two things are protected by time alone, or not at all: ids that a holder mints
// between the loss of the registry's data and its next heartbeat are below its
// mark, and repeated only if its clock is further ahead of the registry's than the
// TTL less what a mark may be ahead of a clock (15 s of 30 s), or if it has a longer
// TTL than all that the new era's founder has read of; a clone mints below the mark
// that both know until its next heartbeat.
package lease
