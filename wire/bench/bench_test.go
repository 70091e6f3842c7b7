package main

import (
	"context"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

func TestWalkerInEverySplit(t *testing.T) {
	t.Parallel()
	stream := []byte("\x00\x00\x00\x08\x00\x03\x00\x00" + "Q\x00\x00\x00\x06;\x00" + "S\x00\x00\x00\x04" + "X\x00\x00\x00\x04")
	for size := 1; size <= len(stream); size++ {
		w := walker{held: 1}
		for b := stream; len(b) > 0; b = b[min(size, len(b)):] {
			if err := w.walk(b[:min(size, len(b))]); err != nil {
				t.Fatal(err)
			}
		}
		if w.messages != 4 || w.held != 0 || w.skip != 0 {
			t.Errorf("in pieces of %d: %+v", size, w)
		}
	}
	if err := new(walker).walk([]byte("Q\x00\x00\x00\x03")); err == nil {
		t.Error("a length of 3 is taken")
	}
}

func TestRelayCarriesSessions(t *testing.T) {
	t.Parallel()
	s := devpgtest.Server(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { _ = relay(l, s.Addr()) }()
	conn, err := openSession(context.Background(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestParsers(t *testing.T) {
	t.Parallel()
	n, tps, err := parsePgbench("pgbench (15.14)\nnumber of transactions actually processed: 12345\ntps = 3086.25 (without initial connection time)\n")
	if err != nil || n != 12345 || tps != 3086.25 {
		t.Errorf("got %d, %v, %v", n, tps, err)
	}
	if _, _, err := parsePgbench("connection refused"); err == nil {
		t.Error("no transactions, no error")
	}
	cpu, err := parseStat("1 (a b) c) S 1 1 1 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 1")
	if err != nil || cpu != 3 {
		t.Errorf("got %v, %v, want 3 s", cpu, err)
	}
	if _, err := parseStat("1 (x) S"); err == nil {
		t.Error("a cut line is taken")
	}
}

func TestReportComparesRoundByRound(t *testing.T) {
	t.Parallel()
	relay := &target{name: "relay", command: new(exec.Cmd)}
	proxy := &target{name: "pgidproxy", command: new(exec.Cmd)}
	var out strings.Builder
	err := report(&out, []*target{{name: "direct"}, relay, proxy}, []result{
		{cpu: []float64{0, 0, 0}, rate: []float64{100, 200, 300}},
		{cpu: []float64{1, 2, 10}, rate: []float64{50, 100, 150}},
		{cpu: []float64{1.1, 2.4, 11}, rate: []float64{50, 100, 300}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1.10      (1.10-1.20)", "0.50"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
