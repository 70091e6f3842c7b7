package sql

import (
	_ "embed" // for the script
	"strings"
)

//go:embed bench/btree.sql
var btreeSQL string

// BTreeBench returns what the benchmark script for psql makes in the database,
// the schema pgid_bench with procedures that prepare a run and measure, for a
// program that takes the same steps.
func BTreeBench() string {
	_, rest, _ := strings.Cut(btreeSQL, "\n--section schema\n")
	schema, _, found := strings.Cut(rest, "\n--end\n")
	if !found {
		panic("bench/btree.sql has no section schema")
	}
	return schema
}
