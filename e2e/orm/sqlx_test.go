package orm

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"
)

func TestSQLX(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"pgx", "postgres"} {
		t.Run(driver, func(t *testing.T) {
			bothSides(t, func(t *testing.T, url string) store {
				db := sqlx.NewDb(openSQL(t, driver, url), driver)
				return sqlxStore{db, db}
			})
		})
	}
}

type sqlxStore struct {
	pool *sqlx.DB
	q    sqlx.ExtContext
}

func (s sqlxStore) migrate(ctx context.Context) error {
	_, err := s.q.ExecContext(ctx, schemaDDL)
	return err
}

// named runs a statement for a row or a slice of rows, and scans what it returns
// into the ids.
func (s sqlxStore) named(ctx context.Context, sql string, arg any, ids ...any) error {
	rows, err := sqlx.NamedQueryContext(ctx, s.q, sql, arg)
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, id := range ids {
		if !rows.Next() {
			break
		}
		if err := rows.Scan(id); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s sqlxStore) create(ctx context.Context, a *Account) error {
	if err := s.named(ctx, "INSERT INTO accounts (name, visits) VALUES (:name, :visits) RETURNING id", a, &a.ID); err != nil {
		return err
	}
	var ids []any
	for _, o := range a.Orders {
		o.AccountID = a.ID
		ids = append(ids, &o.ID)
	}
	if err := s.named(ctx, "INSERT INTO orders (account_id, ref) VALUES (:account_id, :ref) RETURNING id", a.Orders, ids...); err != nil {
		return err
	}
	for _, o := range a.Orders {
		var ids []any
		for _, l := range o.Lines {
			l.OrderID = o.ID
			ids = append(ids, &l.ID)
		}
		if err := s.named(ctx, "INSERT INTO lines (id, order_id, sku) VALUES (DEFAULT, :order_id, :sku) RETURNING id", o.Lines, ids...); err != nil {
			return err
		}
	}
	return nil
}

// createAll splits those with ids from those without: one statement has one
// shape of row.
func (s sqlxStore) createAll(ctx context.Context, as []*Account) error {
	var without []*Account
	var ids []any
	for _, a := range as {
		if a.ID == 0 {
			without = append(without, a)
			ids = append(ids, &a.ID)
		} else if err := s.named(ctx, "INSERT INTO accounts (id, name, visits) VALUES (:id, :name, :visits)", a); err != nil {
			return err
		}
	}
	return s.named(ctx, "INSERT INTO accounts (name, visits) VALUES (:name, :visits) RETURNING id", without, ids...)
}

func (s sqlxStore) upsert(ctx context.Context, a *Account) error {
	return s.named(ctx, `INSERT INTO accounts (name, visits) VALUES (:name, :visits)
		ON CONFLICT (name) DO UPDATE SET visits = excluded.visits RETURNING id`, a, &a.ID)
}

func (s sqlxStore) inTx(ctx context.Context, f func(store) error) error {
	tx, err := s.pool.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := f(sqlxStore{s.pool, tx}); err != nil {
		return err
	}
	return tx.Commit()
}

func (s sqlxStore) account(ctx context.Context, id int64) (*Account, error) {
	var a Account
	if err := sqlx.GetContext(ctx, s.q, &a, "SELECT id, name, visits FROM accounts WHERE id = $1", id); err != nil {
		return nil, err
	}
	if err := sqlx.SelectContext(ctx, s.q, &a.Orders, "SELECT id, account_id, ref FROM orders WHERE account_id = $1 ORDER BY id", id); err != nil {
		return nil, err
	}
	for _, o := range a.Orders {
		if err := sqlx.SelectContext(ctx, s.q, &o.Lines, "SELECT id, order_id, sku FROM lines WHERE order_id = $1 ORDER BY id", o.ID); err != nil {
			return nil, err
		}
	}
	return &a, nil
}

func (s sqlxStore) order(ctx context.Context, id uuid.UUID) (*Order, error) {
	var o Order
	return &o, sqlx.GetContext(ctx, s.q, &o, "SELECT id, account_id, ref FROM orders WHERE id = $1", id)
}

func (s sqlxStore) accounts(ctx context.Context) ([]*Account, error) {
	var as []*Account
	return as, sqlx.SelectContext(ctx, s.q, &as, "SELECT id, name, visits FROM accounts ORDER BY id")
}
