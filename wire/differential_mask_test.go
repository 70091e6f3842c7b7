package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
)

var (
	textSnowflake = regexp.MustCompile(`\b[1-9]\d{17,18}\b`)
	textUUID      = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b`)
)

// masked returns a reply with what may differ taken out of it, and adds the ids
// in it, in binary, to ids.
func (d *differential) masked(msg []byte, ids *[]string) []byte {
	note := func(id []byte) {
		if ids != nil {
			*ids = append(*ids, string(id))
		}
	}
	switch msg[0] {
	case 'T':
		return d.maskedRowDescription(msg)
	case 'D':
		msg = maskedBinary(msg, note)
	case 'E', 'N':
		note = func([]byte) {} // the ids of a row that failed may be shown again
	default:
		return msg
	}
	msg = replace(textSnowflake, msg, func(m []byte) {
		n, _ := strconv.ParseUint(string(m), 10, 64)
		note(binary.BigEndian.AppendUint64(nil, n))
	})
	return replace(textUUID, msg, func(m []byte) {
		b, _ := hex.DecodeString(strings.ReplaceAll(string(m), "-", ""))
		note(b)
	})
}

// maskedBinary takes out ids in binary, which come behind their length. What the
// texts give does not begin with these bytes otherwise: those of ids of the years
// from 2024 to 2058.
func maskedBinary(msg []byte, note func([]byte)) []byte {
	msg = bytes.Clone(msg)
	for i := range msg {
		v, size := msg[i:], 0
		switch {
		case len(v) >= 12 && string(v[:4]) == "\x00\x00\x00\x08" && v[4] > 0 && v[4] < 0x10:
			size = 8
		case len(v) >= 20 && string(v[:5]) == "\x00\x00\x00\x10\x01" && v[10]>>4 == 7 && v[12]>>6 == 2:
			size = 16
		default:
			continue
		}
		note(bytes.Clone(v[4 : 4+size]))
		copy(v[4:], strings.Repeat("#", size))
	}
	return msg
}

func replace(re *regexp.Regexp, msg []byte, note func([]byte)) []byte {
	return re.ReplaceAllFunc(msg, func(m []byte) []byte {
		note(m)
		return bytes.Repeat([]byte("#"), len(m))
	})
}

// maskedRowDescription takes out the OIDs of tables that are not in the template.
func (d *differential) maskedRowDescription(msg []byte) []byte {
	msg = bytes.Clone(msg)
	at := 7
	for range binary.BigEndian.Uint16(msg[5:]) {
		at += bytes.IndexByte(msg[at:], 0) + 1
		if binary.BigEndian.Uint32(msg[at:]) > d.lastOID {
			copy(msg[at:], "####")
		}
		at += 18
	}
	return msg
}
