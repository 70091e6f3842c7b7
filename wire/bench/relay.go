package main

import (
	"encoding/binary"
	"errors"
	"net"
)

// relayCommand makes this program the relay: relay LISTEN UPSTREAM.
const relayCommand = "relay"

// relay is the least that a proxy of this protocol can do with two goroutines a
// session: it reads chunks, walks the headers of the messages in them, and
// writes the chunks. It is what the proxy's cost is held against. It ends when
// the listener does.
func relay(l net.Listener, upstream string) error {
	for {
		client, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			server, err := net.Dial("tcp", upstream)
			if err != nil {
				client.Close()
				return
			}
			// The first packet of a client has no type byte.
			go move(server, client, walker{held: 1})
			move(client, server, walker{})
		}()
	}
}

// move copies src to dst until one of them ends.
func move(dst, src net.Conn, w walker) {
	defer dst.Close()
	defer src.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if w.walk(buf[:n]) != nil {
				return
			}
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// A walker goes from header to header through a stream that comes in pieces.
type walker struct {
	header   [5]byte
	held     int // bytes of header that are there
	skip     int // bytes of the message that are still to come
	messages int // whose header was seen
}

var errFrame = errors.New("a message shorter than its length")

func (w *walker) walk(b []byte) error {
	for len(b) > 0 {
		if w.skip > 0 {
			k := min(w.skip, len(b))
			w.skip, b = w.skip-k, b[k:]
			continue
		}
		k := copy(w.header[w.held:], b)
		w.held, b = w.held+k, b[k:]
		if w.held < len(w.header) {
			return nil
		}
		length := binary.BigEndian.Uint32(w.header[1:])
		if length < 4 {
			return errFrame
		}
		w.skip, w.held = int(length)-4, 0
		w.messages++
	}
	return nil
}
