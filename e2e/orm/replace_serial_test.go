package orm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/dialect/sql/sqlgraph"
	"entgo.io/ent/schema/field"
	"github.com/uptrace/bun"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// Models as GORM's documentation has them, without a word on ids: GORM sends
// bigserial for the first two.
type (
	Customer struct {
		gorm.Model
		Name     string
		Invoices []Invoice
	}
	Invoice struct {
		ID         int64
		CustomerID uint
		Total      int64
	}
	Small struct {
		ID   int32 // serial
		Name string
	}
	Default struct {
		ID   int64 `gorm:"generated:identity"`
		Name string
	}
	Always struct {
		ID   int64 `gorm:"generated:identity always"`
		Name string
	}
)

// NumberedInvoice is Invoice with one more column.
type NumberedInvoice struct {
	Invoice
	Number int64 `gorm:"autoIncrement"`
}

func (NumberedInvoice) TableName() string { return "invoices" }

// ownProxy starts a proxy for one test alone.
func ownProxy(t *testing.T, flags ...string) *proxy {
	t.Helper()
	server, _ := fixture(t)
	p, err := startProxy(server.URL("postgres"), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// columnSQL gives all columns that fill themselves, and how.
const columnSQL = `SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, pg_get_expr(adbin, adrelid)
	FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid LEFT JOIN pg_attrdef d ON adrelid = c.oid AND adnum = attnum
	WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND (adbin IS NOT NULL OR attidentity <> '') ORDER BY 1, 2`

const sequenceSQL = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1"

// changes are the statements sent that change the schema.
func (s side) changes(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(s.sent(t), func(sql string) bool {
		verb, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
		return !slices.Contains([]string{"CREATE", "ALTER", "DROP", "COMMENT"}, strings.ToUpper(verb))
	})
}

// wantMaker wants all values of a column to be one node's.
func (s side) wantMaker(t *testing.T, table, column string, node int) {
	t.Helper()
	values := s.query(t, fmt.Sprintf("SELECT %s FROM %s", column, table))
	for _, value := range values {
		if id, err := strconv.ParseInt(value, 10, 64); err != nil || nodeOf(id) != node {
			t.Errorf("%s: %s.%s is %s, want node %d's", s.name, table, column, value, node)
		}
	}
	if len(values) == 0 {
		t.Errorf("%s: no rows in %s", s.name, table)
	}
}

func TestReplaceSerialGORM(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--replace-serial", "--replace-serial=always"} {
		for _, simple := range []bool{false, true} {
			t.Run(fmt.Sprint(flag, " simple ", simple), func(t *testing.T) {
				t.Parallel()
				direct, through := sides(t, ownProxy(t, flag))
				for _, s := range []side{direct, through} {
					db := openGORM(t, postgres.New(postgres.Config{DSN: s.url, PreferSimpleProtocol: simple}), &gorm.Config{})
					gormConvention(t, s, db.WithContext(t.Context()))
				}
				wantReplaced(t, through, flag == "--replace-serial=always")
				const rows = `SELECT c.name, total FROM customers c JOIN invoices ON customer_id = c.id
					UNION ALL SELECT name, 0 FROM smalls UNION ALL SELECT name, 0 FROM defaults UNION ALL SELECT name, 0 FROM always ORDER BY 1, 2`
				through.wantRows(t, "rows", rows, direct.query(t, rows)...)
			})
		}
	}
}

// wantReplaced looks at what gormConvention leaves where bigserial is replaced.
func wantReplaced(t *testing.T, s side, always bool) {
	t.Helper()
	ours := func(column string) string { return column + " bigint t  next_snowflake()" }
	columns := []string{ours("customers id"), ours("defaults id"), ours("invoices id"), ours("invoices number"),
		"smalls id integer t  nextval('smalls_id_seq'::regclass)"}
	sequences := []string{"smalls_id_seq"}
	if always {
		columns = slices.Insert(columns, 0, ours("always id"))
		s.wantMaker(t, "always", "id", proxyNode)
	} else {
		columns = slices.Insert(columns, 0, "always id bigint t a NULL")
		sequences = slices.Insert(sequences, 0, "always_id_seq")
	}
	s.wantRows(t, "columns", columnSQL, columns...)
	s.wantRows(t, "sequences", sequenceSQL, sequences...)
	for _, table := range []string{"customers", "invoices", "defaults"} {
		s.wantMaker(t, table, "id", proxyNode)
	}
	s.wantMaker(t, "(SELECT number FROM invoices WHERE total >= 100) AS later", "number", proxyNode)
	s.wantMaker(t, "(SELECT number FROM invoices WHERE total < 100) AS earlier", "number", functionNode)
}

// TableName keeps GORM from a plural of its own.
func (Always) TableName() string { return "always" }

// gormConvention migrates twice, writes, adds a column and writes again.
func gormConvention(t *testing.T, s side, db *gorm.DB) {
	t.Helper()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %s: %v", s.name, what, err)
		}
	}
	models := []any{&Customer{}, &Invoice{}, &Small{}, &Default{}, &Always{}}
	must("migrate", db.AutoMigrate(models...))
	once := len(s.changes(t))
	must("migrate again", db.AutoMigrate(models...))
	if again := s.changes(t)[once:]; len(again) > 0 {
		t.Errorf("%s: migrated again with\n%s", s.name, strings.Join(again, "\n"))
	}
	s.await(t)

	one := Customer{Name: "one", Invoices: []Invoice{{Total: 1}, {Total: 2}}}
	must("create", db.Create(&one).Error)
	must("create many", db.Create([]*Customer{{Name: "two", Invoices: []Invoice{{Total: 3}}}, {Name: "three"}}).Error)
	for _, model := range []any{&Small{Name: "small"}, &Default{Name: "default"}, &Always{Name: "always"}} {
		must("create", db.Create(model).Error)
	}
	var found Customer
	must("find", db.Preload("Invoices").First(&found, one.ID).Error)
	if found.ID == 0 || found.Name != "one" || len(found.Invoices) != 2 || found.Invoices[1].CustomerID != found.ID {
		t.Errorf("%s: found %+v", s.name, found)
	}

	must("add a column", db.AutoMigrate(&NumberedInvoice{}))
	s.await(t)
	later := NumberedInvoice{Invoice: Invoice{CustomerID: one.ID, Total: 100}}
	must("create", db.Create(&later).Error)
	if later.ID == 0 || later.Number == 0 {
		t.Errorf("%s: created %+v", s.name, later)
	}
}

type (
	bunSerial struct {
		bun.BaseModel `bun:"table:serials"`
		ID            int64 `bun:",pk,autoincrement"`
		Name          string
	}
	bunIdentity struct {
		bun.BaseModel `bun:"table:identities"`
		ID            int64 `bun:",pk,nullzero,identity"`
		Name          string
	}
)

func TestReplaceSerialBun(t *testing.T) {
	t.Parallel()
	_, s := sides(t, ownProxy(t, "--replace-serial"))
	db := openBun(t, openSQL(t, "pgx", s.url)).db
	models := []any{&bunSerial{Name: "a"}, &bunIdentity{Name: "b"}}
	for _, model := range models {
		if _, err := db.NewCreateTable().Model(model).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.await(t)
	for _, model := range models {
		if _, err := db.NewInsert().Model(model).Returning("id").Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.wantRows(t, "columns", columnSQL, "identities id bigint t  next_snowflake()", "serials id bigint t  next_snowflake()")
	s.wantRows(t, "sequences", sequenceSQL)
	s.wantMaker(t, "serials", "id", proxyNode)
	s.wantMaker(t, "identities", "id", proxyNode)
}

// TestReplaceSerialEnt holds what ent makes of it: its migration works once, and
// refuses a table that has no identity the next time. Its schemas have to name
// the default themselves.
func TestReplaceSerialEnt(t *testing.T) {
	t.Parallel()
	_, s := sides(t, ownProxy(t, "--replace-serial"))
	driver := entsql.OpenDB(dialect.Postgres, openSQL(t, "pgx", s.url))
	migrate := func(ctx context.Context) error {
		m, err := schema.NewMigrate(driver)
		if err != nil {
			return err
		}
		columns := []*schema.Column{{Name: "id", Type: field.TypeInt, Increment: true}, {Name: "name", Type: field.TypeString}}
		return m.Create(ctx, &schema.Table{Name: "users", Columns: columns, PrimaryKey: columns[:1]})
	}
	if err := migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.await(t)
	spec := sqlgraph.NewCreateSpec("users", sqlgraph.NewFieldSpec("id", field.TypeInt))
	spec.SetField("name", field.TypeString, "a")
	if err := sqlgraph.CreateNode(t.Context(), driver, spec); err != nil {
		t.Fatal(err)
	}
	s.wantRows(t, "columns", columnSQL, "users id bigint t  next_snowflake()")
	s.wantRows(t, "sequences", sequenceSQL)
	s.wantMaker(t, "users", "id", proxyNode)
	if err := migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "expect IDENTITY") {
		t.Errorf("the second migration gave %v: does ent work with --replace-serial now?", err)
	}
}
