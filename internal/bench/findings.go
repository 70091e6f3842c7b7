package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// memory says which of the two runs this was: one whose indexes fit the cache,
// or one whose indexes do not.
func (r *Result) memory() string {
	all, largest := int64(0), Figure{}
	for _, f := range r.Figures {
		all += f.IndexBytes
		if f.IndexBytes > largest.IndexBytes {
			largest = f
		}
	}
	buffers := r.Run.SharedBuffers
	ratio := float64(largest.IndexBytes) / float64(buffers)
	switch {
	case all < buffers:
		return fmt.Sprintf("In memory: all %d indexes (%s) fit shared_buffers (%s). Random keys cost least here; a table that outgrows the cache shows more (--beyond-memory).",
			len(r.Figures), Bytes(all), Bytes(buffers))
	case ratio >= beyondRatio:
		return fmt.Sprintf("Beyond memory: the largest index (%s, %s) is %.1f times shared_buffers (%s). What is read comes from the operating system's cache where that is large enough, else from the disk.",
			largest.Label, Bytes(largest.IndexBytes), ratio, Bytes(buffers))
	default:
		return fmt.Sprintf("In between: the largest index (%s, %s) is %.1f times shared_buffers (%s), and all %d, which take turns, need %s.",
			largest.Label, Bytes(largest.IndexBytes), ratio, Bytes(buffers), len(r.Figures), Bytes(all))
	}
}

// notes tell what one should know to read the figures.
func (r *Result) notes() []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	s := r.Server
	if r.Run.Checkpoints {
		add("a checkpoint begins each round of %s rows a table, and after a checkpoint each page's first change is written to the WAL as a whole: checkpoints further apart than that make the images, and with them the WAL of random keys, fewer; nearer ones more", group(float64(r.Run.Batch)))
	} else {
		add("this role may not CHECKPOINT: full-page images came when the server's own checkpoints did, not evenly for all kinds of keys")
	}
	if s.Settings["full_page_writes"] == "off" {
		add("full_page_writes is off on this server (pgidproxy dev without --data-dir has it so): the WAL holds no full-page images, which elsewhere are most of what random keys cost")
	}
	if s.Settings["fsync"] == "off" || s.Settings["synchronous_commit"] == "off" {
		add("the server does not wait for the disk (fsync %s, synchronous_commit %s): rows/s are those of memory and processor", s.Settings["fsync"], s.Settings["synchronous_commit"])
	}
	if r.Run.Rows < 1_000_000 {
		add("in a run as short as this rows/s may differ by some tens of percent from one run to the next; sizes, densities, splits and WAL do not")
	}
	if s.Proxied {
		if r.Minted != nil {
			add("%.0f %% of the snowflakes were made by the proxy", 100**r.Minted)
		}
		add("through the proxy snowflakes and UUIDv7 are inserted with VALUES of %d rows, the other kinds with INSERT … SELECT of as many: take the rates of a direct run to compare", chunk)
	}
	if s.Others > 0 {
		add("%d other sessions were active at the beginning: WAL and images are counted for the whole server", s.Others)
	}
	if r.Run.PgStatTuple == nil {
		add("leaf density and fragmentation need the extension pgstattuple")
	}
	if r.Run.PgWalInspect == nil {
		add("splits are the pages that an index has grown by; seeing them, and the bytes of full-page images, needs the extension pg_walinspect (PostgreSQL 15)")
	}
	if s.major < 15 {
		add("full-page images and the index's reads are counted from PostgreSQL 15 on")
	}
	return notes
}

// pair returns the two kinds that findings compare: UUIDv4 with UUIDv7 where
// both took part, else the last with the first.
func (r *Result) pair() (a, b Figure) {
	v4, v7 := r.figure("uuidv4"), r.figure("uuidv7")
	if v4 != nil && v7 != nil {
		return *v4, *v7
	}
	return r.Figures[len(r.Figures)-1], r.Figures[0]
}

// times prints a ratio.
func times(ratio float64) string { return short(ratio) + " times" }

// short prints a number with as many digits as it deserves. Only nothing is
// printed as none.
func short(v float64) string {
	switch {
	case v == 0:
		return "none"
	case v >= 10:
		return group(v)
	case v >= 0.1:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2g", v)
	}
}

// compared says that one figure is another one times a ratio: "6 % more WAL than",
// "3.7 times the WAL of".
func compared(ratio float64, of string) string {
	percent := math.Round(100 * (ratio - 1))
	switch {
	case ratio >= 2:
		return times(ratio) + " the " + of + " of"
	case percent > 0:
		return fmt.Sprintf("%.0f %% more %s than", percent, of)
	case percent < 0:
		return fmt.Sprintf("%.0f %% less %s than", -percent, of)
	default:
		return "1.00 times the " + of + " of"
	}
}

func (r *Result) rateFinding() string {
	a, b := r.pair()
	if a.Key == b.Key {
		return fmt.Sprintf("In the last tenth %s took %s rows per second", a.Label, group(a.RowsPerSLast))
	}
	if a.RowsPerSLast < b.RowsPerSLast {
		a, b = b, a
	}
	return fmt.Sprintf("In the last tenth %s took %s %s", a.Label, compared(a.RowsPerSLast/b.RowsPerSLast, "rows per second"), b.Label)
}

func (r *Result) walFinding() string {
	a, b := r.pair()
	text := fmt.Sprintf("%s wrote %s bytes of WAL a row", a.Label, group(a.WALPerRow))
	if a.Key != b.Key {
		text = fmt.Sprintf("%s wrote %s %s", a.Label, compared(a.WALPerRow/b.WALPerRow, "WAL"), b.Label)
	}
	if a.FPIBytesPerRow != nil && *a.FPIBytesPerRow > a.WALPerRow/10 {
		text += fmt.Sprintf("; %.0f %% of %s's were full-page images", 100**a.FPIBytesPerRow/a.WALPerRow, a.Label)
	}
	if r.Server.Settings["full_page_writes"] == "off" {
		text += ", on a server without full-page images"
	}
	return text
}

func (r *Result) sizeFinding() string {
	a, b := r.pair()
	text := fmt.Sprintf("%s's index has %s bytes a row", a.Label, group(float64(a.IndexBytes)/float64(a.Rows)))
	if a.Key != b.Key {
		text = fmt.Sprintf("%s's index is %.2f times as large as %s's", a.Label, float64(a.IndexBytes)/float64(b.IndexBytes), b.Label)
	}
	if a.Density != nil && b.Density != nil {
		text += fmt.Sprintf("; its leaves are %.0f %% full", *a.Density)
		if a.Key != b.Key {
			text += fmt.Sprintf(", %s's %.0f %%", b.Label, *b.Density)
		}
	}
	return text
}

// accessesPer1000 is how often a range looks at a buffer for 1,000 rows of it.
func (r Read) accessesPer1000() float64 {
	return 1000 * float64(r.Hits+r.Reads) / float64(max(r.Rows, 1))
}

// A rangeCost is what a range costs by one kind of key.
type rangeCost struct {
	label    string
	accesses float64 // of buffers, for 1,000 rows
}

func (r *Result) rangeCosts(via string) (costs []rangeCost) {
	for _, f := range r.Figures {
		if read := r.read(f.Key, "range", via); read != nil && read.Rows > 0 {
			costs = append(costs, rangeCost{strings.ReplaceAll(f.Label, ",", ""), read.accessesPer1000()})
		}
	}
	slices.SortStableFunc(costs, func(a, b rangeCost) int { return cmp.Compare(a.accesses, b.accesses) })
	return costs
}

// rangeFinding names all keys whose ranges are cheap, and all whose are not.
func (r *Result) rangeFinding() string {
	costs := r.rangeCosts("key")
	if len(costs) == 0 {
		if costs = r.rangeCosts("created_at"); len(costs) == 0 {
			return ""
		}
		return "1,000 rows of a time take " + accesses(costs) + " by an index on created_at; no key here tells the time"
	}
	dear := slices.IndexFunc(costs, func(c rangeCost) bool { return c.accesses > 2*costs[0].accesses })
	if dear < 0 {
		return "1,000 rows of a time by key take " + accesses(costs) + " with " + listed(costs)
	}
	cheap, costly := costs[:dear], costs[dear:]
	return "1,000 rows of a time by key take " + accesses(cheap) + " with " + listed(cheap) + ", " + accesses(costly) + " with " + listed(costly)
}

// accesses prints costs, which go up, as "20 to 23 buffer accesses".
func accesses(costs []rangeCost) string {
	least, most := group(costs[0].accesses), group(costs[len(costs)-1].accesses)
	if least != most {
		least += " to " + most
	}
	return least + " buffer accesses"
}

func listed(costs []rangeCost) string {
	text := costs[0].label
	for i, c := range costs[1:] {
		if i == len(costs)-2 {
			text += " and " + c.label
		} else {
			text += ", " + c.label
		}
	}
	return text
}

// missFinding speaks of the points that are drawn.
func (r *Result) missFinding() string {
	last, most, worst := make(map[string]float64), 0.0, ""
	for _, f := range r.Figures {
		points := r.tenths(f.Key, misses)
		if len(points) == 0 {
			return ""
		}
		for _, p := range points {
			if p.Y > most {
				most, worst = p.Y, f.Label
			}
		}
		last[f.Key] = points[len(points)-1].Y
	}
	if most == 0 {
		return "No key had to read blocks of its index: they were in the cache"
	}
	a, b := r.pair()
	if last[a.Key] < last[b.Key] {
		a, b = b, a
	}
	both, beside := a.Label, ""
	if a.Key != b.Key {
		both, beside = a.Label+" and "+b.Label, ", "+b.Label+" "+short(last[b.Key])
	}
	if last[a.Key] == 0 {
		return fmt.Sprintf("%s had to read up to %s blocks of its index for 1,000 rows; in the last tenth %s read none", worst, short(most), both)
	}
	return fmt.Sprintf("In the last tenth %s had to read %s blocks of its index for 1,000 rows", a.Label, short(last[a.Key])) + beside
}

// Foot says where the figures come from.
func (r *Result) Foot() string {
	return r.Server.foot(fmt.Sprintf("%s rows of each kind in %d batches", group(float64(r.Run.Rows)), r.Run.Rounds), r.Run.Began)
}

func (s *Server) foot(what string, began time.Time) string {
	var settings []string
	for _, name := range shownSettings {
		settings = append(settings, name+" "+s.Settings[name])
	}
	return strings.Join([]string{
		fmt.Sprintf("PostgreSQL %s; %s; %s", s.Version, what, began.UTC().Format(time.DateOnly)),
		strings.Join(settings, ", "),
		s.where(),
	}, "\n")
}

func (s *Server) where() string {
	where := s.Machine
	if where == "" {
		where = "server on another machine"
	}
	if s.Proxied {
		where += "; through the proxy"
	}
	return where
}

// group prints a number with commas.
func group(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
