package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/sql"
)

// prepare installs the functions into the URL's database where it should and
// may. It fails where the proxy's ids and those of the database's functions
// would not go together.
func (c *serveCommand) prepare(env *environment) error {
	conn, err := connect(env.ctx, c.DatabaseURL.config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(env.ctx))
	recorded, found, err := sql.ReadConfig(env.ctx, conn)
	if err != nil {
		return fmt.Errorf("read what is installed: %w", err)
	}
	if !found {
		recorded.FunctionNode = sql.DefaultFunctionNode
	} else if err := recorded.Compatible(); err != nil {
		return err
	}
	if (found || c.Install == "auto") && recorded.FunctionNode == *c.NodeID {
		return fmt.Errorf("node %d is that of the database's functions, so both would mint equal ids: choose another --node-id, or give the functions another number with pgidproxy install --function-node", *c.NodeID)
	}
	copied, err := sql.CopyWarning(env.ctx, conn)
	if err != nil {
		return fmt.Errorf("read what is installed: %w", err)
	}
	switch {
	case copied != "":
		// An install would record this database as the original. The warning is
		// given with the catalog, as for every other database.
	case found && recorded.Version == sql.Version:
	case c.Install == "auto":
		c.install(env, conn)
	case found:
		env.log.Warn("the functions are of an older version: run pgidproxy install", "version", recorded.Version)
	default:
		env.log.Warn("the functions are not installed in this database: what the proxy leaves to the server fails; run pgidproxy install")
	}
	return nil
}

// install goes on without the functions when the role may not make them.
func (c *serveCommand) install(env *environment, conn *pgx.Conn) {
	report, err := sql.Install(env.ctx, conn, sql.InstallOptions{})
	if err != nil {
		env.log.Warn("the functions could not be installed: what the proxy leaves to the server fails; run pgidproxy install as a role that may", "err", err)
		return
	}
	env.log.Info("functions installed", "database", report.Database, "schema", report.Schema, "function_node", report.FunctionNode)
	for _, w := range report.Warnings {
		env.log.Warn(w)
	}
	for _, n := range report.Notes {
		env.log.Info(n)
	}
}
