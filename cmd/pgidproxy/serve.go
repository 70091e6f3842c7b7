package main

import (
	"errors"
	"net"
)

type serveCommand struct {
	DatabaseURL databaseURL `required:"" help:"The server that clients are connected to, and the database and role that the proxy reads the catalog with. Everything that libpq takes: a URL, or key=value pairs."`
	Listen      string      `default:"127.0.0.1:6432" help:"Address that clients connect to: host:port, or the absolute path of a Unix socket."`
	AdminListen string      `help:"Address that metrics and health are served on over HTTP (/metrics, /healthz, /readyz): host:port, or the absolute path of a Unix socket. Without it they are not."`
	Install     string      `enum:"auto,never" default:"auto" help:"Install the functions into the URL's database when the role may: ${enum}."`

	nodeSettings
	proxySettings
}

// Validate checks what kong cannot.
func (c *serveCommand) Validate() error {
	return errors.Join(c.nodeSettings.check(), c.proxySettings.check())
}

// Run serves until SIGINT or SIGTERM.
func (c *serveCommand) Run(env *environment) (err error) {
	generator, err := c.generator(env, c.NodeID.node, !c.static())
	if err != nil {
		return err
	}
	defer generator.Close()
	p := &proxy{settings: c.proxySettings, config: c.DatabaseURL.config, generator: generator, holding: &holding{}}
	reported := []any{"server", p.config.Host, "database", p.config.Database}
	if c.AdminListen != "" {
		// That it is taken should show before the database is touched.
		if p.admin, err = listen("--admin-listen", c.AdminListen); err != nil {
			return err
		}
		defer p.admin.Close()
		reported = append(reported, "admin", p.admin.Addr().String())
	}
	database, err := c.prepare(env)
	if err == nil {
		p.holding, err = c.hold(env, generator, database)
	}
	if err != nil && env.ctx.Err() != nil {
		return nil // asked to end while it waited for the database or the node
	}
	if err != nil {
		return err
	}
	defer p.holding.end(env)
	return p.serve(env, func() (net.Listener, error) { return listen("--listen", c.Listen) }, func(addr net.Addr) {
		node := []any{"listen", addr.String(), "node", generator.Node()}
		if generator.Node() < 0 {
			node[3] = "none yet"
		}
		env.log.Info("ready", append(node, reported...)...)
	})
}
