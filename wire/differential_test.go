package wire_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
	"github.com/pgidproxy/pgidproxy/rewrite"
	"github.com/pgidproxy/pgidproxy/sql"
	"github.com/pgidproxy/pgidproxy/wire"
)

var (
	sequences = flag.Int("sequences", 200, "random message sequences that TestDifferential compares")
	firstSeed = flag.Uint64("seed", 1, "seed of the first of them, 0: by the clock; the next ones count up")
	failures  = flag.Int("differences", 1, "differences after which TestDifferential stops")
)

// proxyNode is the number that the proxy mints under.
const proxyNode = 7

// TestDifferential sends random sequences of messages to a server, directly and
// through the proxy, and compares what comes back byte by byte. Not compared
// are ids, which must be new ones, and the OIDs of tables that the sequence made.
func TestDifferential(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		seed := *firstSeed
		if seed == 0 {
			seed = uint64(time.Now().UnixNano()) / 1000 % 1e9
		}
		t.Logf("seeds from %d on", seed)
		f := newFixture(t, s)
		t.Run("sequences", func(t *testing.T) {
			for w := range min(workers, *sequences) {
				t.Run(fmt.Sprint(w), func(t *testing.T) {
					t.Parallel()
					d := newDifferential(t, f)
					for i := w; i < *sequences && f.found.Load() < int64(*failures); i += workers {
						d.check(seed + uint64(i))
					}
				})
			}
		})
		t.Logf("%d sequences, %d replies, %d ids of the proxy and %d of the server", *sequences, f.replies, f.minted[true], f.minted[false])
		if *sequences >= 100 && !t.Failed() && (f.minted[true] < *sequences/4 || f.minted[false] < *sequences/4) {
			t.Errorf("the sequences do not exercise both the proxy and the server functions")
		}
	})
}

// workers is how many sequences run at a time: most of the time is waiting.
const workers = 4

// check compares one sequence, and reports a difference in its smallest form.
func (d *differential) check(seed uint64) {
	steps := generate(seed)
	diff := d.compare(steps, seed)
	if diff == "" {
		return
	}
	d.found.Add(1)
	small, diff := d.shrink(steps, seed, diff)
	d.t.Errorf("-seed %d -sequences 1:\n%s\n%s", seed, strings.Join(notes(small), "\n"), diff)
}

// A fixture is what all workers share.
type fixture struct {
	server   *devpg.Server
	proxy    string     // address of the proxy
	lastOID  uint32     // of the template
	creating sync.Mutex // databases, one at a time
	made     int        // databases made so far
	found    atomic.Int64

	seen    sync.Mutex
	ids     map[string]bool // seen through the proxy
	minted  map[bool]int    // by the proxy or not
	replies int
}

// A differential holds both sides: databases made from one template, so that
// the OIDs are the same.
type differential struct {
	*fixture
	t     *testing.T
	db    [2]string
	admin [2]*pgx.Conn
	fresh [2]string // state of both when they were made
}

const template = "differential"

func newFixture(t *testing.T, s *devpg.Server) *fixture {
	f := &fixture{server: s, ids: map[string]bool{}, minted: map[bool]int{}}
	exec(t, s.URL(devpg.Superuser), "CREATE DATABASE "+template+" TEMPLATE template0 ENCODING 'UTF8'")
	t.Cleanup(func() { exec(t, s.URL(devpg.Superuser), "DROP DATABASE "+template+" WITH (FORCE)") })
	conn := connect(t, s.URL(template))
	if _, err := sql.Install(t.Context(), conn, sql.InstallOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(t.Context(), "SELECT max(oid) FROM pg_class").Scan(&f.lastOID); err != nil {
		t.Fatal(err)
	}
	conn.Close(t.Context())
	f.serve(t)
	return f
}

func newDifferential(t *testing.T, f *fixture) *differential {
	d := &differential{t: t, fixture: f}
	t.Cleanup(d.dropDatabases)
	d.renew()
	return d
}

// serve starts the proxy, put together as cmd/pgidproxy does.
func (f *fixture) serve(t *testing.T) {
	config, err := pgx.ParseConfig(f.server.URL(devpg.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	generator, err := gen.New(gen.Config{Node: proxyNode, Guard: new(gen.Guard)})
	if err != nil {
		t.Fatal(err)
	}
	watchers := sql.NewWatchers(config, log)
	watchers.Node = generator.Node
	rewriter := rewrite.New(rewrite.Config{})
	l, err := wire.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := wire.NewServer(wire.Config{
		Listeners: []net.Listener{l},
		Upstream:  &config.Config,
		Hooks: func(database string) wire.Hooks {
			return wire.Hooks{
				Rewriter: rewriter,
				Mint: func(snow []int64, uuids []gen.UUID) error {
					return errors.Join(generator.Snowflakes(snow), generator.UUIDv7s(uuids))
				},
				Catalog: watchers.Database(database),
				Limit:   1 << 20,
			}
		},
		Closed: func(i wire.SessionInfo) { watchers.Release(i.Database) },
		Log:    log,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.proxy = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		watchers.Close()
	})
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func exec(t *testing.T, url, sql string) {
	t.Helper()
	conn := connect(t, url)
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// renew makes both databases anew.
func (d *differential) renew() {
	d.dropDatabases()
	d.creating.Lock()
	defer d.creating.Unlock()
	for side := range d.db {
		d.made++
		d.db[side] = fmt.Sprintf("%s_%d", template, d.made)
		exec(d.t, d.server.URL(devpg.Superuser), "CREATE DATABASE "+d.db[side]+" TEMPLATE "+template)
		d.admin[side] = connect(d.t, d.server.URL(d.db[side]))
		d.fresh[side] = d.state(side)
	}
	d.awaitCatalog()
}

// awaitCatalog waits until the proxy has read its database.
func (d *differential) awaitCatalog() {
	conn := connect(d.t, "postgres://"+devpg.Superuser+"@"+d.proxy+"/"+d.db[1]+"?sslmode=disable&default_query_exec_mode=simple_protocol")
	defer conn.Close(context.Background())
	for deadline := time.Now().Add(patience); ; {
		var id int64
		if err := conn.QueryRow(d.t.Context(), "SELECT next_snowflake()").Scan(&id); err != nil {
			d.t.Fatal(err)
		}
		if id>>12&1023 == proxyNode {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatal("the proxy has not read its database")
		}
	}
}

// state changes when a transaction that changed permanent objects is committed.
func (d *differential) state(side int) (sum string) {
	d.t.Helper()
	err := d.admin[side].QueryRow(d.t.Context(), `SELECT md5(string_agg(o, ' ' ORDER BY o)) FROM (
		SELECT oid || ' ' || xmin AS o FROM pg_class WHERE relpersistence = 'p'
		UNION ALL SELECT oid || ' ' || xmin FROM pg_proc WHERE pronamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname LIKE 'pg_temp%')) x`).Scan(&sum)
	if err != nil {
		d.t.Fatal(err)
	}
	return sum
}

func (d *differential) dropDatabases() {
	for side, name := range d.db {
		if name != "" {
			d.admin[side].Close(context.Background())
			exec(d.t, d.server.URL(devpg.Superuser), "DROP DATABASE "+name+" WITH (FORCE)")
		}
	}
}

// compare runs the steps on both sides, and describes the first difference.
func (d *differential) compare(steps []step, seed uint64) (diff string) {
	for _, conn := range d.admin {
		if _, err := conn.Exec(d.t.Context(), empty); err != nil {
			d.t.Fatal(err)
		}
	}
	defer func() {
		if slices.ContainsFunc(steps, func(s step) bool { return s.changes }) &&
			(d.state(0) != d.fresh[0] || d.state(1) != d.fresh[1]) {
			d.renew()
		}
	}()
	direct := d.play(d.server.Addr(), d.db[0], steps, nil, nil)
	if direct.err != nil && !ended(direct.err) {
		d.t.Fatalf("directly, -seed %d: %v\n%s\n%s", seed, direct.err, strings.Join(notes(steps), "\n"), show(direct.messages))
	}
	var splits *rand.Rand
	if seed%3 == 0 {
		splits = rand.New(rand.NewPCG(seed, 2))
	}
	through := d.play(d.proxy, d.db[1], steps, direct.waits, splits)
	return d.difference(direct, through)
}

func (d *differential) difference(direct, through transcript) string {
	d.seen.Lock()
	defer d.seen.Unlock()
	d.replies += len(direct.messages)
	n := max(len(direct.messages), len(through.messages))
	if ended(direct.err) && ended(through.err) {
		// What was under way when the server closed the connection may be lost.
		n = min(len(direct.messages), len(through.messages))
	}
	for i := range n {
		var a, b []byte
		if i < len(direct.messages) {
			a = d.masked(direct.messages[i], nil)
		}
		var ids []string
		if i < len(through.messages) {
			b = d.masked(through.messages[i], &ids)
		}
		if !bytes.Equal(a, b) {
			return fmt.Sprintf("reply %d: directly %q, through the proxy %q (%v)\ndirectly:%s\nthrough the proxy:%s",
				i+1, a, b, through.err, show(direct.messages), show(through.messages))
		}
		if bytes.Contains(b, []byte("pgidproxy_twin")) {
			return fmt.Sprintf("reply %d shows a twin: %q", i+1, b)
		}
		for _, id := range ids {
			key := id
			if len(id) == 8 {
				proxy := binary.BigEndian.Uint64([]byte(id))>>12&1023 == proxyNode
				d.minted[proxy]++
				if !proxy { // the functions of all databases mint under one number
					key += d.db[1]
				}
			}
			if d.ids[key] {
				return fmt.Sprintf("reply %d: id %q was seen before", i+1, id)
			}
			d.ids[key] = true
		}
	}
	if ended(direct.err) != ended(through.err) || !ended(direct.err) && through.err != nil {
		return fmt.Sprintf("through the proxy: %v", through.err)
	}
	return ""
}

// ended tells whether the server has closed the connection: it gives up where a
// message that it does not expect comes among copy data.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// shrink leaves out steps as long as a difference remains.
func (d *differential) shrink(steps []step, seed uint64, diff string) ([]step, string) {
	for changed := true; changed; {
		changed = false
		for i := len(steps) - 1; i >= 0; i-- {
			less := slices.Delete(slices.Clone(steps), i, i+1)
			if got := d.compare(less, seed); got != "" {
				steps, diff, changed = less, got, true
			}
		}
	}
	return steps, diff
}

func notes(steps []step) (list []string) {
	for _, s := range steps {
		list = append(list, "  "+s.note)
	}
	return list
}

func show(messages [][]byte) string {
	var b strings.Builder
	for i, m := range messages {
		fmt.Fprintf(&b, "\n  %2d %q", i+1, m)
	}
	return b.String()
}
