package gen

import "fmt"

// Policy says what happens when ids would run too far ahead of the clock. Under
// each of them the minting methods fail and never wait.
type Policy uint8

const (
	// Ahead mints up to the bound, then fails with ErrAhead until the clock is
	// back within it.
	Ahead Policy = iota
	// Wait fails in the same way; the caller then waits with WaitReady, where it
	// holds up nobody else, and tries again.
	Wait
	// Refuse fails with ErrClockBack at any step back of the clock of a
	// millisecond or more, until the clock has reached the highest value that
	// was seen. Bursts may run ahead up to the bound.
	Refuse
)

var policyNames = [...]string{Ahead: "ahead", Wait: "wait", Refuse: "refuse"}

func (p Policy) String() string { return policyNames[p] }

// ParsePolicy returns the policy of that name: ahead, wait or refuse.
func ParsePolicy(name string) (Policy, error) {
	for p, n := range policyNames {
		if n == name {
			return Policy(p), nil
		}
	}
	return 0, fmt.Errorf("parse clock policy %q: want ahead, wait or refuse", name)
}
