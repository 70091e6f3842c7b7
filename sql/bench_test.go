package sql

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// BenchmarkRow is INSERT … SELECT of b.N rows with each function beside nextval
// and gen_random_uuid. For the figures that are compared:
//
//	go test -run '^$' -bench Row -benchtime 1000000x -count 5 ./sql
//
// After a run of 5,000,000 rows into an indexed table,
// SELECT avg_leaf_density FROM pgstatindex('index') tells how full its leaves are.
func BenchmarkRow(b *testing.B) {
	conn, _ := installed(b, devpgtest.Server(b))
	exec(b, conn, "CREATE SEQUENCE s; CREATE UNLOGGED TABLE ints (v bigint); CREATE UNLOGGED TABLE uuids (v uuid)")
	for _, c := range []struct{ call, table string }{
		{"nextval('s')", "ints"}, {"next_snowflake()", "ints"}, {"uuidv7()", "uuids"}, {"gen_random_uuid()", "uuids"},
	} {
		b.Run(c.call, func(b *testing.B) {
			exec(b, conn, "TRUNCATE ints, uuids")
			b.ResetTimer()
			query := fmt.Sprintf("INSERT INTO %s SELECT %s FROM generate_series(1, %d)", c.table, c.call, b.N)
			if _, err := conn.Exec(context.Background(), query, pgx.QueryExecModeSimpleProtocol); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkCreateTable is what the event triggers cost.
func BenchmarkCreateTable(b *testing.B) {
	conn, _ := installed(b, devpgtest.Private(b, map[string]string{"max_prepared_transactions": "0"}))
	for _, kind := range []string{"TABLE", "TEMP TABLE"} {
		for _, triggers := range []string{"DISABLE", "ENABLE"} {
			exec(b, conn, fmt.Sprintf("ALTER EVENT TRIGGER pgidproxy_ddl %s; ALTER EVENT TRIGGER pgidproxy_drop %[1]s", triggers))
			b.Run(kind+"/"+triggers, func(b *testing.B) {
				for b.Loop() {
					exec(b, conn, "CREATE "+kind+" made (id bigint PRIMARY KEY, a text)")
					b.StopTimer()
					exec(b, conn, "DROP TABLE made")
					b.StartTimer()
				}
			})
		}
	}
}
