package rewrite

import "cmp"

// Mode says how values get into a text.
type Mode uint8

const (
	// Simple is the simple query protocol: typed literals.
	Simple Mode = iota
	// Extended is a prepared statement: hidden parameters.
	Extended
)

// EditKind is what an Edit puts in.
type EditKind uint8

const (
	// Snowflake puts in a bigint, UUID a uuid, Text the Edit's own text.
	Snowflake EditKind = iota
	UUID
	Text
)

// An Edit replaces the tokens [From, To) of the reduced text; where From == To
// it inserts behind token From-1, with a space before.
type Edit struct {
	From, To int
	Kind     EditKind
	Text     string // ASCII; for an id, what stands before it
	After    string // ASCII; what stands behind an id
}

// A Plan says what is changed in all texts of one shape. It is immutable.
type Plan struct {
	Edits     []Edit   // in the order of the text, not overlapping
	Calls     []Call   // every call that was found, in the order of the text
	Relations []string // names of the relations that the plan relies on
	Basis     Basis

	filled  bool // defaults are filled in
	escapes bool // names are put in with Unicode escapes, which a server in SQL_ASCII does not read
	names   bool // a name in the text is not ASCII, so that it is read right in UTF-8 only
	passing bool // not to be kept: the text may have failed for one of its constants
}

// defaultPlanCache is the number of plans that are kept by default.
const defaultPlanCache = 4096

// Config describes a Rewriter.
type Config struct {
	PlanCache int // plans kept; 0 means 4096
	Serial    SerialMode
}

// A Rewriter plans texts and keeps the plans by shape, for all sessions of a
// process. It is safe for concurrent use.
type Rewriter struct {
	cache  *planCache
	serial SerialMode
}

// New returns a Rewriter.
func New(c Config) *Rewriter {
	return &Rewriter{newPlanCache(cmp.Or(c.PlanCache, defaultPlanCache)), c.Serial}
}

// Scratch is the work space of one Plan call and what is done with its result.
// The zero Scratch is ready; keep it for its memory.
type Scratch struct {
	shape   Shape
	reduced Shape
	text    []byte // the reduced text
	p       Prepared
}

// Plan plans a text. The result belongs to sc, and refers to text, until the
// next use of sc. With a nil catalog, and for a text that cannot be read,
// nothing is replaced.
func (r *Rewriter) Plan(sc *Scratch, text []byte, c *Catalog, m Mode) *Prepared {
	p := &sc.p
	*p = Prepared{text: text, shape: &sc.shape, plan: &emptyPlan, spans: p.spans[:0]}
	if c == nil {
		return p
	}
	if err := sc.shape.Scan(text); err != nil {
		return p
	}
	p.Backslash, p.NonASCII, p.MaxParam = sc.shape.Backslash, sc.shape.NonASCII, sc.shape.MaxParam
	plan := r.cache.get(c, m, sc.shape.Key)
	if plan == nil {
		plan = sc.build(text, c, m)
		if !plan.passing {
			r.cache.put(c, m, sc.shape.Key, plan)
		}
	}
	p.plan = plan
	p.Relations, p.Basis, p.NonASCIINames = plan.Relations, plan.Basis, plan.names
	p.Escapes = plan.escapes
	p.Replaces = len(plan.Edits) > 0
	p.count()
	return p
}

// ReplacesSerial tells whether auto-increment columns are replaced.
func (r *Rewriter) ReplacesSerial() bool { return r.serial != SerialKept }

// Plans returns the number of plans kept.
func (r *Rewriter) Plans() int { return r.cache.len() }

// Lookups returns how many texts had a plan that was kept, and for how many one
// was made.
func (r *Rewriter) Lookups() (hits, misses uint64) {
	return r.cache.hits.Load(), r.cache.misses.Load()
}

var emptyPlan Plan

// build plans the reduced text. The shape's tokens stay those of the whole one.
func (sc *Scratch) build(text []byte, c *Catalog, m Mode) *Plan {
	if len(sc.shape.Folds) == 0 {
		return build(text, &sc.shape, c, m)
	}
	sc.text = sc.shape.reduce(sc.text[:0], text)
	if err := sc.reduced.Scan(sc.text); err != nil {
		return &emptyPlan
	}
	return build(sc.text, &sc.reduced, c, m)
}
