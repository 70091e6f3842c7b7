package bench

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A bar is one of a picture of bars that lie one below the other.
type bar struct {
	name  string
	color color.RGBA
	value float64 // of the whole bar
	pale  float64 // the part of it that is drawn paler, at its end
	label string
}

const barWidth = 20

// bars draws them from the top downwards.
func bars(unit string, all []bar) *plot.Plot {
	p := newPlot()
	p.X.Label.Text = unit
	p.X.Tick.Marker = grouped{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = light, nil
	p.Add(grid)
	names := make([]string, len(all))
	labels := plotter.XYLabels{}
	for i, b := range all {
		at := float64(len(all) - 1 - i)
		names[len(all)-1-i] = b.name
		p.Add(barAt(at, b.value, paler(b.color)), barAt(at, b.value-b.pale, b.color))
		labels.XYs, labels.Labels = append(labels.XYs, plotter.XY{X: b.value, Y: at}), append(labels.Labels, b.label)
	}
	if l, err := plotter.NewLabels(labels); err == nil {
		for i := range l.TextStyle {
			l.TextStyle[i].Font, l.TextStyle[i].Color, l.TextStyle[i].YAlign = sans(10), dark, draw.YCenter
		}
		l.Offset = vg.Point{X: 6, Y: 2.5}
		p.Add(l)
	}
	p.NominalY(names...)
	p.Y.Tick.Label.Font = sans(11)
	p.X.Min = 0
	p.X.Max *= 1.35 // for the labels
	p.Y.Min, p.Y.Max = -0.6, float64(len(all))-0.4
	return p
}

func barAt(at, value float64, c color.Color) plot.Plotter {
	// The values are no NaN and the width is positive, which is all that it asks for.
	b, err := plotter.NewBarChart(plotter.Values{value}, barWidth)
	if err != nil {
		panic(err)
	}
	b.XMin, b.Horizontal, b.Color, b.LineStyle.Width = at, true, c, 0
	return b
}

// paler mixes a colour with white.
func paler(c color.RGBA) color.RGBA {
	mix := func(v uint8) uint8 { return uint8((int(v)*45 + 255*55) / 100) }
	return color.RGBA{mix(c.R), mix(c.G), mix(c.B), 0xff}
}

func (r *Result) walBars() *plot.Plot {
	all := make([]bar, len(r.Figures))
	seen := false
	for i, f := range r.Figures {
		all[i] = bar{name: f.Label, color: colors[f.Key], value: f.WALPerRow, label: fmt.Sprintf("%s (%.2f ×)", group(f.WALPerRow), f.WALPerRow/r.Figures[0].WALPerRow)}
		if f.FPIBytesPerRow != nil {
			all[i].pale, seen = *f.FPIBytesPerRow, true
		}
	}
	unit := "bytes of WAL per row"
	if seen {
		unit += " (paler: full-page images)"
	}
	return bars(unit+"; × is the ratio to "+r.Figures[0].Label, all)
}

func (r *Result) sizeBars() *plot.Plot {
	all := make([]bar, len(r.Figures))
	for i, f := range r.Figures {
		mib := float64(f.IndexBytes) / (1 << 20)
		label := fmt.Sprintf("%.1f MiB (%.2f ×)", mib, float64(f.IndexBytes)/float64(r.Figures[0].IndexBytes))
		all[i] = bar{name: f.Label, color: colors[f.Key], value: mib, label: label}
		if f.Density != nil {
			all[i].pale = mib * (1 - *f.Density/100)
			all[i].label += fmt.Sprintf(", %.0f %% full", *f.Density)
		}
	}
	return bars("MiB of the index (paler: empty space in its leaves); × is the ratio to "+r.Figures[0].Label, all)
}

func (r *Result) rangeBars() *plot.Plot {
	var all []bar
	for _, f := range r.Figures {
		for _, via := range []string{"key", "created_at"} {
			read := r.read(f.Key, "range", via)
			if read == nil || read.Rows == 0 {
				continue
			}
			b := bar{name: f.Label + ", by " + via, color: colors[f.Key], value: read.accessesPer1000()}
			b.label = group(b.value)
			all = append(all, b)
		}
	}
	return bars("buffer accesses for 1,000 rows of a time in the middle of the run, wherever the buffers were", all)
}
