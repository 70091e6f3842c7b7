package wire

import (
	"bytes"
	"testing"
)

// FuzzSession gives a session arbitrary bytes from both sides, in whole chunks
// and one byte at a time. Whatever they are, it must not panic and both ways
// must come out the same. ops says who sends how much of its bytes next.
func FuzzSession(f *testing.F) {
	pipeline := bytes.Join([][]byte{parse("", insert), bind("", []int16{1}, "x"), execute(), sync1(), query("SELECT next_snowflake()")}, nil)
	replies := bytes.Join([][]byte{msg('1'), msg('2'), msg('C', "INSERT 0 1"), ready('I'), report('E', "C42703", "P9"), ready('E')}, nil)
	f.Add([]byte{10, 200, 255, 255}, pipeline, replies)
	f.Add([]byte{255, 255}, bytes.Join([][]byte{parse("s", insert), msg('C', byte('S'), "s"), parse("s", "DEALLOCATE ALL")}, nil), report('E', "C26000"))
	f.Add([]byte{255, 1, 255, 7}, bytes.Join([][]byte{query("COPY t FROM STDIN"), sync1(), msg('c'), msg('f', "x"), sync1()}, nil),
		bytes.Join([][]byte{msg('G', byte(0), int16(0)), report('E', "C08P01"), ready('I')}, nil))
	f.Fuzz(func(t *testing.T, ops, client, server []byte) {
		whole := play(t, ops, client, server, false)
		bits := play(t, ops, client, server, true)
		for i := range whole {
			if !bytes.Equal(whole[i], bits[i]) {
				t.Fatalf("side %d: whole %q\none byte at a time %q", i, whole[i], bits[i])
			}
		}
	})
}

// play runs one order of events and returns what the server and the client get.
func play(t *testing.T, ops, client, server []byte, split bool) (got [2][]byte) {
	h := newHarness(t, 0)
	for i, n := range ops {
		in := &client
		if i%2 == 1 {
			in = &server
		}
		chunk := (*in)[:min(int(n)*4, len(*in))]
		*in = (*in)[len(chunk):]
		for len(chunk) > 0 {
			part := chunk
			if split {
				part = chunk[:1]
			}
			var out Spans
			if i%2 == 1 {
				h.s.Server(part, &out)
			} else {
				took, wait := h.s.Client(part, &out)
				for wait != nil {
					collect(&got[0], &out)
					took2, w := h.s.Client(part[took:], &out)
					took, wait = took+took2, w
				}
			}
			collect(&got[i%2], &out)
			chunk = chunk[len(part):]
		}
	}
	return got
}

func collect(got *[]byte, out *Spans) {
	for _, b := range out.Bufs {
		*got = append(*got, b...)
	}
	out.reset()
}

// roundTrips measures a session that passes requests and their replies.
func roundTrips(b *testing.B, h *harness, requests, replies [][]byte) {
	in, back := bytes.Join(requests, nil), bytes.Join(replies, nil)
	var out Spans
	b.ReportAllocs()
	for b.Loop() {
		out.reset()
		h.s.Client(in, &out)
		out.reset()
		h.s.Server(back, &out)
	}
}

func BenchmarkBindHidden(b *testing.B) {
	h := newHarness(b, 0)
	h.client(parse("s", insert, 25), sync1())
	h.server(msg('1'), ready('I'))
	h.client(bind("s", nil, "x"), sync1())
	h.server(msg('3'), msg('1'), msg('2'), ready('I'))
	roundTrips(b, h, [][]byte{bind("s", nil, "some text"), execute(), sync1()},
		[][]byte{msg('2'), msg('C', "INSERT 0 1"), ready('I')})
}

func BenchmarkRelay(b *testing.B) {
	roundTrips(b, newHarness(b, 0), [][]byte{bind("x", nil, "some text"), execute(), sync1()},
		[][]byte{msg('2'), msg('C', "INSERT 0 1"), ready('I')})
}

func BenchmarkQueryKnownShape(b *testing.B) {
	roundTrips(b, newHarness(b, 0), [][]byte{query("INSERT INTO t VALUES (next_snowflake(), 'some text', 42)")},
		[][]byte{msg('C', "INSERT 0 1"), ready('I')})
}
