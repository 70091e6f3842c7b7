package rewrite

import "bytes"

// Mentions tells whether a text may hold a call for us: whether the bytes of
// one of the names stand in it, in any case, or a quoted identifier with
// escapes. It is a scan, not a parse, and looks only at bytes that are rare.
func Mentions(text []byte) bool {
	for i := 0; ; i++ {
		n := bytes.IndexByte(text[i:], '_')
		if n < 0 {
			break
		}
		i += n
		if i >= 4 && foldPrefix(text[i-4:], "next_snowflake") || i >= 2 && foldPrefix(text[i-2:], "id_to_timestamp") {
			return true
		}
	}
	for i := 0; ; i++ {
		n := bytes.IndexByte(text[i:], '7')
		if n < 0 {
			break
		}
		i += n
		if i >= 5 && foldPrefix(text[i-5:], "uuidv7") {
			return true
		}
	}
	for i := 0; ; i++ {
		n := bytes.IndexByte(text[i:], '&')
		if n < 0 {
			return false
		}
		i += n
		if i >= 1 && i+1 < len(text) && text[i+1] == '"' && lowerByte(text[i-1]) == 'u' {
			return true
		}
	}
}

func foldPrefix(b []byte, lower string) bool {
	return len(b) >= len(lower) && lowerByte(b[0]) == lower[0] && foldEqual(b[:len(lower)], lower)
}
