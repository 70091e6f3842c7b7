package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

// settle is how long memory may take to be given back.
const settle = 2 * time.Second

// measureIdle opens n sessions that have run one statement and then do nothing,
// and tells what the resident memory of each process in the middle grew by. The
// processes have done nothing else before, so that no memory of theirs is there
// to be used again.
func measureIdle(ctx context.Context, m *middle, n int, out io.Writer) error {
	targets, err := m.startAll(ctx)
	defer stopAll(targets)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if t.command == nil {
			continue
		}
		each, err := idleBytes(ctx, t, n)
		if err != nil {
			return fmt.Errorf("idle sessions through %s: %w", t.name, err)
		}
		fmt.Fprintf(out, "%s: %.1f KiB for each of %d idle sessions\n", t.name, each/1024, n)
	}
	return nil
}

func idleBytes(ctx context.Context, t *target, n int) (float64, error) {
	before, err := t.residentBytes()
	if err != nil {
		return 0, err
	}
	for range n {
		conn, err := openSession(ctx, t.addr())
		if err != nil {
			return 0, err
		}
		defer conn.Close()
	}
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := t.residentBytes()
	return float64(after-before) / float64(n), err
}

// openSession opens a session without a password and runs one statement.
func openSession(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	startup := "\x00\x03\x00\x00user\x00" + devpg.Superuser + "\x00database\x00" + devpg.Superuser + "\x00\x00"
	err = errors.Join(ask(conn, nil, startup), ask(conn, []byte{'Q'}, "SELECT 1\x00"))
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ask sends a message, without a type for a StartupMessage, and reads up to
// ReadyForQuery.
func ask(conn net.Conn, kind []byte, body string) error {
	message := binary.BigEndian.AppendUint32(kind, uint32(len(body)+4))
	if _, err := conn.Write(append(message, body...)); err != nil {
		return err
	}
	for {
		var header [5]byte
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			return err
		}
		reply := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
		if _, err := io.ReadFull(conn, reply); err != nil {
			return err
		}
		switch header[0] {
		case 'E':
			return errors.New(strings.ReplaceAll(string(reply), "\x00", " "))
		case 'Z':
			return nil
		}
	}
}
