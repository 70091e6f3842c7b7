package gen

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"time"
)

// Kind is a kind of id.
type Kind string

// Kinds that Decode tells apart. A UUID of another version has no time.
const (
	KindSnowflake Kind = "snowflake"
	KindUUIDv1    Kind = "uuidv1"
	KindUUIDv6    Kind = "uuidv6"
	KindUUIDv7    Kind = "uuidv7"
	KindUUID      Kind = "uuid"
	KindULID      Kind = "ulid"
)

// Decoded is what an id tells.
type Decoded struct {
	Kind    Kind
	Time    time.Time // in UTC; valid if HasTime
	HasTime bool
	Version int // of a UUID, 0 to 15

	// Node and Sequence are those of a snowflake (node 0 to 1023, sequence 0 to
	// 4095). Of a UUID v1 or v6 Node is the 48-bit node and Sequence the clock
	// sequence; of v7 Sequence is the 12 bits below the millisecond.
	Node     int64
	Sequence int
}

// ErrNotAnID is returned for text that is no id of any kind.
var ErrNotAnID = errors.New("not a snowflake, UUID or ULID")

// Decode tells what an id in text is: 1 to 19 decimal digits that fit an int64
// are a snowflake, 32 hexadecimal digits with or without the hyphens 8-4-4-4-12
// a UUID, 26 characters of Crockford's base 32 a ULID. Anything else, spaces
// included, is ErrNotAnID. SQL's id_to_timestamp(text) reads the same forms.
func Decode(s string) (Decoded, error) {
	if u, ok := parseUUID(s); ok {
		return DecodeUUID(u), nil
	}
	if ms, ok := ulidTime(s); ok {
		return Decoded{Kind: KindULID, Time: time.UnixMilli(ms).UTC(), HasTime: true}, nil
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return Decoded{}, ErrNotAnID
		}
	}
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || len(s) > 19 {
		return Decoded{}, ErrNotAnID
	}
	return DecodeSnowflake(id), nil
}

// DecodeSnowflake splits a snowflake. A negative number has no time.
func DecodeSnowflake(id int64) Decoded {
	d := Decoded{Kind: KindSnowflake}
	d.Time, d.HasTime = SnowflakeTime(id)
	if d.HasTime {
		d.Node, d.Sequence = id>>SequenceBits&MaxNode, int(id&sequenceMask)
	}
	return d
}

// SnowflakeTime returns the time of a snowflake; ok is false for a negative
// number. It is SQL's id_to_timestamp(bigint).
func SnowflakeTime(id int64) (t time.Time, ok bool) {
	if id < 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(id>>(NodeBits+SequenceBits) + Epoch).UTC(), true
}

// gregorian is 1582-10-15, from which UUIDs v1 and v6 count, in 100 ns before
// 1970.
const gregorian = 0x01B21DD213814000

// UUIDTime returns the time of a UUID v1, v6 or v7; ok is false for others and
// for other variants than RFC 9562's. v1 and v6 are cut to microseconds, as
// PostgreSQL 18's uuid_extract_timestamp cuts v1. It is SQL's
// id_to_timestamp(uuid).
func UUIDTime(u UUID) (t time.Time, ok bool) {
	d := DecodeUUID(u)
	return d.Time, d.HasTime
}

// DecodeUUID splits a UUID (RFC 9562 sections 5.1, 5.6 and 5.7).
func DecodeUUID(u UUID) Decoded {
	d := Decoded{Kind: KindUUID, Version: int(u[6] >> 4)}
	if u[8]>>6 != 0b10 {
		return d
	}
	hi := binary.BigEndian.Uint64(u[:8])
	var ticks uint64
	switch d.Version {
	case 1:
		d.Kind = KindUUIDv1
		ticks = hi&0xfff<<48 | hi>>16&0xffff<<32 | hi>>32
	case 6:
		d.Kind = KindUUIDv6
		ticks = hi>>16<<12 | hi&0xfff
	case 7:
		d.Kind, d.HasTime = KindUUIDv7, true
		d.Time = time.UnixMilli(int64(hi >> 16)).UTC()
		d.Sequence = int(hi & 0xfff)
		return d
	default:
		return d
	}
	d.HasTime = true
	us := int64(ticks/10) - gregorian/10
	d.Time = time.UnixMicro(us).UTC()
	lo := binary.BigEndian.Uint64(u[8:])
	d.Node, d.Sequence = int64(lo&(1<<48-1)), int(lo>>48&0x3fff)
	return d
}

// parseUUID reads 32 hexadecimal digits, bare or with the usual hyphens.
func parseUUID(s string) (u UUID, ok bool) {
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		s = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	if len(s) != 32 {
		return u, false
	}
	_, err := hex.Decode(u[:], []byte(s))
	return u, err == nil
}

// crockford is the alphabet of a ULID (github.com/ulid/spec).
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ulidTime returns the Unix time in ms of a ULID: 48 bits in the first ten of
// its 26 characters, in either case.
func ulidTime(s string) (ms int64, ok bool) {
	if len(s) != 26 || s[0] > '7' {
		return 0, false
	}
	for i := range len(s) {
		v := digit32(s[i])
		if v < 0 {
			return 0, false
		}
		if i < 10 {
			ms = ms<<5 | int64(v)
		}
	}
	return ms, true
}

func digit32(c byte) int {
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	for i := range len(crockford) {
		if crockford[i] == c {
			return i
		}
	}
	return -1
}
