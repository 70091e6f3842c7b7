package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/lib/pq"
)

// testSQL runs what programs do through database/sql.
func testSQL(t *testing.T, db *sql.DB) {
	var id int64
	rows, err := db.Query("SELECT next_snowflake()")
	if err != nil {
		t.Fatal(err)
	}
	columns, err := rows.ColumnTypes()
	if err != nil || columns[0].Name() != "next_snowflake" || columns[0].DatabaseTypeName() != "INT8" {
		t.Errorf("column %s of type %s: %v", columns[0].Name(), columns[0].DatabaseTypeName(), err)
	}
	rows.Close()

	stmt, err := db.Prepare("INSERT INTO t(id, id2, name) VALUES (next_snowflake(), next_snowflake(), $1) RETURNING id, id2")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	got := newIDs(t, proxyNode)
	for i := range 1000 {
		var id2 int64
		if err := stmt.QueryRow(fmt.Sprint("sql", i)).Scan(&id, &id2); err != nil {
			t.Fatal(err)
		}
		got.add(id)
		got.add(id2)
	}
	got.want(2000)
	if _, err := stmt.Query(); err == nil {
		t.Error("a statement of one parameter ran without any")
	}

	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := tx.QueryRow("INSERT INTO acct(id, name) VALUES (next_snowflake(), $1) RETURNING id", "tx").Scan(&id); err != nil {
			t.Fatal(err)
		}
		got.add(id)
		if err := tx.Stmt(stmt).QueryRow("tx").Scan(&id, new(int64)); err != nil {
			t.Fatal(err)
		}
		got.add(id)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM acct WHERE name = 'tx'").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows after a rollback: %v", n, err)
	}
	var u string
	var at time.Time
	if err := db.QueryRow("SELECT uuidv7(), id_to_timestamp(next_snowflake())").Scan(&u, &at); err != nil || time.Since(at).Abs() > time.Hour {
		t.Errorf("uuid %s, time %v: %v", u, at, err)
	}
}

func TestPq(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		for _, setting := range []string{"", "&binary_parameters=yes"} {
			t.Run("driver"+setting, func(t *testing.T) {
				t.Parallel()
				_, url := proxied(t, s)
				db, err := sql.Open("postgres", url+setting)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				testSQL(t, db)
				pqCopy(t, db)
				pqListen(t, db, url)
			})
		}
	})
}

func pqCopy(t *testing.T, db *sql.DB) {
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	stmt, err := tx.Prepare(`COPY "acct" ("name") FROM STDIN`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if _, err := stmt.Exec(fmt.Sprint("pqcopy", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stmt.Exec(); err != nil {
		t.Fatal(err)
	}
	if err := stmt.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query("SELECT id FROM acct WHERE name LIKE 'pqcopy%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	got := newIDs(t, functionNode)
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		got.add(id)
	}
	got.want(200)
}

func pqListen(t *testing.T, db *sql.DB, url string) {
	listener := pq.NewListener(url, time.Second, time.Minute, nil)
	defer listener.Close()
	if err := listener.Listen("pq_channel"); err != nil {
		t.Fatal(err)
	}
	var id int64
	if err := db.QueryRow("WITH i AS (INSERT INTO t(id) VALUES (next_snowflake()) RETURNING id) SELECT id FROM i, pg_notify('pq_channel', $1)", "hello").Scan(&id); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case n := <-listener.Notify:
		if n == nil || n.Extra != "hello" {
			t.Errorf("notified of %+v", n)
		}
	case <-ctx.Done():
		t.Error("no notification")
	}
	if err := listener.Ping(); err != nil {
		t.Error(err)
	}
}
