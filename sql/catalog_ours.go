package sql

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/rewrite"
)

// A candidate is something that a call of one of our names could mean.
type candidate struct {
	OID          uint32
	Schema, Name string
	Args         string // types of the arguments, as oidvectortypes writes them
	Body         string
	Ordinary     bool // an ordinary function that returns one value
	Least, Most  int  // arguments that a call may have
	Open         bool // to everybody
	Comment      string
}

// callable tells whether a call as we replace them could mean c: without an
// argument, or with one for id_to_timestamp.
func (c *candidate) callable() bool {
	if c.Name == rewrite.IDToTimestamp {
		return c.Least <= 1 && c.Most >= 1
	}
	return c.Least <= 0
}

// loadOurs tells which of our functions a call by name reaches, whatever
// search_path a session may have: every function that could be meant must be
// ours and open to all.
func (r *reading) loadOurs(ctx context.Context, tx pgx.Tx, s server, who self) error {
	config, found, err := readConfig(ctx, tx)
	if err != nil {
		return err
	}
	if found {
		if err := config.Compatible(); err != nil {
			r.note("calls are left to the server: %v", err)
			found = false
		}
	}
	if found {
		r.data.Schema = config.Schema
		if w := config.copied(s); w != "" {
			r.note("%s", w)
		}
	}
	rows, err := tx.Query(ctx, oursQuery)
	if err != nil {
		return err
	}
	candidates, err := pgx.CollectRows(rows, pgx.RowToStructByPos[candidate])
	if err != nil {
		return err
	}
	r.data.Ours, r.makers = r.judge(candidates, config, found, s.version)
	if !found {
		return nil
	}
	left := func(format string, args ...any) {
		delete(r.data.Ours, rewrite.NextSnowflake)
		delete(r.makers, rewrite.NextSnowflake)
		r.note("next_snowflake is left to the server: "+format, args...)
	}
	switch {
	case config.FunctionNode == who.node:
		left("the database's functions mint under this proxy's node %d, so that both would make equal ids. "+
			"Give them another with pgidproxy install --new-function-node", who.node)
	case who.registry != "" && config.Registry != "" && config.Registry != who.registry:
		left("the database's functions have their node %d from registry %s, this proxy its own from %s, so that both may be equal. "+
			"Move the database to that of the proxy with pgidproxy install --registry URL --new-function-node", config.FunctionNode, config.Registry, who.registry)
	}
	return nil
}

// self is what a proxy mints under: its node, -1 for none, and the registry that
// gave it out, "" for none.
type self struct {
	node     int
	registry string
}

// nobody is one who mints nothing.
var nobody = self{node: -1}

func (r *reading) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// judge returns the names for which ours is all that can be meant, and for each
// name the functions of ours that are open to all. config is what is recorded in
// the database, if found.
func (r *reading) judge(candidates []candidate, config InstalledConfig, found bool, version int) (all map[string]bool, makers map[string][]uint32) {
	makers = map[string][]uint32{}
	missing := map[string]int{rewrite.NextSnowflake: 1, rewrite.UUIDv7: 1, rewrite.IDToTimestamp: 3}
	bad := map[string]bool{}
	var bodies map[function]string
	if found {
		bodies = shippedBodies(config)
	}
	for _, c := range candidates {
		if !c.callable() {
			continue
		}
		builtin := c.Schema == "pg_catalog" && c.Name == rewrite.UUIDv7 && version >= builtinUUIDv7
		ours := builtin
		if found && !builtin && c.Schema == config.Schema {
			marked := strings.HasPrefix(c.Comment, markPrefix)
			body, known := bodies[function{c.Name, c.Args}]
			ours = c.Ordinary && known && (c.Body == body || config.Version < Version && marked)
			if marked && !ours {
				r.note("calls of %s are left to the server: %s.%s(%s) is not as this program installs it. Run pgidproxy install",
					c.Name, c.Schema, c.Name, c.Args)
			}
		}
		if ours && c.Open {
			makers[c.Name] = append(makers[c.Name], c.OID)
		}
		switch {
		case !ours || !c.Open:
			bad[c.Name] = true
		case builtin || c.Name != rewrite.UUIDv7 || version < builtinUUIDv7:
			missing[c.Name]--
		}
	}
	all = map[string]bool{}
	for name, n := range missing {
		if n == 0 && !bad[name] {
			all[name] = true
		}
	}
	return all, makers
}

// functionText finds the functions in our scripts, before these are rendered:
// name, arguments, what stands between these and the body, body.
var functionText = regexp.MustCompile(`(?s)CREATE OR REPLACE FUNCTION \{schema\}\.(\w+)\(([^)]*)\)([^$]*)\$pgid\$(.*?)\$pgid\$`)

// shippedBodies returns the bodies of the functions that this program installs
// with such a configuration.
func shippedBodies(config InstalledConfig) map[function]string {
	o := InstallOptions{Schema: config.Schema, FunctionNode: config.FunctionNode}
	bodies := map[function]string{}
	for _, m := range functionText.FindAllStringSubmatch(functionsSQL+uuidv7SQL, -1) {
		bodies[textOf(m)] = render(m[4], o)
	}
	return bodies
}

// textOf tells which function a match of functionText is.
func textOf(match []string) function {
	args := match[2][strings.LastIndexByte(match[2], ' ')+1:] // without the argument's name
	return function{match[1], args}
}
