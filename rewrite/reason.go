package rewrite

import (
	"maps"
	"slices"
)

// A Reason says why a call is left to the server. Its text is a short name for
// counters; Sentence is for people.
type Reason string

// Reasons for leaving a call alone.
const (
	Unparsed     Reason = "unparsed"
	TooLong      Reason = "too_long"
	Stored       Reason = "stored"
	Statement    Reason = "statement"
	Several      Reason = "several_statements"
	AfterDDL     Reason = "after_ddl"
	Site         Reason = "site"
	Target       Reason = "target"
	SetReturning Reason = "set_returning"
	Conditional  Reason = "conditional"
	EarlyError   Reason = "early_error"
	Arguments    Reason = "arguments"
	NotOurs      Reason = "not_ours"
	Constant     Reason = "constant"
	Follows      Reason = "follows"
	LongName     Reason = "long_name"

	// Of omitted columns and DEFAULT alone.
	Grants       Reason = "grants"
	Ambiguous    Reason = "ambiguous"
	Migrating    Reason = "migrating"
	SetOperation Reason = "set_operation"
	Counts       Reason = "counts"
	Form         Reason = "form"

	// Of auto-increment columns alone.
	Narrow        Reason = "narrow"
	Always        Reason = "always"
	ColumnOptions Reason = "column_options"

	// Of a whole statement, for what a session knows at the time.
	NoCatalog  Reason = "catalog"
	Changed    Reason = "changed"
	Temporary  Reason = "temporary"
	Settings   Reason = "settings"
	Parameters Reason = "parameters"
	Unminted   Reason = "unminted"
	Moment     Reason = "moment"
	Failed     Reason = "failed_transaction"
)

var sentences = map[Reason]string{
	Unparsed:      "the statement was not understood",
	TooLong:       "the text is too long to be planned while a client waits",
	Stored:        "the statement stores the call, or runs it later",
	Statement:     "a statement of this kind is left to the server",
	Several:       "several statements in one text cannot be prepared",
	AfterDDL:      "a statement before it in the same text may change the schema",
	Site:          "it is not certain that it is evaluated exactly once here",
	Target:        "the target is not known as a table without INSERT rules",
	SetReturning:  "something beside it may return a set",
	Conditional:   "under a condition, and computing with the value could fail",
	EarlyError:    "computing with a value known beforehand could fail earlier than the server would",
	Arguments:     "a call with arguments or clauses",
	NotOurs:       "the name may mean another function, or ours is not there or not open to all",
	Constant:      "the argument is not a constant whose time is known",
	Follows:       "what follows the call would change its meaning",
	LongName:      "the text has a name of more bytes than PostgreSQL keeps, of which it gives notice at every parse",
	Grants:        "columns of the table have grants of their own, or somebody may insert into it and not read it",
	Ambiguous:     "several relations have that name, and which one is meant depends on search_path",
	Migrating:     "a migration job is changing the table",
	SetOperation:  "rows that differ in the id alone would not be equal any more",
	Counts:        "the number of values does not go with the number of columns",
	Form:          "an INSERT written in this way is left to the server",
	Narrow:        "a column of 32 bits does not hold ids, and is never changed silently",
	Always:        "GENERATED ALWAYS is replaced with --replace-serial=always only",
	ColumnOptions: "the column has a default or options of its own",
	NoCatalog:     "the catalog is not known, or is being changed",
	Changed:       "the schema has changed since the statement was prepared",
	Temporary:     "a temporary relation of the session may have that name",
	Settings:      "strings or names may not be what they seem under the session's settings",
	Parameters:    "the number of parameters does not allow for more",
	Moment:        "a constant such as 'now' means the moment at which the statement is prepared",
	Unminted:      "the generator could not mint",
	Failed:        "the transaction has failed, or may have",
}

// Reasons returns all reasons, sorted.
func Reasons() []Reason { return slices.Sorted(maps.Keys(sentences)) }

// Sentence says the reason in words, to follow "left to the server: ".
func (r Reason) Sentence() string { return sentences[r] }

// A Call is one call of a function of ours that stands in a text, or that the
// text leaves to a column's default: by DEFAULT, or by not giving the column.
type Call struct {
	// Start is a token of the reduced text: the one that the function's name, with
	// its schema, begins with; DEFAULT; or, for a column that is not given, the one
	// that the name of the table ends with.
	Start    int
	Name     string
	Column   string // whose default it is; "": a call
	Replaced bool
	Reason   Reason // why it is left alone
}
