package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// together runs f in n sessions of url at the same time.
func together(tb testing.TB, url string, n int, f func(ctx context.Context, session int, conn *pgx.Conn) error) {
	tb.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			ctx := tb.Context()
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				errs[i] = err
				return
			}
			defer conn.Close(context.Background())
			errs[i] = f(ctx, i, conn)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}

// TestServerAndProxyMint has 64 direct sessions call the function while others
// insert through the proxy; then the same with statements cut off at random.
func TestServerAndProxyMint(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		direct, through := proxied(t, s)
		const sessions, calls = 64, 60
		var both sync.WaitGroup
		both.Go(func() {
			together(t, through, 4, func(ctx context.Context, _ int, conn *pgx.Conn) error {
				for i := range 200 {
					if _, err := conn.Exec(ctx, "INSERT INTO t(id, name, n) VALUES (next_snowflake(), 'proxy', $1)", i); err != nil {
						return err
					}
				}
				return nil
			})
		})
		together(t, direct, sessions, func(ctx context.Context, _ int, conn *pgx.Conn) error {
			for i := range calls {
				sql := "INSERT INTO t(id, name) VALUES (next_snowflake(), 'direct')"
				if i%10 == 0 {
					sql = "INSERT INTO t(id, name) SELECT next_snowflake(), 'direct' FROM generate_series(1, 200)"
				}
				if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
					return err
				}
			}
			return nil
		})
		both.Wait()
		conn := connectTo(t, direct)
		got := query(t, conn, `SELECT concat_ws(' ', name, count(*), count(DISTINCT id), min(id >> 12 & 1023), max(id >> 12 & 1023))
			FROM t GROUP BY name ORDER BY name`)
		rows := sessions * (calls/10*200 + calls - calls/10)
		want := []string{fmt.Sprintf("direct %d %[1]d %d %[2]d", rows, functionNode), fmt.Sprintf("proxy 800 800 %d %[1]d", proxyNode)}
		if d := diff(want, got); d != "" {
			t.Errorf("name, rows, ids, least and greatest node:\n%s", d)
		}
		cutOff(t, direct, through)
	})
}

// cutOff has statements end by timeouts and cancel requests in the middle of
// the function, directly and through the proxy. Nothing may hold a lock after.
func cutOff(t *testing.T, direct, through string) {
	canceller := connectTo(t, direct)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				query(t, canceller, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND random() < 0.3")
			}
		}
	})
	struck := func(ctx context.Context, session int, conn *pgx.Conn) error {
		setting := fmt.Sprintf("SET statement_timeout = '%dms'", 1+session%3)
		if _, err := conn.Exec(ctx, setting, pgx.QueryExecModeSimpleProtocol); err != nil && !cancelled(err) {
			return err
		}
		for i := range 40 {
			sql := "INSERT INTO t(id, name) SELECT next_snowflake(), 'cut' FROM generate_series(1, 300)"
			if i%2 == 0 {
				sql = "INSERT INTO t(id, name) VALUES (next_snowflake(), 'cut')"
			}
			if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil && !cancelled(err) {
				return err
			}
		}
		return nil
	}
	together(t, direct, 12, struck)
	together(t, through, 4, struck)
	close(done)
	wg.Wait()
	conn := connectTo(t, direct)
	got := query(t, conn, `SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND (locktype = 'advisory'
		OR relation IN (SELECT oid FROM pg_class WHERE relnamespace = 'pgid'::regnamespace))
		AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`)
	if got[0] != "0" {
		t.Errorf("%s locks are left behind", got[0])
	}
	query(t, conn, "SELECT next_snowflake() FROM generate_series(1, 10)")
	if got := query(t, conn, "SELECT count(*) - count(DISTINCT id) FROM t"); got[0] != "0" {
		t.Errorf("%s ids repeated", got[0])
	}
}

func cancelled(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "57014"
}

// OR-09: no text is kept for good.
func TestMemoryStaysFlat(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		p := ownProxy(t, s)
		session := openStream(t, p.databaseURL(newDatabase(t, s)), newMask())
		const rounds, batch = 6, 1000
		warm := 0
		for round := range rounds {
			for i := range batch {
				n := round*batch + i
				session.queue(
					&pgproto3.Query{String: fmt.Sprintf("INSERT INTO acct(id, name) VALUES (next_snowflake(), 'v%d') /*traceparent='00-%032x'*/", n, n*7919)},
					&pgproto3.Query{String: fmt.Sprintf("SELECT next_snowflake() AS c%d", n)},
					&pgproto3.Parse{Name: fmt.Sprint("n", n), Query: fmt.Sprintf("SELECT next_snowflake(), $1::int + %d /* %d */", n, n)},
					&pgproto3.Bind{PreparedStatement: fmt.Sprint("n", n), Parameters: [][]byte{[]byte("1")}}, &pgproto3.Execute{},
					&pgproto3.Close{ObjectType: 'S', Name: fmt.Sprint("n", n)}, &pgproto3.Sync{})
				if i%50 < 49 {
					continue
				}
				session.flush()
				for ready := 0; ready < 3*50; {
					if typ, text := session.receive(); typ == 'Z' {
						ready++
					} else if typ == 'E' || typ == 0 {
						t.Fatal(text)
					}
				}
			}
			if round == 2 {
				warm = p.residentBytes(t)
			}
		}
		const most = 24 << 20
		if grown := p.residentBytes(t) - warm; grown > most {
			t.Errorf("memory grew by %d KiB in %d statements, from %d KiB", grown>>10, 3*3*batch, warm>>10)
		}
	})
}

// OR-04: 65,535 parameters are the client's to use.
func TestManyParameters(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		oracle, subject := newSide(t, s, false, false), newSide(t, s, true, false)
		subject.ready(t)
		a, b := oracle.session(t, "main"), subject.session(t, "main")
		ask := func(name string, sql string, n int) {
			t.Helper()
			values, types := make([][]byte, n), make([]uint32, n)
			for i := range values {
				values[i], types[i] = []byte("x"), pgtype.TextOID
			}
			var got [2][]string
			for i, stream := range []*stream{a, b} {
				stream.queue(&pgproto3.Parse{Query: sql, ParameterOIDs: types}, &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{Parameters: values}, &pgproto3.Execute{}, &pgproto3.Sync{})
				got[i] = stream.until("Z")
			}
			if d := diff(got[0], got[1]); d != "" {
				t.Errorf("%s: through the proxy (+) and directly (-):\n%.2000s", name, d)
			}
		}
		for n, node := range map[int]int{65533: proxyNode, 65534: proxyNode, 65535: functionNode} {
			ask(fmt.Sprint(n), fmt.Sprintf("INSERT INTO t(id, name) VALUES (next_snowflake(), $%d) RETURNING id, name", n), n)
			oracle.fresh()
			if got := subject.fresh(); len(got) != 1 || got[0].node != node {
				t.Errorf("%d parameters: %v, want node %d", n, got, node)
			}
		}
		rows := func(columns, first string) string {
			var sql strings.Builder
			sql.WriteString("INSERT INTO acct(" + columns + ") VALUES (" + first + "$1)")
			for i := 2; i <= 65535; i++ {
				fmt.Fprintf(&sql, ",(%s$%d)", first, i)
			}
			return sql.String()
		}
		ask("rows with a default", rows("name", ""), 65535)
		ask("rows with a call", rows("id, name", "next_snowflake(),"), 65535)
		for i, stream := range []*stream{a, b} {
			got := stream.simple("SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id >> 12 & 1023 = 1023) FROM acct")
			if want := `D "131070" "131070" "131070"`; got[1] != want {
				t.Errorf("side %d: %s, want %s", i, got[1], want)
			}
		}
	})
}
