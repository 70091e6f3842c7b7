package orm

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	_ "github.com/lib/pq"
)

func TestDatabaseSQL(t *testing.T) {
	t.Parallel()
	for name, driver := range map[string]struct{ name, settings string }{
		"pgx":       {name: "pgx"},
		"pgx exec":  {"pgx", "default_query_exec_mode=exec"},
		"pgx text":  {"pgx", "default_query_exec_mode=simple_protocol"},
		"pq":        {name: "postgres"},
		"pq binary": {"postgres", "binary_parameters=yes"},
	} {
		t.Run(name, func(t *testing.T) {
			bothSides(t, func(t *testing.T, url string) store {
				db := openSQL(t, driver.name, url+"&"+driver.settings)
				return sqlStore{db, db}
			})
		})
	}
}

// openSQL opens a database that is closed with the test.
func openSQL(t *testing.T, driver, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, strings.TrimSuffix(url, "&"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// querier is a pool, or a transaction of one.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

type sqlStore struct {
	pool *sql.DB
	q    querier
}

func (s sqlStore) migrate(ctx context.Context) error {
	for _, ddl := range strings.Split(schemaDDL, ";") {
		if _, err := s.q.ExecContext(ctx, ddl); err != nil {
			return err
		}
	}
	return nil
}

func (s sqlStore) create(ctx context.Context, a *Account) error {
	if err := s.q.QueryRowContext(ctx, "INSERT INTO accounts (name, visits) VALUES ($1, $2) RETURNING id", a.Name, a.Visits).Scan(&a.ID); err != nil {
		return err
	}
	for _, o := range a.Orders {
		o.AccountID = a.ID
		if err := s.q.QueryRowContext(ctx, "INSERT INTO orders VALUES (DEFAULT, $1, $2) RETURNING id", o.AccountID, o.Ref).Scan(&o.ID); err != nil {
			return err
		}
		for _, l := range o.Lines {
			l.OrderID = o.ID
			if err := s.q.QueryRowContext(ctx, "INSERT INTO lines (order_id, sku) VALUES ($1, $2) RETURNING id", l.OrderID, l.SKU).Scan(&l.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s sqlStore) createAll(ctx context.Context, as []*Account) error {
	var values []string
	var args []any
	parameter := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	for _, a := range as {
		id := "DEFAULT"
		if a.ID != 0 {
			id = parameter(a.ID)
		}
		values = append(values, fmt.Sprintf("(%s, %s, %s)", id, parameter(a.Name), parameter(a.Visits)))
	}
	rows, err := s.q.QueryContext(ctx, "INSERT INTO accounts (id, name, visits) VALUES "+strings.Join(values, ", ")+" RETURNING id", args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for i := 0; rows.Next(); i++ {
		if err := rows.Scan(&as[i].ID); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s sqlStore) upsert(ctx context.Context, a *Account) error {
	return s.q.QueryRowContext(ctx, `INSERT INTO accounts (name, visits) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET visits = excluded.visits RETURNING id`, a.Name, a.Visits).Scan(&a.ID)
}

func (s sqlStore) inTx(ctx context.Context, f func(store) error) error {
	tx, err := s.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(sqlStore{s.pool, tx}); err != nil {
		return err
	}
	return tx.Commit()
}

func (s sqlStore) account(ctx context.Context, id int64) (*Account, error) {
	a := &Account{ID: id}
	if err := s.q.QueryRowContext(ctx, "SELECT name, visits FROM accounts WHERE id = $1", id).Scan(&a.Name, &a.Visits); err != nil {
		return nil, err
	}
	rows, err := s.q.QueryContext(ctx, `SELECT o.id, account_id, ref, l.id, order_id, sku
		FROM orders o JOIN lines l ON order_id = o.id WHERE account_id = $1 ORDER BY o.id, l.id`, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var o Order
		var l Line
		if err := rows.Scan(&o.ID, &o.AccountID, &o.Ref, &l.ID, &l.OrderID, &l.SKU); err != nil {
			return nil, err
		}
		if n := len(a.Orders); n == 0 || a.Orders[n-1].ID != o.ID {
			a.Orders = append(a.Orders, &o)
		}
		last := a.Orders[len(a.Orders)-1]
		last.Lines = append(last.Lines, &l)
	}
	return a, rows.Err()
}

func (s sqlStore) order(ctx context.Context, id uuid.UUID) (*Order, error) {
	o := &Order{ID: id}
	return o, s.q.QueryRowContext(ctx, "SELECT account_id, ref FROM orders WHERE id = $1", id).Scan(&o.AccountID, &o.Ref)
}

func (s sqlStore) accounts(ctx context.Context) ([]*Account, error) {
	rows, err := s.q.QueryContext(ctx, "SELECT id, name, visits FROM accounts ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var as []*Account
	for rows.Next() {
		var a Account
		if err := rows.Scan(&a.ID, &a.Name, &a.Visits); err != nil {
			return nil, err
		}
		as = append(as, &a)
	}
	return as, rows.Err()
}

// TestInsertSelect sends rows as SQLAlchemy does for a key that it takes for a
// sequence's: it sorts what comes back, so the ids must rise with the rows. From
// a SELECT with FROM the server makes them.
func TestInsertSelect(t *testing.T) {
	t.Parallel()
	_, p := fixture(t)
	direct, through := sides(t, p)
	for _, s := range []side{direct, through} {
		db := openSQL(t, "pgx", s.url)
		if err := (sqlStore{db, db}).migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.await(t)
		if _, err := db.ExecContext(t.Context(), `INSERT INTO accounts (name, visits)
			SELECT p0::VARCHAR, p1::BIGINT FROM (VALUES ($1, $2, 0), ($3, $4, 1), ($5, $6, 2)) AS imp_sen(p0, p1, sen_counter)
			ORDER BY sen_counter RETURNING accounts.id, accounts.id AS id__1`, "c", "1", "b", "2", "a", "3"); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		s.wantRows(t, "names by id", "SELECT name FROM accounts ORDER BY id", "c", "b", "a")
		s.wantRows(t, "nodes", "SELECT DISTINCT id >> 12 & 1023 FROM accounts", fmt.Sprint(functionNode))
	}
}
