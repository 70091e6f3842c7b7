package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A dialer opens connections to the servers that a connection URL names, in
// libpq's order: hosts, their addresses, and for each the ways that sslmode
// allows. It is safe for concurrent use.
type dialer struct {
	cfg   *pgconn.Config
	hosts []host

	mu    sync.Mutex
	inUse map[address]*use // addresses that sessions are connected to
}

type host struct {
	name string
	port uint16
	ways []*pgconn.FallbackConfig // with TLS or without, in the order of sslmode
}

// An address is what net.Dial takes.
type address struct{ network, address string }

type target struct {
	address
	ways []*pgconn.FallbackConfig
}

type use struct {
	target
	sessions int
}

// An upstream is a connection to a server that has been sent the client's
// first packet.
type upstream struct {
	net.Conn
	target target
	first  []byte // what was read of the server's reply to find out whether to go on
}

// A serverRefusal is a server's ErrorResponse to a StartupMessage, as it came.
type serverRefusal struct{ report []byte }

func (e *serverRefusal) Error() string { return "refused with " + errorCode(e.report) }

var errNoTLS = errors.New("the server refuses TLS")

// cannotConnectNow is the SQLSTATE of a server that starts up or shuts down:
// libpq goes on to the next host.
const cannotConnectNow = "57P03"

// newDialer reads cfg, which must come from pgconn.ParseConfig.
func newDialer(cfg *pgconn.Config) (*dialer, error) {
	if cfg.ValidateConnect != nil {
		return nil, errors.New("target_session_attrs is not supported: the proxy does not sign on for its clients")
	}
	d := &dialer{cfg: cfg, inUse: map[address]*use{}}
	all := append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...)
	for _, way := range all {
		n := len(d.hosts)
		if n == 0 || d.hosts[n-1].name != way.Host || d.hosts[n-1].port != way.Port {
			d.hosts = append(d.hosts, host{name: way.Host, port: way.Port})
			n++
		}
		d.hosts[n-1].ways = append(d.hosts[n-1].ways, way)
	}
	return d, nil
}

// targets resolves the hosts. Those that cannot be resolved are left out, with
// the errors joined.
func (d *dialer) targets(ctx context.Context) (ts []target, err error) {
	for _, h := range d.hosts {
		names := []string{h.name}
		if network, _ := pgconn.NetworkAddress(h.name, h.port); network != "unix" {
			found, lookupErr := d.cfg.LookupFunc(ctx, h.name)
			if lookupErr != nil {
				err = errors.Join(err, lookupErr)
				continue
			}
			names = found
		}
		for _, name := range names {
			network, addr := pgconn.NetworkAddress(name, h.port)
			ts = append(ts, target{address{network, addr}, h.ways})
		}
	}
	return ts, err
}

// connect opens a connection for a session and sends it the StartupMessage.
// Where something else can still be tried it waits for the first bytes of the
// reply: sslmode allow and prefer go on the other way after an error, and a
// server that takes nobody now is passed over for the next host.
func (d *dialer) connect(ctx context.Context, packet []byte) (*upstream, error) {
	targets, err := d.targets(ctx)
	for i, t := range targets {
		up, connErr := d.connectTo(ctx, t, packet, i+1 < len(targets))
		if connErr == nil {
			return up, nil
		}
		err = cmp.Or(ctx.Err(), connErr)
		var r *serverRefusal
		if ctx.Err() != nil || errors.As(err, &r) && errorCode(r.report) != cannotConnectNow {
			break
		}
	}
	if err == nil {
		err = errors.New("the server's name has no address")
	}
	return nil, err
}

// connectTo tries one address. more tells that there are others.
func (d *dialer) connectTo(ctx context.Context, t target, packet []byte, more bool) (*upstream, error) {
	if d.cfg.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.cfg.ConnectTimeout)
		defer cancel()
	}
	var refused error
	for way := 0; ; way++ {
		conn, at, err := d.open(ctx, t, way)
		if err != nil {
			return nil, cmp.Or(refused, err)
		}
		way = at
		up := &upstream{Conn: conn, target: t}
		last := way+1 == len(t.ways)
		err = guard(ctx, conn, func() error {
			if _, err := conn.Write(packet); err != nil {
				return fmt.Errorf("send start-up packet: %w", err)
			}
			if last && !more {
				return nil
			}
			return up.peek()
		})
		if err == nil {
			return up, nil
		}
		conn.Close()
		if last {
			return nil, err
		}
		refused = err
	}
}

// open opens a connection in the first way from number from on that works, and
// tells which it is. A server that answers a request for TLS with no is not
// dialled again for going on without.
func (d *dialer) open(ctx context.Context, t target, from int) (net.Conn, int, error) {
	var conn net.Conn
	var failed error
	for i := from; i < len(t.ways); i++ {
		if conn == nil {
			c, err := d.cfg.DialFunc(ctx, t.network, t.address.address)
			if err != nil {
				return nil, 0, cmp.Or(failed, err)
			}
			tune(c)
			conn = c
		}
		way := t.ways[i]
		if way.TLSConfig == nil {
			return conn, i, nil
		}
		secured, err := d.startTLS(ctx, conn, way)
		if err == nil {
			return secured, i, nil
		}
		failed = err
		if !errors.Is(err, errNoTLS) {
			conn.Close()
			conn = nil
		}
	}
	if conn != nil {
		conn.Close()
	}
	return nil, 0, failed
}

// startTLS asks for TLS and shakes hands. After errNoTLS the connection can be
// used without.
func (d *dialer) startTLS(ctx context.Context, conn net.Conn, way *pgconn.FallbackConfig) (net.Conn, error) {
	var secured *tls.Conn
	err := guard(ctx, conn, func() error {
		if d.cfg.SSLNegotiation != "direct" {
			request := binary.BigEndian.AppendUint32(make([]byte, 0, minStartup), minStartup)
			if _, err := conn.Write(binary.BigEndian.AppendUint32(request, codeSSL)); err != nil {
				return fmt.Errorf("request TLS: %w", err)
			}
			// One byte and no more: whatever follows in plain text has to pass
			// for a part of the handshake.
			var answer [1]byte
			if _, err := io.ReadFull(conn, answer[:]); err != nil {
				return fmt.Errorf("request TLS: %w", err)
			}
			switch answer[0] {
			case 'S':
			case 'N':
				return errNoTLS
			default:
				return fmt.Errorf("request TLS: the server answers %q", answer[:])
			}
		}
		var err error
		if secured, err = d.tlsClient(conn, way); err != nil {
			return err
		}
		if err := secured.HandshakeContext(ctx); err != nil {
			return fmt.Errorf("shake hands for TLS: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return secured, nil
}

// tlsClient has pgconn put TLS on conn, because it keeps the client
// certificates of sslcert and sslkey to itself: it is made to connect with what
// is dialled already, and stopped before it sends anything.
func (d *dialer) tlsClient(conn net.Conn, way *pgconn.FallbackConfig) (*tls.Conn, error) {
	var secured *tls.Conn
	stop := errors.New("connected")
	cfg := *d.cfg
	cfg.Host, cfg.Port, cfg.TLSConfig, cfg.Fallbacks = way.Host, way.Port, way.TLSConfig, nil
	cfg.SSLNegotiation = "direct"
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	cfg.AfterNetConnect = func(_ context.Context, _ *pgconn.Config, c net.Conn) (net.Conn, error) {
		secured, _ = c.(*tls.Conn)
		return unclosed{conn}, stop
	}
	if _, err := pgconn.ConnectConfig(context.Background(), &cfg); secured == nil {
		return nil, fmt.Errorf("configure TLS: %w", err)
	}
	return secured, nil
}

// unclosed is a connection that its user does not own.
type unclosed struct{ net.Conn }

func (unclosed) Close() error { return nil }

// peek reads the beginning of the server's reply; a *serverRefusal is returned
// when it is an error.
func (up *upstream) peek() error {
	buf := make([]byte, 512)
	for {
		n, err := up.Read(buf)
		if n == 0 {
			return fmt.Errorf("read reply to start-up packet: %w", err)
		}
		up.first = append(up.first, buf[:n]...)
		if up.first[0] != msgErrorResponse {
			return nil
		}
		if len(up.first) < headerLen {
			continue
		}
		if size := frameSize(up.first); len(up.first) >= size || size > maxReply {
			return &serverRefusal{report: up.first}
		}
	}
}

// guard runs f, which reads and writes conn; when ctx is done these fail.
func guard(ctx context.Context, conn net.Conn, f func() error) error {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() {
		return cmp.Or(err, ctx.Err())
	}
	return err
}

// tune sets what every connection of the proxy has.
func tune(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetNoDelay(true)
		_ = c.SetKeepAlive(true)
	}
}

// acquire notes that a session is connected to an address, release that it no
// longer is.
func (d *dialer) acquire(t target) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.inUse[t.address]
	if u == nil {
		u = &use{target: t}
		d.inUse[t.address] = u
	}
	u.sessions++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if u.sessions--; u.sessions == 0 {
			delete(d.inUse, t.address)
		}
	}
}

// used returns the addresses that sessions are connected to.
func (d *dialer) used() []target {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ts []target
	for _, u := range d.inUse {
		ts = append(ts, u.target)
	}
	return ts
}
