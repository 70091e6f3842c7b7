package rewrite

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// oracle is a session of a database that testdata/schema.sql made.
type oracle struct {
	t       *testing.T
	front   *pgproto3.Frontend
	catalog *Catalog
	r       *Rewriter
	sc      Scratch
	version int // major
}

func newOracle(t *testing.T, s *devpg.Server) *oracle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgconn.Connect(ctx, devpgtest.DatabaseOn(t, s))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Exec(ctx, string(schema)).Close(); err != nil {
		t.Fatal(err)
	}
	d := testCatalog().facts.data
	d.Version = s.Major() * 10000
	h, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Conn.Close() })
	return &oracle{t: t, front: h.Frontend, catalog: NewCatalog(d), r: New(Config{}), version: s.Major()}
}

// outcome is what a client sees, but for the digits of ids, and how many
// ids were made by calls.
type outcome struct {
	messages          []string
	snowflakes, uuids string
}

// ids are those of both sides, and the times in UUIDs.
var ids = regexp.MustCompile(`71194385083678\d{5}|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}|2024-12-25 22:46:27.584\+00|` + time.Now().UTC().Format("2006-01-") + `[0-9 :.]+\+00`)

// messages sends a text as a simple query and returns what comes back.
func (o *oracle) messages(text string, m *PositionMap) []string {
	o.t.Helper()
	return o.exchange(m, 0, &pgproto3.Query{String: text})
}

// exchange sends messages and returns what comes back up to ReadyForQuery, with
// the first params of the parameters.
func (o *oracle) exchange(m *PositionMap, params int, send ...pgproto3.FrontendMessage) []string {
	o.t.Helper()
	for _, msg := range send {
		o.front.Send(msg)
	}
	if err := o.front.Flush(); err != nil {
		o.t.Fatal(err)
	}
	var got []string
	add := func(format string, args ...any) {
		got = append(got, ids.ReplaceAllString(fmt.Sprintf(format, args...), "ID"))
	}
	for {
		msg, err := o.front.Receive()
		if err != nil {
			o.t.Fatalf("%v: %v", send[0], err)
		}
		switch msg := msg.(type) {
		case *pgproto3.ParameterDescription:
			add("parameters %d", msg.ParameterOIDs[:params])
		case *pgproto3.RowDescription:
			for _, f := range msg.Fields {
				add("column %s %d %d", f.Name, f.DataTypeOID, f.TypeModifier)
			}
		case *pgproto3.DataRow:
			add("row %q", msg.Values)
		case *pgproto3.CommandComplete:
			add("%s", msg.CommandTag)
		case *pgproto3.NoticeResponse:
			add("notice %s", msg.Message)
		case *pgproto3.ErrorResponse:
			add("error %s %s %s at %d", msg.Code, msg.Message, msg.Detail, m.Client(int(msg.Position), false))
		case *pgproto3.ReadyForQuery:
			return append(got, fmt.Sprintf("ready %c", msg.TxStatus))
		}
	}
}

var ownTransaction = regexp.MustCompile(`(?i)\b(begin|commit)\b`)

// run runs a text, undoes it and counts what it called.
func (o *oracle) run(text string, m *PositionMap, params int, send ...pgproto3.FrontendMessage) outcome {
	o.t.Helper()
	o.messages("SELECT setval('snowflakes', 1, false), setval('uuids', 1, false)", nil)
	if !ownTransaction.MatchString(text) {
		o.messages("BEGIN", nil)
	}
	out := outcome{messages: o.exchange(m, params, send...)}
	o.messages("ROLLBACK", nil)
	counts := o.messages("SELECT last_value + is_called::int - 1 FROM snowflakes UNION ALL SELECT last_value + is_called::int - 1 FROM uuids", nil)
	if len(counts) < 3 {
		o.t.Fatalf("counts: %v", counts)
	}
	out.snowflakes, out.uuids = counts[1], counts[2]
	return out
}

// check compares a text with what becomes of it, as a simple query and prepared.
// A call that is replaced is evaluated once, or with perhaps at most once; one
// that is left alone, as often as ever.
func (o *oracle) check(where, text string, perhaps bool) {
	o.t.Helper()
	var m PositionMap
	p := o.r.Plan(&o.sc, []byte(text), o.catalog, Simple)
	if p.Replaces && p.MaxParam == 0 {
		snow, uuids := o.mint(p)
		edited := string(p.AppendLiterals(nil, snow, uuids))
		p.Positions(&m)
		o.compare(where, text, edited, p, perhaps,
			o.run(text, nil, 0, &pgproto3.Query{String: text}), o.run(text, &m, 0, &pgproto3.Query{String: edited}))
	}
	p = o.r.Plan(&o.sc, []byte(text), o.catalog, Extended)
	if p.Replaces {
		o.checkPrepared(where, text, p, perhaps)
	}
}

// checkPrepared does so with hidden parameters. The client's are NULL.
func (o *oracle) checkPrepared(where, text string, p *Prepared, perhaps bool) {
	o.t.Helper()
	edited := withParams(o.t, p, p.MaxParam+1)
	var m PositionMap
	p.Positions(&m)
	types, values := make([]uint32, p.MaxParam), make([][]byte, p.MaxParam)
	direct := extended(text, types, values)
	snow, uuids := o.mint(p)
	for _, id := range snow {
		types, values = append(types, 20), append(values, fmt.Append(nil, id))
	}
	for _, u := range uuids {
		types, values = append(types, 2950), append(values, gen.AppendUUID(nil, u))
	}
	o.compare(where, text, edited, p, perhaps,
		o.run(text, nil, p.MaxParam, direct...), o.run(text, &m, p.MaxParam, extended(edited, types, values)...))
}

// extended is a use of the unnamed statement.
func extended(text string, types []uint32, values [][]byte) []pgproto3.FrontendMessage {
	return []pgproto3.FrontendMessage{
		&pgproto3.Parse{Query: text, ParameterOIDs: types}, &pgproto3.Describe{ObjectType: 'S'},
		&pgproto3.Bind{Parameters: values}, &pgproto3.Execute{}, &pgproto3.Sync{},
	}
}

// mint makes the ids for one execution.
func (o *oracle) mint(p *Prepared) ([]int64, []gen.UUID) {
	snow, uuids := make([]int64, p.Snowflakes), make([]gen.UUID, p.UUIDs)
	for i := range snow {
		snow[i] = 7119438508367872500 + int64(i)
	}
	for i := range uuids {
		uuids[i] = gen.UUID{0x01, 0x94, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0x50, byte(i)}
	}
	return snow, uuids
}

func (o *oracle) compare(where, text, edited string, p *Prepared, perhaps bool, direct, spliced outcome) {
	o.t.Helper()
	if got, want := strings.Join(spliced.messages, "\n"), strings.Join(direct.messages, "\n"); got != want {
		o.t.Errorf("%s: %s\n sent as %s\n got %s\nwant %s", where, text, edited, got, want)
	}
	if strings.Contains(strings.Join(direct.messages, "\n"), "error ") {
		return
	}
	o.compareCount(where, text, direct.snowflakes, spliced.snowflakes, p.Snowflakes, perhaps)
	if o.version < 18 { // there it is built in, and not counted
		o.compareCount(where, text, direct.uuids, spliced.uuids, p.UUIDs, perhaps)
	}
}

func (o *oracle) compareCount(where, text, direct, spliced string, replaced int, perhaps bool) {
	o.t.Helper()
	var d, s int
	fmt.Sscanf(direct, `row ["%d"]`, &d)
	fmt.Sscanf(spliced, `row ["%d"]`, &s)
	if n := d - s; n > replaced || n < replaced && !perhaps {
		o.t.Errorf("%s: %s\n%d calls are replaced, but %d fewer evaluated", where, text, replaced, n)
	}
}

// conditional is in texts of which the server need not evaluate all.
var conditional = regexp.MustCompile(`(?i)\b(case|coalesce|nullif|where|limit|offset|null|intersect|except)\b|\$\d`)

func TestPlansAgainstServer(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		o := newOracle(t, s)
		for _, file := range []string{"testdata/simple.txt", "testdata/more.txt", "testdata/extended.txt", "testdata/fill.txt"} {
			readTable(t, file, func(line int, text, _ string, _ []string) {
				o.check(fmt.Sprintf("%s:%d", file, line), text, conditional.MatchString(text))
			})
		}
	})
}
