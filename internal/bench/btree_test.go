package bench

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/sql"
)

// quiet is a server that nobody else uses, whose WAL is complete.
func quiet(t *testing.T) *devpg.Server {
	return devpgtest.Private(t, map[string]string{"full_page_writes": "on", "autovacuum": "off"})
}

// database is one with our functions, and a connection to it.
func database(t *testing.T, s *devpg.Server) (*pgx.ConnConfig, *pgx.Conn) {
	t.Helper()
	config, err := pgx.ParseConfig(devpgtest.DatabaseOn(t, s))
	if err != nil {
		t.Fatal(err)
	}
	conn := connection(t, config)
	if _, err := sql.Install(t.Context(), conn, sql.InstallOptions{}); err != nil {
		t.Fatal(err)
	}
	return config, conn
}

func connection(t *testing.T, config *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// The figures are checked against what the server says itself: the WAL by its
// position before and after each batch, the rest by the tables that are kept.
func TestFiguresAreTheServers(t *testing.T) {
	t.Parallel()
	config, conn := database(t, quiet(t))
	const rows = 20_000
	type position struct {
		doing string
		lsn   int64
	}
	var positions []position
	r, err := RunBTree(t.Context(), BTreeConfig{Rows: rows, Batch: 2000, Server: config, Keep: true, Progress: func(p Progress) {
		positions = append(positions, position{p.Doing, value[int64](t, conn, "SELECT (pg_current_wal_insert_lsn() - '0/0')::int8")})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(r.Figures); got != len(kinds) {
		t.Fatalf("got %d kinds, want %d", got, len(kinds))
	}
	// A batch is two steps of the same kind, the second of which begins right after it.
	around := make(map[string][]int64)
	for i := 0; i+1 < len(positions); i++ {
		if n := len(around[positions[i].doing]); positions[i].doing == positions[i+1].doing && n < 10 {
			around[positions[i].doing] = append(around[positions[i].doing], positions[i+1].lsn-positions[i].lsn)
			i++
		}
	}
	for _, b := range r.Batches {
		beside := int64(2000)
		if b.Round == 1 {
			beside = 64 << 10 // images of catalog pages, when the procedures run first
		}
		if most := around[b.Key][b.Round-1]; b.WALBytes > most || b.WALBytes < most-beside {
			t.Errorf("%s, round %d: got %d bytes of WAL, the server's position moved by %d", b.Key, b.Round, b.WALBytes, most)
		}
	}
	for _, f := range r.Figures {
		checkFigure(t, conn, r, f, rows)
	}
	v4, v7 := r.figure("uuidv4"), r.figure("uuidv7")
	if v4.FPIPerRow != nil && *v4.FPIPerRow < 2**v7.FPIPerRow {
		t.Errorf("got %f full-page images a row for UUIDv4 and %f for UUIDv7", *v4.FPIPerRow, *v7.FPIPerRow)
	}
	if *v4.Fragmentation < 30 || *v7.Fragmentation > 5 {
		t.Errorf("got a fragmentation of %.0f %% for UUIDv4 and %.0f %% for UUIDv7", *v4.Fragmentation, *v7.Fragmentation)
	}
}

func checkFigure(t *testing.T, conn *pgx.Conn, r *Result, f Figure, rows int64) {
	t.Helper()
	table := "pgid_bench." + f.Key
	if got := value[int64](t, conn, "SELECT count(*) FROM "+table); got != rows || f.Rows != rows {
		t.Errorf("%s has %d rows, the report says %d, want %d", f.Key, got, f.Rows, rows)
	}
	if want := value[int64](t, conn, "SELECT pg_relation_size('"+table+"_pkey')"); f.IndexBytes != want {
		t.Errorf("%s: got an index of %d bytes, the server says %d", f.Key, f.IndexBytes, want)
	}
	if want := value[int64](t, conn, "SELECT pg_relation_size('"+table+"')"); f.TableBytes != want {
		t.Errorf("%s: got a table of %d bytes, the server says %d", f.Key, f.TableBytes, want)
	}
	for column, got := range map[string]*float64{"avg_leaf_density": f.Density, "leaf_fragmentation": f.Fragmentation} {
		if want := value[float64](t, conn, "SELECT "+column+" FROM pgid_bench.pgstatindex('"+table+"_pkey')"); got == nil || *got != want {
			t.Errorf("%s: got %s %v, the server says %f", f.Key, column, got, want)
		}
	}
	// Every split adds a page; only the first pages are no split's.
	pages := float64(f.IndexBytes / 8192)
	if f.Splits > pages || f.Splits < pages-6 {
		t.Errorf("%s: got %.0f splits of an index of %.0f pages", f.Key, f.Splits, pages)
	}
	wal, images := int64(0), int64(0)
	for _, b := range r.Batches {
		if b.Key == f.Key {
			wal += b.WALBytes
			if b.FPI != nil {
				images += *b.FPI
			}
		}
	}
	if got := f.WALPerRow * float64(rows); math.Abs(got-float64(wal)) > 1 {
		t.Errorf("%s: got %.0f bytes of WAL, the batches have %d", f.Key, got, wal)
	}
	if f.FPIBytesPerRow != nil && math.Abs(*f.FPIBytesPerRow*float64(rows)-float64(images*8192)) > float64(images*8192)+1 {
		t.Errorf("%s: got %.0f bytes of images, which are %d", f.Key, *f.FPIBytesPerRow*float64(rows), images)
	}
	for _, via := range []string{"key", "created_at"} {
		if read := r.read(f.Key, "newest", via); read == nil || read.Rows != 100 || read.Hits+read.Reads == 0 {
			t.Errorf("%s: got %+v for the newest 100 by %s", f.Key, read, via)
		}
	}
	// Some rows may have the created_at of the bound.
	if read := r.read(f.Key, "range", "created_at"); read == nil || read.Rows > rows/100 || read.Rows < rows/100-5 {
		t.Errorf("%s: got %+v for a hundredth of the rows by created_at", f.Key, read)
	}
	byKey := r.read(f.Key, "range", "key")
	if tells := f.Key == "snowflake" || f.Key == "ulid" || strings.HasPrefix(f.Key, "uuidv7"); tells != (byKey != nil) || tells && byKey.Rows != rows/100 {
		t.Errorf("%s: got %+v for a hundredth of the rows by key", f.Key, byKey)
	}
	if read := r.read(f.Key, "random", "key"); read == nil || read.Rows != int64(read.Queries) || read.Queries < 100 {
		t.Errorf("%s: got %+v for look-ups", f.Key, read)
	}
}

// What the cache happens to hold has no part in the reads: on a server whose
// cache does not hold the tables, next to no block is read from outside it. One may
// be, that the server chose to replace between the two times.
func TestReadsDoNotDependOnTheCache(t *testing.T) {
	t.Parallel()
	config, _ := database(t, devpgtest.Private(t, map[string]string{"shared_buffers": "4MB", "autovacuum": "off"}))
	r, err := RunBTree(t.Context(), BTreeConfig{Rows: 20_000, Keys: []string{"identity", "uuidv7", "uuidv4"}, Server: config})
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range r.Reads {
		if read.Reads*10 > read.Hits || read.Hits == 0 {
			t.Errorf("got %+v", read)
		}
	}
	if want := 3*4 + 1; len(r.Reads) < want {
		t.Errorf("got %d sorts of reads, want %d", len(r.Reads), want)
	}
}

func value[T any](t *testing.T, conn *pgx.Conn, query string) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(context.WithoutCancel(t.Context()), query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

// gone fails where a run has left something.
func gone(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	if value[bool](t, conn, "SELECT to_regnamespace('pgid_bench') IS NOT NULL OR EXISTS (SELECT FROM pg_extension WHERE extname IN ('pgstattuple', 'pg_walinspect'))") {
		t.Error("the run has left its schema or an extension")
	}
}

func TestEveryVersionAndCleansUp(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		config, conn := database(t, s)
		r, err := RunBTree(t.Context(), BTreeConfig{Rows: 3000, Server: config})
		if err != nil {
			t.Fatal(err)
		}
		gone(t, conn)
		dir := t.TempDir()
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"report.html", "results.json", "results.csv", "rate.svg", "rate.png", "wal.svg", "size.png", "range.svg"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 500 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	})
}

func TestInterruptedRunCleansUp(t *testing.T) {
	t.Parallel()
	config, conn := database(t, devpgtest.Server(t))
	for _, after := range []int{0, 1, 5, 60} {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		_, err := RunBTree(ctx, BTreeConfig{Rows: 20_000, Server: config, Progress: func(Progress) {
			if steps == after {
				cancel()
			}
			steps++
		}})
		cancel()
		if err == nil {
			t.Fatalf("the run went on after step %d", after)
		}
		gone(t, conn)
	}
}

// psql runs the script alone and shows the tables that the program shows.
func TestPsqlShowsTheSameTables(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Fatalf("this test needs psql (apt-get install postgresql-client): %v", err)
	}
	config, conn := database(t, devpgtest.Server(t))
	out, err := exec.Command(psql, "-X", "-A", "-d", config.ConnString(), "-f", "../../sql/bench/btree.sql", "-v", "rows=5000").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	gone(t, conn)
	r, err := RunBTree(t.Context(), BTreeConfig{Rows: 5000, Server: config})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	for _, table := range r.Tables {
		header := slices.IndexFunc(lines, func(l string) bool { return trimmed(l) == strings.Join(table.Columns, "|") })
		if header < 0 || len(lines) < header+1+len(table.Rows) {
			t.Fatalf("%v is not among what psql shows:\n%s", table.Columns, out)
		}
		for i, row := range table.Rows {
			if name, _, _ := strings.Cut(lines[header+1+i], "|"); name != row[0] {
				t.Errorf("got line %q, want one of %s", lines[header+1+i], row[0])
			}
		}
	}
	// What chance and time have no part in is the same to the digit.
	size := strings.Join(r.Tables[1].Rows[0], "|")
	if !slices.Contains(lines, size) {
		t.Errorf("%s is not among what psql shows:\n%s", size, out)
	}
}

// trimmed removes the spaces around the cells of a line.
func trimmed(line string) string {
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return strings.Join(cells, "|")
}
