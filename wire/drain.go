package wire

import "time"

// A drainState is how much a shutdown asks of a session.
type drainState uint8

const (
	serving  drainState = iota
	draining            // to end as soon as nothing is taken from the client by it
	forced              // to end now
)

// stopping is what serverToClient does after a chunk.
type stopping uint8

const (
	goOn           stopping = iota
	stopWithReport          // tell the client why, then end
	stopSilently            // a reply is half sent: nothing can be put in
)

// shutdownReport is what a client gets that a shutdown ends, like PostgreSQL's
// own for a server that shuts down.
var shutdownReport = (&fatal{
	code:    "57P01",
	message: "terminating connection because the proxy is shutting down",
	hint:    "Connect again. Transactions may finish within --drain-timeout.",
}).encode()

// forceTimeout bounds the last write to a client that takes nothing.
const forceTimeout = time.Second

// askToEnd lets the session end at the next point that the state allows. Only
// serverToClient ends it, since it alone writes to the client: it is woken.
func (d *driver) askToEnd(state drainState) {
	d.mu.Lock()
	d.drain = max(d.drain, state)
	d.mu.Unlock()
	if state == forced {
		_ = d.client.SetWriteDeadline(time.Now().Add(forceTimeout))
	}
	_ = d.server.SetReadDeadline(time.Unix(1, 0))
}

func (d *driver) stopNow() stopping {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stopping()
}

// stopping decides whether the session ends here. From a yes on nothing of the
// client reaches the server. d.mu is held.
func (d *driver) stopping() stopping {
	if d.drain == serving || d.drain == draining && !d.session.Idle() && !d.session.signingOn() {
		return goOn
	}
	if !d.session.betweenReplies() {
		if d.drain == draining {
			return goOn
		}
		d.over = true
		return stopSilently
	}
	d.over = true
	return stopWithReport
}

// signingOn tells whether the client is not signed on yet. Of a replication
// session that is not known: it may go on like a transaction.
func (s *Session) signingOn() bool {
	return !s.passive && s.queue.size > 0 && s.queue.at(0).req == reqStartup
}

// betweenReplies tells whether the client has got whole messages only.
func (s *Session) betweenReplies() bool {
	return !s.rawServer && s.server.skip == 0 && len(s.server.held) == 0
}
