package bench

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Result is what a run has found.
type Result struct {
	Server  *Server  `json:"server"`
	Run     Run      `json:"run"`
	Memory  string   `json:"memory"` // where the indexes were, in words
	Notes   []string `json:"notes"`
	Figures []Figure `json:"figures"`
	Batches []Batch  `json:"batches"`
	Reads   []Read   `json:"reads"`
	Minted  *float64 `json:"minted"` // the part of the snowflakes that the proxy made; nil without a proxy

	Tables []Table `json:"-"` // as psql shows them
}

// A Run is what was run. Its fields and those of the other types here are the
// columns of the SQL's tables and views.
type Run struct {
	Rows          int64     `json:"rows"`
	Batch         int64     `json:"batch"`
	Rounds        int       `json:"rounds"`
	Checkpoints   bool      `json:"checkpoints"`
	PgStatTuple   *string   `json:"pgstattuple"`
	PgWalInspect  *string   `json:"pg_walinspect"`
	Began         time.Time `json:"began"`
	SharedBuffers int64     `json:"shared_buffers"`
}

// A Figure is about one kind of key over the run. What is nil was not to be seen.
type Figure struct {
	Key            string   `json:"key"`
	Label          string   `json:"label"`
	Rows           int64    `json:"rows"`
	MakeUS         *float64 `json:"make_us"`
	RowsPerS       float64  `json:"rows_per_s"`
	RowsPerSLast   float64  `json:"rows_per_s_last"` // in the last tenth of the run
	WALBytes       float64  `json:"wal_bytes"`
	WALPerRow      float64  `json:"wal_per_row"`
	FPIPerRow      *float64 `json:"fpi_per_row"`
	FPIBytesPerRow *float64 `json:"fpi_bytes_per_row"`
	Splits         float64  `json:"splits"`
	SplitsSeen     bool     `json:"splits_seen"` // false: they are the pages that the index has grown by
	IndexBytes     int64    `json:"index_bytes"`
	TableBytes     int64    `json:"table_bytes"`
	Density        *float64 `json:"density"`
	Fragmentation  *float64 `json:"fragmentation"`
	HitsPerRow     *float64 `json:"hits_per_row"`
	ReadsPerRow    *float64 `json:"reads_per_row"`
}

// A Batch is one batch of one kind.
type Batch struct {
	Key           string    `json:"key"`
	Round         int       `json:"round"`
	Rows          int64     `json:"rows"`
	Began         time.Time `json:"began"`
	Ended         time.Time `json:"ended"`
	WALBytes      int64     `json:"wal_bytes"`
	FPI           *int64    `json:"fpi"`
	FPIBytes      *int64    `json:"fpi_bytes"`
	Splits        *int64    `json:"splits"`
	IndexBytes    int64     `json:"index_bytes"`
	IndexGrowth   int64     `json:"index_growth"`
	TableBytes    int64     `json:"table_bytes"`
	Hits          *int64    `json:"hits"`
	Reads         *int64    `json:"reads"`
	Density       *float64  `json:"density"`
	Fragmentation *float64  `json:"fragmentation"`
}

// perSecond is the batch's rate.
func (b Batch) perSecond() float64 { return float64(b.Rows) / b.Ended.Sub(b.Began).Seconds() }

// A Read is what reads of one sort cost, Queries of them in all, when they were
// done a second time: Reads are blocks that the cache could not keep in between.
type Read struct {
	Key     string  `json:"key"`
	Query   string  `json:"query"` // newest, range, recent, random
	Via     string  `json:"via"`   // the key or created_at
	Queries int     `json:"queries"`
	Rows    int64   `json:"rows"`
	MS      float64 `json:"ms"`
	Hits    int64   `json:"hits"`
	Reads   int64   `json:"reads"`
}

// A Table is one that is shown.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
}

// shownTables are the views that are printed, as sql/bench/btree.sql does.
var shownTables = []struct{ view, title string }{
	{"inserts", "Inserts (× is the ratio to the first line)"},
	{"sizes", "Sizes at the end"},
	{"reads", "Reads, the second time, when the cache has them: newest 100; a hundredth of the rows in order of time; 200 look-ups of recent rows, and 200 of any (means)"},
}

func readResult(ctx context.Context, conn *pgx.Conn, server *Server) (*Result, error) {
	r := &Result{Server: server}
	runs, err := objects[Run](ctx, conn, "run", "began")
	if err == nil && len(runs) == 1 {
		r.Run = runs[0]
		r.Figures, err = objects[Figure](ctx, conn, "figure", "ordinal")
	}
	if err == nil {
		r.Batches, err = objects[Batch](ctx, conn, "batch", "round, began")
	}
	if err == nil {
		r.Reads, err = objects[Read](ctx, conn, "read", "query, key, via")
	}
	for _, v := range shownTables {
		if err == nil {
			var t Table
			t, err = readTable(ctx, conn, "SELECT * FROM pgid_bench."+v.view)
			t.Title = v.title
			r.Tables = append(r.Tables, t)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the figures: %w", err)
	}
	if r.Minted, err = readMinted(ctx, conn, r); err != nil {
		return nil, fmt.Errorf("read who made the ids: %w", err)
	}
	r.Run.SharedBuffers = server.sharedBuffers
	r.Memory = r.memory()
	r.Notes = r.notes()
	return r, nil
}

func readMinted(ctx context.Context, conn *pgx.Conn, r *Result) (*float64, error) {
	if !r.Server.Proxied || r.figure("snowflake") == nil {
		return nil, nil
	}
	var part float64
	err := conn.QueryRow(ctx, "SELECT avg((id >> 12 & 1023 <> function_node)::int) FROM pgid_bench.snowflake, pgid.config").Scan(&part)
	return &part, err
}

// objects reads a table, the columns going by the names of T's fields in JSON.
func objects[T any](ctx context.Context, conn *pgx.Conn, table, order string) ([]T, error) {
	rows, _ := conn.Query(ctx, "SELECT to_jsonb(t) FROM pgid_bench."+table+" t ORDER BY "+order)
	return pgx.CollectRows(rows, pgx.RowTo[T])
}

func readTable(ctx context.Context, conn *pgx.Conn, query string) (Table, error) {
	results, err := conn.PgConn().Exec(ctx, query).ReadAll()
	if err != nil {
		return Table{}, err
	}
	var t Table
	for _, f := range results[0].FieldDescriptions {
		t.Columns = append(t.Columns, strings.TrimSpace(f.Name))
	}
	for _, values := range results[0].Rows {
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = string(v)
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

func (r *Result) figure(key string) *Figure {
	for i := range r.Figures {
		if r.Figures[i].Key == key {
			return &r.Figures[i]
		}
	}
	return nil
}

// read returns a sort of reads; nil where there are none.
func (r *Result) read(key, query, via string) *Read {
	for i, x := range r.Reads {
		if x.Key == key && x.Query == query && x.Via == via {
			return &r.Reads[i]
		}
	}
	return nil
}

// WriteCSV writes a line for each batch.
func (r *Result) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"key", "round", "rows_before", "rows", "seconds", "rows_per_s", "wal_bytes", "full_page_images", "full_page_image_bytes",
		"page_splits", "index_bytes", "table_bytes", "index_hits", "index_reads", "leaf_density_percent", "leaf_fragmentation_percent"}}
	for _, b := range r.Batches {
		lines = append(lines, []string{b.Key, strconv.Itoa(b.Round), number(int64(b.Round-1) * b.Rows), number(b.Rows),
			fmt.Sprintf("%.6f", b.Ended.Sub(b.Began).Seconds()), fmt.Sprintf("%.0f", b.perSecond()), number(b.WALBytes), optional(b.FPI), optional(b.FPIBytes),
			optional(b.Splits), number(b.IndexBytes), number(b.TableBytes), optional(b.Hits), optional(b.Reads), optional(b.Density), optional(b.Fragmentation)})
	}
	return out.WriteAll(lines)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func optional[T int64 | float64](v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(*v)
}

// WriteText writes the tables, and what they are about.
func (r *Result) WriteText(w io.Writer) error {
	for _, t := range r.Tables {
		if err := t.writeText(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s\n", r.Memory)
	for _, note := range r.Notes {
		if err == nil {
			_, err = fmt.Fprintf(w, "note: %s\n", note)
		}
	}
	return err
}

// writeText aligns the first column to the left and numbers to the right.
func (t Table) writeText(w io.Writer) error {
	widths := make([]int, len(t.Columns))
	lines := append([][]string{t.Columns}, t.Rows...)
	for _, l := range lines {
		for i, cell := range l {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	b.WriteString(t.Title + "\n")
	for _, l := range lines {
		for i, cell := range l {
			pad := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			switch {
			case i == 0:
				b.WriteString("  " + cell + pad)
			case isNumber(t.Rows[0][i]):
				b.WriteString("  " + pad + cell)
			default:
				b.WriteString("  " + cell + pad)
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || s == ""
}
