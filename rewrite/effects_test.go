package rewrite

import (
	"fmt"
	"strings"
	"testing"
)

// show names what an Effects holds.
func (e Effects) show() string {
	var parts []string
	for _, f := range []struct {
		on   bool
		name string
	}{{e.Schema, "schema"}, {e.TempAny, "tempany"}, {e.Settings, "settings"}, {e.Constant, "constant"}, {e.Reverts, "reverts"}, {e.DropAll, "dropall"}} {
		if f.on {
			parts = append(parts, f.name)
		}
	}
	if len(e.Temp) > 0 {
		parts = append(parts, fmt.Sprintf("temp%q", e.Temp))
	}
	if len(e.Renamed) > 0 {
		parts = append(parts, fmt.Sprintf("renamed%q", e.Renamed))
	}
	if len(e.Drop) > 0 {
		parts = append(parts, fmt.Sprintf("drop%q", e.Drop))
	}
	return strings.Join(parts, " ")
}

// longName is longer than PostgreSQL's names are.
var longName = strings.Repeat("é", 40)

var effectsTable = []struct{ text, want string }{
	{"", ""},
	{" ; -- x\n;", ""},
	{"select 1", ""},
	{"/* c */ (SELECT 1) union select 2", ""},
	{"insert into t values (1) ; ", ""},
	{"INSERT INTO t SELECT 'a;b' -- into", ""},
	{"with x as (insert into t values (1) returning id) select * from x", ""},
	{"with x as (select 1) merge into t using x on true when matched then delete", ""},
	{"with x as (select 1) insert into t select * from x", ""},
	{"select 'into' as a", ""},
	{"select 1 into t", "schema tempany"},
	{"select x as insert into t from y", "schema tempany"},
	{"with x as (select 1) select f(x) insert INTO t", "schema tempany"},
	{"(select 1 into t) union select 2", "schema tempany"},
	{"select set_config('search_path', '', false)", "settings"},
	{"select pg_catalog.SET_CONFIG('search_path', 'pg_temp', false)", "tempany settings"},
	{"update t set a = set_config('role', 'x', true)", "settings"},
	{"begin; savepoint a; release a; end", ""},
	{"commit", ""},
	{"commit prepared 'x'", "schema"},
	{"rollback to a", "reverts"},
	{"abort", "reverts"},
	{"set transaction isolation level serializable", ""},
	{"set session characteristics as transaction read only", ""},
	{"set local statement_timeout = 5", ""},
	{"set time zone 'UTC'", "constant"},
	{"set local datestyle = 'DMY'", "constant"},
	{"reset intervalstyle", "constant"},
	{"set xml option document", "constant"},
	{"SET standard_conforming_strings TO off", "settings"},
	{"set session search_path = a, b", "settings"},
	{"set search_path = pg_temp, public", "tempany settings"},
	{"set local role x", "settings"},
	{"set session authorization x", "settings"},
	{"reset all", "settings"},
	{"reset session authorization", "settings"},
	{"reset work_mem", ""},
	{`set "client_encoding" to 'SJIS'`, "settings"},
	{"set names 'latin1'", "settings"},
	{"prepare a as select 1", `drop["a"]`},
	{"PREPARE Ab (int) AS select $1", `drop["ab"]`},
	{`prepare "A""b" as select 1`, `drop["A\"b"]`},
	{`prepare U&"a" as select 1`, "dropall"},
	{"prepare transaction 'x'", "settings"},
	{"prepare transaction as select 1", `drop["transaction"]`},
	{"prepare " + longName + " as select 1", fmt.Sprintf("drop[%q]", longName[:62])},
	{"execute a(1)", "settings"},
	{"deallocate a", `drop["a"]`},
	{"deallocate prepare a;", `drop["a"]`},
	{"deallocate prepare", `drop["prepare"]`},
	{"DEALLOCATE ALL", "dropall"},
	{"deallocate prepare all", "dropall"},
	{`deallocate "all"`, `drop["all"]`},
	{"discard all", "settings dropall"},
	{"discard temp", ""},
	{"create table t (a int)", "schema"},
	{"create table pg_temp.t (a int)", "schema tempany"},
	{"create temp table T (a int)", `temp["t"]`},
	{"CREATE LOCAL TEMPORARY TABLE IF NOT EXISTS pg_temp . \"T\" AS SELECT 1", `temp["T"]`},
	{"create or replace temp recursive view v(a) as select 1", `temp["v"]`},
	{"create temp sequence s", `temp["s"]`},
	{`create temp table U&"x" ()`, "tempany"},
	{"create or replace view s.v as select * from x", `schema temp["v"]`},
	{"create unlogged table t()", "schema"},
	{"create function pg_temp.f() returns int language sql as 'select 1'", "schema tempany"},
	{"create function f() returns int begin atomic select 1; select 2; end", "schema"},
	{"create rule r as on insert to t do also (insert into a values (1); insert into b values (2))", "schema"},
	{"alter table t add column x int", "schema"},
	{"alter table x rename to T", `schema renamed[["x" "t"]]`},
	{"alter view if exists s . \"X\" rename to t", `schema renamed[["X" "t"]]`},
	{"alter table only x * rename to t", `schema renamed[["x" "t"]]`},
	{"alter table U&\"x\" rename to t", `schema temp["t"]`},
	{"alter table x rename a to b", "schema"},
	{"alter table x rename to", "schema tempany"},
	{"drop table t", "schema"},
	{"grant all on t to x", "schema"},
	{"comment on table t is 'x'", ""},
	{"truncate t", ""},
	{"explain select 1", ""},
	{"explain (analyze) insert into t values (1)", ""},
	{"explain analyze create table t as select 1", "schema tempany"},
	{"explain analyze execute p", "settings"},
	{"explain (analyze, verbose) select 1 into t", "schema tempany"},
	{"do $$ begin end $$", "schema tempany settings"},
	{"call p()", "schema tempany settings"},
	{"load 'x'", "schema tempany settings dropall"},
	{"\"select\" 1", "schema tempany settings dropall"},
	{"averyveryverylongword", "schema tempany settings dropall"},
	{"select 1; select 'a", "schema tempany settings dropall"},
	{"select 1; create temp table a(); create temp table b(); deallocate c; drop table d",
		`schema temp["a" "b"] drop["c"]`},
}

func TestEffects(t *testing.T) {
	t.Parallel()
	for _, c := range effectsTable {
		if got := EffectsOf([]byte(c.text)).show(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestEffectsAllocatesNothing(t *testing.T) {
	for _, text := range []string{plainInsert, plainRows, "BEGIN", "COMMIT;", "select a from t where b = $1",
		"with x as (insert into t values (1) returning id) select * from x"} {
		b := []byte(text)
		if n := testing.AllocsPerRun(100, func() { EffectsOf(b) }); n != 0 {
			t.Errorf("%.40s: %v allocations", text, n)
		}
	}
}

func TestContainsFold(t *testing.T) {
	t.Parallel()
	for size := range 40 {
		for at := range size {
			text := []byte(strings.Repeat("i", at) + "InTo" + strings.Repeat("o", size-at))
			if !containsFold(text, "into", 0, 3) {
				t.Errorf("not found in %s", text)
			}
			text[at+2] = 'x'
			if containsFold(text, "into", 0, 3) {
				t.Errorf("found in %s", text)
			}
		}
	}
}
