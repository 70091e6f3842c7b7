package bench

import (
	"bytes"
	_ "embed" // for the page
	"encoding/json"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
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

// Write puts report.html, results.json, results.csv and the pictures into a
// directory, which it makes.
func (r *Result) Write(dir string) error {
	pictures, err := r.Draw()
	if err != nil {
		return err
	}
	files := make(map[string][]byte)
	for _, p := range pictures {
		files[p.Name+".svg"], files[p.Name+".png"] = p.SVG, p.PNG
	}
	if files["results.json"], err = r.JSON(); err != nil {
		return fmt.Errorf("write results.json: %w", err)
	}
	var csv, html bytes.Buffer
	if err := r.WriteCSV(&csv); err != nil {
		return fmt.Errorf("write results.csv: %w", err)
	}
	if err := r.writeHTML(&html, pictures); err != nil {
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

// writeHTML makes a page that needs nothing else, the pictures inside.
func (r *Result) writeHTML(b *bytes.Buffer, pictures []Picture) error {
	type inline struct {
		Name, Title string
		SVG         template.HTML
	}
	var drawn []inline
	for _, p := range pictures {
		// Our own drawing, without the declaration that a page may not have inside.
		_, svg, _ := strings.Cut(string(p.SVG), "<svg")
		drawn = append(drawn, inline{p.Name, p.Title, template.HTML("<svg" + svg)})
	}
	return pageTemplate.Execute(b, map[string]any{"Result": r, "Pictures": drawn})
}
