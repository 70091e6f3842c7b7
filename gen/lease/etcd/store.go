package etcd

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

// A Store is a registry in etcd.
type Store struct {
	prefix  string
	config  clientv3.Config
	history history

	turn   chan struct{} // who has put something into it owns what follows
	client *clientv3.Client
	end    context.CancelFunc // of the client
	closed bool
}

// New returns the store of a URL, etcd://[user:password@]host[:port][,host[:port]…][/prefix]
// or etcds:// for TLS with the parameters ca, cert and key, which name files. The
// prefix is pgidproxy where none is given. It connects when it is used.
func New(url string) (*Store, error) {
	prefix, config, err := parse(url)
	if err != nil {
		return nil, err
	}
	return &Store{prefix: prefix, config: config, turn: make(chan struct{}, 1)}, nil
}

// head is the value of the key head.
type head struct {
	ID      string        `json:"id"`
	Era     string        `json:"era"`
	Server  string        `json:"server"`
	Floor   int64         `json:"floor"`
	Wait    time.Duration `json:"wait"`    // the key wait lives as long, once the era has begun
	Attempt string        `json:"attempt"` // drawn by each call that writes, to know its own
}

// record is the value of a key node/N.
type record struct {
	Kind    string        `json:"kind"`
	Token   string        `json:"token"`
	Holder  string        `json:"holder"`
	Mark    int64         `json:"mark"`
	Every   time.Duration `json:"every"`
	TTL     time.Duration `json:"ttl"`
	Since   int64         `json:"since"` // ms since 1970, by the writer's clock
	Until   int64         `json:"until"`
	Attempt string        `json:"attempt"` // as in head
}

func (s *Store) headKey() string          { return s.prefix + "head" }
func (s *Store) waitKey() string          { return s.prefix + "wait" }
func (s *Store) nodeKey(node int) string  { return s.prefix + "node/" + strconv.Itoa(node) }
func (s *Store) aliveKey(node int) string { return s.prefix + "alive/" + strconv.Itoa(node) }

// Load implements lease.Store.
func (s *Store) Load(ctx context.Context) (snap lease.Snapshot, err error) {
	err = s.with(ctx, func(client *clientv3.Client) error {
		snap, err = s.load(ctx, client)
		return err
	})
	return snap, err
}

func (s *Store) load(ctx context.Context, client *clientv3.Client) (snap lease.Snapshot, err error) {
	sent := s.history.now()
	all, err := client.Get(ctx, s.prefix, clientv3.WithPrefix())
	if err != nil {
		return snap, err
	}
	var h *head
	waiting := clientv3.NoLease
	alive := map[string]bool{}
	for _, kv := range all.Kvs {
		key := strings.TrimPrefix(string(kv.Key), s.prefix)
		kind, node, _ := strings.Cut(key, "/")
		switch kind {
		case "head":
			if h, err = decode[head](kv); err != nil {
				return snap, err
			}
			snap.Head = &lease.Head{ID: h.ID, Era: h.Era, Server: h.Server, Floor: h.Floor}
		case "wait":
			waiting = clientv3.LeaseID(kv.Lease)
		case "alive":
			alive[node] = true // comes before its node
		case "node":
			rec, err := convert(node, alive[node], kv)
			if err != nil {
				return snap, err
			}
			snap.Records = append(snap.Records, rec)
		}
	}
	slices.SortFunc(snap.Records, func(a, b lease.Record) int { return cmp.Compare(a.Node, b.Node) })
	snap.Server = s.history.server(sent, all.Header, h)
	if h != nil && waiting != clientv3.NoLease {
		left, err := client.TimeToLive(ctx, waiting)
		if err != nil {
			return snap, err
		}
		// It may last a second longer than it says, and lasts as long as the key does.
		snap.Wait = min(time.Duration(max(left.TTL+1, 1))*time.Second, h.Wait)
	}
	return snap, nil
}

// convert makes a record of a key node/N.
func convert(node string, alive bool, kv *mvccpb.KeyValue) (lease.Record, error) {
	rec, err := decode[record](kv)
	if err != nil {
		return lease.Record{}, err
	}
	n, err := strconv.Atoi(node)
	if err != nil {
		return lease.Record{}, fmt.Errorf("read %s: %w", kv.Key, err)
	}
	return lease.Record{Node: n, Kind: rec.Kind, Token: rec.Token, Holder: rec.Holder, Mark: rec.Mark, Every: rec.Every, TTL: rec.TTL,
		Since: time.UnixMilli(rec.Since), Until: time.UnixMilli(rec.Until), Live: alive || rec.Kind == lease.KindFunctions}, nil
}

func decode[T any](kv *mvccpb.KeyValue) (*T, error) {
	value := new(T)
	if err := json.Unmarshal(kv.Value, value); err != nil {
		return nil, fmt.Errorf("read %s: %w", kv.Key, err)
	}
	return value, nil
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // of strings and numbers
	}
	return string(text)
}

// A state is what a write compares.
type state struct {
	head     *head // nil: there is none
	server   string
	cluster  uint64
	record   record // empty: there is none
	headAt   int64  // the revision of the head, 0 where there is none
	recordAt int64
}

// read reads the head and the record of a node at one moment.
func (s *Store) read(ctx context.Context, client *clientv3.Client, node int) (st state, err error) {
	sent := s.history.now()
	r, err := client.Txn(ctx).Then(clientv3.OpGet(s.headKey()), clientv3.OpGet(s.nodeKey(node))).Commit()
	if err != nil {
		return st, err
	}
	if kvs := r.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		if st.head, err = decode[head](kvs[0]); err != nil {
			return st, err
		}
		st.headAt = kvs[0].ModRevision
	}
	if kvs := r.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
		rec, err := decode[record](kvs[0])
		if err != nil {
			return st, err
		}
		st.record, st.recordAt = *rec, kvs[0].ModRevision
	}
	st.cluster = r.Header.ClusterId
	st.server = s.history.server(sent, r.Header, st.head)
	return st, nil
}

// Found implements lease.Store.
func (s *Store) Found(ctx context.Context, old string, h lease.Head, wait time.Duration) error {
	value := head{ID: h.ID, Era: h.Era, Server: h.Server, Floor: h.Floor, Wait: wait, Attempt: rand.Text()}
	return s.with(ctx, func(client *clientv3.Client) error {
		for {
			done, err := s.found(ctx, client, old, value)
			if err != nil || done {
				return err
			}
		}
	})
}

// found tries to write a head. It is not done where another wrote in the meantime.
func (s *Store) found(ctx context.Context, client *clientv3.Client, old string, value head) (done bool, err error) {
	st, err := s.read(ctx, client, 0)
	if err != nil {
		return false, err
	}
	era := ""
	if st.head != nil {
		era = st.head.Era
		if st.head.Attempt == value.Attempt {
			return true, nil
		}
	}
	if era != old {
		return false, lease.ErrChanged
	}
	waiting := clientv3.OpDelete(s.waitKey())
	if value.Wait > 0 {
		id, err := grant(ctx, client, value.Wait)
		if err != nil {
			return false, err
		}
		waiting = clientv3.OpPut(s.waitKey(), "", clientv3.WithLease(id))
	}
	done, err = s.write(ctx, client, st, []clientv3.Cmp{at(s.headKey(), st.headAt)}, clientv3.OpPut(s.headKey(), encode(value)), waiting)
	if errors.Is(err, lease.ErrEra) {
		return false, lease.ErrChanged // whoever opens the registry looks again
	}
	return done, err
}

// Swap implements lease.Store.
func (s *Store) Swap(ctx context.Context, w lease.Swap) (now int64, err error) {
	attempt := rand.Text()
	return 0, s.with(ctx, func(client *clientv3.Client) error {
		for {
			done, err := s.swap(ctx, client, w, attempt)
			if err != nil || done {
				return err
			}
		}
	})
}

// swap tries to write a record. It is not done where another wrote in the meantime.
func (s *Store) swap(ctx context.Context, client *clientv3.Client, w lease.Swap, attempt string) (done bool, err error) {
	st, err := s.read(ctx, client, w.Node)
	switch {
	case err != nil:
		return false, err
	case st.record.Attempt == attempt:
		// A transaction of this call was sent twice. That the token is this call's
		// would not be enough: an earlier call may have had a lower mark.
		return true, nil
	case st.head == nil || st.head.Era != w.Era || st.head.Server != st.server:
		return false, lease.ErrEra
	case !slices.Contains(w.Expect, st.record.Token):
		return false, lease.ErrChanged
	}
	alive := clientv3.OpDelete(s.aliveKey(w.Node))
	if w.Kind == lease.KindLease {
		id, err := grant(ctx, client, w.TTL)
		if err != nil {
			return false, err
		}
		alive = clientv3.OpPut(s.aliveKey(w.Node), "", clientv3.WithLease(id))
	}
	unchanged := []clientv3.Cmp{at(s.headKey(), st.headAt), at(s.nodeKey(w.Node), st.recordAt)}
	return s.write(ctx, client, st, unchanged, clientv3.OpPut(s.nodeKey(w.Node), encode(next(st.record, w, attempt))), alive)
}

// next is the record that a write makes of another.
func next(old record, w lease.Swap, attempt string) record {
	now := time.Now()
	rec := record{Kind: w.Kind, Token: w.Token, Holder: w.Holder, Mark: max(w.Mark, old.Mark), Every: w.Every, TTL: w.TTL,
		Since: now.UnixMilli(), Until: now.Add(w.TTL).UnixMilli(), Attempt: attempt}
	if w.Renew {
		rec.Since = old.Since
	}
	return rec
}

// at compares the revision of a key, 0 meaning that there is none.
func at(key string, revision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", revision)
}

// grant makes an etcd lease, of whole seconds and of etcd's shortest TTL at least.
func grant(ctx context.Context, client *clientv3.Client, ttl time.Duration) (clientv3.LeaseID, error) {
	granted, err := client.Grant(ctx, max(int64((ttl+time.Second-1)/time.Second), 1))
	if err != nil {
		return 0, err
	}
	return granted.ID, nil
}

// write does operations if comparisons hold, and tells whether it did. It fails
// with ErrEra where another cluster answered than the one that was read, or that
// one with older data, which happens to have the same revisions. What was written
// there has a token and an attempt that nobody goes by.
func (s *Store) write(ctx context.Context, client *clientv3.Client, st state, unchanged []clientv3.Cmp, do ...clientv3.Op) (done bool, err error) {
	sent := s.history.now()
	r, err := client.Txn(ctx).If(unchanged...).Then(do...).Commit()
	if err != nil {
		return false, err
	}
	if s.history.wrote(sent, r.Header) || r.Header.ClusterId != st.cluster {
		return false, lease.ErrEra
	}
	return r.Succeeded, nil
}
