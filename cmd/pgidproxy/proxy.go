package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
	"github.com/pgidproxy/pgidproxy/sql"
	"github.com/pgidproxy/pgidproxy/wire"
)

// proxySettings are what serve lets its user choose and dev has as it is.
type proxySettings struct {
	Clock         string        `enum:"ahead,wait,refuse" default:"ahead" help:"What happens when the clock is back by more than --run-ahead: the server mints (ahead), callers wait up to 5 s (wait); or the server mints at any step back (refuse)."`
	RunAhead      time.Duration `default:"10s" help:"How far ids may run ahead of the clock."`
	SequenceStart string        `enum:"random,zero" default:"random" help:"Where the sequence of a new millisecond starts: at a random number below 256, or at zero."`
	RewriteLimit  byteSize      `default:"1MiB" help:"Messages larger than this are passed on as they are."`
	PlanCache     int           `default:"4096" help:"How many plans are kept."`
	DrainTimeout  time.Duration `default:"30s" help:"How long transactions may go on after SIGTERM."`
}

// defaultSettings are those of proxySettings' tags.
func defaultSettings() proxySettings {
	return proxySettings{
		Clock: gen.Ahead.String(), RunAhead: gen.DefaultRunAhead, SequenceStart: "random",
		RewriteLimit: 1 << 20, PlanCache: 4096, DrainTimeout: 30 * time.Second,
	}
}

func (s *proxySettings) check() error {
	switch {
	case s.RunAhead <= 0:
		return errors.New("--run-ahead must be more than zero")
	case s.PlanCache < 1:
		return errors.New("--plan-cache must be at least 1")
	case s.DrainTimeout < 0:
		return errors.New("--drain-timeout must not be negative")
	}
	return nil
}

// generator makes the generator that all sessions share.
func (s *proxySettings) generator(node int) (*gen.Generator, error) {
	policy, err := gen.ParsePolicy(s.Clock)
	if err != nil {
		return nil, err
	}
	return gen.New(gen.Config{Node: node, Policy: policy, RunAhead: s.RunAhead, ZeroStart: s.SequenceStart == "zero"})
}

// listen opens the proxy's port, and says what to do when that is taken.
func listen(address string) (net.Listener, error) {
	l, err := wire.Listen(address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: end that, or choose another address with --listen (port 0 takes any free one)", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// A proxy is what serve and dev run.
type proxy struct {
	settings  proxySettings
	config    *pgx.ConnConfig // the server, and our own database and role on it
	generator *gen.Generator
}

// firstCatalog bounds how long the port stays closed for the first reading of
// the catalog, whose failures are logged.
const firstCatalog = 10 * time.Second

// serve reads the catalog, opens the port, calls ready and serves until the
// environment's context is done and all sessions have ended.
func (p *proxy) serve(env *environment, open func() (net.Listener, error), ready func(net.Addr)) error {
	watchers := sql.NewWatchers(p.config, env.log)
	watchers.Node = p.generator.Node()
	defer watchers.Close()
	ctx, cancel := context.WithTimeout(env.ctx, firstCatalog)
	watchers.Database(p.config.Database).Fresh(ctx)
	watchers.Release(p.config.Database)
	cancel()
	l, err := open()
	if err != nil {
		return err
	}
	server, err := wire.NewServer(wire.Config{
		Listeners:    []net.Listener{l},
		Upstream:     &p.config.Config,
		Hooks:        p.hooks(watchers),
		Closed:       func(i wire.SessionInfo) { watchers.Release(i.Database) },
		Log:          env.log,
		DrainTimeout: p.settings.DrainTimeout,
	})
	if err != nil {
		l.Close()
		return err
	}
	ready(l.Addr())
	return server.Serve(env.ctx)
}

// hooks gives the hooks of a session by its database.
func (p *proxy) hooks(watchers *sql.Watchers) func(database string) wire.Hooks {
	shared := wire.Hooks{
		Rewriter: rewrite.New(rewrite.Config{PlanCache: p.settings.PlanCache}),
		Mint: func(snow []int64, uuids []gen.UUID) error {
			if err := p.generator.Snowflakes(snow); err != nil {
				return err
			}
			return p.generator.UUIDv7s(uuids)
		},
		Limit: int(p.settings.RewriteLimit),
	}
	if p.settings.Clock == gen.Wait.String() {
		shared.MintReady = p.generator.WaitReady
	}
	return func(database string) wire.Hooks {
		h := shared
		h.Catalog = watchers.Database(database)
		return h
	}
}
