package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// A Cache says where the indexes of a run are.
type Cache string

const (
	CacheAny      Cache = ""          // wherever
	CacheInMemory Cache = "in-memory" // all of them fit shared_buffers
	CacheBeyond   Cache = "beyond"    // the largest is a multiple of shared_buffers
)

// defaultRows is what a run has that says nothing else.
const defaultRows = 200_000

// beyondRatio is how many times shared_buffers the largest index is at least,
// for a run to be beyond memory; and the ratio that is chosen.
const (
	beyondRatio = 1.5
	chosenRatio = 3
)

// kinds are the kinds of keys, in the SQL's order, with the bytes that a row
// takes in the index, as measured.
var kinds = []struct {
	key   string
	index float64
}{
	{"identity", 23}, {"snowflake", 23}, {"uuidv7", 32}, {"uuidv7_random", 42}, {"uuidv4", 45}, {"ulid", 52}, {"uuidv4_text", 80},
}

// Bytes that a row takes elsewhere: in the table; in the index on created_at,
// with what sorting takes; and in the WAL, with as many full-page images as a
// checkpoint for each batch brings about.
const (
	tableBytes     = 175
	createdAtBytes = 45
	walBytes       = 1500
)

// An Estimate is what a run will take.
type Estimate struct {
	Rows    int64
	Largest float64 // bytes of the largest index
	Indexes float64 // of all
	Disk    int64
	Free    int64  // on the server's disk; -1: not known
	DataDir string // "" when not known
}

// settle decides the number of rows where it is left open, and checks it where
// it is not.
func (c *BTreeConfig) settle(s *Server) (Estimate, error) {
	largest, all, n := 0.0, 0.0, 0
	for _, k := range kinds {
		if len(c.Keys) == 0 || slices.Contains(c.Keys, k.key) {
			largest, all, n = max(largest, k.index), all+k.index, n+1
		}
	}
	if n < len(c.Keys) || n == 0 {
		return Estimate{}, fmt.Errorf("no such kinds of keys as %s: there are %s", strings.Join(c.Keys, ","), strings.Join(Keys(), ", "))
	}
	buffers := float64(s.sharedBuffers)
	atMost, atLeast := int64(0.7*buffers/all), int64(beyondRatio*buffers/largest)
	switch {
	case c.Rows > 0:
	case c.Ratio > 0:
		c.Rows = int64(c.Ratio * buffers / largest)
	case c.Cache == CacheInMemory:
		c.Rows = min(atMost, 1_000_000)
	case c.Cache == CacheBeyond:
		c.Rows = int64(chosenRatio * buffers / largest)
	default:
		c.Rows = defaultRows
	}
	c.Rows = max(c.Rows, 1000)
	if c.Cache == CacheInMemory && c.Rows > atMost {
		return Estimate{}, fmt.Errorf("%d rows do not make a run in memory: with %s the indexes of %d kinds of keys fit up to %d rows", c.Rows, sharedBuffers(s), n, atMost)
	}
	if c.Cache == CacheBeyond && c.Rows < atLeast {
		return Estimate{}, fmt.Errorf("%d rows do not make a run beyond memory: with %s it takes %d for an index of %.1f times that", c.Rows, sharedBuffers(s), atLeast, beyondRatio)
	}
	rows := float64(c.Rows)
	e := Estimate{Rows: c.Rows, Largest: rows * largest, Indexes: rows * all, Free: -1, DataDir: s.dataDir}
	e.Disk = int64(e.Indexes+rows*float64(n)*(tableBytes+createdAtBytes)) + min(int64(rows*float64(n)*walBytes), s.maxWAL*3/2)
	if s.dataDir != "" {
		e.Free = freeBytes(s.dataDir)
	}
	return e, nil
}

func sharedBuffers(s *Server) string {
	return "shared_buffers of " + cmp.Or(s.Settings["shared_buffers"], "?")
}

// Keys names the kinds of keys.
func Keys() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.key
	}
	return names
}

// careless is how much a run takes at most on a server whose disk is not known.
const careless = 1 << 30

// check refuses where the disk may not have the room.
func (e Estimate) check(force bool) error {
	switch {
	case force:
		return nil
	case e.Free >= 0 && e.Free < e.Disk:
		return fmt.Errorf("the run takes about %s of disk, and %s has %s left: choose fewer --rows or --keys, or --force", Bytes(e.Disk), e.DataDir, Bytes(e.Free))
	case e.Free < 0 && e.Disk > careless:
		return fmt.Errorf("the run takes about %s of disk, and how much the server has left cannot be seen from here: look, then give --force", Bytes(e.Disk))
	}
	return nil
}

// freeBytes is what is left for others than root; -1 when it cannot be told.
func freeBytes(dir string) int64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return -1
	}
	return int64(uint64(fs.Bavail) * uint64(fs.Bsize))
}

// Bytes prints a number of bytes in a unit that suits it.
func Bytes(n int64) string {
	switch v := float64(n); {
	case n >= 10<<30:
		return fmt.Sprintf("%.0f GiB", v/(1<<30))
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", v/(1<<30))
	case n >= 10<<20:
		return fmt.Sprintf("%.0f MiB", v/(1<<20))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	default:
		return fmt.Sprintf("%.0f KiB", v/(1<<10))
	}
}
