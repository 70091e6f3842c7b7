package e2e

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// epoch of snowflakes, Unix milliseconds.
const epoch = 1704067200000

// minted is an id that a session has shown for the first time.
type minted struct {
	text string
	node int // -1 for a uuid, which does not show it
}

// mask replaces ids that were made just now, and OIDs of what the tests made,
// by names in order of first appearance, so that what two sides show can be
// compared: the same id has the same name everywhere. Each side of a test has
// one for all its sessions.
type mask struct {
	names map[string]string
	oids  map[uint32]string
	ids   []minted
	last  int             // number of the newest name
	sent  strings.Builder // what the server says it was sent, see conn.receive
}

func newMask() *mask {
	return &mask{names: map[string]string{}, oids: map[uint32]string{}}
}

var idPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|[0-9]{17,19}`)

var (
	databaseName = regexp.MustCompile(`\be2e_[0-9]+\b`)
	oidInMessage = regexp.MustCompile(`\b(for (?:type|relation|function)|OID) [0-9]{5,}`)
)

// text masks all ids in s, the names of the tests' databases, and OIDs in
// messages of PostgreSQL's.
func (m *mask) text(s string) string {
	s = databaseName.ReplaceAllString(s, "<database>")
	s = oidInMessage.ReplaceAllString(s, "$1 <oid>")
	return idPattern.ReplaceAllStringFunc(s, func(id string) string {
		if strings.Contains(id, "-") {
			raw, err := hex.DecodeString(strings.ReplaceAll(id, "-", ""))
			if err != nil || !recent(uuidMillis(raw)) {
				return id
			}
			return m.name(id, -1)
		}
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || !recent(snowflakeMillis(n)) {
			return id
		}
		return m.name(id, nodeOf(n))
	})
}

// binary renders a value in binary format: ids inside by their names, all else
// in hex.
func (m *mask) binary(b []byte) string {
	var out strings.Builder
	out.WriteString("binary ")
	for len(b) > 0 {
		if len(b) >= 16 && b[6]>>4 == 7 && b[8]>>6 == 2 && recent(uuidMillis(b)) {
			out.WriteString(m.name(uuidText(b[:16]), -1))
			b = b[16:]
			continue
		}
		if len(b) >= 8 {
			if n := int64(binary.BigEndian.Uint64(b)); recent(snowflakeMillis(n)) {
				out.WriteString(m.name(strconv.FormatInt(n, 10), nodeOf(n)))
				b = b[8:]
				continue
			}
		}
		fmt.Fprintf(&out, "%02x", b[0])
		b = b[1:]
	}
	return out.String()
}

func (m *mask) oid(oid uint32) string {
	const firstNormal = 16384 // FirstNormalObjectId
	if oid < firstNormal {
		return strconv.Itoa(int(oid))
	}
	if m.oids[oid] == "" {
		m.oids[oid] = fmt.Sprintf("oid%d", len(m.oids)+1)
	}
	return m.oids[oid]
}

func (m *mask) name(id string, node int) string {
	if m.names[id] == "" {
		m.last++
		m.names[id] = fmt.Sprintf("<id %d>", m.last)
		m.ids = append(m.ids, minted{id, node})
	}
	return m.names[id]
}

// byProxy tells whether the proxy made an id. A uuid is the proxy's if the
// server was sent it.
func (m *mask) byProxy(id minted) bool {
	if id.node >= 0 {
		return id.node == proxyNode
	}
	return strings.Contains(m.sent.String(), id.text)
}

func snowflakeMillis(id int64) int64 { return id>>22 + epoch }

func nodeOf(id int64) int { return int(id >> 12 & 1023) }

func uuidMillis(b []byte) int64 { return int64(binary.BigEndian.Uint64(b[:8]) >> 16) }

func uuidText(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func recent(ms int64) bool {
	return max(ms-time.Now().UnixMilli(), time.Now().UnixMilli()-ms) < time.Hour.Milliseconds()
}
