package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
	pgid "github.com/pgidproxy/pgidproxy/sql"
	"github.com/pgidproxy/pgidproxy/wire"
)

// steppedClock is the system's clock, moved by what a test says.
type steppedClock struct{ offset atomic.Int64 }

func (c *steppedClock) now() int64 { return time.Now().UnixNano() + c.offset.Load() }

func (c *steppedClock) step(d time.Duration) { c.offset.Add(int64(d)) }

// serveHere runs the proxy in the test's own process, on a clock of the test's,
// and returns the URL of a database through it.
func serveHere(t *testing.T, direct string, policy gen.Policy, clock *steppedClock) string {
	t.Helper()
	config, err := pgx.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	generator, err := gen.New(gen.Config{Node: proxyNode, Now: clock.now, Policy: policy, Guard: new(gen.Guard)})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	watchers := pgid.NewWatchers(config, log)
	hooks := wire.Hooks{
		Rewriter: rewrite.New(rewrite.Config{}),
		Mint: func(snow []int64, uuids []gen.UUID) error {
			if err := generator.Snowflakes(snow); err != nil {
				return err
			}
			return generator.UUIDv7s(uuids)
		},
		Limit: 1 << 20,
	}
	if policy == gen.Wait {
		hooks.MintReady = generator.WaitReady
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := wire.NewServer(wire.Config{
		Listeners: []net.Listener{listener},
		Upstream:  &config.Config,
		Hooks: func(database string) wire.Hooks {
			h := hooks
			h.Catalog = watchers.Database(database)
			return h
		},
		Log:         log,
		WaitTimeout: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		watchers.Close()
	})
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = listener.Addr().String()
	return u.String()
}

// TestClockStepsBack moves the proxy's clock under load. No statement may fail
// and no id repeat; who mints is what the policy says.
func TestClockStepsBack(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		for _, policy := range []gen.Policy{gen.Ahead, gen.Wait, gen.Refuse} {
			t.Run(policy.String(), func(t *testing.T) {
				t.Parallel()
				direct, _ := proxied(t, s)
				var clock steppedClock
				clockUnderLoad(t, direct, serveHere(t, direct, policy, &clock), policy, &clock)
			})
		}
	})
}

func clockUnderLoad(t *testing.T, direct, through string, policy gen.Policy, clock *steppedClock) {
	openStream(t, through, newMask()).awaitProxy()
	conn := connectTo(t, through)
	insert := "INSERT INTO t(id, name) VALUES (next_snowflake(), $1) RETURNING id"
	last := map[int]int64{}
	// Each phase inserts alone and from four sessions, and returns the nodes seen.
	phase := func(name string, n int) map[int]bool {
		nodes := map[int]bool{}
		for range n {
			var id int64
			if err := conn.QueryRow(t.Context(), insert, name).Scan(&id); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			node := nodeOf(id)
			if id <= last[node] {
				t.Errorf("%s: id %d after %d", name, id, last[node])
			}
			last[node] = id
			nodes[node] = true
		}
		together(t, through, 4, func(ctx context.Context, i int, conn *pgx.Conn) error {
			for range n {
				if _, err := conn.Exec(ctx, insert, name+" loaded"); err != nil {
					return err
				}
			}
			return nil
		})
		return nodes
	}
	want := func(name string, n int, node int) {
		t.Helper()
		if got := phase(name, n); len(got) != 1 || !got[node] {
			t.Errorf("%s: nodes %v, want %d alone", name, got, node)
		}
	}
	want("before", 50, proxyNode)
	clock.step(-3 * time.Second)
	within := proxyNode
	if policy == gen.Refuse {
		within = functionNode
	}
	want("back by 3 s", 20, within)
	clock.step(-5 * time.Minute)
	want("back by 5 min", 3, functionNode)
	clock.step(5*time.Minute + 4*time.Second)
	want("restored", 50, proxyNode)

	got := query(t, connectTo(t, direct), "SELECT concat_ws(' ', count(*) - count(DISTINCT id), bool_and(id > 0)) FROM t")
	if got[0] != "0 t" {
		t.Errorf("repeated ids, all positive: %s", got[0])
	}
	if t.Failed() {
		t.Log(fmt.Sprint(query(t, connectTo(t, direct), "SELECT concat_ws(' ', name, id >> 12 & 1023, count(*)) FROM t GROUP BY name, id >> 12 & 1023 ORDER BY 1")))
	}
}
