package bench

import (
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"strings"
	"testing"
	"time"
)

// crafted is a result of two kinds whose figures are chosen.
func crafted() *Result {
	some := func(v float64) *float64 { return &v }
	r := &Result{
		Server: &Server{Version: "18.0", Settings: map[string]string{"full_page_writes": "on", "fsync": "on", "synchronous_commit": "on"}, major: 18},
		Run:    Run{Rows: 2_000_000, Batch: 100_000, Rounds: 20, Checkpoints: true, SharedBuffers: 32 << 20},
		Figures: []Figure{
			{Key: "uuidv7", Label: "UUIDv7", Rows: 2_000_000, RowsPerSLast: 90_000, WALPerRow: 260, FPIBytesPerRow: some(1), IndexBytes: 64 << 20, Density: some(90), ReadsPerRow: some(0.001)},
			{Key: "uuidv4", Label: "UUIDv4", Rows: 2_000_000, RowsPerSLast: 30_000, WALPerRow: 1066, FPIBytesPerRow: some(790), IndexBytes: 96 << 20, Density: some(67), ReadsPerRow: some(0.5)},
		},
		Reads: []Read{{Key: "uuidv7", Query: "range", Via: "key", Queries: 1, Rows: 2000, Hits: 10, Reads: 40}},
	}
	began := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for round := 1; round <= r.Run.Rounds; round++ {
		for n, key := range []string{"uuidv7", "uuidv4"} {
			reads := int64(100 + 60_000*n)
			r.Batches = append(r.Batches, Batch{Key: key, Round: round, Rows: 100_000, Began: began, Ended: began.Add(time.Second), Reads: &reads})
		}
	}
	return r
}

func TestPicturesSayWhatTheRunFound(t *testing.T) {
	t.Parallel()
	pictures, err := crafted().Draw()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"rate":   "In the last tenth UUIDv7 took 3.0 times the rows per second of UUIDv4",
		"wal":    "UUIDv4 wrote 4.1 times the WAL of UUIDv7; 74 % of UUIDv4's were full-page images",
		"size":   "UUIDv4's index is 1.50 times as large as UUIDv7's; its leaves are 67 % full, UUIDv7's 90 %",
		"misses": "In the last tenth UUIDv4 had to read 601 blocks of its index for 1,000 rows, UUIDv7 1.0",
		"range":  "1,000 rows of a time by key take 25 buffer accesses with UUIDv7",
	}
	if len(pictures) != len(want) {
		t.Errorf("got %d pictures, want %d", len(pictures), len(want))
	}
	for _, p := range pictures {
		if p.Title != want[p.Name] {
			t.Errorf("%s: got %q, want %q", p.Name, p.Title, want[p.Name])
		}
		if !strings.HasPrefix(string(p.PNG), "\x89PNG") {
			t.Errorf("%s: this is no PNG", p.Name)
		}
		for d := xml.NewDecoder(strings.NewReader(string(p.SVG))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: this is no SVG: %v", p.Name, err)
				break
			}
		}
	}
}

// Small differences are told, not rounded away.
func TestWALAndRateSayHowMuch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wal, rate         float64 // UUIDv4's; UUIDv7 has 250 bytes and 1,000 rows/s
		wantWAL, wantRate string
	}{
		{265, 940, "UUIDv4 wrote 6 % more WAL than UUIDv7", "UUIDv7 took 6 % more rows per second than UUIDv4"},
		{265, 1040, "UUIDv4 wrote 6 % more WAL than UUIDv7", "UUIDv4 took 4 % more rows per second than UUIDv7"},
		{475, 600, "UUIDv4 wrote 90 % more WAL than UUIDv7", "UUIDv7 took 67 % more rows per second than UUIDv4"},
		{500, 450, "UUIDv4 wrote 2.0 times the WAL of UUIDv7", "UUIDv7 took 2.2 times the rows per second of UUIDv4"},
		{240, 1001, "UUIDv4 wrote 4 % less WAL than UUIDv7", "UUIDv4 took 1.00 times the rows per second of UUIDv7"},
		{251, 1000, "UUIDv4 wrote 1.00 times the WAL of UUIDv7", "UUIDv4 took 1.00 times the rows per second of UUIDv7"},
	} {
		r := crafted()
		v7, v4 := &r.Figures[0], &r.Figures[1]
		v7.WALPerRow, v7.RowsPerSLast = 250, 1000
		v4.WALPerRow, v4.RowsPerSLast, v4.FPIBytesPerRow = c.wal, c.rate, nil
		if got := r.walFinding(); got != c.wantWAL {
			t.Errorf("got %q, want %q", got, c.wantWAL)
		}
		if got, want := r.rateFinding(), "In the last tenth "+c.wantRate; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRangeNamesEveryKeyThatIsDear(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"identity": "bigint identity", "snowflake": "snowflake", "uuidv7": "UUIDv7", "uuidv7_random": "UUIDv7, random in its ms", "ulid": "ULID as text"}
	for _, c := range []struct {
		via  string
		hits map[string]int64 // for 1,000 rows
		want string
	}{
		{"key", map[string]int64{"snowflake": 21, "uuidv7": 23, "uuidv7_random": 671, "ulid": 481},
			"1,000 rows of a time by key take 21 to 23 buffer accesses with snowflake and UUIDv7, 481 to 671 buffer accesses with ULID as text and UUIDv7 random in its ms"},
		{"key", map[string]int64{"snowflake": 21, "uuidv7": 23, "uuidv7_random": 35, "ulid": 29},
			"1,000 rows of a time by key take 21 to 35 buffer accesses with snowflake, UUIDv7, ULID as text and UUIDv7 random in its ms"},
		{"key", map[string]int64{"uuidv7": 23, "ulid": 481}, "1,000 rows of a time by key take 23 buffer accesses with UUIDv7, 481 buffer accesses with ULID as text"},
		{"key", map[string]int64{"ulid": 481}, "1,000 rows of a time by key take 481 buffer accesses with ULID as text"},
		{"created_at", map[string]int64{"identity": 22}, "1,000 rows of a time take 22 buffer accesses by an index on created_at; no key here tells the time"},
		{"key", nil, ""},
	} {
		r := crafted()
		r.Figures, r.Reads = nil, nil
		for _, key := range Keys() {
			if hits, there := c.hits[key]; there {
				r.Figures = append(r.Figures, Figure{Key: key, Label: labels[key]})
				r.Reads = append(r.Reads, Read{Key: key, Query: "range", Via: c.via, Queries: 1, Rows: 2000, Hits: hits, Reads: hits})
			}
		}
		if got := r.rangeFinding(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A run of one kind is not compared with itself.
func TestOneKindAlone(t *testing.T) {
	t.Parallel()
	r := crafted()
	r.Figures = r.Figures[1:]
	for got, want := range map[string]string{
		r.rateFinding(): "In the last tenth UUIDv4 took 30,000 rows per second",
		r.walFinding():  "UUIDv4 wrote 1,066 bytes of WAL a row; 74 % of UUIDv4's were full-page images",
		r.sizeFinding(): "UUIDv4's index has 50 bytes a row; its leaves are 67 % full",
		r.missFinding(): "In the last tenth UUIDv4 had to read 601 blocks of its index for 1,000 rows",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The title of the index's reads is about the lines that are drawn, however low
// they are.
func TestMissesSayWhatTheLinesShow(t *testing.T) {
	t.Parallel()
	// The reads of UUIDv7 and UUIDv4 for a batch of 100,000 rows in each of 20 rounds.
	for _, c := range []struct {
		v7, v4 func(round int) int64
		want   string
	}{
		{func(int) int64 { return 0 }, func(int) int64 { return 0 }, "No key had to read blocks of its index: they were in the cache"},
		{func(int) int64 { return 0 }, func(round int) int64 { return 4 * int64(round) }, "In the last tenth UUIDv4 had to read 0.8 blocks of its index for 1,000 rows, UUIDv7 none"},
		{func(int) int64 { return 1 }, func(int) int64 { return 5 }, "In the last tenth UUIDv4 had to read 0.05 blocks of its index for 1,000 rows, UUIDv7 0.01"},
		{func(int) int64 { return 5000 }, func(int) int64 { return 4800 }, "In the last tenth UUIDv7 had to read 50 blocks of its index for 1,000 rows, UUIDv4 48"},
		{func(int) int64 { return 0 }, func(round int) int64 { return int64(max(0, 7-round)) * 1000 },
			"UUIDv4 had to read up to 55 blocks of its index for 1,000 rows; in the last tenth UUIDv4 and UUIDv7 read none"},
	} {
		r := crafted()
		for i := range r.Batches {
			b := &r.Batches[i]
			reads := c.v7(b.Round)
			if b.Key == "uuidv4" {
				reads = c.v4(b.Round)
			}
			b.Reads = &reads
		}
		if got := r.missFinding(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestMemoryAndNotes(t *testing.T) {
	t.Parallel()
	r := crafted()
	if got, want := r.memory(), "Beyond memory: the largest index (UUIDv4, 96 MiB) is 3.0 times shared_buffers (32 MiB)."; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Run.SharedBuffers = 1 << 30
	if got, want := r.memory(), "In memory: all 2 indexes (160 MiB) fit shared_buffers (1.0 GiB)."; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Run.SharedBuffers = 128 << 20
	if got, want := r.memory(), "In between: the largest index (UUIDv4, 96 MiB) is 0.8 times shared_buffers (128 MiB)"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Server.Settings["full_page_writes"] = "off"
	if notes := strings.Join(r.notes(), "\n"); !strings.Contains(notes, "full_page_writes is off") || !strings.Contains(notes, "round of 100,000 rows") {
		t.Errorf("got notes %s", notes)
	}
	if got := r.walFinding(); !strings.HasSuffix(got, ", on a server without full-page images") {
		t.Errorf("got %q", got)
	}
}

func TestEveryKindHasItsColor(t *testing.T) {
	t.Parallel()
	seen := make(map[color.RGBA]string)
	for _, k := range Keys() {
		c, there := colors[k]
		if !there || seen[c] != "" {
			t.Errorf("%s has the colour %v, as %q", k, c, seen[c])
		}
		seen[c] = k
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	if got, want := wrap("one two three four", 10), "one two\nthree four"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := wrap("short", 10), "short"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
