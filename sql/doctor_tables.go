package sql

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

var (
	//go:embed doctor_defaults.sql
	doctorDefaultsQuery string
	//go:embed doctor_columns.sql
	doctorColumnsQuery string
	//go:embed doctor_json.sql
	doctorJSONQuery string
)

// A usedDefault is a default of a column or domain that calls a function with
// one of our names.
type usedDefault struct {
	relation      uint32 // 0: a domain
	attribute     int16
	subject       string // how a statement names the column or domain
	table, column string
	function      *namedFunction
	expression    string // as it is stored
	holder        columnType
}

// A columnType is what a column can hold.
type columnType struct {
	name     string
	oid      uint32 // of the base type
	modifier int32
}

// holds tells whether all ids of a kind go in without being rounded or refused.
func (t columnType) holds(uuid bool) bool {
	const int2, int4, oid, float4, float8, bpchar, varchar, numeric = 21, 23, 26, 700, 701, 1042, 1043, 1700
	const header = 4 // that a modifier has on top (VARHDRSZ)
	digits := int32(len("9223372036854775807"))
	if uuid {
		digits = int32(len("00000000-0000-0000-0000-000000000000"))
	}
	switch m := t.modifier - header; t.oid {
	case int2, int4, oid, float4, float8:
		return false
	case varchar, bpchar:
		return t.modifier < 0 || m >= digits
	case numeric: // the scale has 11 bits with a sign
		return t.modifier < 0 || m>>16-((m&0x7ff)^1024-1024) >= digits
	}
	return true
}

// loadUsedDefaults finds the defaults that call something with one of our names.
func (d *doctor) loadUsedDefaults(ctx context.Context) error {
	oids := []uint32{}
	byOID := map[uint32]*namedFunction{}
	for i := range d.named {
		if f := &d.named[i]; f.OID != 0 && f.Name != rewrite.IDToTimestamp {
			oids, byOID[f.OID] = append(oids, f.OID), f
		}
	}
	rows, _ := d.tx.Query(ctx, doctorDefaultsQuery, oids)
	var u usedDefault
	var function uint32
	_, err := pgx.ForEachRow(rows, []any{&u.relation, &u.attribute, &u.subject, &u.table, &u.column, &function, &u.expression,
		&u.holder.name, &u.holder.oid, &u.holder.modifier}, func() error {
		u.function = byOID[function]
		d.defaults = append(d.defaults, u)
		return nil
	})
	return err
}

var (
	// plainCall matches a stored default that is a call without arguments and nothing else.
	plainCall = regexp.MustCompile(`^\{FUNCEXPR [^{}]*:args <> :location -?\d+\}$`)
	// storedNode and explicitCall match what a stored expression consists of: the
	// names of its nodes, and the calls that somebody has written as such, by how
	// they are shown (0: as a call, 1 and 2: as casts).
	storedNode   = regexp.MustCompile(`\{([A-Z_]+) `)
	explicitCall = regexp.MustCompile(`:funcformat 0 `)
)

// casts tells whether the default is the call, were it with casts around it.
func (u *usedDefault) casts() bool {
	for _, m := range storedNode.FindAllStringSubmatch(u.expression, -1) {
		switch m[1] {
		case "FUNCEXPR", "RELABELTYPE", "COERCEVIAIO", "COERCETODOMAIN", "CONST":
		default:
			return false
		}
	}
	return len(explicitCall.FindAllString(u.expression, -1)) == 1
}

// checkDefaults tells for each default which function it really calls.
func (d *doctor) checkDefaults(context.Context) error {
	for i := range d.defaults {
		u := &d.defaults[i]
		f := u.function
		level, finding, advice := LevelOK, "", ""
		set := ""
		if u.relation != 0 && d.found {
			set = fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s SET DEFAULT %s.%s();", u.table, u.column, d.schema, f.Name)
		}
		node, sound := mintsUnder(f.Body)
		switch {
		case f.origin == originBuiltin:
			finding = "calls PostgreSQL's own uuidv7()"
		case f.origin == originOurs && f.Name == rewrite.UUIDv7 && d.server.version >= builtinUUIDv7:
			level, finding = LevelNote, "calls "+f.signature+", ours from before the upgrade, and not PostgreSQL's own uuidv7(): both are right"
			if u.relation != 0 {
				advice = fmt.Sprintf("To change it: ALTER TABLE %s ALTER COLUMN %s SET DEFAULT pg_catalog.uuidv7();", u.table, u.column)
			}
		case f.origin == originOurs:
			finding = "calls ours, " + f.signature
		case f.origin == originCopy && !d.found:
			level, finding, advice = LevelNote, "calls "+f.signature+", ours by its text or comment", ""
		case f.origin == originCopy && sound && node != d.config.FunctionNode:
			level, advice = LevelDanger, set
			finding = fmt.Sprintf("calls %s, a copy of ours that mints under node %d, which is not this database's (%d)", f.signature, node, d.config.FunctionNode)
		case f.origin == originCopy:
			level, advice = LevelWarning, set
			finding = "calls " + f.signature + ", a copy of ours that install does not bring up to date and proxies do not know"
		default:
			level, advice = LevelWarning, set
			finding = "calls " + f.signature + ", which is not ours"
			if !d.found {
				level = LevelNote
			}
		}
		if advice != "" && level == LevelWarning {
			advice = "If ours is meant: " + advice
		}
		if f.origin == originOurs && !plainCall.MatchString(u.expression) {
			finding += ", within an expression, which proxies leave to the server"
		} else if f.origin == originOurs && u.relation == 0 {
			finding += ", as a domain does, which proxies leave to the server"
		}
		d.say(level, u.subject, finding, advice)
	}
	return nil
}

// keys returns the columns whose default makes snowflakes: relations and numbers.
func (d *doctor) keys() (relations []uint32, attributes []int16) {
	relations, attributes = []uint32{}, []int16{}
	for i := range d.defaults {
		u := &d.defaults[i]
		if u.relation != 0 && u.function.Name == rewrite.NextSnowflake && u.function.origin != originOther && u.casts() {
			relations, attributes = append(relations, u.relation), append(attributes, u.attribute)
		}
	}
	return relations, attributes
}

// checkColumns finds columns in which ids do not fit.
func (d *doctor) checkColumns(ctx context.Context) error {
	bigint := func(table, column string) string {
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE bigint;", table, column)
	}
	for i := range d.defaults {
		u := &d.defaults[i]
		uuid := u.function.Name == rewrite.UUIDv7
		if u.function.origin == originOther || !u.casts() || u.holder.holds(uuid) {
			continue
		}
		advice := bigint(u.table, u.column)
		if uuid {
			advice = fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE uuid USING %[2]s::uuid;", u.table, u.column)
		}
		if u.relation == 0 {
			advice = "Make it a domain over bigint or uuid."
		}
		d.say(LevelDanger, u.subject, fmt.Sprintf("its default is %s, but its type %s cannot hold such an id: an INSERT fails, or rounds it", u.function.signature, u.holder.name), advice)
	}
	relations, attributes := d.keys()
	if len(relations) == 0 {
		return nil
	}
	rows, _ := d.tx.Query(ctx, doctorColumnsQuery, relations, attributes)
	var subject, table, column, source string
	var key bool
	var t columnType
	_, err := pgx.ForEachRow(rows, []any{&subject, &table, &column, &source, &key, &t.name, &t.oid, &t.modifier}, func() error {
		if t.holds(false) {
			return nil
		}
		how := "it refers to"
		if !key {
			how = "by its name it refers to"
		}
		d.say(LevelDanger, subject, fmt.Sprintf("%s %s, but its type %s cannot hold 64 bits: ids do not fit", how, source, t.name), bigint(table, column))
		return nil
	})
	return err
}

// checkJSON finds what may put snowflakes into JSON as numbers.
func (d *doctor) checkJSON(ctx context.Context) error {
	relations, attributes := d.keys()
	if len(relations) == 0 {
		return nil
	}
	rows, _ := d.tx.Query(ctx, doctorJSONQuery, relations, attributes)
	var reader string
	var tables []string
	_, err := pgx.ForEachRow(rows, []any{&reader, &tables}, func() error {
		d.say(LevelNote, reader, "it makes JSON of rows of "+strings.Join(tables, ", ")+
			", in which a snowflake is a number over 2^53, that JavaScript and others round", "Cast the id to text there, or read it as a string or BigInt.")
		return nil
	})
	return err
}
