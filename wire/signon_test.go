package wire

import (
	"context"
	"testing"
)

func (h *harness) signOn() {
	h.server(status("standard_conforming_strings", "on"), status("client_encoding", "UTF8"),
		status("server_encoding", "UTF8"), ready('I'))
}

// TestNothingBeforeSignOn: what comes before the server has let the client in
// waits, and neither the catalog nor the generator is asked.
func TestNothingBeforeSignOn(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"CREATE TABLE x ()", "INSERT INTO t VALUES (next_snowflake())"} {
		h := unsigned(t, 0)
		want(t, "password", h.client(msg('p', "secret")), "p secret|")
		var out Spans
		_, wait := h.s.Client(query(text), &out)
		if wait == nil || len(out.Bufs) > 0 || h.catalog.begun > 0 || h.last > 0 {
			t.Fatalf("%s: waits %t, %d spans, begun %d, %d ids", text, wait != nil, len(out.Bufs), h.catalog.begun, h.last)
		}
		h.signOn()
		wait(context.Background())
		if got := h.client(); got == "" {
			t.Errorf("%s: does not reach the server", text)
		}
		if (h.catalog.begun > 0) == (h.last > 0) {
			t.Errorf("%s: begun %d, %d ids", text, h.catalog.begun, h.last)
		}
	}
	h := unsigned(t, 0)
	var out Spans
	_, wait := h.s.Client(query("CREATE TABLE x ()"), &out)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wait(ctx)
	want(t, "waited in vain", h.client(query("SELECT next_snowflake()")), "Q CREATE TABLE x ()|\nQ SELECT next_snowflake()|")
	if h.catalog.begun > 0 {
		t.Error("the catalog is told of DDL of nobody")
	}
}
