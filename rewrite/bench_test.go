package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/gen"
)

// shortInsert is a text of 200 bytes with one call.
const shortInsert = `INSERT INTO customer_order (id, customer_id, placed_at, status, total, note) VALUES ` +
	`(next_snowflake(), 918273, '2026-03-04 05:06:07+00', 'new', 123.45, 'leave it with the neighbour at number 12')`

// plainInsert is like it, without anything for us.
const plainInsert = `INSERT INTO customer_order (id, customer_id, placed_at, status, total, note) VALUES ` +
	`(7119438508367872001, 918273, '2026-03-04 05:06:07+00', 'new', 123.45, 'leave it with the neighbour at no. 12')`

// manyRows is an INSERT of 100 rows with 10 columns, about 6 KB.
var manyRows = func() string {
	var b strings.Builder
	b.WriteString("INSERT INTO acct (id, a, b, c, d, e, f, g, h, i) VALUES ")
	for i := range 100 {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "(next_snowflake(), %d, 'v%d', NULL, 1.5, true, 'x', %d, 'y', 3)", i, i, i*7)
	}
	return b.String()
}()

// plainRows is many rows without anything for us.
var plainRows = strings.ReplaceAll(manyRows, "next_snowflake()", "default")

func benchCatalog() *Catalog {
	return NewCatalog(CatalogData{
		Database: "bench", Version: 170000, Known: true, Schema: "public",
		Ours:      map[string]bool{NextSnowflake: true, UUIDv7: true, IDToTimestamp: true},
		Relations: []Relation{{Schema: "public", Name: "acct", Plain: true}, {Schema: "public", Name: "customer_order", Plain: true}},
	})
}

func BenchmarkMentions(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"short", plainInsert},
		{"rows", plainRows},
		{"prose", strings.Repeat("It is a truth universally acknowledged, that a man in possession; ", 100)},
		{"underscores", strings.Repeat("select user_id, user_name_x, created_at from some_table_name where a_b = 17 and c7 = 77 ", 100)},
	} {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(c.text)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if Mentions(text) {
					b.Fatal("mentions")
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"short", shortInsert}, {"rows", manyRows}} {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(c.text)
			var s Shape
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Scan(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEffects(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"insert", plainInsert},
		{"select", "SELECT id, name, note FROM customer WHERE id = $1 AND status = 'open' ORDER BY placed_at DESC LIMIT 10"},
		{"begin", "BEGIN"},
		{"rows", plainRows},
	} {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(c.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if e := EffectsOf(text); e.Schema {
					b.Fatal(e)
				}
			}
		})
	}
}

// BenchmarkKnownShape is all that rewrite does for a text whose shape is known.
func BenchmarkKnownShape(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"short", shortInsert}, {"rows", manyRows}} {
		for _, m := range []Mode{Simple, Extended} {
			b.Run(c.name+"/"+[]string{"simple", "extended"}[m], func(b *testing.B) {
				text := []byte(c.text)
				cat, r := benchCatalog(), New(Config{})
				var sc Scratch
				var dst []byte
				var pos PositionMap
				snow, uuids := make([]int64, 100), make([]gen.UUID, 100)
				for i := range snow {
					snow[i] = 7119438508367872001 + int64(i)
				}
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if !Mentions(text) || EffectsOf(text).Schema {
						b.Fatal("not for us")
					}
					p := r.Plan(&sc, text, cat, m)
					if !p.Replaces {
						b.Fatal("not replaced")
					}
					if m == Simple {
						dst = p.AppendLiterals(dst[:0], snow[:p.Snowflakes], uuids[:p.UUIDs])
					} else {
						h, _ := p.Hide(p.MaxParam)
						dst = p.AppendParams(dst[:0], p.MaxParam+1, h)
					}
					p.Positions(&pos)
				}
			})
		}
	}
}
