//go:build !unix

package wire

import "net"

func newReader(conn net.Conn) chunkReader { return &plainReader{conn: conn} }
