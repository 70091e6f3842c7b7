package gen

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
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
	Version int // of a UUID of RFC 9562's variant, 0 to 15; else 0

	// Node and Sequence are those of a snowflake (node 0 to 1023, sequence 0 to
	// 4095). Of a UUID v1 or v6 Node is the 48-bit node and Sequence the clock
	// sequence; of v7 Sequence is the 12 bits below the millisecond.
	Node     int64
	Sequence int
}

// ErrNotAnID is returned for text that is no id of any kind.
var ErrNotAnID = errors.New("not a snowflake, UUID or ULID")

// Decode tells what an id in text is. SQL's id_to_timestamp(text) reads the same
// forms (testdata/golden.json) and gives NULL for all else:
//
//	snowflake  1 to 19 ASCII digits, at most 9223372036854775807; no sign
//	UUID       32 hexadecimal digits in either case, bare or with the hyphens
//	           8-4-4-4-12; no braces, no "urn:uuid:"
//	ULID       26 characters of Crockford's base 32 in either case, without
//	           I, L, O and U; the first is 0 to 7, so that 128 bits hold it
//
// The lengths keep them apart. Anything else, spaces around them included, is
// ErrNotAnID. A UUID that tells no time is an id all the same: HasTime is false.
func Decode(s string) (Decoded, error) {
	if u, ok := parseUUID(s); ok {
		return DecodeUUID(u), nil
	}
	if ms, ok := ulidTime(s); ok {
		return Decoded{Kind: KindULID, Time: time.UnixMilli(ms).UTC(), HasTime: true}, nil
	}
	if len(s) > 19 || strings.Trim(s, "0123456789") != "" {
		return Decoded{}, ErrNotAnID
	}
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
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

// SnowflakeTime returns the time of a snowflake, to the millisecond and in UTC;
// ok is false for a negative number. Every other number has a time: 0 to 4194303
// that of the epoch, the largest int64 the last one, in the year 2093. It is
// SQL's id_to_timestamp(bigint).
func SnowflakeTime(id int64) (t time.Time, ok bool) {
	if id < 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(id>>(NodeBits+SequenceBits) + Epoch).UTC(), true
}

// gregorian is the time from 1582-10-15, where UUIDs v1 and v6 begin to count,
// to 1970, in microseconds.
const gregorian = 12219292800_000_000

// UUIDTime returns the time of a UUID of RFC 9562's variant in UTC: of v7 to the
// millisecond, whatever the bits below it mean; of v1 and v6 cut to
// microseconds. That is what PostgreSQL 18's uuid_extract_timestamp gives for v1
// and v7 (src/backend/utils/adt/uuid.c); v6 here is read in the same way. ok is
// false for all else, the nil and the max UUID too. It is SQL's
// id_to_timestamp(uuid).
func UUIDTime(u UUID) (t time.Time, ok bool) {
	d := DecodeUUID(u)
	return d.Time, d.HasTime
}

// DecodeUUID splits a UUID (RFC 9562 sections 4.1, 5.1, 5.6 and 5.7).
func DecodeUUID(u UUID) Decoded {
	d := Decoded{Kind: KindUUID}
	if u[8]>>6 != 0b10 {
		return d
	}
	d.Version = int(u[6] >> 4)
	hi := binary.BigEndian.Uint64(u[:8])
	switch d.Version {
	case 1:
		d.setGregorian(KindUUIDv1, hi&0xfff<<48|hi>>16&0xffff<<32|hi>>32, u)
	case 6:
		d.setGregorian(KindUUIDv6, hi>>16<<12|hi&0xfff, u)
	case 7:
		d.Kind, d.HasTime = KindUUIDv7, true
		d.Time = time.UnixMilli(int64(hi >> 16)).UTC()
		d.Sequence = int(hi & sequenceMask)
	}
	return d
}

// setGregorian fills in what v1 and v6 have in common; ticks are 100 ns long.
func (d *Decoded) setGregorian(k Kind, ticks uint64, u UUID) {
	lo := binary.BigEndian.Uint64(u[8:])
	d.Kind, d.HasTime = k, true
	d.Time = time.UnixMicro(int64(ticks/10) - gregorian).UTC()
	d.Node, d.Sequence = int64(lo&(1<<48-1)), int(lo>>48&0x3fff)
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

// digit32 returns the value of a character of a ULID, or -1.
func digit32(c byte) int {
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	return strings.IndexByte(crockford, c)
}
