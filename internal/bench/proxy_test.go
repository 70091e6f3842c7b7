package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A certificate has to be that of the host which is connected to.
func TestMovedVerifiesTheOtherHost(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"verify-full": "pooler.example", "prefer": "pooler.example", "disable": ""} {
		config, err := pgx.ParseConfig("postgres://alice:secret@db.example:5432/shop?sslmode=" + mode)
		if err != nil {
			t.Fatal(err)
		}
		m := moved(config, "pooler.example", 6432)
		got := ""
		if m.TLSConfig != nil {
			got = m.TLSConfig.ServerName
		}
		if got != want || m.Host != "pooler.example" || m.Port != 6432 || m.User != "alice" || m.Password != "secret" || m.Database != "shop" {
			t.Errorf("%s: got %s:%d with a certificate of %q, want one of %q", mode, m.Host, m.Port, got, want)
		}
		for _, f := range m.Fallbacks {
			if f.Host != "pooler.example" || f.Port != 6432 {
				t.Errorf("%s: falls back to %s:%d", mode, f.Host, f.Port)
			}
		}
		if config.Host != "db.example" || config.TLSConfig != nil && config.TLSConfig.ServerName != "db.example" {
			t.Errorf("%s: what was given has changed", mode)
		}
	}
}

// craftedProxy is a result of two rounds with a peer that loses prepared statements.
func craftedProxy() *ProxyResult {
	r := &ProxyResult{Server: crafted().Server, Targets: []string{"direct", "proxy", "peer pooler:6432"}, Clients: 4, TurnSeconds: 1, Rounds: 2}
	for _, protocol := range []string{"prepared", "simple"} {
		c := newCell("select", protocol, 3)
		for i, perSecond := range []float64{10_000, 8_000, 7_000} {
			for round := range r.Rounds {
				c.add(i, turn{[]time.Duration{time.Duration(100*(i+1)) * time.Microsecond}, perSecond - 500*float64(round*i)})
			}
		}
		r.Cells = append(r.Cells, c)
	}
	r.Cells[0].Results[2] = Outcome{Problem: "its sessions lose prepared statements"}
	for i := range r.Cells {
		r.Cells[i].sum()
	}
	return r
}

func TestProxyReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := craftedProxy().Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const wantCSV = `workload,protocol,by,round,statements_per_s,ratio_to_direct
select,prepared,direct,1,10000,1.000
select,prepared,direct,2,10000,1.000
select,prepared,proxy,1,8000,0.800
select,prepared,proxy,2,7500,0.750
select,simple,direct,1,10000,1.000
select,simple,direct,2,10000,1.000
select,simple,proxy,1,8000,0.800
select,simple,proxy,2,7500,0.750
select,simple,peer pooler:6432,1,7000,0.700
select,simple,peer pooler:6432,2,6000,0.600
`
	if got := read("results.csv"); got != wantCSV {
		t.Errorf("got %s, want %s", got, wantCSV)
	}
	page := read("report.html")
	for _, want := range []string{
		`<a href="#rate">Statements per second, as a ratio to direct ones: 0.78 through the proxy, 0.65 through peer pooler:6432</a>`,
		`<a href="#latency">Median time of a statement, beside that of direct ones: &#43;100 µs through the proxy, &#43;200 µs through peer pooler:6432</a>`,
		"<td>its sessions lose prepared statements</td>", "Made by pgidproxy bench proxy", "PostgreSQL 18.0; 4 clients, 2 rounds of 1 s",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if got := strings.Count(page, "<svg"); got != 2 {
		t.Errorf("got %d pictures in the page, want 2", got)
	}
	var back ProxyResult
	if err := json.Unmarshal([]byte(read("results.json")), &back); err != nil || len(back.Cells) != 2 || back.Cells[0].Results[2].Problem == "" || back.Cells[1].Results[1].LeastRatio != 0.75 {
		t.Errorf("got %+v, %v", back, err)
	}
	for _, name := range []string{"rate", "latency"} {
		if !strings.HasPrefix(read(name+".png"), "\x89PNG") || !strings.Contains(read(name+".svg"), "peer pooler:6432: ") {
			t.Errorf("%s is no picture of all targets", name)
		}
	}
}
