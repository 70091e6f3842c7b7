package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// bufferSize is that of the chunks in which bytes are read. A buffer is held
// only from the moment there are bytes to the moment they are written.
const bufferSize = 32 << 10

type buffer [bufferSize]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// lingerTimeout is how long what a client still sends is read and dropped
// after the end, so that the last bytes it got are not lost to a reset.
const lingerTimeout = 500 * time.Millisecond

// A driver moves the bytes of one session, in two goroutines: clientToServer
// alone reads from the client and writes to the server, serverToClient alone
// reads from the server and writes to the client.
type driver struct {
	client net.Conn
	server net.Conn
	first  []byte        // bytes of the server that were read already; used up by serverToClient
	wait   time.Duration // bound on one Wait

	ctx    context.Context // done once the session ends
	cancel context.CancelFunc

	mu         sync.Mutex // held for one chunk
	session    *Session
	drain      drainState
	over       bool // nothing of the client reaches the server any more
	terminated bool // the last that the client sent was Terminate
	end        ending

	fromClient, fromServer int64 // bytes; owned by the reading goroutine until run returns
}

// An ending is why a session ended.
type ending struct {
	side side
	err  error // nil: the side closed the connection
}

type side string

const (
	sideClient side = "client"
	sideServer side = "server"
	sideProxy  side = "proxy"
)

// errDrained is the cause of sessions that a shutdown ended.
var errDrained = errors.New("shutting down")

// terminate is the message with which a client takes its leave.
var terminate = []byte{'X', 0, 0, 0, 4}

// run moves bytes until both sides are done, then closes both connections.
func (d *driver) run(ctx context.Context) {
	d.ctx, d.cancel = context.WithCancel(ctx)
	defer d.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.serverToClient()
	}()
	d.clientToServer()
	<-done
	d.client.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session.Close()
}

// fail records the first reason for the end.
func (d *driver) fail(s side, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.end.side == "" {
		d.end = ending{s, err}
	}
}

// clientToServer runs until the client is gone. Once the session is over it
// drops what the client sends.
func (d *driver) clientToServer() {
	from := newReader(d.client)
	to := writer{conn: d.server}
	for {
		chunk, err := from.read()
		d.fromClient += int64(len(chunk))
		if err == nil && d.toServer(chunk, &to) {
			from.release()
			continue
		}
		from.release()
		switch {
		case d.isOver() && err == nil:
		case d.isOver():
			return
		case errors.Is(err, io.EOF):
			// The server answers what it has been sent, then sees the end too.
			d.fail(sideClient, nil)
			if !closeWrite(d.server) {
				d.abort()
			}
			return
		case err != nil:
			d.fail(sideClient, err)
			d.abort()
			return
		}
	}
}

// toServer sends on what the client sent. It returns false when the session is
// over, or is about to be because the server takes nothing any more: what it
// may have said before that is still to be read.
func (d *driver) toServer(chunk []byte, to *writer) bool {
	for {
		d.mu.Lock()
		if d.over {
			d.mu.Unlock()
			return false
		}
		n, wait := d.session.Client(chunk, &to.spans)
		d.terminated = bytes.HasSuffix(chunk, terminate)
		d.mu.Unlock()
		if err := to.flush(); err != nil {
			d.mu.Lock()
			d.over = true
			d.mu.Unlock()
			d.fail(sideServer, err)
			return false
		}
		if wait == nil {
			return true
		}
		chunk = chunk[n:]
		ctx, cancel := context.WithTimeout(d.ctx, d.wait)
		wait(ctx)
		cancel()
	}
}

func (d *driver) isOver() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over
}

// serverToClient runs until the server is gone, the client takes nothing any
// more, or a shutdown ends the session. Then it sees to it that clientToServer
// comes to its end.
func (d *driver) serverToClient() {
	from := newReader(d.server)
	to := writer{conn: d.client}
	chunk, err := d.first, error(nil)
	for d.first = nil; ; chunk, err = from.read() {
		d.fromServer += int64(len(chunk))
		var stop stopping
		switch {
		case err == nil:
			stop, err = d.toClient(chunk, &to)
			from.release()
			if err != nil {
				d.fail(sideClient, err)
				d.abort()
				return
			}
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = d.server.SetReadDeadline(time.Time{})
			stop = d.stopNow()
		default:
			if errors.Is(err, io.EOF) {
				err = nil
			}
			d.fail(sideServer, err)
			d.finish()
			return
		}
		if stop != goOn {
			d.fail(sideProxy, errDrained)
			if stop == stopWithReport {
				_, _ = d.client.Write(shutdownReport)
			}
			d.finish()
			return
		}
	}
}

// toClient sends on what the server sent, and tells whether the session is to
// end there.
func (d *driver) toClient(chunk []byte, to *writer) (stopping, error) {
	d.mu.Lock()
	d.session.Server(chunk, &to.spans)
	stop := d.stopping()
	d.mu.Unlock()
	return stop, to.flush()
}

// finish ends the session after all that the client is to get was written.
func (d *driver) finish() {
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	d.cancel()
	d.server.Close()
	if !closeWrite(d.client) {
		d.client.Close()
		return
	}
	_ = d.client.SetReadDeadline(time.Now().Add(lingerTimeout))
}

// abort ends the session when the client is gone.
func (d *driver) abort() {
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	d.cancel()
	d.server.Close()
	d.client.Close()
}

// closeWrite tells the other side of conn that nothing more comes, while what
// it sends can still be read. Where that is not possible it returns false.
func closeWrite(conn net.Conn) bool {
	c, ok := conn.(interface{ CloseWrite() error })
	if !ok || c.CloseWrite() != nil {
		return false
	}
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return closeWrite(secured.NetConn())
	}
	return true
}
