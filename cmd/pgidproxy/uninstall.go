package main

import (
	"context"
	"fmt"

	"github.com/pgidproxy/pgidproxy/sql"
)

type uninstallCommand struct {
	DatabaseURL databaseURL `required:"" help:"Database to remove the functions from."`
}

// Run removes the functions unless something in the database uses them.
func (c *uninstallCommand) Run(env *environment) error {
	conn, err := connect(env.ctx, c.DatabaseURL.config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(env.ctx))
	if err := sql.Uninstall(env.ctx, conn); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.out, "removed the functions from database %s\n", c.DatabaseURL.config.Database)
	return err
}
