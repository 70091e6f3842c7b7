package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/file"
	"github.com/pgidproxy/pgidproxy/sql"
)

// nodeSettings are how a proxy comes to its node number.
type nodeSettings struct {
	NodeID         nodeID        `help:"Node number of this proxy, 0 to 1023; or ordinal, the number at the end of the host's name (app-7, as in a StatefulSet), or ordinal:VARIABLE, that of a variable. Alone, nothing keeps another from the same number; with --registry it is held there. Without it, the lowest free number is leased."`
	Registry       registryURL   `help:"Registry of node numbers that all proxies and databases share: a database (libpq URL), redis://, rediss://, etcd:// or etcds://. Without it, and without --node-id, that in the database of --database-url."`
	NodeRange      nodeRange     `default:"0-1023" help:"Numbers of which one is leased, or that ordinals are counted from: FIRST-LAST. Regions with a registry each need a range each."`
	StateFile      string        `help:"With --node-id: a file in which the number's mark is kept, so that a restart after the clock has stepped back repeats no id, and a second process with the file is refused."`
	LeaseTTL       time.Duration `default:"30s" help:"How long a number is held without a heartbeat."`
	Heartbeat      time.Duration `default:"5s" help:"Time between two heartbeats."`
	MarkAhead      time.Duration `default:"12s" help:"How far ahead of the clock the mark is put up to which ids may be minted."`
	MaxClockOffset time.Duration `default:"1s" help:"How far the clock may be from the registry's before it is logged."`
}

// check tells whether the flags go together.
func (s *nodeSettings) check() error {
	switch {
	case s.StateFile != "" && !s.NodeID.given():
		return errors.New("--state-file keeps the mark of a --node-id: give that too, or use a --registry")
	case s.StateFile != "" && s.Registry.given():
		return errors.New("--state-file and --registry both keep the node's mark: give one of them")
	case s.LeaseTTL > lease.MaxTTL:
		return fmt.Errorf("--lease-ttl %s is too long: want at most %s", s.LeaseTTL, lease.MaxTTL)
	case s.Heartbeat < 100*time.Millisecond:
		return fmt.Errorf("--heartbeat %s is too short: want 100ms at least", s.Heartbeat)
	case s.MarkAhead <= s.Heartbeat || s.LeaseTTL <= s.MarkAhead:
		return fmt.Errorf("--heartbeat %s must be less than --mark-ahead %s, and that less than --lease-ttl %s", s.Heartbeat, s.MarkAhead, s.LeaseTTL)
	case s.MaxClockOffset <= 0:
		return errors.New("--max-clock-offset must be more than zero")
	}
	return s.NodeID.resolve(s.NodeRange)
}

// static tells whether the number is this proxy's without a registry or a file.
func (s *nodeSettings) static() bool {
	return s.NodeID.given() && s.StateFile == "" && !s.Registry.given()
}

// A nodeID is the value of --node-id.
type nodeID struct {
	text string // "": none given
	node int    // once resolved
}

func (n *nodeID) given() bool { return n.text != "" }

// UnmarshalText takes the value as it is.
func (n *nodeID) UnmarshalText(text []byte) error {
	n.text = string(text)
	return nil
}

// resolve finds the number.
func (n *nodeID) resolve(r nodeRange) (err error) {
	if !n.given() {
		return nil
	}
	source, variable, _ := strings.Cut(n.text, ":")
	if source != "ordinal" {
		if n.node, err = strconv.Atoi(n.text); err != nil {
			return fmt.Errorf("--node-id %q is neither a number from 0 to %d nor ordinal nor ordinal:VARIABLE", n.text, gen.MaxNode)
		}
		return checkNode("--node-id", n.node)
	}
	name := os.Getenv(variable)
	if variable == "" {
		if name, err = os.Hostname(); err != nil {
			return fmt.Errorf("--node-id ordinal: %w", err)
		}
	}
	if n.node, err = lease.Ordinal(name, r.first, r.last); err != nil {
		return fmt.Errorf("--node-id %s: %w", n.text, err)
	}
	return nil
}

// A nodeRange is the value of --node-range.
type nodeRange struct{ first, last int }

// UnmarshalText reads FIRST-LAST.
func (r *nodeRange) UnmarshalText(text []byte) error {
	first, last, _ := strings.Cut(string(text), "-")
	var err error
	if r.first, err = strconv.Atoi(first); err == nil {
		r.last, err = strconv.Atoi(last)
	}
	if err != nil || r.first < 0 || r.last > gen.MaxNode || r.first > r.last {
		return fmt.Errorf("%q is no range FIRST-LAST within 0-%d", text, gen.MaxNode)
	}
	return nil
}

// holder tells others who this process is.
func holder(listen string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	if _, port, err := net.SplitHostPort(listen); err == nil {
		listen = "port " + port
	}
	return fmt.Sprintf("%s, process %d, %s", host, os.Getpid(), listen)
}

// A holding is how a proxy holds its node number.
type holding struct {
	keeper *lease.Keeper // nil: the number is its own
	store  lease.Store
	shared bool // the store is a registry that others use too
}

// hold begins to hold a node for the generator. recorded is what the database
// says, if found.
func (c *serveCommand) hold(env *environment, generator *gen.Generator, database databaseFacts) (*holding, error) {
	if c.NodeID.given() && !c.Registry.given() && database.config.Registry != "" {
		env.log.Warn("the node number is held in no registry, although the database has one: nothing keeps another from it; give --registry, in place of a --state-file", "node", c.NodeID.node)
	}
	if c.static() {
		return &holding{}, nil
	}
	h := &holding{}
	config := lease.Config{
		Minter: generator, First: c.NodeRange.first, Last: c.NodeRange.last, Holder: holder(c.Listen),
		TTL: c.LeaseTTL, Heartbeat: c.Heartbeat, MarkAhead: c.MarkAhead, RunAhead: c.RunAhead, MaxClockOffset: c.MaxClockOffset,
		Now: env.now, Log: env.log,
	}
	if c.NodeID.given() {
		config.First, config.Last = c.NodeID.node, c.NodeID.node
	}
	r := &lease.Registry{}
	var err error
	if c.StateFile != "" {
		h.store, err = openStateFile(env.ctx, c.StateFile, config.Holder)
	} else {
		h.store, err = c.Registry.or(c.DatabaseURL.config).open(env.ctx, false)
		h.shared = true
		r.ID = database.config.Registry
		config.Claim = func(ctx context.Context) error { return database.claim(ctx, env, r) }
	}
	if err != nil {
		return nil, err
	}
	r.Store = h.store
	config.Registry = r
	if h.keeper, err = lease.Hold(env.ctx, config); err != nil {
		var setup *lease.SetupError
		if errors.As(err, &setup) && r.ID != "" && !c.Registry.given() {
			err = fmt.Errorf("the database records registry %s, which is not in this database: give the --registry that it was installed with", r.ID)
		}
		return nil, errors.Join(fmt.Errorf("hold a node number: %w", err), h.store.Close())
	}
	return h, nil
}

// openStateFile opens a state file. A new one is set up at once: that no other
// process has it is known by its lock.
func openStateFile(ctx context.Context, path, holder string) (lease.Store, error) {
	store, err := file.Open(path, holder)
	if err != nil {
		return nil, err
	}
	s, err := store.Load(ctx)
	if err == nil && s.Head == nil {
		_, err = (&lease.Registry{Store: store}).Init(ctx, false)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// registry is the id of the registry in which the node is held; "" where there
// is none, or it is not known.
func (h *holding) registry() string {
	if h.keeper == nil || !h.shared {
		return ""
	}
	return h.keeper.Status().Registry
}

// status is that of the lease; nil where there is none.
func (h *holding) status() *lease.Status {
	if h.keeper == nil {
		return nil
	}
	s := h.keeper.Status()
	return &s
}

// end frees the node.
func (h *holding) end(env *environment) {
	if h.keeper == nil {
		return
	}
	if err := h.keeper.Close(context.WithoutCancel(env.ctx)); err != nil {
		env.log.Warn("the node number stays held until its lease expires", "err", err)
	}
	if err := h.store.Close(); err != nil {
		env.log.Warn("close the registry", "err", err)
	}
}

// databaseFacts is what is recorded in the URL's database.
type databaseFacts struct {
	config sql.InstalledConfig
	found  bool
	copied bool
	key    string // in the registry; where it is no copy that which was recorded, of which more may be known
	name   string
}

// claim sees to it that the database's functions have their number in the
// registry, which may have lost it. That it is another's is logged: it is not for
// the proxy to mend.
func (d *databaseFacts) claim(ctx context.Context, env *environment, r *lease.Registry) error {
	if !d.found || d.copied {
		return nil
	}
	_, err := r.ClaimFunctions(ctx, lease.Functions{Database: d.key, Name: d.name, Node: d.config.FunctionNode})
	var held *lease.HeldError
	if errors.As(err, &held) {
		env.log.Error("the functions of this database mint under a number that the registry has given to another: run pgidproxy install --new-function-node",
			"node", d.config.FunctionNode, "holder", held.Holder)
		return nil
	}
	return err
}
