package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Picture is one drawing, as SVG and as PNG.
type Picture struct {
	Name     string // of the files, without their ending
	Title    string // the finding
	SVG, PNG []byte
}

// colors are Okabe and Ito's, which stay apart for the colour-blind; a kind of
// key has the same one everywhere.
var colors = map[string]color.RGBA{
	"identity":      {0x00, 0x00, 0x00, 0xff},
	"snowflake":     {0x00, 0x72, 0xb2, 0xff},
	"uuidv7":        {0x00, 0x9e, 0x73, 0xff},
	"uuidv7_random": {0xcc, 0x79, 0xa7, 0xff},
	"uuidv4":        {0xd5, 0x5e, 0x00, 0xff},
	"ulid":          {0x56, 0xb4, 0xe9, 0xff},
	"uuidv4_text":   {0xe6, 0x9f, 0x00, 0xff},
}

var (
	dark  = color.Gray{0x33}
	light = color.Gray{0xdd}
)

const (
	width      = 9.6 * vg.Inch
	height     = 5.6 * vg.Inch // where nothing else is needed
	footHeight = 0.75 * vg.Inch
	dpi        = 120
	wrapTitle  = 80 // characters of a line
	wrapFoot   = 150
)

// Draw makes the pictures.
func (r *Result) Draw() ([]Picture, error) {
	rate := r.lines("rows/s", func(b Batch) (over, under float64) { return float64(b.Rows), b.Ended.Sub(b.Began).Seconds() })
	return render(r.Foot(), []drawing{
		{"rate", r.rateFinding(), rate, height},
		{"wal", r.walFinding(), r.walBars(), height},
		{"size", r.sizeFinding(), r.sizeBars(), height},
		{"misses", r.missFinding(), r.lines("blocks of the index read for 1,000 rows", misses), height},
		{"range", r.rangeFinding(), r.rangeBars(), height},
	})
}

// A drawing is what a picture is made from.
type drawing struct {
	name, title string // no title: what it would show was not counted
	plot        *plot.Plot
	height      vg.Length
}

// render makes the pictures, with a foot beneath each.
func render(foot string, drawings []drawing) ([]Picture, error) {
	var pictures []Picture
	for _, d := range drawings {
		if d.title == "" {
			continue
		}
		d.plot.Title.Text = wrap(d.title, wrapTitle)
		p := Picture{Name: d.name, Title: d.title}
		svg, png := vgsvg.New(width, d.height), vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, d.height), vgimg.UseDPI(dpi))}
		var err error
		for _, c := range []struct {
			canvas interface {
				vg.CanvasSizer
				io.WriterTo
			}
			to *[]byte
		}{{svg, &p.SVG}, {png, &p.PNG}} {
			drawOn(draw.New(c.canvas), d.plot, foot)
			var b bytes.Buffer
			if _, err = c.canvas.WriteTo(&b); err != nil {
				return nil, fmt.Errorf("draw %s: %w", d.name, err)
			}
			*c.to = b.Bytes()
		}
		pictures = append(pictures, p)
	}
	return pictures, nil
}

// misses are the blocks of its index that a batch has read, for 1,000 rows.
func misses(b Batch) (over, under float64) {
	if b.Reads == nil {
		return 0, 0
	}
	return 1000 * float64(*b.Reads), float64(b.Rows)
}

// drawOn draws a plot and the foot beneath it.
func drawOn(c draw.Canvas, p *plot.Plot, foot string) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	p.Draw(draw.Crop(c, 8, -14, footHeight, -6))
	style := draw.TextStyle{Color: dark, Font: sans(8), Handler: plot.DefaultTextHandler, YAlign: draw.YTop}
	c.FillText(style, vg.Point{X: c.Min.X + 12, Y: c.Min.Y + footHeight - 6}, wrap(foot, wrapFoot))
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// newPlot is an empty one in our style.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.Title.TextStyle = draw.TextStyle{Color: dark, Font: sans(14), Handler: plot.DefaultTextHandler, XAlign: text.XCenter, YAlign: text.YTop}
	p.Title.Padding = 12
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = sans(11), sans(10)
		a.Label.TextStyle.Color, a.Tick.Label.Color = dark, dark
		a.LineStyle.Color, a.Tick.LineStyle.Color = dark, dark
		a.Label.Padding = 4
	}
	p.Legend.TextStyle.Font = sans(11)
	return p
}

// wrap breaks lines at spaces, into pieces that are about as long as each other.
func wrap(s string, most int) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		length := len([]rune(line))
		pieces := (length + most - 1) / most
		n, broken := 0, 1
		for j, word := range strings.Fields(line) {
			switch {
			case j > 0 && broken < pieces && n+len([]rune(word))/2 > broken*length/pieces:
				b.WriteByte('\n')
				broken++
			case j > 0:
				b.WriteByte(' ')
			}
			b.WriteString(word)
			n += 1 + len([]rune(word))
		}
	}
	return b.String()
}

// lines draws a value over the rows that were there: of tenths of the run, since
// single batches are at the mercy of whatever else the machine does. The value is
// a sum over batches divided by another one.
func (r *Result) lines(unit string, value func(Batch) (over, under float64)) *plot.Plot {
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = "million rows in the table", unit
	p.Y.Tick.Marker = grouped{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, light
	p.Add(grid)
	type named struct {
		label string
		*plotter.Line
	}
	var drawn []named
	for i, f := range r.Figures {
		points := r.tenths(f.Key, value)
		if len(points) == 0 {
			continue
		}
		line := &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: colors[f.Key], Width: 2.5}}
		if i >= 5 { // a second way to tell them apart
			line.Dashes = []vg.Length{7, 4}
		}
		p.Add(line)
		drawn = append(drawn, named{f.Label, line})
	}
	// The legend stands beside the lines, not on them, in the order of their ends.
	slices.SortStableFunc(drawn, func(a, b named) int {
		return cmp.Compare(b.XYs[len(b.XYs)-1].Y, a.XYs[len(a.XYs)-1].Y)
	})
	for _, d := range drawn {
		p.Legend.Add(d.label, d.Line)
	}
	rows := float64(r.Run.Rows) / 1e6
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, 0.62*width
	p.Legend.ThumbnailWidth, p.Legend.Padding = 26, 5
	p.X.Min, p.Y.Min = 0, 0
	p.X.Max = rows * 1.48
	p.X.Tick.Marker = upTo{rows}
	if p.Y.Max *= 1.05; p.Y.Max == 0 {
		p.Y.Max = 1 // the axis of nothing but zeros
	}
	return p
}

func (r *Result) tenths(key string, value func(Batch) (over, under float64)) plotter.XYs {
	var points plotter.XYs
	over, under := 0.0, 0.0
	for _, b := range r.Batches {
		if b.Key != key {
			continue
		}
		o, u := value(b)
		over, under = over+o, under+u
		if b.Round*10/r.Run.Rounds > (b.Round-1)*10/r.Run.Rounds {
			if under > 0 {
				points = append(points, plotter.XY{X: float64(b.Round) * float64(b.Rows) / 1e6, Y: over / under})
			}
			over, under = 0, 0
		}
	}
	return points
}

// grouped are ticks whose numbers have commas.
type grouped struct{}

func (grouped) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" && math.Abs(t.Value) >= 1000 {
			ticks[i].Label = group(t.Value)
		}
	}
	return ticks
}

// upTo are ticks that end where the data does.
type upTo struct{ most float64 }

func (u upTo) Ticks(low, _ float64) []plot.Tick {
	return plot.DefaultTicks{}.Ticks(low, u.most)
}
