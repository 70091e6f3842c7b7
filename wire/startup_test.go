package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
)

// startupPacket returns a start-up packet with its length word.
func startupPacket(code uint32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(minStartup+len(body)))
	return append(binary.BigEndian.AppendUint32(b, code), body...)
}

// peer is a client that has sent all it will and keeps what it is answered.
type peer struct {
	io.Reader
	bytes.Buffer
}

func (p *peer) Read(b []byte) (int, error) { return p.Reader.Read(b) }

func TestStartupPackets(t *testing.T) {
	t.Parallel()
	start := startupPacket(3<<16, "user\x00u\x00\x00")
	ssl, gss := startupPacket(codeSSL, ""), startupPacket(codeGSSENC, "")
	for _, tc := range []struct {
		name    string
		sent    []byte
		answers string
		packet  []byte
		err     string // part of it; "" when the packet is taken
		eof     bool
	}{
		{name: "start-up", sent: start, packet: start},
		{name: "ssl first", sent: join(ssl, start), answers: "N", packet: start},
		{name: "gss, ssl", sent: join(gss, ssl, start), answers: "NN", packet: start},
		{name: "ssl, gss", sent: join(ssl, gss, start), answers: "NN", packet: start},
		{name: "ssl twice", sent: join(ssl, ssl, start), answers: "N", err: "unsupported frontend protocol 1234.5679"},
		{name: "gss twice", sent: join(gss, ssl, gss), answers: "NN", err: "unsupported frontend protocol 1234.5680"},
		{name: "cancel", sent: startupPacket(codeCancel, "12345678"), packet: startupPacket(codeCancel, "12345678")},
		{name: "cancel after ssl", sent: join(ssl, startupPacket(codeCancel, "12345678")), answers: "N", packet: startupPacket(codeCancel, "12345678")},
		{name: "cancel with a long key", sent: startupPacket(codeCancel, strings.Repeat("k", 260)), packet: startupPacket(codeCancel, strings.Repeat("k", 260))},
		{name: "version 3.2", sent: startupPacket(3<<16|2, "user\x00u\x00\x00"), packet: startupPacket(3<<16|2, "user\x00u\x00\x00")},
		{name: "grease", sent: startupPacket(3<<16|9999, "_pq_.x\x00y\x00\x00"), packet: startupPacket(3<<16|9999, "_pq_.x\x00y\x00\x00")},
		{name: "longest", sent: startupPacket(3<<16, strings.Repeat("x", maxStartup-8)), packet: startupPacket(3<<16, strings.Repeat("x", maxStartup-8))},
		{name: "too long", sent: startupPacket(3<<16, strings.Repeat("x", maxStartup-7)), err: "invalid length"},
		{name: "too short", sent: []byte{0, 0, 0, 7, 0, 3, 0}, err: "invalid length"},
		{name: "protocol 2", sent: startupPacket(2<<16, ""), err: "unsupported frontend protocol 2.0"},
		{name: "protocol 4", sent: startupPacket(4<<16, ""), err: "unsupported frontend protocol 4.0"},
		{name: "web browser", sent: []byte("GET / HTTP/1.1\r\n\r\n"), err: "invalid length"},
		{name: "direct TLS", sent: []byte{tlsHandshake, 3, 1, 2, 0, 1}, answers: string(tlsRefusal), err: "direct TLS"},
		{name: "one byte of TLS", sent: []byte{tlsHandshake}, answers: string(tlsRefusal), err: "direct TLS"},
		{name: "nothing", eof: true},
		{name: "leaves after no", sent: ssl, answers: "N", eof: true},
		{name: "cut in the length", sent: []byte{0, 0}, err: "unexpected EOF"},
		{name: "cut behind the length", sent: []byte{0, 0, 0, 8}, err: "incomplete"},
		{name: "cut in the body", sent: start[:10], err: "incomplete"},
	} {
		p := &peer{Reader: bytes.NewReader(tc.sent)}
		st, err := readStartup(p)
		switch {
		case tc.eof && err != io.EOF:
			t.Errorf("%s: error %v, want io.EOF", tc.name, err)
		case !tc.eof && tc.err == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.err != "" && (err == nil || err == io.EOF || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.err)
		}
		if got := p.String(); got != tc.answers {
			t.Errorf("%s: answered %q, want %q", tc.name, got, tc.answers)
		}
		if err == nil && !bytes.Equal(st.packet, tc.packet) {
			t.Errorf("%s: packet %q, want %q", tc.name, st.packet, tc.packet)
		}
	}
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestStartupParameters(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		body           string
		user, database string
		replication    bool
	}{
		{"user\x00alice\x00\x00", "alice", "alice", false},
		{"user\x00alice\x00database\x00shop\x00\x00", "alice", "shop", false},
		{"database\x00shop\x00user\x00alice\x00options\x00-c a=b\x00\x00", "alice", "shop", false},
		{"user\x00a\x00user\x00b\x00\x00", "b", "b", false},
		{"user\x00a\x00replication\x00database\x00\x00", "a", "a", true},
		{"user\x00a\x00replication\x00true\x00\x00", "a", "a", true},
		{"user\x00a\x00replication\x001\x00\x00", "a", "a", true},
		{"user\x00a\x00replication\x00Off\x00\x00", "a", "a", false},
		{"user\x00a\x00replication\x00f\x00\x00", "a", "a", false},
		{"user\x00a\x00replication\x00o\x00\x00", "a", "a", true},
		{"user\x00a\x00replication\x00\x00\x00", "a", "a", true},
		{"user\x00a", "", "", true},
		{"user\x00a\x00", "a", "", true},
		{"", "", "", true},
		{"\x00", "", "", false},
	} {
		var st startup
		st.parameters([]byte(tc.body))
		if st.user != tc.user || st.database != tc.database || st.replication != tc.replication {
			t.Errorf("%q: user %q, database %q, replication %v; want %q, %q, %v",
				tc.body, st.user, st.database, st.replication, tc.user, tc.database, tc.replication)
		}
	}
}

func TestFatalEncoding(t *testing.T) {
	t.Parallel()
	f := &fatal{code: "08006", message: "m", hint: "h"}
	want := "E\x00\x00\x00\x2bSFATAL\x00VFATAL\x00C08006\x00Mpgidproxy: m\x00Hh\x00\x00"
	if got := string(f.encode()); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var old *fatal
	if _, err := readStartup(&peer{Reader: bytes.NewReader(startupPacket(2<<16, ""))}); !errors.As(err, &old) {
		t.Fatalf("error %v, want a *fatal", err)
	}
	want = "EFATAL:  pgidproxy: unsupported frontend protocol 2.0: server supports 3.0 to 3.2\n\x00"
	if got := string(old.encode()); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// FuzzStartup checks that whatever a client sends, what is taken is a packet of
// those bytes, nothing behind it is read, and what is answered is a list of
// refusals.
func FuzzStartup(f *testing.F) {
	start := startupPacket(3<<16, "user\x00u\x00database\x00d\x00replication\x00off\x00\x00")
	f.Add(start)
	f.Add(join(startupPacket(codeSSL, ""), startupPacket(codeGSSENC, ""), start, []byte("Q")))
	f.Add(startupPacket(codeCancel, "12345678"))
	f.Add(startupPacket(2<<16, ""))
	f.Add([]byte{tlsHandshake, 3, 1})
	f.Fuzz(func(t *testing.T, sent []byte) {
		reader := bytes.NewReader(sent)
		p := &peer{Reader: reader}
		st, err := readStartup(p)
		answers := p.String()
		if err != nil {
			if strings.Trim(strings.TrimSuffix(answers, string(tlsRefusal)), "N") != "" {
				t.Errorf("answered %q", answers)
			}
			return
		}
		used := len(sent) - reader.Len()
		if want := sent[8*len(answers) : used]; !bytes.Equal(st.packet, want) {
			t.Errorf("packet %q, want %q", st.packet, want)
		}
		if n := int(binary.BigEndian.Uint32(st.packet)); n != len(st.packet) || n > maxStartup {
			t.Errorf("packet of %d bytes says %d", len(st.packet), n)
		}
		if len(answers) > 2 || strings.Trim(answers, "N") != "" {
			t.Errorf("answered %q", answers)
		}
		if st.cancel && st.user != "" {
			t.Errorf("a cancel request with user %q", st.user)
		}
	})
}
