package wire

import "context"

// Before the server has let a client in, what it says of a database and asks to
// run is nobody's word: it must not be acted on, and what a message means is not
// known, since the settings are still to come. Few clients send more than their
// password by then.

// awaitSignOn makes a message wait for the first ReadyForQuery, unless it belongs to the sign-on.
// Once the wait was in vain the session only relays: the server may have taken
// the message for part of the sign-on.
func (s *Session) awaitSignOn(typ byte) bool {
	if !s.signingOn() || typ == msgPassword || typ == msgTerminate {
		return false
	}
	if s.waited {
		s.passive = true
		return false
	}
	signed := make(chan struct{})
	s.signed = signed
	s.wait = func(ctx context.Context) {
		select {
		case <-signed:
		case <-ctx.Done():
		}
	}
	return true
}

// signOn lets the message go on that waits for the sign-on.
func (s *Session) signOn() {
	if s.signed != nil && !s.signingOn() {
		close(s.signed)
		s.signed = nil
	}
}
