package gen

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// vector is a line of testdata/golden.json: what id_to_timestamp gives for an
// argument of a type, as PostgreSQL writes a timestamptz under TimeZone UTC and
// DateStyle ISO; null for NULL. The tests of the SQL functions read it too.
type vector struct {
	Type string  // bigint, uuid or text
	ID   string  // the argument in text form
	Time *string // what is expected
}

func goldenVectors(t testing.TB) []vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var vs []vector
	if err := json.Unmarshal(raw, &vs); err != nil {
		t.Fatal(err)
	}
	return vs
}

func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	const form = "2006-01-02 15:04:05.999999-07"
	seen := map[string]int{}
	for _, v := range goldenVectors(t) {
		seen[v.Type]++
		var at time.Time
		var ok bool
		switch v.Type {
		case "bigint":
			id, err := strconv.ParseInt(v.ID, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			at, ok = SnowflakeTime(id)
		case "uuid":
			u, isUUID := parseUUID(v.ID)
			if !isUUID {
				t.Fatalf("%s is no UUID", v.ID)
			}
			at, ok = UUIDTime(u)
		case "text":
			d, err := Decode(v.ID)
			at, ok = d.Time, d.HasTime
			if ok && err != nil {
				t.Errorf("text %q: a time and error %v", v.ID, err)
			}
		default:
			t.Fatalf("type %q", v.Type)
		}
		got, want := "null", "null"
		if ok {
			got = at.Format(form)
		}
		if v.Time != nil {
			want = *v.Time
		}
		if got != want {
			t.Errorf("%s %q: got %s, want %s", v.Type, v.ID, got, want)
		}
	}
	for _, typ := range []string{"bigint", "uuid", "text"} {
		if seen[typ] < 15 {
			t.Errorf("only %d vectors of type %s", seen[typ], typ)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	at := time.Date(2022, 2, 22, 19, 22, 22, 0, time.UTC)
	tests := []struct {
		id   string
		want Decoded
	}{
		{"386547056640000001", Decoded{Kind: KindSnowflake, HasTime: true, Node: 0, Sequence: 1, Time: time.Date(2026, 12, 2, 16, 0, 0, 0, time.UTC)}},
		{"9223372036854775807", Decoded{Kind: KindSnowflake, HasTime: true, Node: 1023, Sequence: 4095, Time: time.UnixMilli(Epoch + 1<<TimeBits - 1).UTC()}},
		// RFC 9562 appendix A.
		{"C232AB00-9414-11EC-B3C8-9F6BDECED846", Decoded{Kind: KindUUIDv1, HasTime: true, Version: 1, Node: 0x9f6bdeced846, Sequence: 0x33c8, Time: at}},
		{"1EC9414C-232A-6B00-B3C8-9F6BDECED846", Decoded{Kind: KindUUIDv6, HasTime: true, Version: 6, Node: 0x9f6bdeced846, Sequence: 0x33c8, Time: at}},
		{"017F22E2-79B0-7CC3-98C4-DC0C0C07398F", Decoded{Kind: KindUUIDv7, HasTime: true, Version: 7, Sequence: 0xcc3, Time: at}},
		{"919108f7-52d1-4320-9bac-f847db4148a8", Decoded{Kind: KindUUID, Version: 4}},
		{"ffffffffffffffffffffffffffffffff", Decoded{Kind: KindUUID}},
		{"00000000-0000-0000-0000-000000000000", Decoded{Kind: KindUUID}},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", Decoded{Kind: KindULID, HasTime: true, Time: time.UnixMilli(1469922850259).UTC()}},
	}
	for _, tt := range tests {
		if got, err := Decode(tt.id); err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", tt.id, got, err, tt.want)
		}
	}
	if got, want := DecodeSnowflake(-1), (Decoded{Kind: KindSnowflake}); got != want {
		t.Errorf("-1: got %+v, want %+v", got, want)
	}
}

// What is minted is what Decode reads, in every form.
func TestDecodeMinted(t *testing.T) {
	t.Parallel()
	c := newClock(123456789)
	g := newGenerator(t, c, Config{Node: 77})
	want := time.UnixMilli(Epoch + 123456789).UTC()
	id := mustSnowflake(t, g)
	if d, err := Decode(strconv.FormatInt(id, 10)); err != nil || d.Time != want || d.Node != 77 {
		t.Errorf("got %+v, %v", d, err)
	}
	if d, err := Decode(mustUUID(t, g).String()); err != nil || d.Time != want || d.Kind != KindUUIDv7 || d.Sequence != 0 {
		t.Errorf("got %+v, %v", d, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range goldenVectors(f) {
		f.Add(v.ID)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Decode(s)
		if err != nil {
			if !errors.Is(err, ErrNotAnID) || d != (Decoded{}) {
				t.Fatalf("%q: got %+v, %v", s, d, err)
			}
			return
		}
		if d.HasTime != !d.Time.IsZero() || d.Time.Location() != time.UTC {
			t.Fatalf("%q: got %+v", s, d)
		}
		for _, other := range []string{strings.ToLower(s), strings.ToUpper(s)} {
			if again, err := Decode(other); err != nil || again != d {
				t.Fatalf("%q and %q: got %+v and %+v, %v", s, other, d, again, err)
			}
		}
		switch d.Kind {
		case KindSnowflake:
			id, err := strconv.ParseInt(s, 10, 64)
			ms := d.Time.UnixMilli() - Epoch
			if err != nil || id != ms<<22|d.Node<<12|int64(d.Sequence) || len(s) > 19 {
				t.Fatalf("%q: got %+v, %v", s, d, err)
			}
		case KindULID:
			if ms := d.Time.UnixMilli(); len(s) != 26 || ms < 0 || ms >= 1<<48 {
				t.Fatalf("%q: got %+v", s, d)
			}
		default:
			u, ok := parseUUID(s)
			if !ok || !strings.EqualFold(strings.ReplaceAll(s, "-", ""), strings.ReplaceAll(u.String(), "-", "")) {
				t.Fatalf("%q: read as %v, %v", s, u, ok)
			}
			if again, err := Decode(u.String()); err != nil || again != d {
				t.Fatalf("%q: canonical form gives %+v, %v", s, again, err)
			}
		}
	})
}

func FuzzDecodeUUID(f *testing.F) {
	for _, v := range goldenVectors(f) {
		if u, ok := parseUUID(v.ID); ok {
			f.Add(u[:])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 16 {
			return
		}
		u := UUID(b)
		d := DecodeUUID(u)
		at, ok := UUIDTime(u)
		if ok != d.HasTime || at != d.Time {
			t.Fatalf("%v: got %v, %v and %+v", u, at, ok, d)
		}
		hasTime := u[8]&0xc0 == 0x80 && (u[6]>>4 == 1 || u[6]>>4 == 6 || u[6]>>4 == 7)
		if ok != hasTime {
			t.Fatalf("%v: a time is %v, want %v", u, ok, hasTime)
		}
		// The range that PostgreSQL's timestamptz holds is wider by far.
		if ok && (at.Year() < 1582 || at.Year() > 10889 || at.Nanosecond()%1000 != 0) {
			t.Fatalf("%v: got %v", u, at)
		}
	})
}
