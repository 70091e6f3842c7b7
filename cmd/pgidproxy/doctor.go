package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/sql"
)

type doctorCommand struct {
	DatabaseURL databaseURL `required:"" help:"Database to look at. The more its role may read, the more is found; nothing is changed."`
	Registry    registryURL `help:"Registry of node numbers that the database was installed with. Without it that in the database itself, if there is one."`
	JSON        bool        `help:"Print one JSON object."`
}

// doctorTimeout bounds all that doctor asks of the database, and of the registry.
const doctorTimeout = 30 * time.Second

// diagnosis is what doctor prints as JSON.
type diagnosis struct {
	sql.Diagnosis
	Summary map[sql.Level]int `json:"summary"` // findings of each level
}

// Run prints what it finds. A danger makes the exit code 1.
func (c *doctorCommand) Run(env *environment) error {
	ctx, cancel := context.WithTimeout(env.ctx, doctorTimeout)
	defer cancel()
	config := c.DatabaseURL.config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe // for poolers: nothing is left prepared
	config.RuntimeParams["application_name"] = "pgidproxy doctor"
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	conn, err := connect(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(env.ctx))
	found, err := sql.Diagnose(ctx, conn, sql.DoctorOptions{Registry: c.registry(env.ctx)})
	if err != nil {
		return err
	}
	d := diagnosis{found, map[sql.Level]int{}}
	for _, level := range []sql.Level{sql.LevelDanger, sql.LevelWarning, sql.LevelNote, sql.LevelOK} {
		d.Summary[level] = found.Count(level)
	}
	if c.JSON {
		out := json.NewEncoder(env.out)
		out.SetIndent("", "  ")
		out.SetEscapeHTML(false)
		err = out.Encode(d)
	} else {
		_, err = io.WriteString(env.out, d.text())
	}
	if err == nil && d.Summary[sql.LevelDanger] > 0 {
		return errReported
	}
	return err
}

// doctorWidth is how wide the text is, but for words that are longer.
const doctorWidth = 100

// text is the diagnosis for people: findings under headings, in columns.
func (d diagnosis) text() string {
	const indent = 2 + 8 + 1 + 15 + 1 // of what stands behind level and check
	var b strings.Builder
	fmt.Fprintf(&b, "Database %s, PostgreSQL %d\n", d.Database, d.ServerVersion/10000)
	area := ""
	for _, g := range grouped(d.Findings) {
		f := g.Finding
		if a := sql.Area(f.Check); a != area {
			area = a
			fmt.Fprintf(&b, "\n%s\n", area)
		}
		text := f.Finding
		if len(g.subjects) > 0 {
			text = strings.Join(g.subjects, ", ") + ": " + text
		}
		fmt.Fprintf(&b, "  %-8s %-15s %s\n", f.Level, f.Check, wrap(text, indent))
		if f.Advice != "" {
			fmt.Fprintf(&b, "%*s%s\n", indent, "", wrap("→ "+f.Advice, indent+2))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", d.summary())
	return b.String()
}

// A group is what findings say that differ in their subjects only.
type group struct {
	sql.Finding
	subjects []string
}

// grouped keeps the order of what is said first.
func grouped(findings []sql.Finding) (groups []*group) {
	by := map[sql.Finding]*group{}
	for _, f := range findings {
		said := f
		said.Subject = ""
		g := by[said]
		if g == nil {
			g = &group{Finding: said}
			by[said] = g
			groups = append(groups, g)
		}
		if f.Subject != "" {
			g.subjects = append(g.subjects, f.Subject)
		}
	}
	return groups
}

// summary is the last line.
func (d diagnosis) summary() string {
	n := d.Summary
	counts := fmt.Sprintf("%s, %s, %s, %d ok", counted(n[sql.LevelDanger], "danger"), counted(n[sql.LevelWarning], "warning"), counted(n[sql.LevelNote], "note"), n[sql.LevelOK])
	switch {
	case n[sql.LevelDanger] > 0:
		return counts + ": what is marked danger can cost data."
	case n[sql.LevelWarning] > 0:
		return counts + ": nothing can cost data."
	}
	return counts + ": all is well."
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// wrap breaks a text between words. The first line begins at the indent already.
func wrap(text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+width > doctorWidth:
			fmt.Fprintf(&b, "\n%*s", indent, "")
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	return b.String()
}
