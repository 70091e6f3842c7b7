package rewrite

import (
	"fmt"
	"testing"
)

func TestPlanSerial(t *testing.T) {
	t.Parallel()
	var sc Scratch
	readTable(t, "testdata/serial.txt", func(line int, text, want string, reasons []string) {
		p := New(Config{Serial: SerialReplaced}).PlanSerial(&sc, []byte(text), testCatalog())
		got := ""
		if p.Replaces {
			got = render(t, p, Simple, 0)
		}
		if got != want {
			t.Errorf("testdata/serial.txt:%d: %s\n got %s\nwant %s", line, text, got, want)
		}
		var left []string
		for _, s := range p.Serials {
			if !s.Replaced {
				left = append(left, string(s.Reason))
			}
		}
		if g, w := fmt.Sprint(left), fmt.Sprint(reasons); g != w {
			t.Errorf("testdata/serial.txt:%d: %s\n left alone for %s\nwant %s", line, text, g, w)
		}
		if p.Replaces && !MentionsSerial([]byte(text)) {
			t.Errorf("testdata/serial.txt:%d: %s\nis passed over", line, text)
		}
		if p := New(Config{}).PlanSerial(&sc, []byte(text), testCatalog()); p.Replaces {
			t.Errorf("testdata/serial.txt:%d: replaced although that is off", line)
		}
	})
}

// TestSerialModes holds what depends on the flag and on the catalog.
func TestSerialModes(t *testing.T) {
	t.Parallel()
	const always = "CREATE TABLE x (id bigint GENERATED ALWAYS AS IDENTITY (START 7), n int)"
	var sc Scratch
	for _, c := range []struct {
		mode    SerialMode
		catalog *Catalog
		text    string
		want    string
	}{
		{IdentityReplaced, testCatalog(), always, `CREATE TABLE x (id bigint NOT NULL DEFAULT "public".next_snowflake(), n int)`},
		{SerialReplaced, NewCatalog(CatalogData{Version: 150000}), "CREATE TABLE x (id bigserial)", "CREATE TABLE x (id bigint NOT NULL DEFAULT next_snowflake())"},
		{SerialReplaced, NewCatalog(CatalogData{Known: true, Version: 150000}), "CREATE TABLE x (id bigserial)", "not_ours"},
		{SerialReplaced, nil, "CREATE TABLE x (id bigserial)", ""},
	} {
		p := New(Config{Serial: c.mode}).PlanSerial(&sc, []byte(c.text), c.catalog)
		got := ""
		for _, s := range p.Serials {
			got = string(s.Reason)
		}
		if p.Replaces {
			got = render(t, p, Simple, 0)
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}
