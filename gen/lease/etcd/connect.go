package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

// dialTimeout bounds connecting to one address, and signing on.
const dialTimeout = 3 * time.Second

// errURL tells what is wanted, and nothing of what was given: a password with
// characters that are not encoded may be anywhere in it.
var errURL = errors.New("parse the URL of etcd: want etcd://[user:password@]host[:port][,host[:port]…][/prefix], or etcds:// for TLS " +
	"with ?ca=FILE, cert=FILE and key=FILE where needed, special characters in user and password percent-encoded")

// parse reads a URL. net/url takes no list of hosts.
func parse(text string) (prefix string, config clientv3.Config, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if scheme != "etcd" && scheme != "etcds" || strings.Contains(path+query, "@") {
		return "", config, errURL
	}
	config = clientv3.Config{
		DialTimeout: dialTimeout,
		// A connection that leads nowhere any more is noticed within a heartbeat.
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: dialTimeout,
		// A few, of reads: at another member.
		MaxUnaryRetries: 4,
		Logger:          zap.NewNop(),
		DialOptions: []grpc.DialOption{
			// gRPC's own pauses grow to two minutes.
			grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: dialTimeout,
				Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: time.Second}}),
			grpc.WithChainUnaryInterceptor(straight),
		},
	}
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		var err1, err2 error
		config.Username, err1 = url.PathUnescape(user)
		config.Password, err2 = url.PathUnescape(password)
		if err1 != nil || err2 != nil || config.Username == "" || config.Password == "" {
			return "", config, errURL
		}
		authority = authority[at+1:]
	}
	over := "http://"
	if scheme == "etcds" {
		over = "https://"
		if config.TLS, err = secure(query); err != nil {
			return "", config, err
		}
	} else if query != "" {
		return "", config, errURL
	}
	for host := range strings.SplitSeq(authority, ",") {
		address, ok := address(host)
		if !ok {
			return "", config, errURL
		}
		config.Endpoints = append(config.Endpoints, over+address)
	}
	if path = strings.Trim(path, "/"); path == "" {
		path = "pgidproxy"
	}
	return "/" + path + "/", config, nil
}

// address completes a host with etcd's port.
func address(host string) (string, bool) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "2379"
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return net.JoinHostPort(name, port), err == nil && name != ""
}

// secure makes a TLS configuration of the parameters of a URL.
func secure(query string) (*tls.Config, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errURL
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	for name := range values {
		if name != "ca" && name != "cert" && name != "key" {
			return nil, errURL
		}
	}
	if ca := values.Get("ca"); ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("read the authority of etcd: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read the authority of etcd: %s holds no certificate", ca)
		}
	}
	if cert, key := values.Get("cert"), values.Get("key"); cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate for etcd: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// errSignedOff: the server does not know any more that this client has signed on,
// since it was restarted or its users were changed. Nothing was done.
var errSignedOff = errors.New("the server does not know this client any more")

// straight makes a call fail, with the reason, when no server can be connected to:
// etcd's client would wait for one until the call's deadline, and tell only that.
// And it keeps that client from signing on again, which it does with the token
// that has become invalid; servers of etcd 3.4 refuse that, and it would try
// without end.
func straight(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(false))...)
	if known := rpctypes.Error(err); errors.Is(known, rpctypes.ErrInvalidAuthToken) || errors.Is(known, rpctypes.ErrAuthOldRevision) {
		return errSignedOff
	}
	return err
}

// with calls a function with the client, once more with a new one where the first
// was signed off.
func (s *Store) with(ctx context.Context, call func(*clientv3.Client) error) error {
	for try := 0; ; try++ {
		client, err := s.connect(ctx)
		if err == nil {
			err = call(client)
		}
		if !errors.Is(err, errSignedOff) || try == 1 {
			return s.explain(ctx, err)
		}
		s.forget(client)
	}
}

// connect returns the client. It is made when it is first used, since that of a
// user signs on at once.
func (s *Store) connect(ctx context.Context) (*clientv3.Client, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.closed {
		return nil, errors.New("use the store: it is closed")
	}
	if s.client == nil {
		life, end := context.WithCancel(context.Background())
		stop := context.AfterFunc(ctx, end)
		config := s.config
		config.Context = life
		client, err := clientv3.New(config)
		switch {
		case !stop() && err == nil:
			_ = client.Close()
			return nil, ctx.Err()
		case err != nil:
			end()
			return nil, err
		}
		s.client, s.end = client, end
	}
	return s.client, nil
}

// forget gives up a client. Calls that others have under way fail.
func (s *Store) forget(client *clientv3.Client) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.client == client {
		_ = s.client.Close() // it says that its context has ended
		s.end()
		s.client = nil
	}
}

// Close implements lease.Store.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	s.closed = true
	client := s.client
	<-s.turn
	if client != nil {
		s.forget(client)
	}
	return nil
}

// explain makes a *lease.SetupError of an error that trying again does not cure.
func (s *Store) explain(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, lease.ErrChanged), errors.Is(err, lease.ErrEra):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("ask etcd: %w", ctx.Err())
	}
	hint := ""
	switch text := err.Error(); {
	case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrUserNotFound):
		hint = "give the user and the password in the URL (etcd://user:password@host:port), special characters percent-encoded"
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		hint = "let the user's role use the registry's keys: etcdctl role grant-permission ROLE readwrite --prefix " + s.prefix
	case strings.Contains(text, "x509:"), strings.Contains(text, "handshake failed: tls:"), strings.Contains(text, "remote error: tls:"):
		hint = "name the certificates that are trusted, and those that the server wants, in the URL (etcds://host:port?ca=FILE&cert=FILE&key=FILE), and the host as its certificate does"
	default:
		return fmt.Errorf("ask etcd: %w", err)
	}
	return &lease.SetupError{Err: fmt.Errorf("ask etcd: %w", err), Hint: hint}
}
