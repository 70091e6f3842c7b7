package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	reply := func(cluster uint64, revision int64) *etcdserverpb.ResponseHeader {
		return &etcdserverpb.ResponseHeader{ClusterId: cluster, Revision: revision}
	}
	var h history
	old, other := &head{Era: "1", Server: "a"}, &head{Era: "1", Server: "b"}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	check("nothing", h.server(h.now(), reply(0xa, 1), nil), "a")
	check("its own", h.server(h.now(), reply(0xa, 20), old), "a")
	check("another's head", h.server(h.now(), reply(0xa, 20), other), "a")
	check("another cluster", h.server(h.now(), reply(0xb, 10), old), "b")
	check("the first again", h.server(h.now(), reply(0xa, 20), old), "a")

	early := h.now()
	check("further", h.server(h.now(), reply(0xa, 30), old), "a")
	check("a reply that was overtaken", h.server(early, reply(0xa, 25), old), "a")
	sent := h.now()
	if !h.wrote(sent, reply(0xa, 22)) || h.wrote(early, reply(0xa, 22)) || h.wrote(sent, reply(0xa, 31)) {
		t.Error("a write does not tell whether the cluster was set back")
	}
	back := h.server(h.now(), reply(0xa, 21), old)
	if !strings.HasPrefix(back, "a+") {
		t.Errorf("set back: got %q", back)
	}
	check("the same, sent before", h.server(sent, reply(0xa, 21), old), back)
	check("further again", h.server(h.now(), reply(0xa, 40), old), back)
	next := &head{Era: "2", Server: back}
	check("the next era", h.server(h.now(), reply(0xa, 41), next), back)
	check("to whom did not see it", new(history).server(moment{}, reply(0xa, 41), next), back)
	if again := h.server(h.now(), reply(0xa, 30), next); again == back || !strings.HasPrefix(again, "a+") {
		t.Errorf("set back again: got %q after %q", again, back)
	}
}

// A write is what an interceptor of a test sees of one.
type write func() error

// intercepted is a store whose writes a function does, and a registry in it.
func intercepted(t *testing.T, do func(write) error) (*Store, lease.Swap) {
	t.Helper()
	s, err := New("etcd://" + servers.Etcd(t).Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.config.DialOptions = append(s.config.DialOptions, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			once := func() error { return invoke(ctx, method, req, reply, cc, opts...) }
			if txn, ok := req.(*etcdserverpb.TxnRequest); ok && len(txn.Compare) > 0 {
				return do(once)
			}
			return once()
		}))
	snap, err := (&lease.Registry{Store: s}).Init(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return s, lease.Swap{Era: snap.Head.Era, Expect: []string{""}, Kind: lease.KindLease, Token: "a", Mark: 1000, TTL: time.Minute}
}

func checkMark(t *testing.T, s *Store, token string, mark int64) {
	t.Helper()
	got, err := s.Load(t.Context())
	if err != nil || len(got.Records) != 1 || got.Records[0].Token != token || got.Records[0].Mark != mark {
		t.Errorf("got %+v, %v", got.Records, err)
	}
}

// A transaction that was sent twice is told from another's by its attempt.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	s, swap := intercepted(t, func(send write) error { return errors.Join(send(), send()) })
	if _, err := s.Swap(t.Context(), swap); err != nil {
		t.Error(err)
	}
	checkMark(t, s, "a", 1000)
}

// A renewal whose reply was lost arrives in the middle of its repetition, which
// has the same token and a higher mark: that is the one that has to be stored.
func TestLateRenewal(t *testing.T) {
	t.Parallel()
	var late, next write
	do := func(send write) error { return send() }
	s, swap := intercepted(t, func(send write) error { return do(send) })
	if _, err := s.Swap(t.Context(), swap); err != nil {
		t.Fatal(err)
	}
	lost := errors.New("no reply")
	do = func(send write) error { late = send; return lost }
	swap.Expect, swap.Token, swap.Mark = []string{"a", "b"}, "b", 2000
	// The call of the late one has ended when it arrives.
	if _, err := s.Swap(context.WithoutCancel(t.Context()), swap); !errors.Is(err, lost) {
		t.Fatalf("got %v", err)
	}
	do = func(send write) error {
		if next == nil {
			if err := late(); err != nil {
				return err
			}
		}
		next = send
		return send()
	}
	swap.Mark = 3000
	if _, err := s.Swap(t.Context(), swap); err != nil {
		t.Error(err)
	}
	checkMark(t, s, "b", 3000)
}

// What is said of an etcd lease that has ended before its transaction.
func TestLeaseThatEnded(t *testing.T) {
	t.Parallel()
	s, swap := intercepted(t, func(send write) error { return send() })
	client, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, err := grant(t.Context(), client, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Revoke(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err = client.Txn(t.Context()).Then(clientv3.OpPut(s.nodeKey(0), "{}"), clientv3.OpPut(s.aliveKey(0), "", clientv3.WithLease(id))).Commit()
	if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Swap(t.Context(), swap); err != nil { // nothing was written, and the server lives
		t.Error(err)
	}
}
