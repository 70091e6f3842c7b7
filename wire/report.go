package wire

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strconv"
)

// SQLSTATEs whose messages may speak of what the client does not know.
const (
	protocolViolation       = "08P01"
	undefinedPStatement     = "26000"
	authenticationSASL      = 10
	channelBindingMechanism = "SCRAM-SHA-256-PLUS"
)

// editReport makes an ErrorResponse or NoticeResponse speak of the client's own
// text: its position, and where the server counted or named what is hidden,
// the number or the name. Other fields stay as they are.
func (s *Session) editReport(seen []byte, e *entry) []byte {
	if e == nil || e.pos == nil {
		return seen
	}
	from := len(s.toClient)
	dst := append(s.toClient, seen[:headerLen]...)
	code := errorCode(seen)
	body := seen[headerLen:]
	for len(body) > 1 {
		field := body[0]
		value, rest, ok := cString(body[1:])
		if !ok {
			break
		}
		body = rest
		if field == 'W' && e.st != nil {
			if value = e.st.clientContext(value); len(value) == 0 {
				continue
			}
		}
		dst = append(dst, field)
		switch {
		case field == 'P':
			dst = s.appendPosition(dst, value, e)
		case field == 'M' && code == protocolViolation && e.recount > 0:
			dst = appendLess(dst, value, e.recount)
		case field == 'M' && code == undefinedPStatement && e.st != nil && e.st.twin != "":
			dst = append(dst, bytes.ReplaceAll(value, []byte(e.st.twin), []byte(e.st.name))...)
		default:
			dst = append(dst, value...)
		}
		dst = append(dst, 0)
	}
	dst = append(dst, body...)
	binary.BigEndian.PutUint32(dst[from+1:], uint32(len(dst)-from-1))
	s.toClient = dst
	return dst[from:]
}

// hiddenValues matches the values of hidden parameters as they end the list that
// log_parameter_max_length_on_error asks for (BuildParamLogString in
// src/backend/nodes/params.c).
var hiddenValues = regexp.MustCompile(`\$\d+ = '[0-9a-f{},.-]*'(?:, \$\d+ = '[0-9a-f{},.-]*')*$`)

// clientContext takes the hidden parameters out of an error's context. They are
// the last ones of its outermost, which is the last, line.
func (st *statement) clientContext(context []byte) []byte {
	if st.hidden() == 0 {
		return context
	}
	first := bytes.LastIndex(context, []byte("$"+strconv.Itoa(st.params+1)+" = '"))
	if first < 0 || !hiddenValues.Match(context[first:]) {
		return context
	}
	if st.params > 0 {
		return bytes.TrimSuffix(context[:first], []byte(", "))
	}
	return context[:max(bytes.LastIndexByte(context[:first], '\n'), 0)]
}

func (s *Session) appendPosition(dst, value []byte, e *entry) []byte {
	pos, err := strconv.Atoi(string(value))
	if err != nil {
		return append(dst, value...)
	}
	return strconv.AppendInt(dst, int64(e.pos.Client(pos, s.countBytes())), 10)
}

// appendLess appends text with every number in it made smaller by n: the server
// counts the hidden parameters too.
func appendLess(dst, text []byte, n int) []byte {
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && text[j] >= '0' && text[j] <= '9' {
			j++
		}
		if v, err := strconv.Atoi(string(text[i:j])); err == nil && v >= n {
			dst = strconv.AppendInt(dst, int64(v-n), 10)
			i = j
			continue
		}
		dst = append(dst, text[i])
		i++
	}
	return dst
}

// errorCode returns the SQLSTATE of an ErrorResponse, or "".
func errorCode(report []byte) string {
	if len(report) < headerLen {
		return ""
	}
	body := report[headerLen:]
	for len(body) > 1 {
		value, rest, ok := cString(body[1:])
		if !ok {
			return ""
		}
		if body[0] == 'C' {
			return string(value)
		}
		body = rest
	}
	return ""
}

// authentication takes SCRAM-SHA-256-PLUS out of AuthenticationSASL where the
// client has no TLS: it binds to the server's TLS channel, which the client
// does not share, and libpq refuses the offer on a plain connection.
func (s *Session) authentication(seen []byte) []byte {
	if !s.opts.PlainClientOnTLS || len(seen) < headerLen+4 ||
		binary.BigEndian.Uint32(seen[headerLen:]) != authenticationSASL {
		return seen
	}
	from := len(s.toClient)
	dst := append(s.toClient, seen[:headerLen+4]...)
	rest := seen[headerLen+4:]
	for len(rest) > 0 {
		name, next, ok := cString(rest)
		if !ok {
			return seen
		}
		if string(name) != channelBindingMechanism {
			dst = append(append(dst, name...), 0)
		}
		rest = next
	}
	binary.BigEndian.PutUint32(dst[from+1:], uint32(len(dst)-from-1))
	s.toClient = dst
	return dst[from:]
}
