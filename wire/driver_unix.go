//go:build unix

package wire

import (
	"io"
	"net"
	"os"
	"syscall"
)

// newReader returns a reader that holds no buffer while it waits, where the
// connection is a plain socket.
func newReader(conn net.Conn) chunkReader {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		if raw, err := conn.(syscall.Conn).SyscallConn(); err == nil {
			r := &socketReader{raw: raw}
			r.try = r.attempt
			return r
		}
	}
	return &plainReader{conn: conn}
}

// A socketReader waits for its socket before it takes a buffer.
type socketReader struct {
	raw syscall.RawConn
	try func(fd uintptr) bool // attempt, bound once
	buf *buffer
	n   int
	err error
}

func (r *socketReader) read() ([]byte, error) {
	if err := r.raw.Read(r.try); err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.buf[:r.n], nil
}

// attempt is called when the socket may have bytes; false lets the goroutine
// wait until it has.
func (r *socketReader) attempt(fd uintptr) bool {
	r.buf = buffers.Get().(*buffer)
	var err error
	for {
		r.n, err = syscall.Read(int(fd), r.buf[:])
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil && r.n > 0 {
		return true
	}
	r.release()
	switch err {
	case nil:
		r.err = io.EOF
	case syscall.EAGAIN:
		return false
	default:
		r.err = os.NewSyscallError("read", err)
	}
	return true
}

func (r *socketReader) release() {
	if r.buf != nil {
		buffers.Put(r.buf)
		r.buf = nil
	}
}
