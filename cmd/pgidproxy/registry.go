package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/etcd"
	"github.com/pgidproxy/pgidproxy/gen/lease/postgres"
	"github.com/pgidproxy/pgidproxy/gen/lease/redis"
	"github.com/pgidproxy/pgidproxy/sql"
)

// A registryURL names a registry of node numbers: a database, as a libpq URL or
// key=value pairs, Redis or etcd.
type registryURL struct {
	text     string
	scheme   string          // "postgres", "redis" or "etcd"; "": none given
	database *pgx.ConnConfig // of postgres
}

// UnmarshalText reads a URL.
func (u *registryURL) UnmarshalText(text []byte) error {
	u.text = string(text)
	scheme, _, hasScheme := strings.Cut(u.text, "://")
	switch scheme {
	case "redis", "rediss":
		u.scheme = "redis"
		_, err := redis.New(u.text)
		return err
	case "etcd", "etcds":
		u.scheme = "etcd"
		_, err := etcd.New(u.text) // which does not connect yet
		return err
	case "postgres", "postgresql":
	default:
		if hasScheme || !strings.Contains(u.text, "=") {
			return errors.New("want postgres://, redis:// or etcd://, or libpq's key=value pairs")
		}
	}
	var database databaseURL
	if err := database.UnmarshalText(text); err != nil {
		return err
	}
	u.scheme, u.database = "postgres", database.config
	return nil
}

// given tells whether there is one.
func (u *registryURL) given() bool { return u.scheme != "" }

// or is the registry, or where none was given the one in a database.
func (u registryURL) or(config *pgx.ConnConfig) registryURL {
	if u.given() {
		return u
	}
	return registryURL{scheme: "postgres", database: config}
}

// open returns the store, which connects when it is first used. create makes the
// tables in a database where they are missing.
func (u registryURL) open(ctx context.Context, create bool) (lease.Store, error) {
	switch u.scheme {
	case "redis":
		return redis.New(u.text)
	case "etcd":
		return etcd.New(u.text)
	}
	if create {
		conn, err := connect(ctx, u.database)
		if err != nil {
			return nil, fmt.Errorf("registry: %w", err)
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if err := postgres.Create(ctx, conn); err != nil {
			return nil, fmt.Errorf("registry: %w", err)
		}
	}
	return postgres.New(u.database), nil
}

// installation is an install and where its node number comes from.
type installation struct {
	registry registryURL
	options  sql.InstallOptions
	fresh    bool // the functions get a number that the database does not have yet
}

// run installs the functions under a number that the registry gives them.
func (i installation) run(ctx context.Context, conn *pgx.Conn) (sql.InstallReport, error) {
	recorded, found, err := sql.ReadConfig(ctx, conn)
	if err != nil {
		return sql.InstallReport{}, fmt.Errorf("read what is installed: %w", err)
	}
	if found {
		if err := recorded.Compatible(); err != nil {
			return sql.InstallReport{}, err
		}
	}
	copied, err := sql.CopyWarning(ctx, conn)
	if err != nil {
		return sql.InstallReport{}, fmt.Errorf("read what is installed: %w", err)
	}
	if copied == "" || i.fresh || i.options.FunctionNode != 0 {
		if err := i.claim(ctx, conn, recorded, copied != ""); err != nil {
			return sql.InstallReport{}, err
		}
	}
	return sql.Install(ctx, conn, i.options)
}

// claim has the registry give the functions their number. A database that has
// one from another registry is refused, unless it is to get a fresh one.
func (i *installation) claim(ctx context.Context, conn *pgx.Conn, recorded sql.InstalledConfig, copied bool) error {
	database, err := sql.Identify(ctx, conn)
	if err != nil {
		return fmt.Errorf("read what is installed: %w", err)
	}
	if key := recorded.Key(); database.Weak && key != "" && !copied {
		database.Key, database.Weak = key, false
	}
	// Where one is recorded it is there already, or this is not the one.
	store, err := i.registry.or(conn.Config()).open(ctx, i.fresh || recorded.Registry == "")
	if err != nil {
		return err
	}
	defer store.Close()
	r := lease.Registry{Store: store}
	want := lease.Functions{Database: database.Key, Name: database.Name, Weak: database.Weak, Now: database.Now, Node: -1, Fresh: i.fresh}
	if !i.fresh {
		r.ID = recorded.Registry
		if recorded.FunctionNode != 0 {
			want.Node, want.Was = recorded.FunctionNode, recorded.Key()
			want.Recorded, want.Registry = recorded.FunctionNode, recorded.Registry
		}
	}
	if i.options.FunctionNode != 0 {
		want.Node = i.options.FunctionNode
	}
	node, err := r.ClaimFunctions(ctx, want)
	var held *lease.HeldError
	if errors.As(err, &held) && i.options.FunctionNode == 0 {
		return fmt.Errorf("the functions' number is taken in this registry: %w. Give this database another with pgidproxy install --new-function-node", err)
	}
	var setup *lease.SetupError
	if errors.As(err, &setup) && recorded.Registry != "" && !i.registry.given() {
		return fmt.Errorf("the database records registry %s, which is not in this database: give the --registry that it was installed with", recorded.Registry)
	}
	if err != nil {
		return fmt.Errorf("get a node number for the functions: %w", err)
	}
	s, err := store.Load(ctx)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if s.Head == nil {
		return errors.New("the registry has lost its data just now: try again")
	}
	i.options.FunctionNode, i.options.Registry = node, s.Head.ID
	i.options.Schema = cmp.Or(i.options.Schema, recorded.Schema)
	return nil
}

// permanent tells whether an error of a registry means that this database or
// these flags are not for it.
func permanent(err error) bool {
	var other *lease.OtherRegistryError
	var copied *lease.CopiedError
	var held *lease.HeldError
	return errors.As(err, &other) || errors.As(err, &copied) || errors.As(err, &held)
}
