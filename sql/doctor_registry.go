package sql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
)

func (d *doctor) checkLayout(context.Context) error {
	c := d.config
	if c.EpochMs == gen.Epoch && c.Layout == layout {
		d.say(LevelOK, "", fmt.Sprintf("ids count from %s, in layout %s", day(c.EpochMs), c.Layout), "")
		return nil
	}
	d.say(LevelDanger, "", fmt.Sprintf("the database's ids count from %s in layout %s, this program's from %s in %s: ids of both do not sort or decode together",
		day(c.EpochMs), c.Layout, day(gen.Epoch), layout),
		"Use the pgidproxy that it was installed with; or, if somebody has changed pgid.config, change it back.")
	return nil
}

func day(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

func (d *doctor) checkCopy(context.Context) error {
	switch c, s := d.config, d.server; {
	case c.copied(s) != "":
		d.say(LevelDanger, "", fmt.Sprintf("the functions were installed in another database, of which this one is a copy: both mint under node %d", c.FunctionNode),
			fmt.Sprintf("%s If the other is no more (moved, restored, upgraded): pgidproxy install --function-node %d.", installNewNode, c.FunctionNode))
	case c.SystemIdentifier == nil && s.identifier != nil:
		d.say(LevelNote, "", "the server's identifier was not recorded, so that a copy of the database on another server may not be noticed",
			"Run pgidproxy install as a role that may call pg_control_system().")
	case s.identifier == nil:
		d.say(LevelNote, "", "this role may not read the server's identifier, so that a copy of the database on another server may not be noticed",
			"GRANT EXECUTE ON FUNCTION pg_control_system() TO "+quoteIdent(d.session.role)+";")
	}
	return nil
}

// checkRegistry holds the recorded registry against the one that was read.
func (d *doctor) checkRegistry(context.Context) error {
	c, r := d.config, d.o.Registry
	const record = "Run pgidproxy install --registry URL, with the one that all proxies and databases share."
	switch {
	case r == nil && c.Registry == "":
		d.say(LevelNote, "", "the database records no registry: nothing keeps proxies and other databases from its node number", record)
	case r == nil:
		d.say(LevelNote, "", fmt.Sprintf("the database records registry %s, which was not looked at", c.Registry), "Run pgidproxy doctor with its --registry.")
	case r.Err != "":
		d.say(LevelWarning, "", "the registry cannot be read: "+r.Err, "See that it is up and that the URL is right.")
	case r.ID == "" && c.Registry == "":
		d.say(LevelNote, "", "the registry is empty, and the database records none", record)
	case r.ID == "":
		d.say(LevelDanger, "", fmt.Sprintf("the registry is empty, but the database records registry %s: either it is another one, or it has lost its data, and gives numbers out again", c.Registry),
			fmt.Sprintf("Give the --registry that the database was installed with. If this is it: run pgidproxy install once more on all its databases, then pgidproxy nodes init --id %s.", c.Registry))
	case c.Registry == "":
		d.say(LevelWarning, "", fmt.Sprintf("the database does not record which registry its node number is from, and may not be known to this one (%s)", r.ID), record)
	case c.Registry != r.ID:
		d.say(LevelDanger, "", fmt.Sprintf("this is registry %s, but the database records registry %s: numbers of two registries collide", r.ID, c.Registry),
			"Use the --registry that the database was installed with, or move it to this one: pgidproxy install --registry URL --new-function-node.")
	default:
		d.say(LevelOK, "", fmt.Sprintf("the database and the registry agree that it is %s", r.ID), "")
	}
	if r == nil {
		return nil
	}
	if r.Wait > 0 {
		d.say(LevelNote, "", fmt.Sprintf("the registry is new, or was restarted, restored or failed over, and hands out nothing for another %s", r.Wait.Round(time.Second)),
			"Wait, or skip this with pgidproxy nodes init where no holder of a node is left.")
	}
	for _, p := range r.Problems {
		d.say(LevelWarning, "the registry", p, "")
	}
	return nil
}

// checkNode holds the functions' number against what the registry has given out.
func (d *doctor) checkNode(context.Context) error {
	c, r := d.config, d.o.Registry
	if c.FunctionNode < 1 || c.FunctionNode > gen.MaxNode {
		d.say(LevelDanger, "", fmt.Sprintf("the functions' node %d is out of range: it is 1 to %d, and 0 that of pgidproxy dev", c.FunctionNode, gen.MaxNode), installNewNode)
		return nil
	}
	if r == nil || r.Err != "" || r.ID == "" || c.Registry != "" && c.Registry != r.ID {
		d.say(LevelOK, "", fmt.Sprintf("the functions mint under node %d", c.FunctionNode), "")
		return nil
	}
	for _, n := range r.Nodes {
		if n.Node != c.FunctionNode {
			continue
		}
		switch {
		case !n.Functions:
			d.say(LevelDanger, "", fmt.Sprintf("the functions mint under node %d, which %s holds: both make equal ids", n.Node, n.Holder), installNewNode)
		case d.mine(n.Holder):
			d.say(LevelOK, "", fmt.Sprintf("the functions mint under node %d, which the registry has given to this database", n.Node), "")
		case d.server.identifier == nil:
			d.say(LevelNote, "", fmt.Sprintf("the functions mint under node %d, which the registry has given to database %s; this role may not read whether this is it", n.Node, n.Holder), "")
		default:
			d.say(LevelDanger, "", fmt.Sprintf("the functions mint under node %d, which the registry has given to another database (%s): both make equal ids", n.Node, n.Holder), installNewNode)
		}
		return nil
	}
	d.say(LevelDanger, "", fmt.Sprintf("the functions mint under node %d, but the registry knows nothing of it, and may give it to others", c.FunctionNode),
		"Run pgidproxy install --registry URL, which has it recorded.")
	return nil
}

// mine tells whether a holder of functions' numbers is this database.
func (d *doctor) mine(holder string) bool {
	for _, key := range []string{d.server.key(), d.config.Key()} {
		if key != "" && (holder == key || strings.HasPrefix(holder, key+", named ")) {
			return true
		}
	}
	return false
}
