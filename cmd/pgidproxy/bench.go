package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/bench"
)

type benchCommand struct {
	BTree benchBTree `cmd:"" name:"btree" help:"Compare what kinds of keys do to a B-tree, on your server: rates, WAL, index sizes, reads."`
	Proxy benchProxy `cmd:"" help:"Compare statements sent to the server with statements sent through the proxy."`
}

type benchBTree struct {
	DatabaseURL  databaseURL `default:"postgres://postgres@127.0.0.1:6432/postgres" help:"Database to run in; that of pgidproxy dev where nothing is said. Through a proxy, it makes the ids."`
	Rows         int64       `help:"Rows for each kind of key. Without it 200000, or as many as the next flags ask for."`
	Keys         []string    `help:"Kinds of keys, separated by commas: identity, snowflake, uuidv7, uuidv7_random, uuidv4, ulid, uuidv4_text. All without it."`
	Batch        int64       `help:"Rows of a batch, at most a tenth of the rows. Without it a twentieth, at most 100000."`
	CacheRatio   float64     `help:"As many rows as make the largest index this many times shared_buffers."`
	InMemory     bool        `help:"A run whose indexes all fit shared_buffers."`
	BeyondMemory bool        `help:"A run whose largest index is several times shared_buffers, where random keys fall off."`
	Out          string      `default:"pgidproxy-bench" type:"path" help:"Directory for report.html, results.json, results.csv and the pictures."`
	JSON         bool        `help:"Print results.json instead of the tables."`
	Keep         bool        `help:"Keep the schema pgid_bench, which has all figures and tables."`
	Force        bool        `help:"Run although the disk may be too small, or its free space is not known."`
}

// Validate checks what belongs together.
func (c *benchBTree) Validate() error {
	if c.InMemory && c.BeyondMemory {
		return errors.New("--in-memory and --beyond-memory are opposites: leave one of them out")
	}
	if c.CacheRatio != 0 && (c.Rows != 0 || c.InMemory || c.BeyondMemory) {
		return errors.New("--cache-ratio decides the number of rows: leave out --rows, --in-memory and --beyond-memory")
	}
	if c.CacheRatio < 0 || c.Batch < 0 {
		return errors.New("--cache-ratio and --batch are positive")
	}
	if c.Rows != 0 && c.Rows < 1000 {
		return errors.New("--rows is 1000 at least: fewer say nothing about a B-tree")
	}
	for _, k := range c.Keys {
		if !slices.Contains(bench.Keys(), k) {
			return fmt.Errorf("--keys: there is no kind of key %q, but %s", k, strings.Join(bench.Keys(), ", "))
		}
	}
	return nil
}

// Run measures, prints the tables and writes the report.
func (c *benchBTree) Run(env *environment) error {
	config := bench.BTreeConfig{
		Rows: c.Rows, Batch: c.Batch, Keys: c.Keys, Ratio: c.CacheRatio, Keep: c.Keep, Force: c.Force, Server: c.DatabaseURL.config,
	}
	switch {
	case c.InMemory:
		config.Cache = bench.CacheInMemory
	case c.BeyondMemory:
		config.Cache = bench.CacheBeyond
	}
	config.Estimated = func(e bench.Estimate) {
		free := "how much is free is not to be seen from here"
		if e.Free >= 0 {
			free = bench.Bytes(e.Free) + " are free"
		}
		fmt.Fprintf(env.err, "%d rows of each kind: about %s of disk (%s), indexes of %s in all. Ctrl-C ends it and cleans up.\n",
			e.Rows, bench.Bytes(e.Disk), free, bench.Bytes(int64(e.Indexes)))
	}
	bar := progressBar{out: env.err}
	if isTerminal(env.err) {
		config.Progress = bar.show
	}
	result, err := bench.RunBTree(env.ctx, config)
	bar.clear()
	if err != nil {
		return benchError(env, err)
	}
	if err := result.Write(c.Out); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if c.JSON {
		text, err := result.JSON()
		if err == nil {
			_, err = env.out.Write(text)
		}
		return err
	}
	if err := result.WriteText(env.out); err != nil {
		return err
	}
	if c.Keep {
		fmt.Fprintf(env.out, "schema %s is kept; DROP SCHEMA %[1]s CASCADE removes it\n", bench.Schema)
	}
	_, err = fmt.Fprintf(env.out, "report: %s\n", filepath.Join(c.Out, "report.html"))
	return err
}

// benchError says of an interrupted run that it was, and is otherwise the error.
func benchError(env *environment, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w; start pgidproxy dev, or name a database with --database-url", err)
	}
	if env.ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		return fmt.Errorf("interrupted, and what was made could not be removed: %w", err)
	}
	return errors.New("interrupted")
}

// A progressBar is one line of a terminal.
type progressBar struct {
	out   io.Writer
	shown bool
}

const barLength = 30

func (b *progressBar) show(p bench.Progress) {
	full := int(p.Done * barLength)
	left := ""
	if p.Left > 0 {
		left = p.Left.Round(time.Second).String() + " left"
	}
	fmt.Fprintf(b.out, "\r\033[K[%s%s] %3.0f %%  %-10s  %s", strings.Repeat("#", full), strings.Repeat(".", barLength-full), 100*p.Done, left, p.Doing)
	b.shown = true
}

// clear removes it.
func (b *progressBar) clear() {
	if b.shown {
		fmt.Fprint(b.out, "\r\033[K")
	}
}

type benchProxy struct {
	DatabaseURL databaseURL   `default:"postgres://postgres@127.0.0.1:6432/postgres" help:"The server, with --proxy. Or the proxy, such as that of pgidproxy dev, which tells where its server is."`
	Proxy       string        `help:"Address of the proxy, host:port."`
	Peer        []string      `help:"Address of something else in front of the server, such as PgBouncer, host:port. May be repeated."`
	Clients     int           `default:"4" help:"Sessions at a time."`
	Turn        time.Duration `default:"1s" help:"How long each is used before the next has its turn."`
	Rounds      int           `default:"5" help:"How often all have their turns."`
	Out         string        `type:"path" help:"Directory for report.html, results.json, results.csv and the pictures. Without it there are none."`
	JSON        bool          `help:"Print results.json instead of the table."`
}

// Validate checks the numbers.
func (c *benchProxy) Validate() error {
	if c.Clients < 1 || c.Rounds < 1 || c.Turn <= 0 {
		return errors.New("--clients, --rounds and --turn are positive")
	}
	return nil
}

// Run compares the ways to the server.
func (c *benchProxy) Run(env *environment) error {
	config := bench.ProxyConfig{
		Server: c.DatabaseURL.config, Proxy: c.Proxy, Peers: c.Peer, Clients: c.Clients, Turn: c.Turn, Rounds: c.Rounds,
	}
	bar := progressBar{out: env.err}
	if isTerminal(env.err) {
		config.Progress = bar.show
	}
	result, err := bench.RunProxy(env.ctx, config)
	bar.clear()
	if err != nil {
		return benchError(env, err)
	}
	if c.Out != "" {
		if err := result.Write(c.Out); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if c.JSON {
		text, err := result.JSON()
		if err == nil {
			_, err = env.out.Write(text)
		}
		return err
	}
	if err := result.WriteText(env.out); err != nil || c.Out == "" {
		return err
	}
	_, err = fmt.Fprintf(env.out, "report: %s\n", filepath.Join(c.Out, "report.html"))
	return err
}
