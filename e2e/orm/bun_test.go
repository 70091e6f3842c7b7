package orm

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"
)

func TestBun(t *testing.T) {
	t.Parallel()
	t.Run("pgdriver", func(t *testing.T) {
		bothSides(t, func(t *testing.T, url string) store {
			return openBun(t, sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(url))))
		})
	})
	t.Run("pgx", func(t *testing.T) {
		bothSides(t, func(t *testing.T, url string) store { return openBun(t, openSQL(t, "pgx", url)) })
	})
}

func openBun(t *testing.T, pool *sql.DB) bunStore {
	db := bun.NewDB(pool, pgdialect.New())
	t.Cleanup(func() { db.Close() })
	return bunStore{db}
}

type bunStore struct{ db bun.IDB }

func (s bunStore) migrate(ctx context.Context) error {
	for _, q := range []*bun.CreateTableQuery{
		s.db.NewCreateTable().Model((*Account)(nil)),
		s.db.NewCreateTable().Model((*Order)(nil)).ForeignKey("(account_id) REFERENCES accounts (id)"),
		s.db.NewCreateTable().Model((*Line)(nil)).ForeignKey("(order_id) REFERENCES orders (id)"),
	} {
		if _, err := q.IfNotExists().Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s bunStore) create(ctx context.Context, a *Account) error {
	if _, err := s.db.NewInsert().Model(a).Exec(ctx); err != nil {
		return err
	}
	for _, o := range a.Orders {
		o.AccountID = a.ID
	}
	if _, err := s.db.NewInsert().Model(&a.Orders).Exec(ctx); err != nil {
		return err
	}
	for _, o := range a.Orders {
		for _, l := range o.Lines {
			l.OrderID = o.ID
		}
		if _, err := s.db.NewInsert().Model(&o.Lines).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s bunStore) createAll(ctx context.Context, as []*Account) error {
	_, err := s.db.NewInsert().Model(&as).Exec(ctx)
	return err
}

func (s bunStore) upsert(ctx context.Context, a *Account) error {
	_, err := s.db.NewInsert().Model(a).On("CONFLICT (name) DO UPDATE").Set("visits = EXCLUDED.visits").Exec(ctx)
	return err
}

func (s bunStore) inTx(ctx context.Context, f func(store) error) error {
	return s.db.RunInTx(ctx, nil, func(_ context.Context, tx bun.Tx) error { return f(bunStore{tx}) })
}

func (s bunStore) account(ctx context.Context, id int64) (*Account, error) {
	byID := func(q *bun.SelectQuery) *bun.SelectQuery { return q.Order("id") }
	a := &Account{ID: id}
	return a, s.db.NewSelect().Model(a).WherePK().Relation("Orders", byID).Relation("Orders.Lines", byID).Scan(ctx)
}

func (s bunStore) order(ctx context.Context, id uuid.UUID) (*Order, error) {
	o := &Order{ID: id}
	return o, s.db.NewSelect().Model(o).WherePK().Scan(ctx)
}

func (s bunStore) accounts(ctx context.Context) ([]*Account, error) {
	var as []*Account
	return as, s.db.NewSelect().Model(&as).Order("id").Scan(ctx)
}
