package e2e

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// ids collects ids that must all be different and of one node.
type ids struct {
	tb   testing.TB
	node int
	seen map[int64]bool
}

func newIDs(tb testing.TB, node int) *ids {
	return &ids{tb: tb, node: node, seen: map[int64]bool{}}
}

func (s *ids) add(id int64) {
	s.tb.Helper()
	if got := nodeOf(id); got != s.node || !recent(snowflakeMillis(id)) {
		s.tb.Fatalf("id %d is of node %d, want %d", id, got, s.node)
	}
	if s.seen[id] {
		s.tb.Fatalf("id %d came twice", id)
	}
	s.seen[id] = true
}

func (s *ids) want(n int) {
	s.tb.Helper()
	if len(s.seen) != n {
		s.tb.Errorf("got %d ids, want %d", len(s.seen), n)
	}
}

var execModes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

func TestPgxModes(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		for _, mode := range execModes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				_, url := proxied(t, s)
				config, err := pgx.ParseConfig(url)
				if err != nil {
					t.Fatal(err)
				}
				config.DefaultQueryExecMode = mode
				conn, err := pgx.ConnectConfig(t.Context(), config)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(context.Background())
				pgxSelect(t, conn)
				pgxInsert(t, conn)
				pgxBatch(t, conn)
				pgxCopy(t, conn)
			})
		}
	})
}

// pgxSelect wants the column of a bare call to be as the server describes it.
func pgxSelect(t *testing.T, conn *pgx.Conn) {
	rows, err := conn.Query(t.Context(), "SELECT next_snowflake()")
	if err != nil {
		t.Fatal(err)
	}
	id, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	f := rows.FieldDescriptions()[0]
	if f.Name != "next_snowflake" || f.DataTypeOID != pgtype.Int8OID {
		t.Errorf("column %q of type %d, want next_snowflake of type %d", f.Name, f.DataTypeOID, pgtype.Int8OID)
	}
	newIDs(t, proxyNode).add(id)
	var u [16]byte
	if err := conn.QueryRow(t.Context(), "SELECT uuidv7()").Scan(&u); err != nil {
		t.Fatal(err)
	}
	if !recent(uuidMillis(u[:])) || u[6]>>4 != 7 {
		t.Errorf("uuidv7() gave %x", u)
	}
}

func pgxInsert(t *testing.T, conn *pgx.Conn) {
	got := newIDs(t, proxyNode)
	for i := range 1000 {
		rows, err := conn.Query(t.Context(),
			"INSERT INTO t(id, name, n) VALUES (next_snowflake(), $1, $2), (next_snowflake(), $1, $2) RETURNING id", "pgx", int32(i))
		if err != nil {
			t.Fatal(err)
		}
		pair, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range pair {
			got.add(id)
		}
	}
	got.want(2000)
	var n int
	var err error
	if err = conn.QueryRow(t.Context(), "SELECT count(DISTINCT id) FROM t WHERE name = $1", "pgx").Scan(&n); err != nil || n != 2000 {
		t.Errorf("%d ids stored, want 2000: %v", n, err)
	}
	// An error in one of them is the server's own, and the connection goes on.
	_, err = conn.Exec(t.Context(), "INSERT INTO t(id, n) VALUES (next_snowflake(), 1 / $1::int)", 0)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "22012" {
		t.Errorf("division by zero gave %v", err)
	}
}

func pgxBatch(t *testing.T, conn *pgx.Conn) {
	got := newIDs(t, proxyNode)
	var batch pgx.Batch
	for i := range 100 {
		batch.Queue("INSERT INTO acct(id, name) VALUES (next_snowflake(), $1) RETURNING id", fmt.Sprint("b", i)).QueryRow(func(row pgx.Row) error {
			var id int64
			err := row.Scan(&id)
			got.add(id)
			return err
		})
	}
	if err := conn.SendBatch(t.Context(), &batch).Close(); err != nil {
		t.Fatal(err)
	}
	got.want(100)
	// One that fails takes the batch with it.
	batch = pgx.Batch{}
	batch.Queue("INSERT INTO acct(id, name) VALUES (next_snowflake(), $1)", "lost")
	batch.Queue("SELECT 1 / $1::int, next_snowflake()", 0)
	batch.Queue("INSERT INTO acct(id, name) VALUES (next_snowflake(), $1)", "lost")
	if err := conn.SendBatch(t.Context(), &batch).Close(); err == nil {
		t.Error("a batch with a division by zero succeeded")
	}
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM acct WHERE name = 'lost'").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows of a failed batch: %v", n, err)
	}
}

// pgxCopy leaves the id out: the server's default makes it.
func pgxCopy(t *testing.T, conn *pgx.Conn) {
	rows := make([][]any, 500)
	for i := range rows {
		rows[i] = []any{fmt.Sprint("copy", i)}
	}
	n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"acct"}, []string{"name"}, pgx.CopyFromRows(rows))
	if err != nil || n != 500 {
		t.Fatalf("copied %d rows: %v", n, err)
	}
	got := newIDs(t, functionNode)
	stored, err := conn.Query(t.Context(), "SELECT id FROM acct WHERE name LIKE 'copy%'")
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(stored, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range all {
		got.add(id)
	}
	got.want(500)
}

func TestPgxPipeline(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		_, url := proxied(t, s)
		pipeline := connectTo(t, url).PgConn().StartPipeline(t.Context())
		got := newIDs(t, proxyNode)
		// drain reads up to the next Sync's end and returns the errors met.
		drain := func() (failed []error) {
			t.Helper()
			if err := pipeline.Sync(); err != nil {
				t.Fatal(err)
			}
			for {
				results, err := pipeline.GetResults()
				if err != nil {
					failed = append(failed, err)
					continue
				}
				switch results := results.(type) {
				case *pgconn.PipelineSync:
					return failed
				case *pgconn.StatementDescription:
					if len(results.ParamOIDs) != 1 || len(results.Fields) != 1 {
						t.Errorf("described as %+v", results)
					}
				case *pgconn.ResultReader:
					read := results.Read()
					if read.Err != nil {
						failed = append(failed, read.Err)
					}
					for _, row := range read.Rows {
						got.add(int64(binary.BigEndian.Uint64(row[0])))
					}
				}
			}
		}
		pipeline.SendPrepare("ins", "INSERT INTO t(id, name) VALUES (next_snowflake(), $1) RETURNING id", nil)
		for range 50 {
			pipeline.SendQueryPrepared("ins", [][]byte{[]byte("p")}, nil, []int16{1})
		}
		if failed := drain(); failed != nil {
			t.Errorf("50 inserts: %v", failed)
		}
		pipeline.SendQueryPrepared("ins", [][]byte{[]byte("undone")}, nil, []int16{1})
		pipeline.SendQueryParams("SELECT 1 / $1::int, next_snowflake()", [][]byte{[]byte("0")}, nil, nil, nil)
		pipeline.SendQueryPrepared("ins", [][]byte{[]byte("dropped")}, nil, []int16{1})
		if failed := drain(); len(failed) == 0 {
			t.Error("no error for a division by zero")
		}
		pipeline.SendQueryPrepared("ins", [][]byte{[]byte("p")}, nil, []int16{1})
		if failed := drain(); failed != nil {
			t.Errorf("after a failure: %v", failed)
		}
		got.want(52)
		if err := pipeline.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestDatabaseSQL(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		_, url := proxied(t, s)
		config, err := pgx.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		db := stdlib.OpenDB(*config)
		defer db.Close()
		testSQL(t, db)
	})
}
