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
	dst = append(hex.AppendEncode(dst, u[:4]), '-')
	dst = append(hex.AppendEncode(dst, u[4:6]), '-')
	dst = append(hex.AppendEncode(dst, u[6:8]), '-')
	dst = append(hex.AppendEncode(dst, u[8:10]), '-')
	return hex.AppendEncode(dst, u[10:])
}

// String returns the text form.
func (u UUID) String() string { return string(AppendUUID(make([]byte, 0, 36), u)) }

func putUint64(b []byte, v uint64) { binary.BigEndian.PutUint64(b, v) }
