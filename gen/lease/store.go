package lease

import (
	"context"
	"errors"
	"time"
)

// A Store keeps the records of one registry durably. It is the only thing that
// differs between the kinds of registry: what the records mean is decided in
// this package. Each method is one atomic step on the server and safe for
// concurrent use; it obeys ctx. After an error other than those below it is not
// known whether the step was done.
type Store interface {
	// Load reads all of the registry at one moment.
	Load(ctx context.Context) (Snapshot, error)

	// Found writes the head of an era if the one that is there is of the era old,
	// "" meaning that there is none, and lets Snapshot.Wait count down from wait.
	// It fails with ErrChanged otherwise. Records stay as they are.
	Found(ctx context.Context, old string, head Head, wait time.Duration) error

	// Swap writes a record. It fails with ErrEra unless the head is of s.Era and
	// the server is the one that the head names, and with ErrChanged unless the
	// record's token is in s.Expect, "" meaning that there is no record. The mark
	// that is kept is the larger of the old one and the new one. It returns the
	// store's clock in ms since 1970, 0 where it has none, read while it worked.
	Swap(ctx context.Context, s Swap) (now int64, err error)

	// Close gives up connections.
	Close() error
}

// timed is a Store whose calls end after callTimeout.
type timed struct{ Store }

func (t timed) Load(ctx context.Context) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return t.Store.Load(ctx)
}

func (t timed) Found(ctx context.Context, old string, head Head, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return t.Store.Found(ctx, old, head, wait)
}

func (t timed) Swap(ctx context.Context, s Swap) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return t.Store.Swap(ctx, s)
}

// Errors of a Store. After each of them nothing was written.
var (
	// ErrChanged: somebody else wrote first.
	ErrChanged = errors.New("the record was changed by another")
	// ErrEra: the registry was set up anew, or is served by another server or from
	// other data than before.
	ErrEra = errors.New("the registry is not the one that it was")
)

// A SetupError is an error of a Store that trying again does not cure: its tables
// are not there, or the role may not use them.
type SetupError struct {
	Err  error
	Hint string // what to do about it
}

func (e *SetupError) Error() string { return e.Err.Error() + ": " + e.Hint }
func (e *SetupError) Unwrap() error { return e.Err }

// A Snapshot is what a registry holds at one moment.
type Snapshot struct {
	Head    *Head         // nil: it holds nothing yet, or not any more
	Server  string        // what serves it now, as in Head
	Copied  bool          // the head is that of other data, of which this is a copy
	Wait    time.Duration // how long no node is to be handed out yet
	Now     int64         // the store's clock in ms since 1970; 0: it has none
	Records []Record      // by node
}

// Head describes a registry as a whole.
type Head struct {
	ID string // for good: it is recorded in every database that uses it
	// Era is drawn anew whenever what the records say was put in doubt.
	Era string
	// Server tells one set of data from another: PostgreSQL's system identifier,
	// database and timeline, Redis's run_id, etcd's cluster id.
	Server string
	// Floor is a time in ms since 1970 above which all terms of the era start.
	Floor int64
}

// Kinds of records.
const (
	KindLease     = "lease"     // held by a proxy or a program until it expires
	KindFunctions = "functions" // a database's server functions mint under it, for good
	KindFree      = "free"      // released; kept for its mark
)

// A Record is what a registry keeps of a node number.
type Record struct {
	Node   int
	Kind   string
	Token  string // drawn anew by every write
	Holder string // who, in words; of functions the key of their database
	Mark   int64  // ms since 1970; there may be ids of the node below it
	Every  time.Duration
	TTL    time.Duration
	// Since and Until are by the store's clock, or the holder's where it has none.
	Since, Until time.Time
	Live         bool // neither expired nor free
}

// A Swap is a write of one record.
type Swap struct {
	Era    string
	Expect []string // tokens, or "" for no record
	Node   int
	Kind   string
	Token  string
	Holder string
	Mark   int64
	Every  time.Duration // between two renewals
	TTL    time.Duration // how long the record is live from now on; of KindFunctions it always is, of KindFree never
	// Renew keeps the record's Since; otherwise that is now.
	Renew bool
}
