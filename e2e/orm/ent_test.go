package orm

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/dialect/sql/sqlgraph"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"
)

// TestEnt hands sqlgraph and schema the specifications that ent's generated code
// does, which would be 9,000 lines here, for a schema with
//
//	field.Int64("id").Annotations(entsql.DefaultExpr("next_snowflake()"), entsql.Annotation{Incremental: new(bool)})
//	field.UUID("id", uuid.UUID{}).Annotations(entsql.DefaultExpr("uuidv7()"))
func TestEnt(t *testing.T) {
	t.Parallel()
	for _, driver := range []string{"pgx", "postgres"} {
		t.Run(driver, func(t *testing.T) {
			bothSides(t, func(t *testing.T, url string) store {
				return entStore{entsql.OpenDB(dialect.Postgres, openSQL(t, driver, url))}
			})
		})
	}
}

type entStore struct{ driver dialect.Driver }

func (s entStore) migrate(ctx context.Context) error {
	table := func(name string, columns ...*schema.Column) *schema.Table {
		return &schema.Table{Name: name, Columns: columns, PrimaryKey: columns[:1]}
	}
	belongs := func(child, parent *schema.Table) {
		child.ForeignKeys = []*schema.ForeignKey{{
			Symbol: child.Name + "_" + parent.Name, RefTable: parent,
			Columns: child.Columns[1:2], RefColumns: parent.PrimaryKey, OnDelete: schema.NoAction,
		}}
	}
	accounts := table("accounts",
		&schema.Column{Name: "id", Type: field.TypeInt64, Default: schema.Expr("next_snowflake()")},
		&schema.Column{Name: "name", Type: field.TypeString, Unique: true},
		&schema.Column{Name: "visits", Type: field.TypeInt64})
	orders := table("orders",
		&schema.Column{Name: "id", Type: field.TypeUUID, Default: schema.Expr("uuidv7()")},
		&schema.Column{Name: "account_id", Type: field.TypeInt64},
		&schema.Column{Name: "ref", Type: field.TypeString})
	lines := table("lines",
		&schema.Column{Name: "id", Type: field.TypeInt64, Default: schema.Expr("next_snowflake()")},
		&schema.Column{Name: "order_id", Type: field.TypeUUID},
		&schema.Column{Name: "sku", Type: field.TypeString})
	belongs(orders, accounts)
	belongs(lines, orders)
	m, err := schema.NewMigrate(s.driver)
	if err != nil {
		return err
	}
	return m.Create(ctx, accounts, orders, lines)
}

// created is a row to be written and the id of its model.
type created struct {
	spec *sqlgraph.CreateSpec
	set  func() error // gives the model the id of the spec
}

func createdAccount(a *Account) created {
	spec := sqlgraph.NewCreateSpec("accounts", sqlgraph.NewFieldSpec("id", field.TypeInt64))
	spec.SetField("name", field.TypeString, a.Name)
	spec.SetField("visits", field.TypeInt64, a.Visits)
	if a.ID != 0 {
		spec.ID.Value = a.ID
	}
	return created{spec, func() error { a.ID = spec.ID.Value.(int64); return nil }}
}

func createdOrder(o *Order) created {
	spec := sqlgraph.NewCreateSpec("orders", sqlgraph.NewFieldSpec("id", field.TypeUUID))
	spec.SetField("ref", field.TypeString, o.Ref)
	spec.Edges = belongsTo("orders", "account_id", field.TypeInt64, o.AccountID)
	return created{spec, func() error { return o.ID.Scan(spec.ID.Value) }}
}

func createdLine(l *Line) created {
	spec := sqlgraph.NewCreateSpec("lines", sqlgraph.NewFieldSpec("id", field.TypeInt64))
	spec.SetField("sku", field.TypeString, l.SKU)
	spec.Edges = belongsTo("lines", "order_id", field.TypeUUID, l.OrderID)
	return created{spec, func() error { l.ID = spec.ID.Value.(int64); return nil }}
}

func belongsTo(table, column string, typ field.Type, parent any) []*sqlgraph.EdgeSpec {
	edge := &sqlgraph.EdgeSpec{Rel: sqlgraph.M2O, Inverse: true, Table: table, Columns: []string{column}}
	edge.Target = &sqlgraph.EdgeTarget{IDSpec: sqlgraph.NewFieldSpec("id", typ)}
	edge.Target.Nodes = append(edge.Target.Nodes, parent)
	return []*sqlgraph.EdgeSpec{edge}
}

func (s entStore) bulk(ctx context.Context, rows []created) error {
	var batch sqlgraph.BatchCreateSpec
	for _, row := range rows {
		batch.Nodes = append(batch.Nodes, row.spec)
	}
	err := sqlgraph.BatchCreate(ctx, s.driver, &batch)
	for i := 0; err == nil && i < len(rows); i++ {
		err = rows[i].set()
	}
	return err
}

func (s entStore) one(ctx context.Context, row created, conflict ...entsql.ConflictOption) error {
	row.spec.OnConflict = conflict
	if err := sqlgraph.CreateNode(ctx, s.driver, row.spec); err != nil {
		return err
	}
	return row.set()
}

func (s entStore) create(ctx context.Context, a *Account) error {
	if err := s.one(ctx, createdAccount(a)); err != nil {
		return err
	}
	for _, o := range a.Orders {
		o.AccountID = a.ID
		if err := s.one(ctx, createdOrder(o)); err != nil {
			return err
		}
		var lines []created
		for _, l := range o.Lines {
			l.OrderID = o.ID
			lines = append(lines, createdLine(l))
		}
		if err := s.bulk(ctx, lines); err != nil {
			return err
		}
	}
	return nil
}

// createAll splits those with ids from those without, as ent demands.
func (s entStore) createAll(ctx context.Context, as []*Account) error {
	var with, without []created
	for _, a := range as {
		if a.ID != 0 {
			with = append(with, createdAccount(a))
		} else {
			without = append(without, createdAccount(a))
		}
	}
	return errors.Join(s.bulk(ctx, with), s.bulk(ctx, without))
}

func (s entStore) upsert(ctx context.Context, a *Account) error {
	return s.one(ctx, createdAccount(a), entsql.ConflictColumns("name"), entsql.ResolveWithNewValues())
}

func (s entStore) inTx(ctx context.Context, f func(store) error) error {
	tx, err := s.driver.Tx(ctx)
	if err != nil {
		return err
	}
	if err := f(entStore{txDriver{s.driver, tx}}); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// txDriver is a driver in a transaction, as in ent's generated code: what would
// begin one of its own stays in it.
type txDriver struct {
	dialect.Driver
	tx dialect.Tx
}

func (d txDriver) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(d), nil }

func (d txDriver) Exec(ctx context.Context, query string, args, v any) error {
	return d.tx.Exec(ctx, query, args, v)
}

func (d txDriver) Query(ctx context.Context, query string, args, v any) error {
	return d.tx.Query(ctx, query, args, v)
}

// find scans the rows that match into a slice.
func (s entStore) find(ctx context.Context, into any, table string, where *entsql.Predicate, columns ...string) error {
	query, args := entsql.Dialect(dialect.Postgres).Select(columns...).From(entsql.Table(table)).Where(where).OrderBy("id").Query()
	var rows entsql.Rows
	if err := s.driver.Query(ctx, query, args, &rows); err != nil {
		return err
	}
	defer rows.Close()
	return entsql.ScanSlice(rows, into)
}

func (s entStore) account(ctx context.Context, id int64) (*Account, error) {
	var as []*Account
	if err := s.find(ctx, &as, "accounts", entsql.EQ("id", id), "id", "name", "visits"); err != nil {
		return nil, err
	}
	if len(as) == 0 {
		return nil, sql.ErrNoRows
	}
	if err := s.find(ctx, &as[0].Orders, "orders", entsql.InValues("account_id", id), "id", "account_id", "ref"); err != nil {
		return nil, err
	}
	for _, o := range as[0].Orders {
		if err := s.find(ctx, &o.Lines, "lines", entsql.InValues("order_id", o.ID), "id", "order_id", "sku"); err != nil {
			return nil, err
		}
	}
	return as[0], nil
}

func (s entStore) order(ctx context.Context, id uuid.UUID) (*Order, error) {
	var os []*Order
	if err := s.find(ctx, &os, "orders", entsql.EQ("id", id), "id", "account_id", "ref"); err != nil {
		return nil, err
	}
	if len(os) == 0 {
		return nil, sql.ErrNoRows
	}
	return os[0], nil
}

func (s entStore) accounts(ctx context.Context) ([]*Account, error) {
	var as []*Account
	return as, s.find(ctx, &as, "accounts", entsql.NotNull("id"), "id", "name", "visits")
}
