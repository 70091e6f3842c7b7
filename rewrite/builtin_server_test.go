package rewrite

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// harmlessLoud are volatile functions whose only effect that can be seen is
// their value.
var harmlessLoud = map[string]bool{
	"clock_timestamp": true, "current_query": true, "currval": true, "gen_random_uuid": true, "lastval": true,
	"pg_database_size": true, "pg_indexes_size": true, "pg_is_in_recovery": true, "pg_relation_size": true,
	"pg_table_size": true, "pg_total_relation_size": true, "pg_xact_status": true, "random": true,
	"random_normal": true, "timeofday": true, "timezone": true, "txid_status": true, "uuidv4": true,
}

// TestBuiltinLists holds the lists of names against a server: none gives a set
// or aggregates, and none that is marked as quiet does anything.
func TestBuiltinLists(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		conn, err := pgx.Connect(ctx, devpgtest.DatabaseOn(t, s))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		for _, c := range []struct {
			query         string
			listed, quiet map[string]bool
			least         int
		}{
			{`SELECT proname::text, bool_and(prokind = 'f' AND NOT proretset), bool_or(provolatile = 'v')
				FROM pg_catalog.pg_proc GROUP BY 1`, builtinFunctions(), quietFunctions(), 1500},
			{`SELECT oprname::text, bool_and(prokind = 'f' AND NOT proretset), bool_or(provolatile = 'v')
				FROM pg_catalog.pg_operator JOIN pg_catalog.pg_proc p ON p.oid = oprcode GROUP BY 1`, builtinOperators(), builtinOperators(), 70},
		} {
			rows, err := conn.Query(ctx, c.query)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for rows.Next() {
				var name string
				var single, volatile bool
				if err := rows.Scan(&name, &single, &volatile); err != nil {
					t.Fatal(err)
				}
				if c.listed[name] {
					found++
				}
				if c.listed[name] && !single {
					t.Errorf("%s may give a set, or is no ordinary function", name)
				}
				if c.quiet[name] && volatile && !harmlessLoud[name] {
					t.Errorf("%s is volatile", name)
				}
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			if found < c.least {
				t.Errorf("%d of the names are there, want %d", found, c.least)
			}
		}
		for name := range totalFunctions {
			if !quietFunctions()[name] && name != IDToTimestamp {
				t.Errorf("%s is not in the list", name)
			}
		}
		for name := range builtinTypes {
			var n int
			if err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_catalog.pg_type WHERE typname = $1", name).Scan(&n); err != nil || n == 0 {
				t.Errorf("%s is no type: %v", name, err)
			}
		}
	})
}
