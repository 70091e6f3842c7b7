package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/pgidproxy/pgidproxy/gen"
)

type newCommand struct {
	Kind   string `arg:"" enum:"snowflake,uuidv7" help:"Kind of id: snowflake or uuidv7."`
	Count  int    `short:"n" default:"1" help:"How many ids."`
	NodeID int    `default:"0" help:"Node number of snowflakes, 0 to 1023. No other party may mint under it at the same time."`
	JSON   bool   `help:"Print one JSON object a line."`
}

// Validate checks the numbers.
func (c *newCommand) Validate() error {
	if c.Count < 1 {
		return errors.New("-n must be at least 1")
	}
	return checkNode("--node-id", c.NodeID)
}

// newBatch is how many ids are minted in one step.
const newBatch = 64

// Run prints ids, one a line, in ascending order.
func (c *newCommand) Run(env *environment) error {
	g, err := gen.New(gen.Config{Node: c.NodeID})
	if err != nil {
		return err
	}
	defer g.Close()
	out := bufio.NewWriter(env.out)
	defer out.Flush()
	var text [newBatch]string
	for left := c.Count; left > 0; {
		batch := text[:min(left, newBatch)]
		// A great many ids run ahead of the clock up to the bound, which is when
		// it is waited for.
		if err := mintText(g, c.Kind, batch); errors.Is(err, gen.ErrAhead) {
			if err := g.WaitReady(env.ctx); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		}
		for _, id := range batch {
			if err := c.print(out, id); err != nil {
				return err
			}
		}
		left -= len(batch)
	}
	return out.Flush()
}

func (c *newCommand) print(out *bufio.Writer, id string) error {
	if !c.JSON {
		_, err := out.WriteString(id + "\n")
		return err
	}
	return json.NewEncoder(out).Encode(struct {
		ID   string `json:"id"`
		Kind string `json:"kind"`
	}{id, c.Kind})
}

// mintText fills dst with ids of a kind, in text.
func mintText(g *gen.Generator, kind string, dst []string) error {
	if kind == string(gen.KindUUIDv7) {
		uuids := make([]gen.UUID, len(dst))
		if err := g.UUIDv7s(uuids); err != nil {
			return err
		}
		for i, u := range uuids {
			dst[i] = u.String()
		}
		return nil
	}
	ids := make([]int64, len(dst))
	if err := g.Snowflakes(ids); err != nil {
		return err
	}
	for i, id := range ids {
		dst[i] = strconv.FormatInt(id, 10)
	}
	return nil
}
