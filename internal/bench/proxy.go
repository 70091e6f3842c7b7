package bench

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// ProxyConfig says what is to be compared.
type ProxyConfig struct {
	Server  *pgx.ConnConfig // the server, or the proxy where Proxy is ""
	Proxy   string          // host:port; "": Server is the proxy, and tells where its server is
	Peers   []string        // host:port of others in front of the server
	Clients int
	Turn    time.Duration // how long each target is used at a time
	Rounds  int

	Progress func(Progress) // nil: nobody is told
}

// A target is one way to the server.
type target struct {
	name   string
	config *pgx.ConnConfig
	peer   bool // not ours
}

// A workload is one sort of statement; all have a bigint or a text as $1.
type workload struct {
	name string
	sql  string // %s is the schema of our functions
	arg  func(n int) any
}

// selectRows is how many rows the table of the selects has.
const selectRows = 10_000

var payload = func(int) any { return "0123456789012345678901234567890123456789" }

var workloads = []workload{
	{"select", "SELECT payload FROM pgid_bench.lookup WHERE id = $1", func(n int) any { return int64(n*7919%selectRows + 1) }},
	{"insert, explicit call", "INSERT INTO pgid_bench.inserted (id, payload) VALUES (%s.next_snowflake(), $1)", payload},
	{"insert, filled default", "INSERT INTO pgid_bench.inserted (payload) VALUES ($1)", payload},
}

// protocols are how a statement is sent.
var protocols = []struct {
	name  string
	mode  pgx.QueryExecMode
	named bool // statements stay in the session
}{
	{"prepared", pgx.QueryExecModeCacheStatement, true},
	{"unnamed", pgx.QueryExecModeExec, false},
	{"simple", pgx.QueryExecModeSimpleProtocol, false},
}

// RunProxy compares. It uses the same schema as RunBTree, which it drops.
func RunProxy(ctx context.Context, c ProxyConfig) (r *ProxyResult, err error) {
	targets, err := c.targets(ctx)
	if err != nil {
		return nil, err
	}
	direct := targets[0].config
	conn, err := open(ctx, direct)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	server, err := readServer(ctx, conn, direct)
	if err != nil {
		return nil, fmt.Errorf("read the server's settings: %w", err)
	}
	var functions string
	if err := conn.QueryRow(ctx, "SELECT quote_ident(schema) FROM pgid.config").Scan(&functions); err != nil {
		return nil, fmt.Errorf("find the functions: %w; pgidproxy install puts them there", err)
	}
	if err := checkSchema(ctx, conn); err != nil {
		return nil, err
	}
	if err := makeProxySchema(ctx, conn, functions); err != nil {
		return nil, fmt.Errorf("make schema %s: %w", Schema, err)
	}
	defer func() {
		if left := dropSchema(ctx, direct, server.pid); left != nil {
			err = errors.Join(err, left)
		}
	}()
	if err := awaitFilling(ctx, targets[1].config); err != nil {
		return nil, err
	}
	r = &ProxyResult{Server: server, Began: time.Now(), Clients: c.Clients, TurnSeconds: c.Turn.Seconds(), Rounds: c.Rounds}
	for _, t := range targets {
		r.Targets = append(r.Targets, t.name)
	}
	for _, w := range workloads {
		for _, p := range protocols {
			r.Cells = append(r.Cells, newCell(w.name, p.name, len(targets)))
		}
	}
	return r, c.measure(ctx, conn, targets, functions, r)
}

// targets are the server, the proxy and the peers.
func (c *ProxyConfig) targets(ctx context.Context) ([]target, error) {
	direct, proxy := c.Server, (*pgx.ConnConfig)(nil)
	if c.Proxy == "" {
		conn, err := open(ctx, c.Server)
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		proxied, err := throughProxy(ctx, conn)
		if err != nil {
			return nil, fmt.Errorf("find out whether this is a proxy: %w", err)
		}
		if !proxied {
			return nil, errors.New("what is at --database-url mints no ids of its own: if it is the server, say where the proxy is with --proxy host:port")
		}
		var host string
		var port uint16
		if err := conn.QueryRow(ctx, `SELECT coalesce(host(inet_server_addr()), split_part(current_setting('unix_socket_directories'), ',', 1)),
			coalesce(inet_server_port(), current_setting('port')::int)`).Scan(&host, &port); err != nil {
			return nil, fmt.Errorf("ask where the server is: %w", err)
		}
		direct, proxy = moved(c.Server, host, port), c.Server
	}
	targets := []target{{name: "direct", config: direct}, {name: "proxy", config: proxy}}
	for i, addr := range append([]string{c.Proxy}, c.Peers...) {
		if addr == "" {
			continue
		}
		host, text, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("%s is not host:port: %w", addr, err)
		}
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%s is not host:port: %w", addr, err)
		}
		if config := moved(c.Server, host, uint16(port)); i == 0 {
			targets[1].config = config
		} else {
			targets = append(targets, target{"peer " + addr, config, true})
		}
	}
	return targets, nil
}

// moved is a way to connect to another address in the same way: a certificate
// that has to have the name of the host has to have that of the other one.
func moved(c *pgx.ConnConfig, host string, port uint16) *pgx.ConnConfig {
	config := c.Copy()
	rename := func(t *tls.Config) {
		if t != nil && t.ServerName != "" {
			t.ServerName = host
		}
	}
	config.Host, config.Port = host, port
	rename(config.TLSConfig)
	for _, f := range config.Fallbacks {
		f.Host, f.Port = host, port
		rename(f.TLSConfig)
	}
	return config
}

func makeProxySchema(ctx context.Context, conn *pgx.Conn, functions string) error {
	_, err := conn.PgConn().Exec(ctx, fmt.Sprintf(`BEGIN; CREATE SCHEMA pgid_bench;
		CREATE TABLE pgid_bench.lookup AS SELECT i::bigint AS id, repeat('p', 100) AS payload FROM generate_series(1, %d) i;
		ALTER TABLE pgid_bench.lookup ADD PRIMARY KEY (id);
		CREATE TABLE pgid_bench.inserted (id bigint PRIMARY KEY DEFAULT %s.next_snowflake(), payload text); COMMIT`, selectRows, functions)).ReadAll()
	return err
}

// fillTimeout is how long a proxy may take until it knows a new table.
const fillTimeout = 15 * time.Second

// awaitFilling waits until the proxy fills the default of the new table in.
func awaitFilling(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := open(ctx, config)
	if err != nil {
		return fmt.Errorf("the proxy: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if proxied, err := throughProxy(ctx, conn); err != nil || !proxied {
		return errors.Join(err, errors.New("what is at the proxy's address mints no ids of its own in this database"))
	}
	deadline := time.Now().Add(fillTimeout)
	for {
		var filled bool
		err := conn.QueryRow(ctx, "INSERT INTO pgid_bench.inserted (payload) VALUES ('') RETURNING id >> 12 & 1023 <> (SELECT function_node FROM pgid.config)").Scan(&filled)
		switch {
		case err != nil || filled:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("the proxy has not seen the new table in %s", fillTimeout)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
