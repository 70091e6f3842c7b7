package wire

import (
	"strings"
	"testing"
)

// What one cycle was assumed to do is not certain until its Sync is answered:
// these pipeline several.

func TestUnnamedAcrossSyncs(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("", insert), sync1())
		h.server(msg('1'), ready('I'))
		h.client(parse("x", "SELEC"), msg('C', byte('S'), ""), sync1())
		var out Spans
		in := bind("", nil, "x")
		if n, wait := h.s.Client(in, &out); n != len(in) || wait == nil || len(out.Bufs) > 0 {
			t.Fatal("a Bind does not wait until it is known whether the statement was closed")
		}
		h.server(report('E', "C42601"), ready('I'))
		want(t, "Close was dropped", h.client(), `B || formats values "x" "1"`)
	})
}

func TestUnnamedKnownInTheCycle(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("", "SELEC"), sync1())
		h.client(parse("", insert), bind("", nil, "x"), sync1())
		h.server(report('E', "C42601"), ready('I'))
		h.server(msg('1'), msg('2'), ready('I'))
		want(t, "kept", h.client(bind("", nil, "x"), sync1()), `B || formats values "x" "2"`+"\nS")
	})
}

func TestDroppedCloseBeforeANewMeaning(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("a", insert), sync1())
		h.server(msg('1'), ready('I'))
		h.client(bind("a", nil, "x"), sync1())
		h.server(msg('3'), msg('1'), msg('2'), ready('I'))
		h.client(parse("", "SELEC"), msg('C', byte('S'), "a"), sync1())
		h.client(msg('C', byte('S'), "a"), parse("a", "SELECT 1"), sync1())
		h.server(report('E', "C42601"), ready('I'), msg('3'), msg('1'), ready('I'))
		if got := h.client(bind("a", nil), sync1()); !strings.Contains(got, "B |a|") {
			t.Errorf("the twin of an earlier statement is used: %s", got)
		}
	})
}

func TestPortalOfALaterCycle(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("d", "DEALLOCATE i"), sync1(), parse("i", insert), sync1())
		h.client(bind("d", nil))
		h.server(msg('1'), ready('I'), msg('1'), ready('I'))
		h.client(execute())
		want(t, "deallocated", h.client(bind("i", nil, "x"), sync1()), `B |i| formats values "x"`+"\nS")
	})
}

func TestHiddenParametersAreNotInContext(t *testing.T) {
	for _, tc := range []struct {
		text    string
		value   []string
		context string
		want    string
	}{
		{insert, []string{"x"}, "inner\nportal \"p\" with parameters: $1 = 'x', $2 = '1'", "inner\nportal \"p\" with parameters: $1 = 'x'"},
		{insert, []string{"x"}, "unnamed portal with parameters: $1 = 'a, $2 = ''1''', $2 = '71...'", "unnamed portal with parameters: $1 = 'a, $2 = ''1'''"},
		{insert, []string{"x"}, "unnamed portal parameter $1", "unnamed portal parameter $1"},
		{"INSERT INTO t VALUES (next_snowflake())", nil, "inner\nunnamed portal with parameters: $1 = '1'", "inner"},
		{"INSERT INTO t VALUES (next_snowflake())", nil, "unnamed portal with parameters: $1 = '1'", ""},
		{"VALUES (next_snowflake(), uuidv7(), next_snowflake())", nil, "unnamed portal with parameters: $1 = '{1,2}', $2 = '01-7'", ""},
	} {
		each(t, func(t *testing.T, h *harness) {
			h.client(parse("", tc.text), bind("", nil, tc.value...), execute(), sync1())
			h.server(msg('1'), msg('2'))
			fields, want1 := []string{"C23514"}, "E C23514||"
			if tc.want != "" {
				want1 = "E C23514|W" + tc.want + "||"
			}
			want(t, tc.context, h.server(report('E', append(fields, "W"+tc.context)...)), want1)
		})
	}
}

// What is pipelined behind copy data that fails is dropped with it, although a
// Sync among the data came before.
func TestRequestsBehindFailedCopyData(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("", "COPY t FROM STDIN"), bind("", nil), execute(), sync1())
		h.server(msg('1'), msg('2'), msg('G', byte(0), int16(0)))
		h.client(msg('d', []byte("x\n")), bind("", nil), sync1(), sync1())
		h.server(report('E', "C22P04"), ready('I'), ready('I'))
		if !h.s.Idle() {
			t.Error("not idle behind the last ReadyForQuery")
		}
		want(t, "goes on", h.client(query("SELECT next_snowflake()")), "Q SELECT 1::int8 AS next_snowflake|")
	})
}

// Half a message that is held when the session gives up reading is not lost.
func TestGivingUpKeepsWhatIsHeld(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		q := query("SELECT next_snowflake()")
		var out Spans
		h.s.Client(q[:9], &out)
		h.server(ready('I')) // to nothing
		var got []byte
		for _, in := range [][]byte{q[9:12], q[12:]} {
			out = Spans{}
			h.s.Client(in, &out)
			for _, b := range out.Bufs {
				got = append(got, b...)
			}
		}
		if string(got) != string(q) {
			t.Errorf("got %q, want %q", got, q)
		}
	})
}

// A statement too long to be read may do anything once it runs.
func TestLongParseMayDoAnything(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("i", insert), sync1())
		h.server(msg('1'), ready('I'))
		h.s.hooks.Limit = 100
		h.client(parse("", "CREATE RULE r AS ON INSERT TO t DO NOTHING -- "+strings.Repeat("x", 100)), bind("", nil))
		if h.catalog.Current() == nil {
			t.Error("the schema counts as changing before the statement runs")
		}
		h.client(execute(), sync1())
		if h.catalog.Current() != nil {
			t.Error("the catalog is relied on while the statement runs")
		}
		h.server(msg('1'), msg('2'), msg('C', "CREATE RULE"), ready('I'))
		want(t, "behind it", h.client(bind("i", nil, "x"), sync1()), `B |i| formats values "x"`+"\nS")
	})
}
