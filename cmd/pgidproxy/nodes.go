package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

type nodesCommand struct {
	List    nodesList    `cmd:"" help:"Show who holds which node number."`
	Init    nodesInit    `cmd:"" help:"Set up a registry, or end the wait of one that was restored or failed over: only while nobody mints under its numbers."`
	Release nodesRelease `cmd:"" help:"Free a node number: its holder stops at its next heartbeat and takes another."`
}

// registryFlag is common to the commands.
type registryFlag struct {
	Registry registryURL `required:"" help:"The registry: a database (libpq URL), redis://, rediss://, etcd:// or etcds://."`
}

type nodesList struct {
	registryFlag
	JSON bool `help:"Print one JSON object."`
}

// warner is a store that knows what about its server could lose the registry.
type warner interface {
	Warnings(context.Context) ([]string, error)
}

// nodesReport is what list shows.
type nodesReport struct {
	Registry string       `json:"registry"` // its id, "" while it is empty
	Server   string       `json:"server"`   // what serves it
	Wait     float64      `json:"wait"`     // seconds until nodes are handed out
	Problems []string     `json:"problems"`
	Nodes    []nodeReport `json:"nodes"`
}

type nodeReport struct {
	Node   int        `json:"node"`
	Kind   string     `json:"kind"`  // lease, functions or free
	State  string     `json:"state"` // held, expired, permanent or free
	Holder string     `json:"holder"`
	Since  *time.Time `json:"since"`
	Until  *time.Time `json:"until"`
	Mark   *time.Time `json:"mark"` // ids below it may exist
}

// Run reads the registry and changes nothing.
func (c *nodesList) Run(env *environment) error {
	store, err := c.Registry.open(env.ctx, false)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := store.Load(env.ctx)
	if err != nil {
		return fmt.Errorf("read the registry: %w", err)
	}
	r := report(s)
	if w, ok := store.(warner); ok {
		warnings, err := w.Warnings(env.ctx)
		if err != nil {
			return fmt.Errorf("read the registry's settings: %w", err)
		}
		r.Problems = append(r.Problems, warnings...)
	}
	if c.JSON {
		return printJSON(env, r)
	}
	return r.print(env)
}

func printJSON(env *environment, value any) error {
	out := json.NewEncoder(env.out)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(value)
}

func report(s lease.Snapshot) *nodesReport {
	r := &nodesReport{Server: s.Server, Wait: s.Wait.Seconds(), Problems: []string{}}
	switch {
	case s.Head == nil:
		r.Problems = append(r.Problems, "the registry is empty: the first proxy sets it up, and waits until nobody can be left of one that was lost; pgidproxy nodes init skips that")
	case s.Copied:
		r.Problems = append(r.Problems, (&lease.CopiedError{ID: s.Head.ID}).Error())
	case s.Head.Server != s.Server:
		r.Problems = append(r.Problems, "the registry is served by another server, or from other data, than before: the next heartbeat begins a wait until all holders have stopped")
	}
	if s.Head != nil {
		r.Registry = s.Head.ID
	}
	if s.Wait > 0 {
		r.Problems = append(r.Problems, (&lease.WaitError{Wait: s.Wait}).Error())
	}
	r.Nodes = make([]nodeReport, len(s.Records))
	for i, rec := range s.Records {
		r.Nodes[i] = reportNode(rec)
	}
	return r
}

func reportNode(rec lease.Record) nodeReport {
	n := nodeReport{Node: rec.Node, Kind: rec.Kind, Holder: rec.Holder, State: "expired", Since: inUTC(rec.Since)}
	if rec.Mark > 0 {
		n.Mark = inUTC(time.UnixMilli(rec.Mark))
	}
	switch {
	case rec.Kind == lease.KindFunctions:
		n.State = "permanent"
	case rec.Kind == lease.KindFree:
		n.State = "free"
	case rec.Live:
		n.State = "held"
	}
	if rec.Kind == lease.KindLease {
		n.Until = inUTC(rec.Until)
	}
	return n
}

func inUTC(t time.Time) *time.Time {
	t = t.UTC()
	return &t
}

// print shows a report as a table.
func (r *nodesReport) print(env *environment) error {
	w := tabwriter.NewWriter(env.out, 0, 0, 2, ' ', 0)
	if r.Registry != "" {
		fmt.Fprintf(w, "registry %s, served by %s\n", r.Registry, r.Server)
	}
	if len(r.Nodes) > 0 {
		fmt.Fprintln(w, "NODE\tSTATE\tHOLDER\tSINCE\tUNTIL\tMARK")
	}
	for _, n := range r.Nodes {
		holder := n.Holder
		if n.Kind == lease.KindFunctions {
			holder = "functions of database " + holder
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", n.Node, n.State, holder, shown(n.Since), shown(n.Until), shown(n.Mark))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "note: %s\n", p)
	}
	return w.Flush()
}

func shown(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.DateTime)
}

type nodesInit struct {
	registryFlag
	NewRegistry bool   `help:"Give it an id of its own: it came here with a copy of a database, and the original lives on."`
	ID          string `help:"Give an empty one this id, which databases record: it has lost its data."`
	JSON        bool   `help:"Print one JSON object."`
}

// Validate checks what contradicts each other.
func (c *nodesInit) Validate() error {
	if c.NewRegistry && c.ID != "" {
		return errors.New("--new-registry draws an id, --id gives one: leave one of them out")
	}
	return nil
}

// Run begins a new era without a wait.
func (c *nodesInit) Run(env *environment) error {
	store, err := c.Registry.open(env.ctx, true)
	if err != nil {
		return err
	}
	defer store.Close()
	s, err := (&lease.Registry{Store: store, ID: c.ID}).Init(env.ctx, c.NewRegistry)
	if err != nil {
		return fmt.Errorf("set up the registry: %w", err)
	}
	if s.Head == nil {
		return errors.New("set up the registry: it has lost its data again")
	}
	if c.JSON {
		return printJSON(env, struct {
			Registry string `json:"registry"`
		}{s.Head.ID})
	}
	_, err = fmt.Fprintf(env.out, "registry %s hands out nodes from now on\n", s.Head.ID)
	return err
}

type nodesRelease struct {
	registryFlag
	Node      int  `arg:"" help:"The number."`
	Functions bool `help:"Free it although it is that of a database's functions, for good: only where these are no more."`
	JSON      bool `help:"Print one JSON object: the record as it was."`
}

// Validate checks the number.
func (c *nodesRelease) Validate() error { return checkNode("node", c.Node) }

// Run frees the node.
func (c *nodesRelease) Run(env *environment) error {
	store, err := c.Registry.open(env.ctx, false)
	if err != nil {
		return err
	}
	defer store.Close()
	rec, err := (&lease.Registry{Store: store}).Release(env.ctx, c.Node, c.Functions)
	var held *lease.HeldError
	if errors.As(err, &held) {
		return fmt.Errorf("node %d is that of a database's functions (%s), which mint under it without a lease: where they are no more, free it with --functions", c.Node, held.Holder)
	}
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if c.JSON {
		return printJSON(env, reportNode(rec))
	}
	_, err = fmt.Fprintf(env.out, "node %d is free; it was held by %s\n", c.Node, rec.Holder)
	return err
}
