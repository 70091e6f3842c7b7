package sql

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// thousandTables returns a watcher and its connection for a database with 1,000
// tables of two indexes each, 200 views and 200 functions.
func thousandTables(b *testing.B) (*Watcher, *pgx.Conn) {
	conn, url := installed(b, devpgtest.Server(b))
	exec(b, conn, `DO $$ BEGIN FOR i IN 1..1000 LOOP
		EXECUTE format('CREATE TABLE t%s (id bigint PRIMARY KEY, a text, b int); CREATE INDEX ON t%s (b)', i, i);
		IF i % 5 = 0 THEN
			EXECUTE format('CREATE VIEW v%s AS SELECT * FROM t%s', i, i);
			EXECUTE format('CREATE FUNCTION f%s() RETURNS int LANGUAGE sql AS ''SELECT 1''', i);
		END IF; END LOOP; END $$`)
	exec(b, conn, "VACUUM ANALYZE pg_catalog.pg_class")
	config, err := pgx.ParseConfig(url)
	if err != nil {
		b.Fatal(err)
	}
	ws := NewWatchers(config, slog.New(slog.DiscardHandler))
	b.Cleanup(ws.Close)
	w := newWatcher(ws.config, ws.self, time.Hour, ws.log)
	c := w.attempt(context.Background(), nil)
	if w.Current() == nil {
		b.Fatal("no catalog")
	}
	b.Cleanup(func() {
		w.rest()
		c.Close(context.Background())
	})
	return w, c
}

// BenchmarkPoll is what a second costs while nothing changes.
func BenchmarkPoll(b *testing.B) {
	w, conn := thousandTables(b)
	for b.Loop() {
		if _, _, err := w.poll(context.Background(), conn); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoadCatalog is what a change costs.
func BenchmarkLoadCatalog(b *testing.B) {
	_, conn := thousandTables(b)
	for b.Loop() {
		if _, err := LoadCatalog(context.Background(), conn); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCurrent is asked for every statement with something for us.
func BenchmarkCurrent(b *testing.B) {
	config, err := pgx.ParseConfig("postgres://nobody@127.0.0.1:1/")
	if err != nil {
		b.Fatal(err)
	}
	ws := NewWatchers(config, slog.New(slog.DiscardHandler))
	ws.Close()
	d := ws.Database("db")
	for b.Loop() {
		d.Current()
	}
}
