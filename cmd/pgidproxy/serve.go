package main

import (
	"errors"
	"net"
)

type serveCommand struct {
	DatabaseURL databaseURL `required:"" help:"The server that clients are connected to, and the database and role that the proxy reads the catalog with. Everything that libpq takes: a URL, or key=value pairs."`
	Listen      string      `default:"127.0.0.1:6432" help:"Address that clients connect to: host:port, or the absolute path of a Unix socket."`
	NodeID      *int        `help:"Node number of this proxy, 0 to 1023. No other proxy and no database's functions may have it at the same time."`
	AdminListen string      `help:"Address that metrics and health are served on over HTTP (/metrics, /healthz, /readyz): host:port, or the absolute path of a Unix socket. Without it they are not."`
	Install     string      `enum:"auto,never" default:"auto" help:"Install the functions into the URL's database when the role may: ${enum}."`

	proxySettings
}

// Validate checks the numbers.
func (c *serveCommand) Validate() error {
	if c.NodeID == nil {
		return errors.New("--node-id (PGIDPROXY_NODE_ID) is missing: choose a number from 0 to 1023 that no other proxy and no database's functions use, since a number picked for you could be another proxy's, and both would mint equal ids")
	}
	if err := checkNode("--node-id", *c.NodeID); err != nil {
		return err
	}
	return c.check()
}

// Run serves until SIGINT or SIGTERM.
func (c *serveCommand) Run(env *environment) error {
	generator, err := c.generator(*c.NodeID)
	if err != nil {
		return err
	}
	p := &proxy{settings: c.proxySettings, config: c.DatabaseURL.config, generator: generator}
	reported := []any{"node", *c.NodeID, "server", p.config.Host, "database", p.config.Database}
	if c.AdminListen != "" {
		// That it is taken should show before the database is touched.
		if p.admin, err = listen("--admin-listen", c.AdminListen); err != nil {
			return err
		}
		defer p.admin.Close()
		reported = append(reported, "admin", p.admin.Addr().String())
	}
	if err := c.prepare(env); err != nil {
		return err
	}
	return p.serve(env, func() (net.Listener, error) { return listen("--listen", c.Listen) }, func(addr net.Addr) {
		env.log.Info("ready", append([]any{"listen", addr.String()}, reported...)...)
	})
}
