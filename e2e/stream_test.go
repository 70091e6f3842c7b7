package e2e

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// patience bounds every wait for a message: none should take a second.
const patience = 20 * time.Second

// stream is a session on the level of messages.
type stream struct {
	tb     testing.TB
	mask   *mask
	net    net.Conn
	in     *pgproto3.Frontend
	pid    uint32
	key    []byte
	status map[string]string
	drip   bool // send single bytes
	out    []byte
	fields []uint8 // formats of the columns last described
}

// openStream starts a session; it is closed with the test.
func openStream(tb testing.TB, url string, m *mask) *stream {
	tb.Helper()
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		tb.Fatal(err)
	}
	h, err := conn.Hijack()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { h.Conn.Close() })
	return &stream{tb: tb, mask: m, net: h.Conn, in: h.Frontend, pid: h.PID, key: h.SecretKey, status: h.ParameterStatuses}
}

// queue adds messages to what the next flush sends in one write.
func (s *stream) queue(messages ...pgproto3.FrontendMessage) {
	for _, msg := range messages {
		b, err := msg.Encode(s.out)
		if err != nil {
			s.tb.Fatalf("encode %T: %v", msg, err)
		}
		s.out = b
	}
}

func (s *stream) flush() {
	step := max(len(s.out), 1)
	if s.drip {
		step = 1
	}
	for b := s.out; len(b) > 0; b = b[step:] {
		if _, err := s.net.Write(b[:step]); err != nil {
			s.tb.Fatalf("send: %v", err)
		}
	}
	s.out = s.out[:0]
}

// receive returns the type of the next message and a readable form of it, all
// fields included. What the server logs of the statements it was sent (these
// come as notices of severity LOG where a test asks for them) is kept in the
// mask and not returned. At the end of the connection the type is 0.
func (s *stream) receive() (typ byte, text string) {
	s.tb.Helper()
	for {
		s.net.SetReadDeadline(time.Now().Add(patience))
		msg, err := s.in.Receive()
		if err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				s.tb.Fatalf("no message within %v", patience)
			}
			return 0, "closed"
		}
		if n, ok := msg.(*pgproto3.NoticeResponse); ok && n.SeverityUnlocalized == "LOG" {
			s.mask.sent.WriteString(n.Message + "\n" + n.Detail + "\n")
			continue
		}
		return s.render(msg)
	}
}

// until receives up to and including a message of one of the types.
func (s *stream) until(types string) []string {
	s.tb.Helper()
	s.flush()
	var got []string
	for {
		typ, text := s.receive()
		got = append(got, text)
		if typ == 0 || strings.IndexByte(types, typ) >= 0 {
			return got
		}
	}
}

// simple runs one Query message.
func (s *stream) simple(sql string) []string {
	s.tb.Helper()
	s.queue(&pgproto3.Query{String: sql})
	return s.until("Z")
}

func (s *stream) render(msg pgproto3.BackendMessage) (byte, string) {
	switch msg := msg.(type) {
	case *pgproto3.RowDescription:
		s.fields = s.fields[:0]
		var b strings.Builder
		for _, f := range msg.Fields {
			s.fields = append(s.fields, uint8(f.Format))
			fmt.Fprintf(&b, " [%q table %s.%d type %s size %d mod %d format %d]", f.Name, s.mask.oid(f.TableOID),
				f.TableAttributeNumber, s.mask.oid(f.DataTypeOID), f.DataTypeSize, f.TypeModifier, f.Format)
		}
		return 'T', "T" + b.String()
	case *pgproto3.DataRow:
		var b strings.Builder
		for i, v := range msg.Values {
			b.WriteString(" " + s.value(i, v))
		}
		return 'D', "D" + b.String()
	case *pgproto3.ParameterDescription:
		var b strings.Builder
		for _, oid := range msg.ParameterOIDs {
			b.WriteString(" " + s.mask.oid(oid))
		}
		return 't', "t" + b.String()
	case *pgproto3.ErrorResponse:
		return 'E', "E" + s.report(msg)
	case *pgproto3.NoticeResponse:
		return 'N', "N" + s.report((*pgproto3.ErrorResponse)(msg))
	case *pgproto3.CommandComplete:
		return 'C', "C " + string(msg.CommandTag)
	case *pgproto3.ReadyForQuery:
		return 'Z', "Z " + string(msg.TxStatus)
	case *pgproto3.NotificationResponse:
		return 'A', fmt.Sprintf("A %q %q", msg.Channel, s.mask.text(msg.Payload))
	case *pgproto3.ParameterStatus:
		return 'S', fmt.Sprintf("S %s=%q", msg.Name, msg.Value)
	case *pgproto3.CopyData:
		return 'd', fmt.Sprintf("d %q", s.mask.text(string(msg.Data)))
	case *pgproto3.CopyInResponse:
		return 'G', fmt.Sprintf("G %d %v", msg.OverallFormat, msg.ColumnFormatCodes)
	case *pgproto3.CopyOutResponse:
		return 'H', fmt.Sprintf("H %d %v", msg.OverallFormat, msg.ColumnFormatCodes)
	case *pgproto3.CopyBothResponse:
		return 'W', fmt.Sprintf("W %d %v", msg.OverallFormat, msg.ColumnFormatCodes)
	case *pgproto3.FunctionCallResponse:
		return 'V', "V " + s.value(-1, msg.Result)
	}
	return plain(msg)
}

// plain renders messages without a body.
func plain(msg pgproto3.BackendMessage) (byte, string) {
	b, err := msg.Encode(nil)
	if err != nil {
		return '?', fmt.Sprintf("%T: %v", msg, err)
	}
	return b[0], fmt.Sprintf("%c %s", b[0], strings.TrimPrefix(fmt.Sprintf("%T", msg), "*pgproto3."))
}

func (s *stream) value(column int, v []byte) string {
	switch {
	case v == nil:
		return "NULL"
	case !printable(v):
		return s.mask.binary(v)
	case column >= 0 && column < len(s.fields) && s.fields[column] == pgproto3.BinaryFormat:
		return fmt.Sprintf("binary %q", s.mask.text(string(v)))
	}
	return fmt.Sprintf("%q", s.mask.text(string(v)))
}

func printable(v []byte) bool {
	if !utf8.Valid(v) {
		return false
	}
	return !strings.ContainsFunc(string(v), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' })
}

func (s *stream) report(e *pgproto3.ErrorResponse) string {
	var b strings.Builder
	add := func(field, value string) {
		if value != "" && value != "0" {
			fmt.Fprintf(&b, " %s=%q", field, s.mask.text(value))
		}
	}
	add("S", e.Severity)
	add("V", e.SeverityUnlocalized)
	add("C", e.Code)
	add("M", e.Message)
	add("D", e.Detail)
	add("H", e.Hint)
	add("P", fmt.Sprint(e.Position))
	add("p", fmt.Sprint(e.InternalPosition))
	add("q", e.InternalQuery)
	add("W", e.Where)
	add("s", e.SchemaName)
	add("t", e.TableName)
	add("c", e.ColumnName)
	add("d", e.DataTypeName)
	add("n", e.ConstraintName)
	add("F", e.File)
	add("L", fmt.Sprint(e.Line))
	add("R", e.Routine)
	for field, value := range e.UnknownFields {
		add(string(field), value)
	}
	return b.String()
}
