package wire

import "net"

// A chunkReader reads what there is, into a buffer that it holds only as long
// as there is something in it.
type chunkReader interface {
	// read waits for bytes. They are valid until release, which must follow.
	read() ([]byte, error)
	release()
}

// waitSize is the buffer with which a plainReader waits.
const waitSize = 2 << 10

// A plainReader reads from any connection. Only reads that follow a full one
// get a large buffer.
type plainReader struct {
	conn  net.Conn
	small [waitSize]byte
	large *buffer // nil while there is no more than fits into small
	full  bool
}

func (r *plainReader) read() ([]byte, error) {
	buf := r.small[:]
	if r.full {
		r.large = buffers.Get().(*buffer)
		buf = r.large[:]
	}
	n, err := r.conn.Read(buf)
	r.full = n == len(buf)
	if n > 0 {
		return buf[:n], nil
	}
	return nil, err
}

func (r *plainReader) release() {
	if r.large != nil {
		buffers.Put(r.large)
		r.large = nil
	}
}

// A writer writes spans with as few system calls as its connection allows.
// It belongs to one goroutine.
type writer struct {
	conn  net.Conn
	spans Spans
	rest  net.Buffers // what of spans is not written yet; here so that it need not be allocated
}

// flush writes the spans and empties their list.
func (w *writer) flush() error {
	defer w.spans.reset()
	switch len(w.spans.Bufs) {
	case 0:
		return nil
	case 1:
		_, err := w.conn.Write(w.spans.Bufs[0])
		return err
	}
	switch w.conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		w.rest = w.spans.Bufs
		_, err := w.rest.WriteTo(w.conn)
		w.rest = nil
		return err
	}
	return w.gather()
}

// gather writes the spans through a buffer, for connections on which each
// write is a record of its own.
func (w *writer) gather() error {
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	n := 0
	for _, b := range w.spans.Bufs {
		for len(b) > 0 {
			c := copy(buf[n:], b)
			n, b = n+c, b[c:]
			if n == len(buf) {
				if _, err := w.conn.Write(buf[:n]); err != nil {
					return err
				}
				n = 0
			}
		}
	}
	_, err := w.conn.Write(buf[:n])
	return err
}
