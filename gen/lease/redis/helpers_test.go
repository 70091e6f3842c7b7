package redis_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
	store "github.com/pgidproxy/pgidproxy/gen/lease/redis"
)

// noise is what go-redis would have written to stderr.
type noise struct {
	mu    sync.Mutex
	lines []string
}

func (n *noise) Printf(_ context.Context, format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func TestMain(m *testing.M) {
	var heard noise
	redis.SetLogger(&heard)
	code := m.Run()
	heard.mu.Lock()
	defer heard.mu.Unlock()
	for _, line := range heard.lines {
		fmt.Println("FAIL: go-redis wrote:", line)
		code = 1
	}
	os.Exit(code)
}

func open(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.New(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// admin is a connection for what no store does.
func admin(t *testing.T, server *servers.Server) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// do runs a command that has to succeed.
func do(t *testing.T, c *redis.Client, args ...any) {
	t.Helper()
	if err := c.Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// reopen opens a registry that is in doubt, and checks that it begins an era with
// a wait, and that a lease behind that starts above the end of the wait.
func reopen(t *testing.T, c *redis.Client, s lease.Store, before lease.Snapshot) lease.Snapshot {
	t.Helper()
	after, err := (&lease.Registry{Store: s, ID: before.Head.ID, Seen: true}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.Head.Era == before.Head.Era || after.Head.ID != before.Head.ID || after.Head.Server == before.Head.Server ||
		after.Wait <= lease.DefaultTTL-10*time.Second || after.Wait > lease.DefaultTTL {
		t.Errorf("got %+v, wait %s", after.Head, after.Wait)
	}
	// Instead of waiting for it, the wait ends now, and the clocks are as they would be.
	do(t, c, "HSET", "{pgidproxy}:head", "ready", 0)
	later := func() int64 { return time.Now().Add(lease.DefaultTTL).UnixNano() }
	s = laterStore{s}
	guard := new(gen.Guard)
	g, err := gen.New(gen.Config{Leased: true, Guard: guard, Now: later})
	if err != nil {
		t.Fatal(err)
	}
	const node = 9 // nobody's, so that no mark is above the floor
	k, err := lease.Hold(t.Context(), lease.Config{Registry: &lease.Registry{Store: s}, Minter: g, First: node, Last: node, Holder: "later", Guard: guard, Now: later})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close(context.Background())
	id, err := g.Snowflake()
	if err != nil {
		t.Fatalf("%v: %+v", err, k.Status())
	}
	if at := gen.DecodeSnowflake(id).Time.UnixMilli(); at < after.Head.Floor || after.Head.Floor < time.Now().UnixMilli() {
		t.Errorf("got an id of %d, the floor is %d", at, after.Head.Floor)
	}
	return after
}

// laterStore is a store whose clock is ahead by what a wait lasts.
type laterStore struct{ lease.Store }

func (s laterStore) Load(ctx context.Context) (lease.Snapshot, error) {
	snap, err := s.Store.Load(ctx)
	snap.Now += lease.DefaultTTL.Milliseconds()
	return snap, err
}

func (s laterStore) Swap(ctx context.Context, w lease.Swap) (int64, error) {
	now, err := s.Store.Swap(ctx, w)
	return now + lease.DefaultTTL.Milliseconds(), err
}
