package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/pgidproxy/pgidproxy/internal/admin"
	"github.com/pgidproxy/pgidproxy/rewrite"
	"github.com/pgidproxy/pgidproxy/sql"
)

// Where the proxy's port is.
const (
	portUnopened = iota
	portOpen
	portClosed
)

// An observer lets operators look at a proxy.
type observer struct {
	metrics *admin.Metrics
	server  *admin.Server
	port    atomic.Int32
}

// observe starts to serve metrics and health on p.admin.
func (p *proxy) observe(log *slog.Logger, watchers *sql.Watchers, rewriter *rewrite.Rewriter) *observer {
	o := &observer{metrics: admin.NewMetrics(admin.Sources{
		Version:   version(),
		Node:      p.generator.Node,
		Lease:     p.holding.status,
		Plans:     rewriter.Plans,
		Lookups:   rewriter.Lookups,
		Databases: watchers.Status,
	})}
	ready := func(ctx context.Context) error {
		switch o.port.Load() {
		case portUnopened:
			return errors.New("starting: the port is not open yet")
		case portClosed:
			return errors.New("draining: the port is closed")
		}
		if err := watchers.Answers(ctx, p.config.Database); err != nil {
			return fmt.Errorf("database %s does not answer: %s", p.config.Database, redact(err.Error()))
		}
		return nil
	}
	o.server = admin.Start(p.admin, admin.Config{Metrics: o.metrics, Ready: ready, Log: log})
	return o
}

// follow makes o know when the port is opened, and when it is closed: that is
// how a drain begins, whatever its cause.
func (o *observer) follow(open func() (net.Listener, error)) func() (net.Listener, error) {
	return func() (net.Listener, error) {
		l, err := open()
		if err != nil {
			return nil, err
		}
		o.port.Store(portOpen)
		return followedListener{l, &o.port}, nil
	}
}

type followedListener struct {
	net.Listener
	port *atomic.Int32
}

func (l followedListener) Close() error {
	l.port.Store(portClosed)
	return l.Listener.Close()
}
