package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

// A transcript is what one side answered.
type transcript struct {
	messages [][]byte
	waits    []int // messages that were there after each wait
	err      error
}

const (
	// finish ends what a sequence left open: copy data, a failed cycle, and a
	// transaction. PostgreSQL 18 answers some ROLLBACK with an internal error.
	finish = "f\x00\x00\x00\x09over\x00" + "S\x00\x00\x00\x04" + "Q\x00\x00\x00\x0dROLLBACK\x00"
	end    = "this is the end"
	// quiet is how long the server says nothing when it has nothing to say. A
	// server that is slower makes the test send earlier than it meant to.
	quiet = 15 * time.Millisecond
	// patience bounds how long the proxy may be behind the server.
	patience = 5 * time.Second
)

// play opens a session, sends the steps and reads all answers. With waits, those
// of the other side, it waits for as many messages as came there.
func (d *differential) play(addr, db string, steps []step, waits []int, splits *rand.Rand) (got transcript) {
	c, err := dialSession(addr, db)
	if err != nil {
		return transcript{err: err}
	}
	defer c.Close()
	defer func() { got.messages = c.messages }()
	expected, waited := 0, 0
	for _, s := range steps {
		switch {
		case s.data != nil:
			expected += s.ready
			if got.err = c.send(s.data, splits); got.err != nil {
				return got
			}
		case waits == nil:
			got.err = c.read(quiet, func() bool { return expected > 0 && c.ready == expected })
			if c.ready == expected || errors.Is(got.err, os.ErrDeadlineExceeded) {
				got.err = nil
			}
			expected = c.ready
			got.waits = append(got.waits, len(c.messages))
		default:
			want := len(c.messages) + 1 // when the other side had ended
			if waited < len(waits) {
				want = waits[waited]
			}
			waited++
			if got.err = c.read(patience, func() bool { return len(c.messages) >= want }); got.err != nil {
				return got
			}
		}
		if got.err != nil {
			return got
		}
	}
	last := "SELECT '" + end + "'\x00"
	tail := binary.BigEndian.AppendUint32([]byte(finish+"Q"), uint32(len(last)+4))
	if got.err = c.send(append(tail, last...), splits); got.err != nil {
		return got
	}
	got.err = c.read(patience, func() bool {
		for i := len(c.messages) - 1; i > 0 && c.messages[len(c.messages)-1][0] == 'Z'; i-- {
			if bytes.HasSuffix(c.messages[i], []byte(end)) {
				return true
			}
		}
		return false
	})
	return got
}

// A session is a client's connection, after it has been let in.
type session struct {
	net.Conn
	buf      []byte
	messages [][]byte
	ready    int
}

func dialSession(addr, db string) (*session, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &session{Conn: conn}
	params := "user\x00" + devpg.Superuser + "\x00database\x00" + db + "\x00\x00"
	start := binary.BigEndian.AppendUint32(nil, uint32(len(params)+8))
	start = append(binary.BigEndian.AppendUint32(start, 3<<16), params...)
	if _, err := conn.Write(start); err != nil {
		return nil, err
	}
	if err := c.read(patience, func() bool { return c.ready > 0 }); err != nil {
		return nil, fmt.Errorf("sign on: %w", err)
	}
	c.messages, c.ready = nil, 0
	return c, nil
}

func (c *session) send(b []byte, splits *rand.Rand) error {
	for splits != nil && len(b) > 1 {
		n := 1 + splits.IntN(len(b))
		if _, err := c.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
		// Lets the other side read what there is.
		time.Sleep(time.Duration(splits.IntN(200)) * time.Microsecond)
	}
	_, err := c.Write(b)
	return err
}

// read collects messages until enough says so, or for the time of silence.
func (c *session) read(silence time.Duration, enough func() bool) error {
	chunk := make([]byte, 64<<10)
	for {
		for len(c.buf) >= 5 {
			n := 1 + int(binary.BigEndian.Uint32(c.buf[1:]))
			if len(c.buf) < n {
				break
			}
			c.messages = append(c.messages, c.buf[:n:n])
			if c.buf[0] == 'Z' {
				c.ready++
			}
			c.buf = c.buf[n:]
		}
		if enough() {
			return nil
		}
		c.SetReadDeadline(time.Now().Add(silence))
		n, err := c.Read(chunk)
		c.buf = append(c.buf, chunk[:n]...)
		if err != nil && (n == 0 || !errors.Is(err, io.EOF)) {
			return err
		}
	}
}
