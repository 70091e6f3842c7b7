package rewrite

import (
	_ "embed"
	"strings"
	"sync"
)

// PostgreSQL's own functions and operators, for when the catalog is not known,
// and to tell which of those at hand do nothing but return a value. The lists
// are made from the catalogs of PostgreSQL 14 to 18 and tested against servers.
var (
	//go:embed builtin_functions.txt
	functionNames string
	//go:embed builtin_operators.txt
	operatorNames string

	builtinFunctions = sync.OnceValue(func() map[string]bool { return nameSet(functionNames, true) })
	quietFunctions   = sync.OnceValue(func() map[string]bool { return nameSet(functionNames, false) })
	builtinOperators = sync.OnceValue(func() map[string]bool { return nameSet(operatorNames, true) })
)

// nameSet returns the names in a list: with loud also those marked "!".
func nameSet(list string, loud bool) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, "-- ") {
			continue
		}
		for name := range strings.FieldsSeq(line) {
			if n := len(name) - 1; n > 0 && name[n] == '!' && isNameByte(name[0]) {
				if !loud {
					continue
				}
				name = name[:n]
			}
			set[name] = true
		}
	}
	return set
}

func isNameByte(c byte) bool { return classes[c]&classIdent != 0 }

// totalOperators are the operators that fail for no int8, uuid or text beside
// another value of a built-in type.
var totalOperators = map[string]bool{
	"=": true, "<>": true, "<": true, ">": true, "<=": true, ">=": true, "||": true,
	">>": true, "<<": true, "&": true, "|": true, "#": true, "~": true,
}

// totalFunctions are functions that fail for no such value.
var totalFunctions = map[string]bool{
	IDToTimestamp: true, "abs": true, "char_length": true, "concat": true, "length": true, "lower": true,
	"md5": true, "octet_length": true, "to_hex": true, "upper": true,
}

// builtinTypes are types of PostgreSQL's own whose input and casts do nothing
// but make a value. To those that are true bigint is never cast unasked in a way
// that could fail; money, oid and the reg… types are left out.
var builtinTypes = map[string]bool{
	"bool": true, "bpchar": true, "bytea": true, "char": true, "date": true, "float4": true, "float8": true,
	"int2": true, "int4": true, "int8": true, "interval": true, "json": true, "jsonb": true, "name": true,
	"numeric": true, "text": true, "time": true, "timestamp": true, "timestamptz": true, "timetz": true,
	"uuid": true, "varchar": true,

	"bit": false, "box": false, "cidr": false, "circle": false, "inet": false, "jsonpath": false, "line": false,
	"lseg": false, "macaddr": false, "macaddr8": false, "money": false, "oid": false, "path": false,
	"pg_lsn": false, "point": false, "polygon": false, "regclass": false, "regproc": false,
	"regprocedure": false, "regtype": false, "tsquery": false, "tsvector": false, "varbit": false, "xml": false,
}
