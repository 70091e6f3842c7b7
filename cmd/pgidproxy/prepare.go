package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/sql"
)

// prepare installs the functions into the URL's database where it should and
// may, and tells what is recorded there. It fails where the proxy's ids and those
// of the database's functions would not go together.
func (c *serveCommand) prepare(env *environment) (databaseFacts, error) {
	var d databaseFacts
	conn, err := connect(env.ctx, c.DatabaseURL.config)
	if err != nil {
		return d, err
	}
	defer conn.Close(context.WithoutCancel(env.ctx))
	if err := d.read(env.ctx, conn); err != nil {
		return d, err
	}
	if d.found {
		if err := d.config.Compatible(); err != nil {
			return d, err
		}
	}
	switch {
	case d.copied:
		// An install would record this database as the original. The warning is
		// given with the catalog, as for every other database.
	case d.found && d.config.Version == sql.Version && d.config.Registry != "":
	case c.Install == "auto":
		if err := c.install(env, conn); err != nil {
			return d, err
		}
		if err := d.read(env.ctx, conn); err != nil {
			return d, err
		}
	case d.found && d.config.Version == sql.Version:
		env.log.Warn("the database does not record which registry its functions have their node number from: run pgidproxy install")
	case d.found:
		env.log.Warn("the functions are of an older version: run pgidproxy install", "version", d.config.Version)
	default:
		env.log.Warn("the functions are not installed in this database: what the proxy leaves to the server fails; run pgidproxy install")
	}
	if d.found && c.NodeID.given() && d.config.FunctionNode == c.NodeID.node {
		return d, fmt.Errorf("node %d is that of the database's functions, so both would mint equal ids: choose another --node-id, or give the functions another number with pgidproxy install --new-function-node", c.NodeID.node)
	}
	return d, nil
}

// read finds out what is recorded in the database.
func (d *databaseFacts) read(ctx context.Context, conn *pgx.Conn) (err error) {
	var copied string
	d.config, d.found, err = sql.ReadConfig(ctx, conn)
	if err == nil {
		copied, err = sql.CopyWarning(ctx, conn)
	}
	if err == nil {
		var i sql.Identity
		i, err = sql.Identify(ctx, conn)
		d.key, d.name = cmp.Or(d.config.Key(), i.Key), i.Name
	}
	if err != nil {
		return fmt.Errorf("read what is installed: %w", err)
	}
	d.copied = copied != ""
	return nil
}

// install goes on without the functions when the role may not make them, but not
// with another registry than the database's.
func (c *serveCommand) install(env *environment, conn *pgx.Conn) error {
	report, err := installation{registry: c.Registry}.run(env.ctx, conn)
	if permanent(err) {
		return err
	}
	if err != nil {
		env.log.Warn("the functions could not be installed: what the proxy leaves to the server fails; run pgidproxy install as a role that may", "err", err)
		return nil
	}
	env.log.Info("functions installed", "database", report.Database, "schema", report.Schema, "function_node", report.FunctionNode)
	for _, w := range report.Warnings {
		env.log.Warn(w)
	}
	for _, n := range report.Notes {
		env.log.Info(n)
	}
	return nil
}
