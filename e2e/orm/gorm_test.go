package orm

import (
	"context"
	"errors"
	"slices"
	"strings"
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

// TestGORMPitfalls holds what the README warns of: tags with which GORM does not
// leave the id out.
func TestGORMPitfalls(t *testing.T) {
	t.Parallel()
	_, p := fixture(t)
	_, s := sides(t, p)
	db := openGORM(t, postgres.Open(s.url), &gorm.Config{TranslateError: true}).WithContext(t.Context())

	type Untagged struct {
		ID uuid.UUID `gorm:"type:uuid"`
	}
	if err := db.Exec("CREATE TABLE untaggeds (id uuid PRIMARY KEY DEFAULT uuidv7())").Error; err != nil {
		t.Fatal(err)
	}
	s.await(t)
	if err := db.Create(&Untagged{}).Error; err != nil {
		t.Fatal(err)
	}
	if err := db.Create(&Untagged{}).Error; !errors.Is(err, gorm.ErrDuplicatedKey) {
		t.Errorf("the second zero uuid gave %v", err)
	}
	s.wantRows(t, "ids", "SELECT id FROM untaggeds", uuid.Nil.String())

	type Serial struct {
		ID int64 `gorm:"default:next_snowflake()"` // bigserial, since autoIncrement:false is not there
	}
	if err := db.AutoMigrate(&Serial{}); err == nil || !strings.Contains(err.Error(), "multiple default values") {
		t.Errorf("bigserial with a default gave %v", err)
	}
}
