package orm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// given is an id that the application chooses, below all that are minted.
const given = 42

// bothSides runs the scenario directly and through the proxy, with a store that
// open makes for a URL, and compares what they leave.
func bothSides(t *testing.T, open func(t *testing.T, url string) store) {
	t.Parallel()
	_, p := fixture(t)
	direct, through := sides(t, p)
	for _, s := range []side{direct, through} {
		scenario(t, s, open(t, s.url))
	}
	for _, state := range []string{stateSQL, schemaSQL} {
		want, got := direct.query(t, state), through.query(t, state)
		if !slices.Equal(got, want) {
			t.Errorf("through the proxy:\n%s\ndirectly:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if testing.Verbose() {
		t.Logf("sent when the id is left out:\n%s", strings.Join(shapes(direct.inserts(t, "(?:accounts|orders|lines)")), "\n"))
	}
}

const (
	// stateSQL gives the rows without their ids.
	stateSQL = `SELECT a.name, a.visits, o.ref, l.sku FROM accounts a
		LEFT JOIN orders o ON o.account_id = a.id LEFT JOIN lines l ON l.order_id = o.id ORDER BY 1, 3, 4`
	// schemaSQL gives columns, constraints, indexes and sequences.
	schemaSQL = `SELECT 'column', c.relname, a.attname, format_type(atttypid, atttypmod), attnotnull::text, pg_get_expr(adbin, adrelid)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = attnum
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND attnum > 0
		UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid), '', '', '' FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		UNION ALL SELECT 'index', indexname, indexdef, '', '', '' FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL SELECT 'sequence', relname, '', '', '', '' FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'
		ORDER BY 1, 2, 3`
)

// scenario runs all that a store can do, and looks into what comes back.
func scenario(t *testing.T, s side, st store) {
	ctx := t.Context()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %s: %v", s.name, what, err)
		}
	}
	must("migrate", st.migrate(ctx))
	once := s.query(t, schemaSQL)
	must("migrate again", st.migrate(ctx))
	if again := s.query(t, schemaSQL); !slices.Equal(again, once) {
		t.Errorf("%s: migrated once:\n%s\nagain:\n%s", s.name, strings.Join(once, "\n"), strings.Join(again, "\n"))
	}
	s.await(t)

	for i := range 3 {
		a := newAccount(fmt.Sprint("family ", i))
		must("create", st.create(ctx, a))
		found, err := st.account(ctx, a.ID)
		must("find an account", err)
		if got, want := describe(found), describe(a); got != want {
			t.Errorf("%s: found %s, created %s", s.name, got, want)
		}
		order, err := st.order(ctx, a.Orders[1].ID)
		must("find an order", err)
		if order.AccountID != a.ID || order.Ref != a.Orders[1].Ref {
			t.Errorf("%s: found order %+v of account %d", s.name, order, a.ID)
		}
	}

	// Some with ids in one statement with others, which an ORM gives DEFAULT.
	many := make([]*Account, 5)
	for _, mixed := range []bool{false, true} {
		for i := range many {
			many[i] = &Account{Name: fmt.Sprintf("many %v %d", mixed, i)}
		}
		if mixed {
			many[2].ID = given
		}
		must("create many", st.createAll(ctx, many))
	}
	if many[2].ID != given || many[1].ID == 0 {
		t.Errorf("%s: ids %d and %d, want %d for the first", s.name, many[2].ID, many[1].ID, given)
	}

	a := &Account{Name: "regular", Visits: 1}
	must("upsert", st.upsert(ctx, a))
	again := &Account{Name: "regular", Visits: 2}
	must("upsert again", st.upsert(ctx, again))
	if a.ID == 0 || again.ID != a.ID {
		t.Errorf("%s: upserted %d, then %d", s.name, a.ID, again.ID)
	}

	must("commit", st.inTx(ctx, func(st store) error {
		return errors.Join(st.create(ctx, newAccount("committed")), st.upsert(ctx, &Account{Name: "regular", Visits: 3}))
	}))
	undo := errors.New("undo")
	if err := st.inTx(ctx, func(st store) error { return errors.Join(st.create(ctx, newAccount("undone")), undo) }); !errors.Is(err, undo) {
		t.Errorf("%s: rolled back for %v", s.name, err)
	}

	checkOrder(t, s, st)
	s.checkMakers(t)
}

// newAccount is an account with two orders of two lines.
func newAccount(name string) *Account {
	a := &Account{Name: name}
	for i := range 2 {
		o := &Order{Ref: fmt.Sprintf("%s/%d", name, i)}
		for j := range 2 {
			o.Lines = append(o.Lines, &Line{SKU: fmt.Sprintf("%s/%d", o.Ref, j)})
		}
		a.Orders = append(a.Orders, o)
	}
	return a
}

// describe shows an account with its orders and lines, and all their ids.
func describe(a *Account) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d %q %d", a.ID, a.Name, a.Visits)
	for _, o := range a.Orders {
		fmt.Fprintf(&out, " [%s %d %q", o.ID, o.AccountID, o.Ref)
		for _, l := range o.Lines {
			fmt.Fprintf(&out, " (%d %s %q)", l.ID, l.OrderID, l.SKU)
		}
		out.WriteString("]")
	}
	return out.String()
}

// checkOrder wants the order of ids to be that of creation.
func checkOrder(t *testing.T, s side, st store) {
	t.Helper()
	all, err := st.accounts(t.Context())
	if err != nil {
		t.Fatalf("%s: find all: %v", s.name, err)
	}
	var got []string
	for _, a := range all {
		got = append(got, a.Name)
	}
	want := []string{"many true 2", "family 0", "family 1", "family 2",
		"many false 0", "many false 1", "many false 2", "many false 3", "many false 4",
		"many true 0", "many true 1", "many true 3", "many true 4", "regular", "committed"}
	if !slices.Equal(got, want) {
		t.Errorf("%s: by id %q, want %q", s.name, got, want)
	}
	var refs, skus []string
	for _, name := range []string{"family 0", "family 1", "family 2", "committed"} {
		for _, o := range newAccount(name).Orders {
			refs = append(refs, o.Ref)
			for _, l := range o.Lines {
				skus = append(skus, l.SKU)
			}
		}
	}
	if got := s.query(t, "SELECT ref FROM orders ORDER BY id"); !slices.Equal(got, refs) {
		t.Errorf("%s: orders by id %q, want %q", s.name, got, refs)
	}
	if got := s.query(t, "SELECT sku FROM lines ORDER BY id"); !slices.Equal(got, skus) {
		t.Errorf("%s: lines by id %q, want %q", s.name, got, skus)
	}
}

// checkMakers wants the ids that no statement gave to be the filler's, all
// different.
func (s side) checkMakers(t *testing.T) {
	t.Helper()
	seen := map[string]bool{}
	for _, table := range []string{"accounts", "orders", "lines"} {
		inserts := strings.Join(s.inserts(t, table), "")
		wrong := 0
		ids := s.query(t, "SELECT id FROM "+table)
		for _, id := range ids {
			if seen[id] {
				t.Errorf("%s: id %s came twice", s.name, id)
			}
			seen[id] = true
			if id != fmt.Sprint(given) && maker(t, id, inserts) != s.filler {
				wrong++
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d ids of %s are not node %d's; inserted by\n%s", s.name, wrong, len(ids), table, s.filler,
				strings.Join(shapes(s.inserts(t, table)), "\n"))
		}
	}
}

// maker is the node that made an id. The proxy's uuids are in the inserts that
// the server was sent.
func maker(t *testing.T, id, inserts string) int {
	t.Helper()
	if _, err := uuid.Parse(id); err == nil {
		if strings.Contains(inserts, id) {
			return proxyNode
		}
		return functionNode
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return nodeOf(n)
}
