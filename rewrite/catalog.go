package rewrite

import (
	"maps"
	"slices"
)

// Names of the functions that are ours.
const (
	NextSnowflake = "next_snowflake"
	UUIDv7        = "uuidv7"
	IDToTimestamp = "id_to_timestamp"
)

// CatalogData is what a database's catalog says, as far as plans need it.
type CatalogData struct {
	Database string
	// Generation grows with every change of the schema that was noticed, also
	// one that leaves all other fields as they were.
	Generation uint64
	Version    int // server_version_num

	// Known is false when the catalog cannot be read: then only what needs no
	// knowledge of relations is replaced, with PostgreSQL's own lists of
	// functions and operators.
	Known bool

	// Schema is where our functions are installed, "" when they are not.
	Schema string
	// Ours holds the functions of ours that a call by name reaches: installed,
	// EXECUTE open to PUBLIC, and no other function of that name that could
	// win. On PostgreSQL 18 and later uuidv7 is the built-in one.
	Ours map[string]bool

	Relations []Relation // all permanent ones
	Functions map[string]bool
	Operators map[string]bool // true when every overload of the name gives one value
}

// Relation is a permanent relation.
type Relation struct {
	Schema, Name string
	Plain        bool // an ordinary or partitioned table without INSERT rules
	Rules        bool // it has rules of any kind
}

// A Catalog is one reading of a database's catalog. It is immutable, and safe
// for concurrent use.
type Catalog struct {
	generation uint64
	facts      *facts
}

// facts is the content of a Catalog; plans are kept by its identity.
type facts struct {
	id        *identity
	data      CatalogData
	relations map[string][]Relation // by name
}

// An identity is a name for a catalog's content that does not hold on to it. It
// has a size, so that no two have the same address.
type identity struct{ _ byte }

// NewCatalog returns the catalog of d, which it keeps.
func NewCatalog(d CatalogData) *Catalog {
	f := &facts{id: new(identity), data: d, relations: make(map[string][]Relation, len(d.Relations))}
	for _, r := range d.Relations {
		f.relations[r.Name] = append(f.relations[r.Name], r)
	}
	return &Catalog{generation: d.Generation, facts: f}
}

// Generation tells two readings apart between which the schema may have changed.
func (c *Catalog) Generation() uint64 { return c.generation }

// At returns the same content as of another generation: plans stay valid.
func (c *Catalog) At(generation uint64) *Catalog {
	return &Catalog{generation: generation, facts: c.facts}
}

// Known tells whether the catalog could be read.
func (c *Catalog) Known() bool { return c.facts.data.Known }

// Equal tells whether both say the same, but for the generation.
func (c *Catalog) Equal(o *Catalog) bool {
	a, b := &c.facts.data, &o.facts.data
	return a.Database == b.Database && a.Version == b.Version && a.Known == b.Known && a.Schema == b.Schema &&
		maps.Equal(a.Ours, b.Ours) && slices.Equal(a.Relations, b.Relations) &&
		maps.Equal(a.Functions, b.Functions) && maps.Equal(a.Operators, b.Operators)
}

// plain tells whether every relation that the name may mean is an ordinary or
// partitioned table without INSERT rules, and there is one.
func (f *facts) plain(schema, name string) bool {
	return f.every(schema, name, func(r Relation) bool { return r.Plain })
}

// withoutRules tells the same of relations without rules of any kind.
func (f *facts) withoutRules(schema, name string) bool {
	return f.every(schema, name, func(r Relation) bool { return r.Plain && !r.Rules })
}

func (f *facts) every(schema, name string, ok func(Relation) bool) bool {
	found := false
	for _, r := range f.relations[name] {
		if schema != "" && r.Schema != schema {
			continue
		}
		if !ok(r) {
			return false
		}
		found = true
	}
	return found
}

// function tells whether every function of that name is an ordinary one that
// returns one value. Schemas are not looked at: search_path decides among them.
func (f *facts) function(name string) bool {
	if !f.data.Known {
		return builtinFunctions()[name]
	}
	return f.data.Functions[name]
}

// operator tells the same of the functions behind an operator.
func (f *facts) operator(name string) bool {
	if !f.data.Known {
		return builtinOperators()[name]
	}
	return f.data.Operators[name]
}
