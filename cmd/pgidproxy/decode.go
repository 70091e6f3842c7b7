package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
)

type decodeCommand struct {
	IDs  []string `arg:"" optional:"" name:"id" help:"Snowflakes, UUIDs (v1, v6, v7) or ULIDs. Without any they are read from standard input, separated by blanks or newlines."`
	JSON bool     `help:"Print one JSON object a line, with ids as strings."`
}

// Run prints what each id tells. One that tells nothing is reported on standard
// error and makes the exit code 1; the others are printed all the same.
func (c *decodeCommand) Run(env *environment) error {
	out := bufio.NewWriter(env.out)
	defer out.Flush()
	failed, count, shown := false, 0, 0
	each := func(id string) error {
		count++
		d, err := describe(id, time.Now())
		if err != nil {
			failed = true
			// The order of both streams is kept for whoever sees them together.
			if err := out.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(env.err, "pgidproxy: %s: %v\n", id, err)
			d = description{ID: id, Error: err.Error()}
		}
		if c.JSON {
			return json.NewEncoder(out).Encode(d)
		}
		if err != nil {
			return nil
		}
		if shown++; shown > 1 {
			fmt.Fprintln(out)
		}
		_, err = io.WriteString(out, d.text())
		return err
	}
	if err := c.source(env, each); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if count == 0 {
		return usageError{errors.New("decode: there are no ids on standard input")}
	}
	if failed {
		return errReported
	}
	return nil
}

// source calls each for the ids of the arguments, or else of standard input.
func (c *decodeCommand) source(env *environment, each func(id string) error) error {
	for _, id := range c.IDs {
		if err := each(strings.TrimSpace(id)); err != nil {
			return err
		}
	}
	if len(c.IDs) > 0 {
		return nil
	}
	if isTerminal(env.in) {
		return usageError{errors.New("decode: give ids as arguments or on standard input")}
	}
	words := bufio.NewScanner(env.in)
	words.Split(bufio.ScanWords)
	for words.Scan() {
		if err := each(words.Text()); err != nil {
			return err
		}
	}
	if err := words.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return nil
}

// A description is what decode prints of one id.
type description struct {
	ID         string     `json:"id"`
	Kind       gen.Kind   `json:"kind,omitempty"`
	Time       *time.Time `json:"time,omitempty"` // UTC
	Local      *time.Time `json:"local,omitempty"`
	AgeSeconds *float64   `json:"age_seconds,omitempty"`
	Node       *int64     `json:"node,omitempty"` // of a snowflake
	MAC        string     `json:"mac,omitempty"`  // of a UUID v1 or v6
	Sequence   *int       `json:"sequence,omitempty"`
	Error      string     `json:"error,omitempty"`

	age time.Duration
}

// describe decodes an id. It fails for text that is no id and for ids without
// a time.
func describe(id string, now time.Time) (description, error) {
	decoded, err := gen.Decode(id)
	switch {
	case err != nil:
		return description{}, err
	case !decoded.HasTime && decoded.Kind == gen.KindUUID:
		return description{}, fmt.Errorf("a UUID of version %d (or another variant) that holds no time", decoded.Version)
	case !decoded.HasTime:
		return description{}, errors.New("holds no time")
	}
	local := decoded.Time.Local()
	d := description{ID: id, Kind: decoded.Kind, Time: &decoded.Time, Local: &local, age: now.Sub(decoded.Time)}
	seconds := d.age.Seconds()
	d.AgeSeconds = &seconds
	switch decoded.Kind {
	case gen.KindULID:
	case gen.KindSnowflake:
		d.Node, d.Sequence = &decoded.Node, &decoded.Sequence
	case gen.KindUUIDv1, gen.KindUUIDv6:
		d.MAC, d.Sequence = mac(decoded.Node), &decoded.Sequence
	default:
		d.Sequence = &decoded.Sequence
	}
	return d, nil
}

// mac writes a 48-bit node as an address of a network card.
func mac(node int64) string {
	pairs := make([]string, 6)
	for i := range pairs {
		pairs[i] = fmt.Sprintf("%02x", byte(node>>(40-8*i)))
	}
	return strings.Join(pairs, ":")
}

// text is the description for people.
func (d description) text() string {
	const utcForm, localForm = "2006-01-02 15:04:05.000000 UTC", "2006-01-02 15:04:05.000000 -0700 MST"
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  kind      %s\n  time      %s\n  local     %s\n  age       %s\n",
		d.ID, d.Kind, d.Time.Format(utcForm), d.Local.Format(localForm), age(d.age))
	if d.Node != nil {
		fmt.Fprintf(&b, "  node      %d\n", *d.Node)
	}
	if d.MAC != "" {
		fmt.Fprintf(&b, "  node      %s\n", d.MAC)
	}
	if d.Sequence != nil {
		fmt.Fprintf(&b, "  sequence  %d\n", *d.Sequence)
	}
	return b.String()
}

// age says a duration in its two largest units.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 0 {
		return "in the future by " + age(-d)
	}
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
	}
}
