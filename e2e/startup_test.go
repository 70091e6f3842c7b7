package e2e

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

func dial(tb testing.TB, addr string) net.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// startupMessage builds a StartupMessage of any version.
func startupMessage(version uint32, settings ...string) []byte {
	b := binary.BigEndian.AppendUint32(nil, version)
	for _, s := range settings {
		b = append(append(b, s...), 0)
	}
	b = append(b, 0)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b)+4)), b...)
}

func request(code uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), code)
}

const (
	sslRequest = 80877103
	gssRequest = 80877104
)

// hello sends the first bytes and renders what comes up to ReadyForQuery, but
// for keys and process numbers.
func hello(tb testing.TB, addr string, first []byte) []string {
	tb.Helper()
	conn := dial(tb, addr)
	if _, err := conn.Write(first); err != nil {
		tb.Fatal(err)
	}
	var got []string
	for {
		header := make([]byte, 5)
		if _, err := io.ReadFull(conn, header); err != nil {
			return append(got, "closed")
		}
		body := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
		if _, err := io.ReadFull(conn, body); err != nil {
			return append(got, "cut off")
		}
		text := strings.TrimRight(strings.ReplaceAll(string(body), "\x00", "|"), "|")
		if header[0] == 'K' {
			text = fmt.Sprintf("%d bytes", len(body))
		}
		got = append(got, fmt.Sprintf("%c %q", header[0], databaseName.ReplaceAllString(text, "<database>")))
		if header[0] == 'Z' {
			return got
		}
	}
}

// PX-07 as far as there is no TLS towards clients: what opens a connection.
func TestStartup(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		direct, through := proxied(t, s)
		db := databaseName.FindString(direct)
		u, err := url.Parse(direct)
		if err != nil {
			t.Fatal(err)
		}
		user := u.User.Username()
		addr, server := hostPort(t, through), hostPort(t, direct)
		for name, first := range map[string][]byte{
			"plain":           startupMessage(3<<16, "user", user, "database", db),
			"database absent": startupMessage(3<<16, "user", user),
			"user absent":     startupMessage(3<<16, "database", db),
			"unknown user":    startupMessage(3<<16, "user", "nobody at all", "database", db),
			"no database":     startupMessage(3<<16, "user", user, "database", "no such database"),
			"settings": startupMessage(3<<16, "user", user, "database", db, "options", "-c search_path=app -c lock_timeout=5s",
				"application_name", "next_snowflake()", "client_encoding", "LATIN1", "TimeZone", "Asia/Tokyo"),
			"bad setting":    startupMessage(3<<16, "user", user, "database", db, "no_such_setting", "x"),
			"bad encoding":   startupMessage(3<<16, "user", user, "database", db, "client_encoding", "EBCDIC"),
			"version 3.2":    startupMessage(3<<16|2, "user", user, "database", db),
			"grease":         startupMessage(3<<16|9999, "user", user, "database", db, "_pq_.test_protocol_negotiation", "on"),
			"version 2":      startupMessage(2<<16, "user", user, "database", db),
			"version 4":      startupMessage(4<<16, "user", user, "database", db),
			"replication":    startupMessage(3<<16, "user", user, "database", db, "replication", "database"),
			"bad options":    startupMessage(3<<16, "user", user, "database", db, "options", "--nope"),
			"not terminated": {0, 0, 0, 12, 0, 3, 0, 0, 'u', 's', 'e', 'r'},
		} {
			// Ports and process numbers differ; a server of its own says version 2 in words only it knows.
			want, got := hello(t, server, first), hello(t, addr, first)
			if name == "version 2" || name == "version 4" || name == "not terminated" {
				if slices.Contains(got, `Z "I"`) {
					t.Errorf("%s: let in: %v", name, got)
				}
				continue
			}
			if d := diff(want, got); d != "" {
				t.Errorf("%s: through the proxy (+) and directly (-):\n%s", name, d)
			}
		}

		// GSSENCRequest, then SSLRequest, then a session on the same connection.
		conn := dial(t, addr)
		for _, code := range []uint32{gssRequest, sslRequest} {
			conn.Write(request(code))
			answer := make([]byte, 1)
			if _, err := io.ReadFull(conn, answer); err != nil || answer[0] != 'N' {
				t.Fatalf("answer to %d: %q, %v", code, answer, err)
			}
		}
		conn.Write(startupMessage(3<<16, "user", user, "database", db))
		in := pgproto3.NewFrontend(conn, conn)
		for {
			msg, err := in.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if _, ready := msg.(*pgproto3.ReadyForQuery); ready {
				break
			}
		}

		// Settings that the server reports are those that it reports directly.
		a, b := openStream(t, direct, newMask()), openStream(t, through, newMask())
		if !maps.Equal(a.status, b.status) {
			t.Errorf("parameter statuses %v, directly %v", b.status, a.status)
		}
	})
}

// Nonsense in place of a first message does not reach the server, and ends.
func TestGarbage(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		addr := fixtureOf(t, s).proxy.addr
		for _, first := range []string{"GET / HTTP/1.1\r\n\r\n", "\x00\x00\x00\x04", "\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x08\x00\x00\x00\x00", "\x00\x00\x27\x11\x00\x03\x00\x00", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"} {
			conn := dial(t, addr)
			conn.Write([]byte(first))
			conn.(*net.TCPConn).CloseWrite()
			if rest, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%q: %q, %v", first, rest, err)
			}
		}
	})
}

// PX-11 c: replication connections are relayed.
func TestReplication(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		t.Parallel()
		direct, through := proxied(t, s)
		slot := "slot_" + databaseName.FindString(direct)
		stream := openStream(t, through+"&replication=database", newMask())
		directly := openStream(t, direct+"&replication=database", newMask())
		if want, got := directly.simple("IDENTIFY_SYSTEM"), stream.simple("IDENTIFY_SYSTEM"); len(want) != len(got) || want[0] != got[0] {
			t.Errorf("IDENTIFY_SYSTEM: %v, directly %v", got, want)
		}
		for _, sql := range []string{"SHOW server_version", "SELECT next_snowflake", "IDENTIFY next_snowflake()", "READ_REPLICATION_SLOT x"} {
			if d := diff(directly.simple(sql), stream.simple(sql)); d != "" {
				t.Errorf("%s: through the proxy (+) and directly (-):\n%s", sql, d)
			}
		}
		if err := execAt(direct, "CREATE PUBLICATION all_of_it FOR ALL TABLES"); err != nil {
			t.Fatal(err)
		}
		if created := stream.simple("CREATE_REPLICATION_SLOT " + slot + " TEMPORARY LOGICAL pgoutput"); strings.HasPrefix(created[0], "E") {
			t.Fatalf("create a slot: %v", created)
		}
		stream.queue(&pgproto3.Query{String: "START_REPLICATION SLOT " + slot + " LOGICAL 0/0 (proto_version '1', publication_names 'all_of_it')"})
		if got := stream.until("WEZ"); !strings.HasPrefix(got[len(got)-1], "W") {
			t.Fatalf("start replication: %v", got)
		}
		if err := execAt(direct, "INSERT INTO acct(name) VALUES ('replicated next_snowflake()')"); err != nil {
			t.Fatal(err)
		}
		for {
			typ, text := stream.receive()
			if typ != 'd' {
				t.Fatalf("in a replication stream: %s", text)
			}
			if strings.Contains(text, "replicated next_snowflake()") {
				break
			}
		}
		stream.queue(&pgproto3.CopyDone{})
		if got := stream.until("Z"); !strings.HasPrefix(got[len(got)-1], "Z") {
			t.Errorf("end of a replication stream: %v", got)
		}
		// A database with a slot in use cannot be dropped.
		if got := stream.simple("DROP_REPLICATION_SLOT " + slot); strings.HasPrefix(got[0], "E") {
			t.Errorf("drop the slot: %v", got)
		}
	})
}
