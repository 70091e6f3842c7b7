package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
	"github.com/pgidproxy/pgidproxy/sql"
)

type explainCommand struct {
	DatabaseURL databaseURL `help:"Database whose catalog decides. Without one nothing is known of tables, and the functions are taken to be installed."`
	JSON        bool        `help:"Print a JSON object."`

	ReplaceSerial serialMode `help:"What the flag of that name makes serve do."`

	SQL string `arg:"" optional:"" name:"sql" help:"Text of one or more statements; read from standard input without it."`
}

// explanation is what explain prints.
type explanation struct {
	Simple   string        `json:"simple"`   // what a simple query sends, with ids minted now
	Prepared string        `json:"prepared"` // what a prepared statement sends, with hidden parameters
	Calls    []explainCall `json:"calls"`

	parameters bool // the text has parameters, so it can only be prepared
}

type explainCall struct {
	Line     int    `json:"line"`   // from 1
	Column   int    `json:"column"` // in characters, from 1
	Name     string `json:"name"`
	Default  string `json:"default_of,omitempty"` // the column whose default it is; none: a call in the text
	Serial   string `json:"serial_of,omitempty"`  // the auto-increment column that is made, whose type is the name
	Replaced bool   `json:"replaced"`
	Reason   string `json:"reason,omitempty"`
	Why      string `json:"why,omitempty"`
}

// Run prints the text that would be sent, and a comment line for each call.
func (c *explainCommand) Run(env *environment) error {
	text := c.SQL
	if text == "" {
		if isTerminal(env.in) {
			return usageError{errors.New("explain: give the SQL as an argument or on standard input")}
		}
		read, err := io.ReadAll(env.in)
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		text = string(read)
	}
	catalog, err := c.catalog(env)
	if err != nil {
		return err
	}
	e, err := explain(text, catalog, c.ReplaceSerial.mode())
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(env.out).Encode(e)
	}
	_, err = io.WriteString(env.out, e.text())
	return err
}

// catalog reads that of the database, or makes do without one.
func (c *explainCommand) catalog(env *environment) (*rewrite.Catalog, error) {
	if c.DatabaseURL.config == nil {
		const version = 170000 // of the grammar
		return rewrite.NewCatalog(rewrite.CatalogData{Version: version}), nil
	}
	conn, err := pgx.ConnectConfig(env.ctx, c.DatabaseURL.config)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	defer conn.Close(env.ctx)
	catalog, err := sql.LoadCatalog(env.ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("explain: %w", err)
	}
	return catalog, nil
}

// explain plans a text as the proxy would, and mints what it needs as node 0.
func explain(text string, catalog *rewrite.Catalog, serial rewrite.SerialMode) (explanation, error) {
	g, err := gen.New(gen.Config{})
	if err != nil {
		return explanation{}, err
	}
	defer g.Close()
	rewriter, src := rewrite.New(rewrite.Config{Serial: serial}), []byte(text)
	var sc rewrite.Scratch
	if p := rewriter.PlanSerial(&sc, src, catalog); len(p.Serials) > 0 {
		return explainSerial(text, p), nil
	}
	p := rewriter.Plan(&sc, src, catalog, rewrite.Extended)
	e := explanation{Simple: text, Prepared: text, Calls: []explainCall{}, parameters: p.MaxParam > 0}
	if layout, ok := p.Hide(p.MaxParam); p.Replaces && ok {
		e.Prepared = string(p.AppendParams(nil, p.MaxParam+1, layout))
	}
	p = rewriter.Plan(&sc, src, catalog, rewrite.Simple)
	if p.Replaces {
		snow, uuids := make([]int64, p.Snowflakes), make([]gen.UUID, p.UUIDs)
		if err := errors.Join(g.Snowflakes(snow), g.UUIDv7s(uuids)); err != nil {
			return explanation{}, err
		}
		e.Simple = string(p.AppendLiterals(nil, snow, uuids))
	}
	for _, found := range p.Calls() {
		c := explained(text, found.Offset, found.Name, found.Replaced, found.Reason)
		c.Default = found.Column
		e.Calls = append(e.Calls, c)
	}
	return e, nil
}

// explainSerial tells what becomes of the auto-increment columns that a text makes.
func explainSerial(text string, p *rewrite.Prepared) explanation {
	e := explanation{Simple: text, Prepared: text}
	if p.Replaces {
		e.Simple = string(p.AppendLiterals(nil, nil, nil))
		e.Prepared = e.Simple
	}
	for _, s := range p.Serials {
		c := explained(text, p.Offset(s), s.Type, s.Replaced, s.Reason)
		c.Serial = s.Column
		e.Calls = append(e.Calls, c)
	}
	return e
}

// explained says what was done at a byte of the text.
func explained(text string, offset int, name string, replaced bool, why rewrite.Reason) explainCall {
	before := text[:offset]
	c := explainCall{
		Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
		Name: name, Replaced: replaced,
	}
	if !replaced {
		c.Reason, c.Why = string(why), why.Sentence()
	}
	return c
}

// text is the explanation as SQL: the text, then a comment line for each call.
func (e explanation) text() string {
	sent := e.Simple
	if e.parameters {
		sent = e.Prepared
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(sent, "\n") + "\n")
	if len(e.Calls) == 0 {
		b.WriteString("-- no call of next_snowflake(), uuidv7() or id_to_timestamp(), and no column known with one as its default\n")
	}
	for _, c := range e.Calls {
		name, verdict := c.Name, "replaced"
		if c.Default != "" {
			name, verdict = fmt.Sprintf("default %s() of column %s", c.Name, c.Default), "filled in"
		}
		if c.Serial != "" {
			name, verdict = fmt.Sprintf("%s of column %s", c.Name, c.Serial), "replaced by our default"
		}
		switch {
		case c.Replaced:
		case c.Serial != "":
			verdict = "left as it is: " + c.Why
		default:
			verdict = "left to the server: " + c.Why
		}
		fmt.Fprintf(&b, "-- %d:%d %s: %s\n", c.Line, c.Column, name, verdict)
	}
	return b.String()
}
