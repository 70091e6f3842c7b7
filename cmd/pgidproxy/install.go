package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/sql"
)

type installCommand struct {
	DatabaseURL     databaseURL `help:"Database to install into."`
	Schema          string      `help:"Schema of the functions. Without it the one they are in already, or public."`
	Registry        registryURL `help:"Registry that gives the functions their node number, the same for all proxies and databases: a database (libpq URL), redis://, rediss://, etcd:// or etcds://. Without it that in the database itself."`
	FunctionNode    *int        `help:"Node number that the functions of this database mint under, 1 to 1023: no other database's functions and no proxy may have it. Without it the one that they have, or the highest that the registry has never given out."`
	NewFunctionNode bool        `help:"Give the functions a number that they never had: after the database was copied and the original lives on, or to move it to another registry."`
	DryRun          bool        `help:"Print the script instead of running it."`
}

// Validate checks what belongs together.
func (c *installCommand) Validate() error {
	if c.DatabaseURL.config == nil && !c.DryRun {
		return errors.New("missing flags: --database-url=DATABASE-URL")
	}
	if c.NewFunctionNode && c.FunctionNode != nil {
		return errors.New("--new-function-node draws a number, --function-node gives one: leave one of them out")
	}
	if c.NewFunctionNode && c.DryRun {
		return errors.New("--dry-run asks no registry: give the number with --function-node")
	}
	if c.FunctionNode == nil {
		return nil
	}
	if *c.FunctionNode == 0 {
		return errors.New("--function-node 0 is the node of pgidproxy dev: choose 1 to 1023")
	}
	return checkNode("--function-node", *c.FunctionNode)
}

// Run installs the functions, or brings them up to date, in one transaction.
func (c *installCommand) Run(env *environment) error {
	options := sql.InstallOptions{Schema: c.Schema}
	if c.FunctionNode != nil {
		options.FunctionNode = *c.FunctionNode
	}
	if c.DryRun {
		if c.Registry.given() {
			env.log.Warn("--dry-run asks no registry: the script takes its node number from --function-node, and no other database or proxy is kept from that until install is run with --registry",
				"function_node", cmp.Or(options.FunctionNode, sql.DefaultFunctionNode))
		}
		_, err := io.WriteString(env.out, sql.Script(options))
		return err
	}
	conn, err := connect(env.ctx, c.DatabaseURL.config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(env.ctx))
	report, err := installation{registry: c.Registry, options: options, fresh: c.NewFunctionNode}.run(env.ctx, conn)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.out, report)
	return err
}

// connect opens a connection of a command's own.
func connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}
