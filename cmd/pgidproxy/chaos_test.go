//go:build unix

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

var (
	chaosFor  = flag.Duration("chaos", 20*time.Second, "how long the chaos lasts with each kind of registry")
	chaosSeed = flag.Uint64("chaos-seed", 0, "seed of the chaos; 0 draws one")
)

// The times of the leases are short, so that much happens.
const (
	chaosTTL       = 6 * time.Second
	chaosHeartbeat = time.Second
	chaosMark      = 2500 * time.Millisecond
	chaosProxies   = 8
)

// TestChaos runs proxies over two shards and a registry while processes are
// killed and stopped, clocks jump, networks are cut and the registry goes away or
// loses its data, and clients insert through the proxies and past them. At the
// end no id was given out twice, and no client saw an error that the server would
// not have given. What is done when follows from the seed, which is printed; -v
// prints the plan.
//
// It leaves no processor to other tests, and so does not run beside them.
func TestChaos(t *testing.T) {
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	for i, kind := range []string{"postgres", "redis", "etcd"} {
		t.Run(kind, func(t *testing.T) {
			t.Logf("repeat with -run 'TestChaos/%s' -chaos-seed %d", kind, seed)
			c := newChaos(t, kind, rand.New(rand.NewPCG(seed, uint64(i))))
			c.run(*chaosFor)
		})
	}
}

// chaos is the scene.
type chaos struct {
	t        *testing.T
	rand     *rand.Rand
	registry chaosRegistry
	shards   [2]string // URLs of their databases, past the proxies
	proxies  []*chaosProxy
	ledger   ledger
}

// A chaosRegistry is a real registry that can be taken away.
type chaosRegistry struct {
	url   string // past the links
	down  func()
	up    func()
	empty func() // nil where that is not a fault that the kind can have
}

func newChaos(t *testing.T, kind string, r *rand.Rand) *chaos {
	c := &chaos{t: t, rand: r}
	switch kind {
	case "redis":
		s := servers.Redis(t, "--appendonly", "yes", "--appendfsync", "always")
		c.registry = chaosRegistry{url: "redis://" + s.Addr, down: s.Kill, up: s.Start, empty: func() {
			s.Kill()
			s.Empty()
			s.Start()
		}}
	case "etcd":
		s := servers.Etcd(t)
		c.registry = chaosRegistry{url: "etcd://" + s.Addr, down: s.Kill, up: s.Start}
	default:
		s := devpgtest.Private(t, map[string]string{"fsync": "on", "synchronous_commit": "on"})
		c.registry = chaosRegistry{url: s.URL(devpg.Superuser),
			down: func() { must(t, s.Crash()) },
			up:   func() { must(t, s.Restart(context.Background())) }}
	}
	must(t, runProgram("nodes", "init", "--registry", c.registry.url))
	for i := range c.shards {
		shard := devpgtest.Private(t, nil)
		c.shards[i] = shard.URL(devpg.Superuser)
		must(t, runProgram("install", "--database-url", c.shards[i], "--registry", c.registry.url))
		must(t, execSQL(t.Context(), c.shards[i], "CREATE TABLE t (id bigint PRIMARY KEY DEFAULT next_snowflake(), source text)"))
	}
	for i := range chaosProxies {
		c.proxies = append(c.proxies, newChaosProxy(c, i))
	}
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run lets it happen.
func (c *chaos) run(d time.Duration) {
	t := c.t
	for _, p := range c.proxies {
		p.start()
	}
	c.mint(true)
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for _, p := range c.proxies {
		for i := range 2 {
			clients.Go(func() { (&chaosClient{c: c, p: p, name: fmt.Sprintf("client %d of %s", i, p.name)}).run(ctx) })
		}
	}
	for i := range c.shards {
		clients.Go(func() { (&chaosClient{c: c, shard: i, name: fmt.Sprintf("direct client of shard %d", i)}).run(ctx) })
	}
	c.follow(c.plan(d))
	for _, p := range c.proxies {
		p.heal()
	}
	c.mint(false)
	stop()
	clients.Wait()
	for _, p := range c.proxies {
		p.process.end(t, syscall.SIGTERM)
	}
	c.ledger.check(t, c.shards)
}

// mint waits until every proxy gives ids of a node of its own.
func (c *chaos) mint(first bool) {
	c.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	nodes := map[int]*chaosProxy{}
	for _, p := range c.proxies {
		for {
			n, err := p.node()
			if err == nil && n < 1000 {
				if other := nodes[n]; other != nil {
					c.t.Errorf("%s and %s both have node %d", p.name, other.name, n)
				}
				nodes[n] = p
				break
			}
			if time.Now().After(deadline) {
				c.t.Fatalf("%s (at the start: %t) does not mint: node %d, %v:\n%s", p.name, first, n, err, p.process.output)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// An action is something that is done to the scene at a time.
type action struct {
	at   time.Duration
	what string
	do   func()
}

// plan draws what happens.
func (c *chaos) plan(d time.Duration) []action {
	var all []action
	add := func(at time.Duration, what string, do func()) { all = append(all, action{at, what, do}) }
	between := func(least, most time.Duration) time.Duration {
		return least + time.Duration(c.rand.Int64N(int64(most-least)))
	}
	for _, p := range c.proxies {
		// One thing after another for each process, so that each is what it says.
		for at := between(0, 5*time.Second); at < d; at += between(500*time.Millisecond, 6*time.Second) {
			switch n := c.rand.IntN(10); {
			case n < 2:
				add(at, p.name+" is killed", p.kill)
				at += between(0, 3*time.Second)
				add(at, p.name+" is started", p.start)
			case n < 4:
				add(at, p.name+" is stopped", p.pause)
				at += between(chaosTTL, chaosTTL+3*time.Second)
				add(at, p.name+" goes on", p.resume)
			case n < 6:
				add(at, p.name+" is cut off", p.link.Cut)
				at += between(time.Second, 2*chaosTTL)
				add(at, p.name+" is connected", p.link.Mend)
			case n < 9:
				step := between(10*time.Second, time.Minute)
				if c.rand.IntN(3) == 0 {
					step = between(time.Minute, time.Hour)
				}
				if c.rand.IntN(2) == 0 {
					step = -step
				}
				add(at, fmt.Sprintf("the clock of %s steps by %s", p.name, step), func() { p.clock.step(step) })
			default:
				add(at, "the clock of "+p.name+" is set right", p.clock.reset)
			}
		}
	}
	for at := between(3*time.Second, 10*time.Second); at < d; at += between(5*time.Second, 12*time.Second) {
		if c.registry.empty != nil && c.rand.IntN(2) == 0 {
			add(at, "the registry is emptied", c.registry.empty)
			continue
		}
		add(at, "the registry goes down", c.registry.down)
		at += between(time.Second, chaosTTL+2*time.Second)
		add(at, "the registry comes back", c.registry.up)
	}
	slices.SortStableFunc(all, func(a, b action) int { return int(a.at - b.at) })
	return all
}

// follow does what was planned.
func (c *chaos) follow(plan []action) {
	began := time.Now()
	for _, a := range plan {
		if wait := a.at - time.Since(began); wait > 0 {
			time.Sleep(wait)
		}
		if testing.Verbose() {
			c.t.Logf("%7.3f %s", time.Since(began).Seconds(), a.what)
		}
		a.do()
	}
}

// A chaosProxy is a proxy with a clock and a network of its own.
type chaosProxy struct {
	c       *chaos
	name    string
	shard   int
	link    *servers.Link
	clock   *sharedClock
	listen  string
	url     string // through it
	args    []string
	process *process

	mu      sync.Mutex
	trouble int  // how often it was killed or stopped
	away    bool // it is killed or stopped now
	stopped bool
}

func newChaosProxy(c *chaos, i int) *chaosProxy {
	t := c.t
	registry, err := url.Parse(c.registry.url)
	must(t, err)
	p := &chaosProxy{c: c, name: fmt.Sprint("proxy ", i), shard: i % len(c.shards), link: servers.NewLink(t, registry.Host),
		clock: newSharedClock(t, filepath.Join(t.TempDir(), "clock"))}
	registry.Host = p.link.Addr
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port for all its lives
	must(t, err)
	p.listen = l.Addr().String()
	must(t, l.Close())
	through, err := url.Parse(c.shards[p.shard])
	must(t, err)
	through.Host = p.listen
	p.url = through.String()
	p.args = []string{"serve", "--database-url", c.shards[p.shard], "--listen", p.listen, "--registry", registry.String(),
		"--lease-ttl", chaosTTL.String(), "--heartbeat", chaosHeartbeat.String(), "--mark-ahead", chaosMark.String(), "--drain-timeout", "1s"}
	return p
}

func (p *chaosProxy) start() {
	p.process = startProgram(p.c.t, []string{clockVariable + "=" + p.clock.path}, "pgidproxy-clocked", p.args...)
	p.process.match(p.c.t, "msg=(ready)")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = false
}

func (p *chaosProxy) kill() {
	p.disturb()
	_ = p.process.cmd.Process.Kill()
	p.process.wait(p.c.t)
}

func (p *chaosProxy) pause() {
	p.disturb()
	p.stopped = true
	must(p.c.t, p.process.cmd.Process.Signal(syscall.SIGSTOP))
}

func (p *chaosProxy) resume() {
	must(p.c.t, p.process.cmd.Process.Signal(syscall.SIGCONT))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away, p.stopped = false, false
}

// heal ends what ails it: every plan's actions come in pairs, so that only its
// clock may be wrong.
func (p *chaosProxy) heal() { p.clock.reset() }

func (p *chaosProxy) disturb() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble++
	p.away = true
}

// troubles tells how often it was disturbed, and whether it is now.
func (p *chaosProxy) troubles() (n int, now bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trouble, p.away
}

// node is the node of an id that it mints, or leaves to the server.
func (p *chaosProxy) node() (int, error) {
	ctx, cancel := context.WithTimeout(p.c.t.Context(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.Background())
	var id int64
	if err := conn.QueryRow(ctx, "SELECT next_snowflake()", pgx.QueryExecModeSimpleProtocol).Scan(&id); err != nil {
		return 0, err
	}
	p.c.ledger.selected([]int64{id}, p.name)
	return int(id >> 12 & 1023), nil
}

// runProgram runs the program to its end.
func runProgram(args ...string) error {
	out, err := commandOf(nil, "pgidproxy", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgidproxy %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// clockVariable names the file of a process's clock.
const clockVariable = "PGIDPROXY_TEST_CLOCK"

func init() {
	programs["pgidproxy-clocked"] = func() {
		clock, err := openSharedClock(os.Getenv(clockVariable), syscall.PROT_READ)
		if err != nil {
			panic(err)
		}
		runMain(clock.now)
	}
}

// ledger is what clients were told.
type ledger struct {
	mu       sync.Mutex
	inserted map[int64]string
	only     map[int64]string // delivered by a SELECT
	repeated []string
}

// add takes ids that a client was told.
func (l *ledger) add(to *map[int64]string, ids []int64, by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *to == nil {
		*to = map[int64]string{}
	}
	for _, id := range ids {
		for _, m := range []map[int64]string{l.inserted, l.only} {
			if other, ok := m[id]; ok {
				l.repeated = append(l.repeated, shownID(id)+": "+other+", "+by)
			}
		}
		(*to)[id] = by
	}
}

func (l *ledger) selected(ids []int64, by string) { l.add(&l.only, ids, by) }

func (l *ledger) stored(ids []int64, by string) { l.add(&l.inserted, ids, by) }

func shownID(id int64) string {
	return fmt.Sprintf("id %d (node %d, %s)", id, id>>12&1023, time.UnixMilli(id>>22+1704067200000).UTC().Format("15:04:05.000"))
}

// check compares what clients were told with what the shards hold.
func (l *ledger) check(t *testing.T, shards [2]string) {
	t.Helper()
	in := map[int64]int{}
	byProxy, nodes := 0, map[int]int{}
	for i, shard := range shards {
		conn := session(t, shard)
		rows, _ := conn.Query(t.Context(), "SELECT id FROM t")
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		must(t, err)
		for _, id := range ids {
			if other, ok := in[id]; ok {
				t.Errorf("%s is in shards %d and %d", shownID(id), other, i)
			}
			if by, ok := l.only[id]; ok {
				t.Errorf("%s is in shard %d and was selected by %s", shownID(id), i, by)
			}
			in[id] = i
			if node := int(id >> 12 & 1023); node < 1000 {
				byProxy++
				nodes[node]++
			}
		}
	}
	for _, r := range l.repeated {
		t.Error("twice: " + r)
	}
	lost := 0
	for id, by := range l.inserted {
		if _, ok := in[id]; !ok {
			if lost++; lost < 10 {
				t.Errorf("%s was inserted by %s and is not there", shownID(id), by)
			}
		}
	}
	t.Logf("%d rows, %d of them with ids of proxies' nodes (%d nodes); %d more ids were selected", len(in), byProxy, len(nodes), len(l.only))
	if len(in) < 100 || byProxy < len(in)/100 || byProxy == len(in) {
		t.Errorf("too little happened: %d rows, %d by proxies", len(in), byProxy)
	}
}
