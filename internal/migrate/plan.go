package migrate

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Targets of a migration.
const (
	Snowflake = "snowflake"
	UUIDv7    = "uuidv7"
)

// Options say what is wanted; they are part of the plan.
type Options struct {
	Table         string        `json:"table"`                // as the user wrote it
	Column        string        `json:"column,omitempty"`     // "": the one that counts up
	Target        string        `json:"target"`               // Snowflake or UUIDv7
	CreatedAt     string        `json:"created_at,omitempty"` // column that gives UUIDs their time
	DropSequence  bool          `json:"drop_sequence"`        // at finish
	RecreateViews bool          `json:"recreate_views"`       // drop and make them again within the swap
	Subscribers   bool          `json:"subscribers_ready"`    // whoever replicates the tables can take the new columns
	Unlinked      bool          `json:"ignore_unlinked"`      // columns that look like references but are not
	FireTriggers  bool          `json:"fire_triggers"`        // filling may fire the user's triggers
	Batch         int           `json:"batch"`                // rows
	Pause         time.Duration `json:"pause"`                // after each batch
	LockTimeout   time.Duration `json:"lock_timeout"`         // longest that a statement waits while others wait behind it
	MaxLag        time.Duration `json:"max_lag"`              // of replicas, beyond which filling waits
	Retries       int           `json:"retries"`              // of a statement that gets no lock
	Schema        string        `json:"functions_schema"`     // of our functions; "" where they are not installed
}

// Differs says in what the end that is wanted differs from that of options with
// which a job was begun; "" is nothing.
func (o Options) Differs(begun Options) string {
	column := o.Column != "" && o.Column != begun.Column
	switch {
	case o.Target != begun.Target:
		return "to " + begun.Target
	case column:
		return "of column " + cmp.Or(begun.Column, "that counts up")
	case o.CreatedAt != begun.CreatedAt:
		return "with --created-at " + cmp.Or(begun.CreatedAt, "not given")
	case o.DropSequence != begun.DropSequence:
		return fmt.Sprintf("with --keep-sequence=%t", !begun.DropSequence)
	}
	return ""
}

// Kinds of steps.
const (
	kindChange   = "change"   // one transaction under locks
	kindFill     = "fill"     // batches
	kindIndex    = "index"    // CREATE INDEX CONCURRENTLY
	kindValidate = "validate" // statements that read all and lock little, each by itself
	kindWait     = "wait"     // for proxies to know
	kindSettle   = "settle"   // for older transactions to end
)

// A Step is one thing that a job does.
type Step struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	SQL    []string `json:"sql,omitempty"`
	Mode   string   `json:"mode,omitempty"`   // lock that is taken on Tables first
	Tables []string `json:"tables,omitempty"` // in the order of their locks
	Views  []View   `json:"views,omitempty"`  // that are locked before, readers of others first
	Note   string   `json:"note,omitempty"`   // what to know about it
	Checks []Check  `json:"checks,omitempty"`
	Undo   []string `json:"undo,omitempty"` // each by itself; does no harm where nothing was done
	Fill   *Fill    `json:"fill,omitempty"`
	Index  string   `json:"index,omitempty"`
	Guard  bool     `json:"guard,omitempty"` // refused where the columns have users that the plan does not know
	Bytes  int64    `json:"bytes,omitempty"` // that are read or written
	Rows   int64    `json:"rows,omitempty"`
}

// A View is one that is locked.
type View struct {
	Kind  string `json:"kind"` // VIEW or MATERIALIZED VIEW
	Name  string `json:"name"`
	Owner string `json:"owner"`
}

// A Check is a query on the tables themselves that must give 0 after a step, or
// before it.
type Check struct {
	SQL    string `json:"sql"`
	Wrong  string `json:"wrong"` // what is wrong otherwise; %d is the number
	Before bool   `json:"before,omitempty"`
}

// wrong says what is, with the number.
func (c *Check) wrong(n int64) string {
	return strings.Replace(c.Wrong, "%d", strconv.FormatInt(n, 10), 1) // names may have a % too
}

// Fill says how a table's new columns get their values.
type Fill struct {
	Table   string `json:"table"`
	OID     uint32 `json:"oid"`
	Set     string `json:"set"`     // SET list
	Missing string `json:"missing"` // condition of rows that lack a value
	Replica bool   `json:"replica"` // as replication does it, without firing triggers
}

// A Relation is a table of the job.
type Relation struct {
	OID   uint32 `json:"oid"`
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// A Plan is all that a job does, from the beginning to any of its ends.
type Plan struct {
	Options   Options    `json:"options"`
	Table     string     `json:"table_name"`
	OID       uint32     `json:"oid"`
	Column    string     `json:"column_name"`
	Type      string     `json:"type"`
	Relations []Relation `json:"relations"`
	Space     int64      `json:"space"` // bytes that the tables and indexes grow by, at most
	Blockers  []string   `json:"blockers"`
	Warnings  []string   `json:"warnings"`
	Steps     []Step     `json:"steps"`  // the last one is the swap
	Back      []Step     `json:"back"`   // from after the swap to before it
	Finish    []Step     `json:"finish"` // drops what was kept
	Refuse    []Check    `json:"refuse"` // what makes a rollback impossible after the swap
	Ready     []Check    `json:"ready"`  // what must be so for finish to begin
	Held      []Held     `json:"held"`
	Own       []string   `json:"own"`   // checks and indexes of the job on columns in use
	Known     []string   `json:"known"` // what used the columns when the plan was made
}

func (p *Plan) block(format string, args ...any) {
	p.Blockers = appendNew(p.Blockers, fmt.Sprintf(format, args...))
}

func (p *Plan) warn(format string, args ...any) {
	p.Warnings = appendNew(p.Warnings, fmt.Sprintf(format, args...))
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// ident quotes a name.
func ident(name ...string) string { return pgx.Identifier(name).Sanitize() }

// literal quotes a string.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// suffixed adds to a name; where that would be longer than the server takes, the
// object's number stands for the name.
func suffixed(name, suffix string, oid uint32) string {
	const longest = 63
	if len(name)+len(suffix) <= longest {
		return name + suffix
	}
	return fmt.Sprintf("pgid_%d%s", oid, suffix)
}
