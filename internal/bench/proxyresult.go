package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// A ProxyResult is what RunProxy has found.
type ProxyResult struct {
	Server      *Server   `json:"server"`
	Began       time.Time `json:"began"`
	Targets     []string  `json:"targets"` // the first is the server itself
	Clients     int       `json:"clients"`
	TurnSeconds float64   `json:"turn_seconds"`
	Rounds      int       `json:"rounds"`
	Cells       []Cell    `json:"cells"`
}

// A Cell is one workload in one protocol, on all targets.
type Cell struct {
	Workload string    `json:"workload"`
	Protocol string    `json:"protocol"`
	Results  []Outcome `json:"results"` // one for each target
}

// An Outcome is what one target did. Ratios are to the server itself in the
// same round.
type Outcome struct {
	Problem      string    `json:"problem,omitempty"` // why the target cannot do it; then there is nothing else
	Rates        []float64 `json:"rates"`             // statements per second, of each round
	Rate         float64   `json:"rate"`              // their median
	P50US        float64   `json:"p50_us"`
	P99US        float64   `json:"p99_us"`
	Ratio        float64   `json:"ratio"` // the median
	LeastRatio   float64   `json:"least_ratio"`
	LargestRatio float64   `json:"largest_ratio"`

	latencies []time.Duration
}

func newCell(workload, protocol string, targets int) Cell {
	return Cell{workload, protocol, make([]Outcome, targets)}
}

func (c *Cell) add(target int, t turn) {
	o := &c.Results[target]
	o.Rates = append(o.Rates, t.perSecond)
	o.latencies = append(o.latencies, t.latencies...)
}

// sum makes the figures from what was added.
func (c *Cell) sum() {
	for i := range c.Results {
		o := &c.Results[i]
		if o.Problem != "" {
			continue
		}
		slices.Sort(o.latencies)
		o.P50US, o.P99US = percentile(o.latencies, 50), percentile(o.latencies, 99)
		o.latencies = nil
		ratios := make([]float64, len(o.Rates))
		for n, rate := range o.Rates {
			ratios[n] = rate / c.Results[0].Rates[n]
		}
		o.Rate, o.Ratio = median(o.Rates), median(ratios)
		o.LeastRatio, o.LargestRatio = slices.Min(ratios), slices.Max(ratios)
	}
}

// percentile is in microseconds, of sorted durations.
func percentile(sorted []time.Duration, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(len(sorted)*p/100, len(sorted)-1)]) / float64(time.Microsecond)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// JSON returns the result as one object.
func (r *ProxyResult) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// how says what was done.
func (r *ProxyResult) how() string {
	return fmt.Sprintf("PostgreSQL %s, %d clients, %d rounds of %.3g s for each; ratios are to direct in the same round: median (least to largest)",
		r.Server.Version, r.Clients, r.Rounds, r.TurnSeconds)
}

func (r *ProxyResult) table() Table {
	t := Table{Title: r.how(), Columns: []string{"workload", "protocol", "by", "statements/s", "p50 µs", "p99 µs", "ratio"}}
	for _, c := range r.Cells {
		for i, o := range c.Results {
			row := []string{c.Workload, c.Protocol, r.Targets[i], "", "", "", o.Problem}
			if o.Problem == "" {
				row[3], row[4], row[5] = fmt.Sprintf("%.0f", o.Rate), fmt.Sprintf("%.0f", o.P50US), fmt.Sprintf("%.0f", o.P99US)
				if i > 0 {
					row[6] = fmt.Sprintf("%.2f (%.2f to %.2f)", o.Ratio, o.LeastRatio, o.LargestRatio)
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// notes tell what one should know to read the figures.
func (r *ProxyResult) notes() []string {
	notes := []string{"a prepared statement is parsed once in a session, an unnamed one each time; a simple one has its value in the text"}
	if r.Server.Machine != "" {
		notes = append(notes, "the clients share the machine with the server, and with a proxy that runs on it: "+r.Server.Machine)
	}
	return notes
}

// WriteText writes the table and the notes.
func (r *ProxyResult) WriteText(w io.Writer) error {
	err := r.table().writeText(w)
	for _, note := range r.notes() {
		if err == nil {
			_, err = fmt.Fprintf(w, "note: %s\n", note)
		}
	}
	return err
}
