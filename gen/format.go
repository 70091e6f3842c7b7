package gen

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
)

// AppendSnowflake appends an id in decimal digits.
func AppendSnowflake(dst []byte, id int64) []byte { return strconv.AppendInt(dst, id, 10) }

// AppendSnowflakeBinary appends an id as PostgreSQL's binary int8: 8 bytes, big
// endian.
func AppendSnowflakeBinary(dst []byte, id int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(id))
}

// AppendUUID appends a UUID in its text form, 36 characters in lower case.
func AppendUUID(dst []byte, u UUID) []byte {
	var b [36]byte
	hex.Encode(b[:8], u[:4])
	b[8] = '-'
	hex.Encode(b[9:13], u[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], u[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], u[8:10])
	b[23] = '-'
	hex.Encode(b[24:], u[10:])
	return append(dst, b[:]...)
}

// AppendUUIDBinary appends a UUID as PostgreSQL's binary uuid: its 16 bytes.
func AppendUUIDBinary(dst []byte, u UUID) []byte { return append(dst, u[:]...) }

// String returns the text form.
func (u UUID) String() string { return string(AppendUUID(nil, u)) }
