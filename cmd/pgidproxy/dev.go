package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/postgres"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

type devCommand struct {
	Listen      string `default:"127.0.0.1:6432" help:"Address that clients connect to: host:port, or the absolute path of a Unix socket."`
	DataDir     string `help:"Keep the data in this directory. Without it the data is thrown away at the end."`
	PostgresBin string `help:"Directory of PostgreSQL's server programs (initdb, postgres). Without it they are looked for."`
}

// Run serves until SIGINT or SIGTERM, then stops the server.
func (c *devCommand) Run(env *environment) error {
	// The port comes first: that it is taken should show before a server starts.
	l, err := listen("--listen", c.Listen)
	if err != nil {
		return err
	}
	defer l.Close()
	err = c.serve(env, l)
	if env.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // asked to end while it started
	}
	return err
}

func (c *devCommand) serve(env *environment, l net.Listener) (err error) {
	config := devpg.Config{BinDir: c.PostgresBin, DataDir: c.DataDir}
	if c.DataDir == "" {
		config.Settings = map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
	}
	server, err := devpg.Start(env.ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	connection, err := pgx.ParseConfig(server.URL(devpg.Superuser))
	if err != nil {
		return err
	}
	if err := installDev(env.ctx, connection); err != nil {
		return err
	}
	settings := defaultSettings()
	settings.DrainTimeout = 0 // the server is about to go as well
	generator, err := settings.generator(env, 0, true)
	if err != nil {
		return err
	}
	defer generator.Close()
	held, err := c.hold(env, generator, connection)
	if err != nil {
		return err
	}
	defer held.end(env)
	// Without its server the proxy has nothing to do.
	ctx, cancel := context.WithCancel(env.ctx)
	defer cancel()
	go func() {
		select {
		case <-server.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	inner := *env
	inner.ctx = ctx
	p := &proxy{settings: settings, config: connection, generator: generator, holding: held}
	err = p.serve(&inner, func() (net.Listener, error) { return l, nil }, func(addr net.Addr) {
		fmt.Fprint(env.out, c.greeting(server, addr))
	})
	if err == nil && env.ctx.Err() == nil {
		err = fmt.Errorf("PostgreSQL ended by itself; its log is %s", server.LogFile())
	}
	return err
}

func installDev(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := connect(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = installation{}.run(ctx, conn)
	return err
}

// hold holds node 0 in the server's registry: a proxy that somebody puts in front
// of dev gets another. Whoever was in the registry before has gone with the server.
func (c *devCommand) hold(env *environment, generator *gen.Generator, config *pgx.ConnConfig) (*holding, error) {
	h := &holding{store: postgres.New(config), shared: true}
	r := &lease.Registry{Store: h.store}
	_, err := r.Init(env.ctx, false)
	if err == nil {
		if _, err = r.Release(env.ctx, 0, false); errors.As(err, new(*lease.FreeError)) {
			err = nil
		}
	}
	if err == nil {
		h.keeper, err = lease.Hold(env.ctx, lease.Config{Registry: r, Minter: generator, Holder: holder(c.Listen), Now: env.now, Log: env.log})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hold a node number: %w", err), h.store.Close())
	}
	return h, nil
}

// greeting tells what runs, and how to use it.
func (c *devCommand) greeting(server *devpg.Server, addr net.Addr) string {
	data := "thrown away at the end; --data-dir keeps it"
	if c.DataDir != "" {
		data = "kept in " + server.DataDir()
	}
	return fmt.Sprintf("Ready: PostgreSQL %d with the functions installed, and the proxy (node 0) in front of it. The data is %s.\n\n    %s\n\nCtrl-C ends it.\n",
		server.Major(), data, psqlLine(addr))
}

// psqlLine is a command to paste that connects to the proxy.
func psqlLine(addr net.Addr) string {
	if addr.Network() == "unix" {
		dir, file := filepath.Split(addr.String())
		port, ok := strings.CutPrefix(file, ".s.PGSQL.")
		if !ok {
			return "(psql takes no socket of this name: let it end in .s.PGSQL. and a number)"
		}
		return fmt.Sprintf("psql 'host=%s port=%s user=%s dbname=%[3]s'", filepath.Clean(dir), port, devpg.Superuser)
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "psql"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "postgres", User: url.User(devpg.Superuser), Host: net.JoinHostPort(host, port), Path: "/" + devpg.Superuser}
	return "psql '" + u.String() + "'"
}
