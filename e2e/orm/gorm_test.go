package orm

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

func TestGORM(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]struct{ simple, prepare bool }{
		"extended": {}, "simple": {simple: true}, "prepared": {prepare: true},
	} {
		t.Run(name, func(t *testing.T) {
			bothSides(t, func(t *testing.T, url string) store {
				dialector := postgres.New(postgres.Config{DSN: url, PreferSimpleProtocol: setting.simple})
				return gormStore{openGORM(t, dialector, &gorm.Config{PrepareStmt: setting.prepare})}
			})
		})
	}
}

// openGORM opens a database that is closed with the test.
func openGORM(t *testing.T, dialector gorm.Dialector, config *gorm.Config) *gorm.DB {
	t.Helper()
	config.Logger = logger.Discard
	db, err := gorm.Open(dialector, config)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return db
}

type gormStore struct{ db *gorm.DB }

func (s gormStore) migrate(ctx context.Context) error {
	return s.db.WithContext(ctx).AutoMigrate(&Account{}, &Order{}, &Line{})
}

func (s gormStore) create(ctx context.Context, a *Account) error {
	return s.db.WithContext(ctx).Create(a).Error
}

func (s gormStore) createAll(ctx context.Context, as []*Account) error {
	return s.db.WithContext(ctx).Create(slices.Clone(as)).Error
}

func (s gormStore) upsert(ctx context.Context, a *Account) error {
	return s.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "name"}},
		DoUpdates: clause.AssignmentColumns([]string{"visits"}),
	}).Create(a).Error
}

func (s gormStore) inTx(ctx context.Context, f func(store) error) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return f(gormStore{tx}) })
}

func (s gormStore) account(ctx context.Context, id int64) (*Account, error) {
	byID := func(db *gorm.DB) *gorm.DB { return db.Order("id") }
	var a Account
	err := s.db.WithContext(ctx).Preload("Orders", byID).Preload("Orders.Lines", byID).First(&a, id).Error
	return &a, err
}

func (s gormStore) order(ctx context.Context, id uuid.UUID) (*Order, error) {
	var o Order
	err := s.db.WithContext(ctx).First(&o, "id = ?", id).Error
	return &o, err
}

func (s gormStore) accounts(ctx context.Context) ([]*Account, error) {
	var as []*Account
	err := s.db.WithContext(ctx).Order("id").Find(&as).Error
	return as, err
}
