package wire

import (
	"encoding/binary"
	"strconv"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

// maxTempNames bounds the names of temporary relations that a session keeps;
// past it, it takes any relation to be shadowed.
const maxTempNames = 1000

// Type OIDs of hidden parameters, from src/include/catalog/pg_type.dat.
const (
	oidInt8      = 20
	oidUUID      = 2950
	oidInt8Array = 1016
	oidUUIDArray = 2951
)

// A statement is what the session keeps of a prepared statement: one that has
// something for us in its text, or whose execution changes what the session
// must know. Others have no record.
type statement struct {
	name   string
	text   string
	types  string // the parameter types that the client declared, 4 bytes each
	params int    // parameters that PostgreSQL counts for the client's text
	eff    rewrite.Effects

	edited    bool             // the server holds an edited text without hidden parameters
	plannable bool             // there is a plan
	left      bool             // left to the server until the client prepares it again
	catalog   *rewrite.Catalog // for which the plan was made
	since     epoch            // when the text was parsed
	basis     rewrite.Basis    // what was planned on then; zero when nothing could be
	relations []string         // names that the plan relies on
	snow      int              // ids that one execution needs
	uuids     int
	layout    rewrite.Hidden // of these in parameters
	sum       uint64         // identifies the rewritten text
	pos       rewrite.PositionMap

	inPlace bool   // unnamed: the server holds the rewritten text
	twin    string // named: the hidden statement that holds it; "": not prepared
	ready   bool   // the server has confirmed the twin; else its Parse is still to be answered
}

// epoch tells two moments apart between which the meaning of a text may have
// changed.
type epoch struct {
	generation uint64 // of the catalog
	ddl        int    // schema changes by this session
	settings   int    // statements of this session that may change settings
}

// hidden is the number of parameters that the rewritten text has more.
func (st *statement) hidden() int { return st.layout.Params() }

// worthKeeping tells whether the session needs a record of the statement.
func (st *statement) worthKeeping() bool {
	return st.plannable || st.eff.Schema || st.eff.Settings || st.eff.Constant || st.eff.TempAny || st.eff.DropAll ||
		len(st.eff.Temp) > 0 || len(st.eff.Renamed) > 0 || len(st.eff.Drop) > 0
}

// appendParse appends a Parse message for text. The client's types are padded
// up to params, then the types of the hidden parameters follow.
func (st *statement) appendParse(dst []byte, name string, hidden bool, text func([]byte) []byte) []byte {
	start := len(dst)
	dst = append(dst, msgParse, 0, 0, 0, 0)
	dst = append(append(dst, name...), 0)
	dst = append(text(dst), 0)
	if !hidden {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(st.types)/4))
		dst = append(dst, st.types...)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, uint16(st.params+st.hidden()))
		dst = append(dst, st.types...)
		for n := len(st.types) / 4; n < st.params; n++ {
			dst = append(dst, 0, 0, 0, 0)
		}
		dst = st.appendTypes(dst, st.layout.Snowflakes(), oidInt8, oidInt8Array)
		dst = st.appendTypes(dst, st.layout.UUIDs(), oidUUID, oidUUIDArray)
	}
	binary.BigEndian.PutUint32(dst[start+1:], uint32(len(dst)-start-1))
	return dst
}

func (st *statement) appendTypes(dst []byte, n int, one, array uint32) []byte {
	if st.layout.Arrays() {
		one = array
	}
	for range n {
		dst = binary.BigEndian.AppendUint32(dst, one)
	}
	return dst
}

// records is what the session knows of the server's prepared statements, as of
// the last message that was sent: it runs ahead of the replies, and each entry
// of the queue can take back what it changed. Forgetting a statement is always
// safe, since its Binds then go to the client's own text.
type records struct {
	named   map[string]*statement
	unnamed *statement
	twins   int                 // number of twins made so far: they are never named twice
	garbage []string            // twins to be closed at the next chance
	temp    map[string]struct{} // names of temporary relations made in this session
	tempAny bool                // too many to keep their names
}

// undo is what one request changed in the records.
type undo struct {
	unnamed    *statement
	hadUnnamed bool // unnamed is to be put back
	name       string
	named      *statement
	hadNamed   bool // name is to be put back
	all        map[string]*statement
	hadAll     bool // all is to be put back
	dropped    []*statement
}

// assign gives a name its new meaning, nil for a statement without a record,
// and returns how to take that back.
func (r *records) assign(name string, st *statement) *undo {
	if name == "" {
		u := &undo{unnamed: r.unnamed, hadUnnamed: true}
		if r.unnamed == nil && st == nil {
			u = nil
		}
		r.unnamed = st
		return u
	}
	old := r.named[name]
	if old == nil && st == nil {
		return nil
	}
	switch {
	case st == nil:
		delete(r.named, name)
	case r.named == nil:
		r.named = map[string]*statement{name: st}
	default:
		r.named[name] = st
	}
	return &undo{name: name, named: old, hadNamed: true}
}

// lookup returns the record of a name, or nil.
func (r *records) lookup(name []byte) *statement {
	if len(name) == 0 {
		return r.unnamed
	}
	return r.named[string(name)]
}

// forget carries out what DEALLOCATE and DISCARD do to the names.
func (r *records) forget(u *undo, eff *rewrite.Effects) *undo {
	if u == nil {
		u = &undo{}
	}
	if eff.DropAll {
		if len(r.named) > 0 {
			u.all, u.hadAll = r.named, true
			r.named = nil
		}
		return u
	}
	for _, name := range eff.Drop {
		if st := r.named[name]; st != nil {
			u.dropped = append(u.dropped, st)
			delete(r.named, name)
		}
	}
	return u
}

// takeBack restores what a request changed that the server dropped, but for the
// unnamed statement.
func (r *records) takeBack(u *undo) {
	if u.hadAll {
		r.named = u.all
	}
	if r.named == nil {
		r.named = map[string]*statement{}
	}
	for _, st := range u.dropped {
		r.named[st.name] = st
	}
	switch {
	case !u.hadNamed:
	case u.named == nil:
		delete(r.named, u.name)
	default:
		r.named[u.name] = u.named
	}
}

// letGo forgets what takeBack would restore, and the name that was assigned.
func (r *records) letGo(u *undo) {
	r.confirm(u)
	if st := r.named[u.name]; u.hadNamed && st != nil {
		r.discard(st)
		delete(r.named, u.name)
	}
}

// confirm is called when the server has done what the request asked for: the
// twins of statements that are gone are closed at the next chance.
func (r *records) confirm(u *undo) {
	for _, st := range u.all {
		r.discard(st)
	}
	for _, st := range u.dropped {
		r.discard(st)
	}
	if u.hadNamed && u.named != nil {
		r.discard(u.named)
	}
}

func (r *records) discard(st *statement) {
	if st.twin != "" {
		r.garbage = append(r.garbage, st.twin)
		st.twin, st.ready = "", false
	}
}

// newTwin returns a name that no statement of this session had before.
func (r *records) newTwin() string {
	r.twins++
	return "pgidproxy_twin_" + strconv.Itoa(r.twins)
}

// noteTemp keeps the names of temporary relations, which may stand before the
// permanent ones that the catalog knows.
func (r *records) noteTemp(eff *rewrite.Effects) {
	for _, name := range eff.Temp {
		r.addTemp(name)
	}
	for _, names := range eff.Renamed {
		if _, ok := r.temp[names[0]]; ok {
			r.addTemp(names[1])
		}
	}
}

func (r *records) addTemp(name string) {
	if r.temp == nil {
		r.temp = map[string]struct{}{}
	}
	if len(r.temp) >= maxTempNames {
		r.tempAny = true
		return
	}
	r.temp[name] = struct{}{}
}

// shadowed tells whether a relation of one of the names may be a temporary one.
func (r *records) shadowed(relations []string) bool {
	if len(relations) == 0 {
		return false
	}
	if r.tempAny {
		return true
	}
	for _, name := range relations {
		if _, ok := r.temp[name]; ok {
			return true
		}
	}
	return false
}
