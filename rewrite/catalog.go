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
	Tables    []Table    // those with a default of ours
	Temporary []string   // names of permanent relations that temporary ones of any session have too
	Functions map[string]bool
	Operators map[string]bool // true when every overload of the name gives one value
}

// Relation is a permanent relation.
type Relation struct {
	Schema, Name string
	Plain        bool  // an ordinary or partitioned table without INSERT rules
	Rules        bool  // it has rules of any kind
	Version      int64 // another one after every change of the relation or its columns
	Builtin      bool  // the types of all columns are PostgreSQL's own
}

// A Table is a relation with columns whose default is exactly a call of one of
// our functions.
type Table struct {
	Schema, Name string
	Columns      []string  // in the order of the table, without dropped ones
	Defaults     []Default // in the order of Columns
	Unique       bool      // no other permanent relation has the name, in any schema
	Why          Reason    // why its defaults are left to the server; "": they are not
}

// A Default is a column's default of ours, whose type the column has.
type Default struct {
	Column int // index in Columns
	Kind   EditKind
}

func (t *Table) equal(o *Table) bool {
	return t.Schema == o.Schema && t.Name == o.Name && t.Unique == o.Unique && t.Why == o.Why &&
		slices.Equal(t.Columns, o.Columns) && slices.Equal(t.Defaults, o.Defaults)
}

// A Catalog is one reading of a database's catalog. It is immutable, and safe
// for concurrent use.
type Catalog struct {
	generation uint64
	facts      *facts
}

// facts is the content of a Catalog. Plans rest on frame and on the names that
// they ask for, by their identity.
type facts struct {
	frame *identity // of all but the relations
	data  CatalogData
	names map[string]*named
	fills bool // there is a table whose defaults are not left to the server
}

// named is what is known of the relations of one name.
type named struct {
	relations []Relation
	tables    []Table
	temporary bool // some session has a temporary one
}

func (n *named) equal(o *named) bool {
	return n.temporary == o.temporary && slices.Equal(n.relations, o.relations) &&
		slices.EqualFunc(n.tables, o.tables, func(a, b Table) bool { return a.equal(&b) })
}

// An identity is a name for content that does not hold on to it. It has a size,
// so that no two have the same address.
type identity struct{ _ byte }

// NewCatalog returns the catalog of d, which it keeps.
func NewCatalog(d CatalogData) *Catalog {
	f := &facts{frame: new(identity), data: d, names: make(map[string]*named, len(d.Relations))}
	at := func(name string) *named {
		n := f.names[name]
		if n == nil {
			n = new(named)
			f.names[name] = n
		}
		return n
	}
	for _, r := range d.Relations {
		n := at(r.Name)
		n.relations = append(n.relations, r)
	}
	for _, t := range d.Tables {
		n := at(t.Name)
		n.tables = append(n.tables, t)
		f.fills = f.fills || t.Why == ""
	}
	for _, name := range d.Temporary {
		at(name).temporary = true
	}
	return &Catalog{generation: d.Generation, facts: f}
}

// After makes c, which nobody has yet, the successor of an earlier reading:
// plans that rest on nothing that has changed since stay valid.
func (c *Catalog) After(o *Catalog) *Catalog {
	f, old := c.facts, o.facts
	if a, b := &f.data, &old.data; a.Database == b.Database && a.Version == b.Version && a.Known == b.Known &&
		a.Schema == b.Schema && maps.Equal(a.Ours, b.Ours) && maps.Equal(a.Functions, b.Functions) &&
		maps.Equal(a.Operators, b.Operators) {
		f.frame = old.frame
	}
	for name, n := range f.names {
		if was := old.names[name]; was != nil && n.equal(was) {
			f.names[name] = was
		}
	}
	return c
}

// Generation tells two readings apart between which the schema may have changed.
func (c *Catalog) Generation() uint64 { return c.generation }

// At returns the same content as of another generation.
func (c *Catalog) At(generation uint64) *Catalog {
	return &Catalog{generation: generation, facts: c.facts}
}

// Known tells whether the catalog could be read.
func (c *Catalog) Known() bool { return c.facts.data.Known }

// Relations returns how many relations it holds.
func (c *Catalog) Relations() int { return len(c.facts.data.Relations) }

// A Basis is what a plan rests on. The zero Basis rests on nothing.
type Basis struct {
	frame *identity
	names []dependence
	local bool // the types in the statement follow from these relations alone
}

// A dependence is a name and what was known of its relations, nil for nothing.
type dependence struct {
	name string
	was  *named
}

// Still tells whether nothing has changed that a plan rests on.
func (c *Catalog) Still(b Basis) bool {
	if b.frame != c.facts.frame {
		return false
	}
	for _, d := range b.names {
		if c.facts.names[d.name] != d.was {
			return false
		}
	}
	return true
}

// Types tells whether the types in a statement are, for sure, the ones that it
// had when its plan was made on b.
func (c *Catalog) Types(b Basis) bool { return b.local && c.Still(b) }

// plain tells whether every relation that the name may mean is an ordinary or
// partitioned table without INSERT rules, and there is one: of a temporary one
// that is not known.
func (n *named) plain(schema string) bool {
	return n.every(schema, func(r Relation) bool { return r.Plain })
}

// withoutRules tells the same of relations without rules of any kind.
func (n *named) withoutRules(schema string) bool {
	return n.every(schema, func(r Relation) bool { return r.Plain && !r.Rules })
}

func (n *named) every(schema string, ok func(Relation) bool) bool {
	if n == nil || schema == "" && n.temporary {
		return false
	}
	found := false
	for _, r := range n.relations {
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
