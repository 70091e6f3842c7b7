package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgidproxy/pgidproxy/gen"
)

// rowsOf joins n rows, numbered from 1.
func rowsOf(n int, row func(i int) string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if i > 1 {
			b.WriteString(", ")
		}
		b.WriteString(row(i))
	}
	return b.String()
}

// stored describes the ids of a table: rows, different ids, of the node, and in
// the order of n.
func stored(tb testing.TB, conn *pgx.Conn, table string, node int) string {
	tb.Helper()
	return query(tb, conn, fmt.Sprintf(`SELECT concat_ws(' ', count(*), count(DISTINCT id), count(*) FILTER (WHERE id >> 12 & 1023 = %d), bool_and(ascends))
		FROM (SELECT id, coalesce(id > lag(id) OVER (ORDER BY n), true) AS ascends FROM %s) x`, node, table))[0]
}

// TestFillManyParameters comes to the number of parameters that a statement may
// have (OR-04): where ids of their own do not fit they share arrays, and where
// these do not fit the server makes the ids.
func TestFillManyParameters(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		oracle, subject := newSide(t, s, false, false), newSide(t, s, true, false)
		for _, side := range []*side{oracle, subject} {
			side.session(t, "main").simple("CREATE TABLE m (n int, id bigint PRIMARY KEY DEFAULT next_snowflake()); CREATE TABLE m2 (n int, id bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7())")
		}
		subject.ready(t)
		watch := connectTo(t, subject.url)
		a, b := oracle.session(t, "main"), subject.session(t, "main")
		for _, c := range []struct {
			table  string
			params int
			name   string
			node   int
		}{
			{"m", 1, "", proxyNode}, {"m", 2, "", proxyNode}, {"m", 64, "", proxyNode}, {"m", 65, "", proxyNode},
			{"m", 32767, "", proxyNode}, {"m", 32768, "", proxyNode}, {"m", 32768, "named", proxyNode},
			{"m", 64526, "", proxyNode}, {"m", 64527, "", functionNode},
			{"m", 65534, "", functionNode}, {"m", 65535, "", functionNode}, {"m", 65535, "n", functionNode},
			{"m2", 21845, "", proxyNode}, {"m2", 21846, "", proxyNode},
			{"m2", 63549, "", proxyNode}, {"m2", 63550, "", functionNode}, {"m2", 65535, "", functionNode},
		} {
			sql := "INSERT INTO " + c.table + "(n) VALUES " + rowsOf(c.params, func(i int) string { return fmt.Sprintf("($%d)", i) })
			values, types := make([][]byte, c.params), make([]uint32, c.params)
			for i := range values {
				values[i], types[i] = strconv.AppendInt(nil, int64(i), 10), pgtype.Int4OID
			}
			for _, format := range [][]int16{nil, {pgproto3.TextFormat}} {
				var got [2][]string
				for i, stream := range []*stream{a, b} {
					stream.simple("TRUNCATE " + c.table)
					stream.queue(&pgproto3.Close{ObjectType: 'S', Name: c.name}, &pgproto3.Parse{Name: c.name, Query: sql, ParameterOIDs: types}, &pgproto3.Sync{})
					got[i] = stream.until("Z")
					stream.queue(&pgproto3.Describe{ObjectType: 'S', Name: c.name},
						&pgproto3.Bind{PreparedStatement: c.name, ParameterFormatCodes: format, Parameters: values}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Sync{})
					got[i] = append(got[i], stream.until("Z")...)
				}
				if d := diff(got[0], got[1]); d != "" {
					t.Errorf("%d parameters: through the proxy (+) and directly (-):\n%.2000s", c.params, d)
				}
				if got, want := stored(t, watch, c.table, c.node), fmt.Sprintf("%d %[1]d %[1]d t", c.params); got != want {
					t.Errorf("%s, %d parameters: rows, ids, of node %d, ascending: %s, want %s", c.table, c.params, c.node, got, want)
				}
			}
		}
		// One more than there may be.
		for _, n := range []int{65535, 65536} {
			sql := fmt.Sprintf("INSERT INTO m(n) SELECT 1 WHERE $%d IS NOT NULL OR $1 = 1", n)
			st := step{text: sql, types: []uint32{pgtype.Int4OID}, values: [][]byte{[]byte("1")}, once: true}
			if d := diff(a.prepareUnnamed(st), b.prepareUnnamed(st)); d != "" {
				t.Errorf("$%d: through the proxy (+) and directly (-):\n%s", n, d)
			}
		}
	})
}

// TestFillLongTexts sends simple queries of many rows: as long as the rows have
// one shape they are filled, and where a text is too long to be planned the
// server makes the ids.
func TestFillLongTexts(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		direct, through := proxied(t, s)
		watch := connectTo(t, direct)
		session := openStream(t, through, newMask())
		session.simple("CREATE TABLE m (n int, id bigint PRIMARY KEY DEFAULT next_snowflake(), name text)")
		session.awaitProxy()
		same := func(i int) string { return fmt.Sprintf("(%d, 'row %d')", i, i) }
		mixed := func(i int) string {
			return [...]string{"(%d, 'x')", "(%d, NULL)", "(%d, upper('x'))", "(%d, 'a' || 'b')", "(%d, DEFAULT)", "(%d + 0, 'y')", "((%d), 'z')"}[i*i%31%7]
		}
		for _, c := range []struct {
			name string
			rows int
			row  func(int) string
			node int
		}{
			{"one", 1, same, proxyNode}, {"two", 2, same, proxyNode}, {"as many as fold", 8, same, proxyNode},
			{"300", 300, same, proxyNode}, {"5,000", 5000, same, proxyNode}, {"40,000", 40000, same, proxyNode},
			{"over the limit of texts", 60000, same, functionNode},
			{"300 mixed", 300, func(i int) string { return fmt.Sprintf(mixed(i), i) }, proxyNode},
			{"7,000 mixed", 7000, func(i int) string { return fmt.Sprintf(mixed(i), i) }, functionNode},
		} {
			// (After a text that is too long to be read a session may have anything.)
			session := openStream(t, through, newMask())
			session.simple("TRUNCATE m")
			got := session.simple("INSERT INTO m(n, name) VALUES " + rowsOf(c.rows, c.row))
			if want := fmt.Sprintf("C INSERT 0 %d", c.rows); got[0] != want {
				t.Errorf("%s: %.300s, want %s", c.name, got[0], want)
			}
			if got, want := stored(t, watch, "m", c.node), fmt.Sprintf("%d %[1]d %[1]d t", c.rows); got != want {
				t.Errorf("%s: rows, ids, of node %d, ascending: %s, want %s", c.name, c.node, got, want)
			}
		}
		// DEFAULT among the values, and a position behind a thousand edits.
		session.simple("TRUNCATE m")
		list := rowsOf(1000, func(i int) string { return fmt.Sprintf("(%d, DEFAULT, 'ü')", i) })
		session.simple("INSERT INTO m VALUES " + list)
		if got, want := stored(t, watch, "m", proxyNode), "1000 1000 1000 t"; got != want {
			t.Errorf("DEFAULT: %s, want %s", got, want)
		}
		oracle := openStream(t, direct, newMask())
		for _, sql := range []string{
			"INSERT INTO m VALUES " + list + ", (1001, DEFAULT, nope)",
			"INSERT INTO m VALUES " + list + ", (1001, DEFAULT, 'x', 5)",
			"INSERT INTO m(n, name) VALUES " + rowsOf(1000, same) + ", ('ü', 'y')",
			"INSERT INTO m(n, name) VALUES " + rowsOf(1000, same) + " RETURNING nope",
			"INSERT INTO m(n, name) VALUES " + rowsOf(1000, same) + ", (1)",
		} {
			if d := diff(oracle.simple(sql), session.simple(sql)); d != "" {
				t.Errorf("…%s: through the proxy (+) and directly (-):\n%s", sql[len(sql)-40:], d)
			}
		}
	})
}

// TestFillClock has the generator refuse for a while: the server's defaults make
// the ids, and nobody notices.
func TestFillClock(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		for _, policy := range []gen.Policy{gen.Ahead, gen.Refuse} {
			t.Run(policy.String(), func(t *testing.T) {
				t.Parallel()
				direct, _ := proxied(t, s)
				var clock steppedClock
				through := serveHere(t, direct, policy, &clock)
				openStream(t, through, newMask()).awaitProxy()
				conn := connectTo(t, through)
				phase := func(name string, node int) {
					t.Helper()
					got := newIDs(t, node)
					for _, mode := range execModes {
						for range 20 {
							var id int64
							if err := conn.QueryRow(t.Context(), "INSERT INTO acct(name) VALUES ($1) RETURNING id", mode, name).Scan(&id); err != nil {
								t.Fatalf("%s: %v", name, err)
							}
							got.add(id)
						}
					}
				}
				phase("before", proxyNode)
				clock.step(-5 * time.Minute)
				phase("back by 5 min", functionNode)
				clock.step(5*time.Minute + 4*time.Second)
				phase("restored", proxyNode)
			})
		}
	})
}

// TestFillWhileDefaultChanges has sessions insert while another, through the
// proxy too, gives the column other defaults and rolls back yet others. Each row
// has what the default was at some time, and no id comes twice.
func TestFillWhileDefaultChanges(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		direct, through := proxied(t, s)
		ctx, stop := context.WithCancel(t.Context())
		changed := make(chan error, 1)
		go func() {
			changed <- func() error {
				conn, err := pgx.Connect(ctx, through)
				if err != nil {
					return err
				}
				defer conn.Close(context.Background())
				for ctx.Err() == nil {
					for _, sql := range []string{
						"ALTER TABLE acct DROP CONSTRAINT IF EXISTS acct_pkey, ALTER id SET DEFAULT 5",
						"BEGIN; ALTER TABLE acct ALTER id SET DEFAULT 999; ROLLBACK",
						"ALTER TABLE acct ALTER id SET DEFAULT next_snowflake()",
						"BEGIN; ALTER TABLE acct ALTER id DROP DEFAULT, ALTER id SET DEFAULT 999; INSERT INTO acct(name) VALUES ('never'); ROLLBACK",
						"INSERT INTO acct(name) VALUES ('changer')",
					} {
						if _, err := conn.PgConn().Exec(context.Background(), sql).ReadAll(); err != nil {
							return fmt.Errorf("%s: %w", sql, err)
						}
					}
				}
				return nil
			}()
		}()
		together(t, through, 4, func(ctx context.Context, session int, conn *pgx.Conn) error {
			for i := range 400 {
				mode := execModes[(session+i/40)%len(execModes)]
				if _, err := conn.Exec(ctx, "INSERT INTO acct(name) VALUES ($1), ($1)", mode, "changing"); err != nil {
					return fmt.Errorf("%v: %w", mode, err)
				}
			}
			return nil
		})
		stop()
		if err := <-changed; err != nil {
			t.Error(err)
		}
		got := query(t, connectTo(t, direct), fmt.Sprintf(`SELECT concat_ws(' ', count(*) FILTER (WHERE name = 'changing'),
			count(*) FILTER (WHERE id <> 5) - count(DISTINCT id) FILTER (WHERE id <> 5), bool_and(id IN (5) OR id >> 12 & 1023 IN (%d, %d))) FROM acct`, proxyNode, functionNode))[0]
		if got != "3200 0 t" {
			t.Errorf("rows, repeated ids, all as they should be: %s, want 3200 0 t", got)
		}
		t.Log(query(t, connectTo(t, direct), "SELECT concat_ws(' ', CASE id WHEN 5 THEN 5 ELSE id >> 12 & 1023 END, count(*)) FROM acct GROUP BY CASE id WHEN 5 THEN 5 ELSE id >> 12 & 1023 END ORDER BY 1"))
	})
}
