package redis

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

//go:embed prelude.lua
var prelude string

//go:embed load.lua
var load string

//go:embed found.lua
var found string

//go:embed swap.lua
var swap string

// Run sends a script's hash, and its text where the server does not know it.
var (
	loadScript  = redis.NewScript(prelude + load)
	foundScript = redis.NewScript(prelude + found)
	swapScript  = redis.NewScript(prelude + swap)
)

// Keys of the registry: a hash with the fields of the head, and one of records in
// JSON by node. They are of one slot.
const (
	headKey  = "{pgidproxy}:head"
	nodesKey = "{pgidproxy}:nodes"
)

// A Store is a registry in Redis.
type Store struct{ client *redis.Client }

// New returns the store of a URL, redis://[user:password@]host[:port][/db] or
// rediss:// for TLS, with go-redis' parameters. It connects when it is used.
func New(url string) (*Store, error) {
	o, err := options(url)
	if err != nil {
		return nil, err
	}
	return &Store{redis.NewClient(o)}, nil
}

// Close implements lease.Store.
func (s *Store) Close() error { return s.client.Close() }

// record is a record as the scripts write it. Numbers are strings there, since
// Lua's would not keep all digits.
type record struct {
	Kind   string        `json:"kind"`
	Token  string        `json:"token"`
	Holder string        `json:"holder"`
	Mark   int64         `json:"mark,string"`
	Every  time.Duration `json:"every,string"`
	TTL    time.Duration `json:"ttl,string"`
	Since  int64         `json:"since,string"` // ms since 1970
	Until  int64         `json:"until,string"`
}

// Load implements lease.Store.
func (s *Store) Load(ctx context.Context) (lease.Snapshot, error) {
	r, err := s.run(ctx, loadScript)
	if err != nil {
		return lease.Snapshot{}, err
	}
	snap := lease.Snapshot{Now: r.number(1), Server: r.text(2), Wait: time.Duration(max(r.number(3), 0)) * time.Millisecond}
	if era := r.text(5); era != "" {
		snap.Head = &lease.Head{ID: r.text(4), Era: era, Server: r.text(6), Floor: r.number(7)}
	}
	nodes := r.list(8)
	for i := 0; i+1 < len(nodes); i += 2 {
		var rec record
		node, err := strconv.Atoi(nodes[i])
		if err := errors.Join(err, json.Unmarshal([]byte(nodes[i+1]), &rec)); err != nil {
			return lease.Snapshot{}, fmt.Errorf("read the record of node %s in %s: %w", nodes[i], nodesKey, err)
		}
		snap.Records = append(snap.Records, lease.Record{Node: node, Kind: rec.Kind, Token: rec.Token, Holder: rec.Holder, Mark: rec.Mark,
			Every: rec.Every, TTL: rec.TTL, Since: time.UnixMilli(rec.Since), Until: time.UnixMilli(rec.Until),
			Live: rec.Kind == lease.KindFunctions || rec.Kind == lease.KindLease && rec.Until > snap.Now})
	}
	slices.SortFunc(snap.Records, func(a, b lease.Record) int { return cmp.Compare(a.Node, b.Node) })
	return snap, r.err
}

// Found implements lease.Store.
func (s *Store) Found(ctx context.Context, old string, head lease.Head, wait time.Duration) error {
	ms := (wait + time.Millisecond - 1).Milliseconds()
	_, err := s.run(ctx, foundScript, old, head.ID, head.Era, head.Server, head.Floor, ms)
	return err
}

// Swap implements lease.Store.
func (s *Store) Swap(ctx context.Context, w lease.Swap) (now int64, err error) {
	renew := 0
	if w.Renew {
		renew = 1
	}
	args := []any{w.Era, w.Node, w.Kind, w.Token, w.Holder, w.Mark, int64(w.Every), int64(w.TTL), renew}
	for _, token := range w.Expect {
		args = append(args, token)
	}
	r, err := s.run(ctx, swapScript, args...)
	if err != nil {
		return 0, err
	}
	return r.number(1), r.err
}

// run runs a script, and makes errors of what it refuses.
func (s *Store) run(ctx context.Context, script *redis.Script, args ...any) (*reply, error) {
	parts, err := obey(ctx, func() ([]any, error) {
		return script.Run(ctx, s.client, []string{headKey, nodesKey}, args...).Slice()
	})
	if err != nil {
		return nil, explain(err)
	}
	r := &reply{parts: parts}
	switch word := r.text(0); word {
	case "ok":
		return r, r.err
	case "changed":
		return nil, lease.ErrChanged
	case "era":
		return nil, lease.ErrEra
	case "refused":
		return nil, &lease.SetupError{Err: fmt.Errorf("ask Redis who it is: %s", r.text(1)), Hint: "let scripts of this user run INFO: " + infoHint}
	default:
		return nil, fmt.Errorf("run the script in Redis: it replied %q", word)
	}
}

// obey waits for a call until ctx is done. go-redis obeys the deadline of ctx, but
// not its end before that.
func obey[T any](ctx context.Context, call func() (T, error)) (value T, err error) {
	if err := ctx.Err(); err != nil {
		return value, err
	}
	done := make(chan struct{})
	var got T
	var failed error
	go func() {
		defer close(done)
		got, failed = call()
	}()
	select {
	case <-done:
		return got, failed
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// A reply is what a script returned. err tells that it had another form.
type reply struct {
	parts []any
	err   error
}

func (r *reply) text(i int) string {
	if i < len(r.parts) {
		if s, ok := r.parts[i].(string); ok {
			return s
		}
	}
	r.err = fmt.Errorf("read the reply of Redis: part %d is missing", i)
	return ""
}

func (r *reply) number(i int) int64 {
	text := r.text(i)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "" {
		r.err = fmt.Errorf("read the reply of Redis: %w", err)
	}
	return n
}

func (r *reply) list(i int) (texts []string) {
	if i < len(r.parts) {
		if parts, ok := r.parts[i].([]any); ok {
			list := reply{parts: parts}
			for i := range parts {
				texts = append(texts, list.text(i))
			}
			r.err = cmp.Or(r.err, list.err)
			return texts
		}
	}
	r.err = fmt.Errorf("read the reply of Redis: part %d is no list", i)
	return nil
}

// Warnings tells what of the server's settings can lose the registry's data or
// have it twice, and what to do.
func (s *Store) Warnings(ctx context.Context) ([]string, error) {
	text, err := obey(ctx, func() (string, error) { return s.client.Info(ctx).Result() })
	if err != nil {
		return nil, explain(err)
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	var warnings []string
	// The other policies evict what has a TTL, or nothing.
	if policy := info["maxmemory_policy"]; info["maxmemory"] != "0" && strings.HasPrefix(policy, "allkeys-") {
		warnings = append(warnings, fmt.Sprintf("Redis may evict the registry (maxmemory-policy %s): set it to noeviction, or give the registry a server of its own", policy))
	}
	if info["aof_enabled"] == "0" {
		warnings = append(warnings, "a restart of Redis loses the registry's last writes, with them the numbers of databases' functions: set appendonly to yes")
	}
	if n := info["connected_slaves"]; n != "" && n != "0" && info["min_slaves_good_slaves"] == "" {
		warnings = append(warnings, "Redis has replicas, but goes on without them: a primary that is cut off from them and one that is promoted beside it hand out the same nodes: set min-replicas-to-write to 1")
	}
	return warnings, nil
}
