package bench

import (
	"encoding/csv"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// Write puts report.html, results.json, results.csv and the pictures into a
// directory, which it makes.
func (r *ProxyResult) Write(dir string) error {
	pictures, err := r.Draw()
	if err != nil {
		return err
	}
	return report{
		Title: "What the way to the server costs", Lead: r.how(), Pictures: pictures, Tables: []Table{r.table()},
		Notes: r.notes(), Foot: r.foot(), Made: "pgidproxy bench proxy; results.csv has every round",
	}.write(dir, r)
}

// WriteCSV writes a line for each round of each target.
func (r *ProxyResult) WriteCSV(w io.Writer) error {
	lines := [][]string{{"workload", "protocol", "by", "round", "statements_per_s", "ratio_to_direct"}}
	for _, c := range r.Cells {
		for i, o := range c.Results {
			for round, rate := range o.Rates {
				lines = append(lines, []string{c.Workload, c.Protocol, r.Targets[i], strconv.Itoa(round + 1),
					fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.3f", rate/c.Results[0].Rates[round])})
			}
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// Draw makes the pictures.
func (r *ProxyResult) Draw() ([]Picture, error) {
	rates, bars := r.rateBars()
	latencies, more := r.latencyBars()
	return render(r.foot(), []drawing{
		{"rate", r.rateFinding(), rates, heightOf(bars)},
		{"latency", r.latencyFinding(), latencies, heightOf(more)},
	})
}

// heightOf is that of a picture with some bars.
func heightOf(bars int) vg.Length { return max(height, vg.Length(bars)*1.15*barWidth+2.1*vg.Inch) }

func (r *ProxyResult) foot() string {
	return r.Server.foot(fmt.Sprintf("%d clients, %d rounds of %.3g s", r.Clients, r.Rounds, r.TurnSeconds), r.Began)
}

// colorOf is a target's.
func colorOf(target int) color.RGBA {
	palette := []string{"identity", "snowflake", "uuidv4", "uuidv4_text", "uuidv7", "uuidv7_random", "ulid"}
	return colors[palette[target%len(palette)]]
}

// rateBars shows the ratios, without those of the server to itself.
func (r *ProxyResult) rateBars() (*plot.Plot, int) {
	return r.bars("statements per second, as a ratio to direct ones in the same round: median (least to largest)", 1, func(o Outcome) bar {
		return bar{value: o.Ratio, label: fmt.Sprintf("%.2f (%.2f to %.2f)", o.Ratio, o.LeastRatio, o.LargestRatio)}
	})
}

func (r *ProxyResult) latencyBars() (*plot.Plot, int) {
	return r.bars("µs that a statement takes: the median (and what 99 of 100 keep below)", 0, func(o Outcome) bar {
		return bar{value: o.P50US, label: group(o.P50US) + " (" + group(o.P99US) + ")"}
	})
}

// bars draws what targets have done, from the first one that is to be seen on.
func (r *ProxyResult) bars(unit string, first int, of func(Outcome) bar) (*plot.Plot, int) {
	var all []bar
	for _, c := range r.Cells {
		for i, o := range c.Results[first:] {
			b := bar{label: o.Problem}
			if o.Problem == "" {
				b = of(o)
			}
			if i == 0 {
				b.name = c.Workload + ", " + c.Protocol
			}
			b.color, b.label = colorOf(first+i), r.Targets[first+i]+": "+b.label
			all = append(all, b)
		}
	}
	p := bars(unit, all)
	p.X.Max *= 1.25 // the labels have names
	return p, len(all)
}

func (r *ProxyResult) rateFinding() string {
	return "Statements per second, as a ratio to direct ones: " + r.spread("%.2f", "", func(o, _ Outcome) float64 { return o.Ratio })
}

func (r *ProxyResult) latencyFinding() string {
	return "Median time of a statement, beside that of direct ones: " + r.spread("%+.0f", " µs", func(o, direct Outcome) float64 { return o.P50US - direct.P50US })
}

// spread says of each target but the first how far a figure goes over all that
// it could do.
func (r *ProxyResult) spread(format, unit string, figure func(o, direct Outcome) float64) string {
	var texts []string
	for i := 1; i < len(r.Targets); i++ {
		var values []float64
		for _, c := range r.Cells {
			if c.Results[i].Problem == "" {
				values = append(values, figure(c.Results[i], c.Results[0]))
			}
		}
		least, most := fmt.Sprintf(format, slices.Min(values)), fmt.Sprintf(format, slices.Max(values))
		if least != most {
			least += " to " + most
		}
		texts = append(texts, least+unit+" through "+strings.Replace(r.Targets[i], "proxy", "the proxy", 1))
	}
	return strings.Join(texts, ", ")
}
