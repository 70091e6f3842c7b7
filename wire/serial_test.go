package wire

import (
	"testing"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

// TestSerialCatalog holds on which reading of the catalog auto-increment columns
// are replaced.
func TestSerialCatalog(t *testing.T) {
	t.Parallel()
	const make1, made = "CREATE TABLE x (id bigserial)", `Q CREATE TABLE x (id bigint NOT NULL DEFAULT "public".next_snowflake())|`
	open := func() *harness {
		h := newHarness(t, 0)
		h.s.hooks.Rewriter = rewrite.New(rewrite.Config{Serial: rewrite.SerialReplaced})
		return h
	}
	run := func(h *harness, text string, status byte) string {
		got := h.client(query(text))
		h.server(msg('C', "CREATE TABLE"), ready(status))
		return got
	}
	h := open()
	want(t, "first", run(h, make1, 'I'), made)
	run(h, "BEGIN; CREATE TABLE y ()", 'T')
	want(t, "in a transaction that made a table", run(h, make1, 'T'), made)
	run(h, "DROP SCHEMA public CASCADE", 'T')
	want(t, "behind what may have dropped the function", run(h, make1, 'T'), "Q "+make1+"|")
	run(h, "ROLLBACK", 'I')
	want(t, "after the transaction", run(h, make1, 'I'), made)
	run(h, "CREATE TEMP TABLE z ()", 'I')
	want(t, "of a temporary table", run(h, "ALTER TABLE z ADD id bigserial", 'I'), "Q ALTER TABLE z ADD id bigserial|")

	h = open()
	last := h.catalog.now
	h.catalog.now = nil
	want(t, "not read", run(h, make1, 'I'), "Q "+make1+"|")
	if h.catalog.waited != 1 {
		t.Errorf("waited %d times for the catalog", h.catalog.waited)
	}
	h.catalog.now = last
	want(t, "prepared", h.client(parse("", make1), sync1()), `P "|CREATE TABLE x (id bigint NOT NULL DEFAULT \"public\".next_snowflake())|||"`+"\nS")
}

// TestExecuteRunsWhatWasParsed: EXECUTE has the effects of what a Parse prepared,
// also of what PREPARE could not.
func TestExecuteRunsWhatWasParsed(t *testing.T) {
	each(t, func(t *testing.T, h *harness) {
		h.client(parse("d", "ALTER TABLE t RENAME id TO id2"), sync1())
		h.server(msg('1'), ready('I'))
		h.client(query("BEGIN; EXECUTE d"))
		h.server(msg('C', "BEGIN"), msg('C', "ALTER TABLE"), ready('T'))
		want(t, "behind DDL", h.client(query("INSERT INTO t VALUES (next_snowflake())")), "Q INSERT INTO t VALUES (next_snowflake())|")
		if h.catalog.begun == 0 {
			t.Error("the catalog is not told")
		}
	})
}
