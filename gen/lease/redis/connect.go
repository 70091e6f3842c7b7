package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

// errURL tells what is wanted, and nothing of what was given: a password with
// characters that are not encoded may be anywhere in it.
var errURL = errors.New("parse the URL of Redis: want redis://[user:password@]host[:port][/db], or rediss:// for TLS, special characters in user and password percent-encoded")

// options reads a URL.
func options(text string) (*redis.Options, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return nil, errURL
	}
	o, err := redis.ParseURL(text)
	if err != nil {
		return nil, err // of the database or of a parameter
	}
	// A call that is repeated within the client could find what it has just written
	// itself, and be told that another was faster. Who calls decides about that.
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true
	o.DialTimeout = cmp.Or(o.DialTimeout, 3*time.Second)
	o.DialerRetries = 1
	o.PoolSize = cmp.Or(o.PoolSize, 4)
	o.PipelinePoolSize = -1
	// What scripts return needs no more, and other servers know no more.
	o.Protocol = 2
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.Dialer = dialer(o.DialTimeout, o.TLSConfig)
	return o, nil
}

// dialer returns a function that dials but never fails: what goes wrong the first
// use of the connection returns. A dialer's errors go-redis prints to stderr, once
// a second as long as the server is away, by a logger that all of the process
// shares and that is therefore not ours to change; and it goes on dialing by
// itself. To callers both errors look the same.
func dialer(timeout time.Duration, config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: max(timeout, 0), KeepAlive: 30 * time.Second}
	return func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		if config == nil {
			conn, err = plain.DialContext(ctx, network, address)
		} else {
			conn, err = (&tls.Dialer{NetDialer: plain, Config: config}).DialContext(ctx, network, address)
		}
		if err != nil {
			return unconnected{&dialError{err}}, nil
		}
		return conn, nil
	}
}

// A dialError is an error of dialing. go-redis unwraps once what opening a
// connection fails with.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// unconnected is a connection that there is not. All its methods are safe for
// concurrent use.
type unconnected struct{ err error }

func (c unconnected) Read([]byte) (int, error)         { return 0, c.err }
func (c unconnected) Write([]byte) (int, error)        { return 0, c.err }
func (c unconnected) Close() error                     { return nil }
func (c unconnected) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c unconnected) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c unconnected) SetDeadline(time.Time) error      { return nil }
func (c unconnected) SetReadDeadline(time.Time) error  { return nil }
func (c unconnected) SetWriteDeadline(time.Time) error { return nil }

// SyscallConn fails, which tells the pool that the connection is dead: one that
// nobody waits for any more is not kept.
func (c unconnected) SyscallConn() (syscall.RawConn, error) { return nil, c.err }

const infoHint = "ACL SETUSER name ~{pgidproxy}:* +select +eval +evalsha +info +time +hget +hmget +hgetall +hset"

// hints are what to do about errors that trying again does not cure, by what
// their text has. All others are passing: a server that loads its data, a
// replica, a full memory.
var hints = []struct{ text, hint string }{
	{"WRONGPASS", "give the user and the password in the URL (redis://user:password@host:port), special characters percent-encoded"},
	{"NOAUTH", "give the user and the password in the URL (redis://user:password@host:port)"},
	{"invalid password", "give the password in the URL (redis://:password@host:port), special characters percent-encoded"},
	{"without any password configured", "leave the password out of the URL"},
	{"NOPERM", "let the user run the registry's scripts: " + infoHint},
	{"can't run this command", "let the user run the registry's scripts: " + infoHint},
	{"can't access at least one of the keys", "let the user run the registry's scripts: " + infoHint},
	{"unknown command", "the registry needs a server that runs scripts: use another one"},
	{"DB index is out of range", "name a database that is there (redis://host:port/0)"},
	{"SELECT is not allowed in cluster mode", "name no database in the URL"},
	{"MOVED", "the registry wants one server, and of a cluster the one that the error names"},
	{"WRONGTYPE", "another program uses the registry's keys: give the registry a database of its own (redis://host:port/1)"},
}

// explain makes a *lease.SetupError of an error that trying again does not cure.
func explain(err error) error {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate):
		return &lease.SetupError{Err: err, Hint: "name the certificates that are trusted (SSL_CERT_FILE), or the host as the certificate does"}
	case errors.As(err, &record):
		return &lease.SetupError{Err: err, Hint: "the server has no TLS on this port: use redis://"}
	}
	var reply redis.Error
	if errors.As(err, &reply) {
		for _, h := range hints {
			if strings.Contains(err.Error(), h.text) {
				return &lease.SetupError{Err: err, Hint: h.hint}
			}
		}
	}
	return fmt.Errorf("ask Redis: %w", err)
}
