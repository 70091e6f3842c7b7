package orm

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// The models carry the tags of all ORMs. Both kinds of id are parent and child:
// an account's orders have uuids, and their lines snowflakes again.
type (
	Account struct {
		bun.BaseModel `bun:"table:accounts" gorm:"-"`

		ID     int64    `gorm:"primaryKey;autoIncrement:false;default:next_snowflake()" bun:",pk,nullzero,default:next_snowflake()"`
		Name   string   `gorm:"not null;uniqueIndex" bun:",notnull,unique"`
		Visits int64    `gorm:"not null" bun:",notnull"`
		Orders []*Order `bun:"rel:has-many,join:id=account_id" db:"-"`
	}

	Order struct {
		bun.BaseModel `bun:"table:orders" gorm:"-"`

		ID        uuid.UUID `gorm:"type:uuid;primaryKey;default:uuidv7()" bun:"type:uuid,pk,nullzero,default:uuidv7()"`
		AccountID int64     `gorm:"not null" bun:",notnull" db:"account_id" sql:"account_id"`
		Ref       string    `gorm:"not null" bun:",notnull"`
		Lines     []*Line   `bun:"rel:has-many,join:id=order_id" db:"-"`
	}

	Line struct {
		bun.BaseModel `bun:"table:lines" gorm:"-"`

		ID      int64     `gorm:"primaryKey;autoIncrement:false;default:next_snowflake()" bun:",pk,nullzero,default:next_snowflake()"`
		OrderID uuid.UUID `gorm:"type:uuid;not null" bun:"type:uuid,notnull" db:"order_id" sql:"order_id"`
		SKU     string    `gorm:"column:sku;not null" bun:"sku,notnull"`
	}
)

// store is an ORM's way to the models. What it writes it gives its id.
type store interface {
	// migrate makes the tables, or leaves them as they are.
	migrate(ctx context.Context) error
	// create writes an account with its orders and their lines.
	create(ctx context.Context, a *Account) error
	// createAll writes accounts without orders, in one statement where the ORM
	// can. An account that has an id keeps it.
	createAll(ctx context.Context, as []*Account) error
	// upsert writes an account, or the visits of the one that has its name.
	upsert(ctx context.Context, a *Account) error
	// inTx commits what f wrote unless it fails.
	inTx(ctx context.Context, f func(store) error) error
	// account finds an account with its orders and their lines, both by id.
	account(ctx context.Context, id int64) (*Account, error)
	// order finds an order without its lines.
	order(ctx context.Context, id uuid.UUID) (*Order, error)
	// accounts finds all by id.
	accounts(ctx context.Context) ([]*Account, error)
}

// schema makes the tables for those that write SQL themselves.
const schemaDDL = `
CREATE TABLE IF NOT EXISTS accounts (
  id bigint PRIMARY KEY DEFAULT next_snowflake(),
  name text NOT NULL UNIQUE,
  visits bigint NOT NULL);
CREATE TABLE IF NOT EXISTS orders (
  id uuid PRIMARY KEY DEFAULT uuidv7(),
  account_id bigint NOT NULL REFERENCES accounts,
  ref text NOT NULL);
CREATE TABLE IF NOT EXISTS lines (
  id bigint PRIMARY KEY DEFAULT next_snowflake(),
  order_id uuid NOT NULL REFERENCES orders,
  sku text NOT NULL)`
