package bench

import (
	"bytes"
	_ "embed" // for the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"number": isNumber,
}).Parse(page))

// JSON returns the result with all its batches.
func (r *Result) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// keyNotes are true of every run of RunBTree.
var keyNotes = []string{
	"The key's own making is part of the rows per second: the table has what it takes (µs), since a function in SQL costs more than PostgreSQL's own.",
	`Every table has the key, 100 bytes of payload and created_at; text keys compare by bytes (COLLATE "C"). The batches of all kinds take turns.`,
}

// Write puts report.html, results.json, results.csv and the pictures into a
// directory, which it makes.
func (r *Result) Write(dir string) error {
	pictures, err := r.Draw()
	if err != nil {
		return err
	}
	return report{
		Title: "What keys do to a B-tree", Lead: r.Memory, Pictures: pictures, Tables: r.Tables,
		Notes: slices.Concat(r.Notes, keyNotes), Foot: r.Foot(), Made: "pgidproxy bench btree; results.csv has every batch",
	}.write(dir, r)
}

// A report is what its page shows.
type report struct {
	Title, Lead string
	Pictures    []Picture
	Tables      []Table
	Notes       []string
	Foot, Made  string
}

// write puts the page, the pictures and the figures into a directory.
func (p report) write(dir string, figures interface {
	JSON() ([]byte, error)
	WriteCSV(io.Writer) error
}) error {
	files := make(map[string][]byte)
	for _, picture := range p.Pictures {
		files[picture.Name+".svg"], files[picture.Name+".png"] = picture.SVG, picture.PNG
	}
	var csv, html bytes.Buffer
	var err error
	if files["results.json"], err = figures.JSON(); err != nil {
		return fmt.Errorf("write results.json: %w", err)
	}
	if err := figures.WriteCSV(&csv); err != nil {
		return fmt.Errorf("write results.csv: %w", err)
	}
	if err := pageTemplate.Execute(&html, p); err != nil {
		return fmt.Errorf("write report.html: %w", err)
	}
	files["results.csv"], files["report.html"] = csv.Bytes(), html.Bytes()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Inline is our own drawing for the page, without the declaration that a page may
// not have inside.
func (p Picture) Inline() template.HTML {
	_, svg, _ := strings.Cut(string(p.SVG), "<svg")
	return template.HTML("<svg" + svg)
}
