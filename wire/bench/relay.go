package main

import (
	"encoding/binary"
	"net"
)

// relay is the least that a proxy of this protocol can do with two goroutines a
// session: it reads chunks, walks the headers of the messages in them, and
// writes the chunks. It is what the proxy's cost is held against.
func relay(listen, upstream string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	for {
		client, err := l.Accept()
		if err != nil {
			return err
		}
		server, err := net.Dial("tcp", upstream)
		if err != nil {
			client.Close()
			continue
		}
		go move(server, client, true)
		go move(client, server, false)
	}
}

// move copies src to dst until one of them ends. The first packet of a client
// has no type byte.
func move(dst, src net.Conn, startup bool) {
	defer dst.Close()
	defer src.Close()
	buf := make([]byte, 32<<10)
	var header [5]byte
	held, skip, messages := 0, 0, 0
	if startup {
		held = 1
	}
	for {
		n, err := src.Read(buf)
		if n > 0 {
			for b := buf[:n]; len(b) > 0; {
				if skip > 0 {
					k := min(skip, len(b))
					skip, b = skip-k, b[k:]
					continue
				}
				k := copy(header[held:], b)
				held, b = held+k, b[k:]
				if held == len(header) {
					skip, held = int(binary.BigEndian.Uint32(header[1:]))-4, 0
					messages++
				}
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
