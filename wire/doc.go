// Package wire moves a client's bytes to its PostgreSQL server and back, and
// puts ids in on the way. It knows the protocol; what a text means it asks
// package rewrite, what an id is it asks functions in Hooks.
//
// Session is a state machine without I/O; Server listens, dials and moves the
// bytes of each session. Why a session cannot change what a client sees:
//
//   - A message is passed on as it is unless every fact that the plan for it
//     relies on is known at that moment. All that is unknown declines.
//   - A named statement stays the client's own; ids go to a twin that only
//     Binds reach. The unnamed statement is rewritten in place, and parsed anew
//     from the client's text before anything that its plan does not cover.
//   - Requests and replies are paired by one ordered queue. What a request is
//     assumed to do is recorded when it is sent and taken back when the server
//     turns out to have dropped it, so that a name always means what it means
//     to the server at that point of the stream.
package wire
