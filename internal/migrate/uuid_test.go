package migrate_test

import (
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/internal/migrate"
)

var uuids = []kind{
	{"identity always", "CREATE TABLE p (id int GENERATED ALWAYS AS IDENTITY (START 100) PRIMARY KEY, n text); INSERT INTO p (n) SELECT g FROM generate_series(1, 50) g; CREATE TABLE ch (p_id int REFERENCES p)",
		migrate.Options{Table: "p", Target: migrate.UUIDv7}, []string{"SELECT n FROM p"}, "INSERT INTO p (n) VALUES ('new')"},
	{"partitioned", strings.NewReplacer("id > 0", "day > '2000-01-01'", "p_id_check", "p_day_check", "id > 10", "day > '2000-01-01'", "id < 100000", "n <> ''").Replace(parted), migrate.Options{Table: "p", Target: migrate.UUIDv7}, []string{"SELECT n, day FROM p"}, "INSERT INTO p (day, n) VALUES ('2026-02-02', 'new')"},
	{"family", `CREATE TABLE p (id bigserial PRIMARY KEY, n text, at timestamptz, up bigint REFERENCES p ON DELETE SET NULL); CREATE TABLE ch (id serial PRIMARY KEY, p_id bigint NOT NULL REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE, n text);
		CREATE INDEX ON ch (p_id); CREATE TABLE one (p_id bigint PRIMARY KEY REFERENCES p, n text); CREATE TABLE grand (one_id bigint REFERENCES one);
		INSERT INTO p (n, up, at) SELECT g, nullif(g / 2, 0), '2025-01-01'::timestamptz + g * interval '1 hour' FROM generate_series(1, 300) g; INSERT INTO ch (p_id, n) SELECT 1 + g % 300, 'c' || (1 + g % 300) FROM generate_series(1, 700) g;
		INSERT INTO one SELECT id, n FROM p WHERE id < 50; INSERT INTO grand SELECT p_id FROM one;`,
		migrate.Options{Table: "p", Target: migrate.UUIDv7, CreatedAt: "at"},
		[]string{"SELECT n, at, (SELECT q.n FROM p q WHERE q.id = p.up) FROM p", "SELECT c.n, p.n FROM ch c JOIN p ON p.id = c.p_id", "SELECT o.n, p.n FROM one o JOIN p ON p.id = o.p_id", "SELECT p.n FROM grand g JOIN p ON p.id = g.one_id"}, "INSERT INTO p (n) VALUES ('new')"},
}

func TestUUIDKeys(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		for _, k := range uuids {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				c := k.scene(t, s)
				c.stages(k.options, k.data, 8)
				before, schema := c.data(k.data), snapshot(t, s, c.url)
				c.exec("CREATE TEMP TABLE was AS SELECT n, row_number() OVER (ORDER BY id) AS place FROM p")
				c.apply(k.options)
				if got := c.data(k.data); got != before {
					t.Errorf("the rows have changed:%s", different(got, before))
				}
				c.equal("SELECT count(*) FROM (SELECT n, row_number() OVER (ORDER BY id) AS place FROM p) x JOIN was USING (n) WHERE x.place <> was.place", "0")
				if k.options.CreatedAt != "" {
					c.equal("SELECT count(*) FROM p WHERE id_to_timestamp(id) <> at", "0")
				}
				c.equal("SELECT count(*) FROM p WHERE substr(id::text, 15, 1) <> '7'", "0")
				c.exec(k.insert)
				c.equal("SELECT n FROM p ORDER BY id DESC LIMIT 1", "new")
				if k.name == "family" {
					// The application writes UUIDs now: the old columns follow.
					c.exec("INSERT INTO ch (p_id, n) SELECT id, 'late' FROM p WHERE n = 'new'; UPDATE p SET up = id WHERE n = 'new'; INSERT INTO p (id, n, up) VALUES ('01900000-0000-7000-8000-000000000001', 'self', '01900000-0000-7000-8000-000000000001')")
				}
				if err := c.rollback(k.options); err != nil {
					t.Fatalf("rollback: %v", err)
				}
				if got := snapshot(t, s, c.url); got != schema {
					t.Errorf("after the rollback the schema differs:%s", different(got, schema))
				}
				if k.name == "family" {
					c.equal("SELECT string_agg(concat(c.n, p.n, p.up = p.id), ',') FROM ch c JOIN p ON p.id = c.p_id WHERE c.n = 'late'", "latenewt")
					c.equal("SELECT up = id FROM p WHERE n = 'self'", "true")
				}
				c.apply(k.options)
				c.finish(k.options)
				c.exec(k.insert)
				compareAfter(c, schema)
			})
		}
	})
}
