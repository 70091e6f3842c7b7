package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits and codes of the packets that come before a session, as in
// PostgreSQL's src/include/libpq/pqcomm.h.
const (
	minStartup = 8          // length word and code
	maxStartup = 10_000 + 4 // MAX_STARTUP_PACKET_LENGTH counts what follows the length word

	codeCancel      = 1234<<16 | 5678
	codeSSL         = 1234<<16 | 5679
	codeGSSENC      = 1234<<16 | 5680
	protocolVersion = 3 // the major version that is passed on, with any minor one

	tlsHandshake = 0x16 // first byte of a TLS ClientHello
)

// tlsRefusal is the alert handshake_failure (RFC 8446 section 6).
var tlsRefusal = []byte{21, 3, 3, 0, 2, 2, 40}

// A startup is the first packet of a client that is not about encryption.
type startup struct {
	packet      []byte // as it came, length word included
	cancel      bool   // a CancelRequest, otherwise a StartupMessage
	user        string
	database    string
	replication bool // or the parameters cannot be read: the server decides, nothing is rewritten
}

// readStartup reads up to the StartupMessage or CancelRequest, answers the
// requests for encryption with no, and reads not a byte more. A *fatal among
// the errors is what the client is to be told; io.EOF itself means that the
// client left between two packets.
func readStartup(client io.ReadWriter) (startup, error) {
	var ssl, gss bool
	for {
		packet, err := readStartupPacket(client)
		if err != nil {
			return startup{}, err
		}
		code := binary.BigEndian.Uint32(packet[4:])
		switch {
		case code == codeCancel:
			return startup{packet: packet, cancel: true}, nil
		case code == codeSSL && !ssl:
			ssl = true
		case code == codeGSSENC && !gss:
			gss = true
		case code>>16 != protocolVersion:
			return startup{}, unsupportedProtocol(code)
		default:
			st := startup{packet: packet}
			st.parameters(packet[minStartup:])
			return st, nil
		}
		if _, err := client.Write([]byte{'N'}); err != nil {
			return startup{}, fmt.Errorf("answer encryption request: %w", err)
		}
	}
}

// readStartupPacket reads one packet with its length word.
func readStartupPacket(client io.ReadWriter) ([]byte, error) {
	var length [4]byte
	if n, err := io.ReadFull(client, length[:]); err != nil {
		if n > 0 && length[0] == tlsHandshake {
			return nil, refuseTLS(client)
		}
		return nil, err
	}
	if length[0] == tlsHandshake {
		return nil, refuseTLS(client)
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < minStartup || n > maxStartup {
		return nil, fmt.Errorf("invalid length of start-up packet: %d", n)
	}
	packet := make([]byte, n)
	copy(packet, length[:])
	if _, err := io.ReadFull(client, packet[len(length):]); err != nil {
		return nil, fmt.Errorf("incomplete start-up packet: %w", err)
	}
	return packet, nil
}

func refuseTLS(client io.Writer) error {
	_, err := client.Write(tlsRefusal)
	return errors.Join(errors.New("direct TLS is not offered"), err)
}

// unsupportedProtocol says what PostgreSQL says, to a client of protocol 1 or 2
// in the form that it understands.
func unsupportedProtocol(code uint32) *fatal {
	major, minor := code>>16, code&0xffff
	return &fatal{
		code:     "0A000",
		message:  fmt.Sprintf("unsupported frontend protocol %d.%d: server supports 3.0 to 3.2", major, minor),
		oldStyle: major < protocolVersion,
	}
}

// parameters reads what the proxy needs of a StartupMessage's parameters, by
// the rules of ProcessStartupPacket (src/backend/tcop/backend_startup.c). What
// is wrong with them the server says better.
func (st *startup) parameters(body []byte) {
	for {
		name, rest, ok := cString(body)
		if !ok {
			st.replication = true
			return
		}
		if len(name) == 0 {
			break
		}
		value, rest, ok := cString(rest)
		if !ok {
			st.replication = true
			return
		}
		switch string(name) {
		case "user":
			st.user = string(value)
		case "database":
			st.database = string(value)
		case "replication":
			st.replication = !isFalse(string(value))
		}
		body = rest
	}
	if st.database == "" {
		st.database = st.user
	}
}

// isFalse tells the values that PostgreSQL reads as false (parse_bool in
// src/backend/utils/adt/bool.c).
func isFalse(v string) bool {
	v = strings.ToLower(v)
	switch {
	case v == "":
		return false
	case strings.HasPrefix("false", v), strings.HasPrefix("no", v), v == "0":
		return true
	}
	return len(v) > 1 && strings.HasPrefix("off", v)
}

// A fatal is an ErrorResponse of the proxy's own that ends the connection.
type fatal struct {
	code     string // SQLSTATE
	message  string // without the name of the proxy in front
	hint     string // names a setting, or ""
	oldStyle bool   // in the form of protocol 2
}

func (f *fatal) Error() string { return f.message }

// encode returns the message as it goes over the wire.
func (f *fatal) encode() []byte {
	message := "pgidproxy: " + f.message
	if f.oldStyle {
		return append([]byte("EFATAL:  "+message+"\n"), 0)
	}
	b := []byte{msgErrorResponse, 0, 0, 0, 0}
	for _, field := range [...]string{"SFATAL", "VFATAL", "C" + f.code, "M" + message, "H" + f.hint} {
		if len(field) > 1 {
			b = append(append(b, field...), 0)
		}
	}
	b = append(b, 0)
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-1))
	return b
}
