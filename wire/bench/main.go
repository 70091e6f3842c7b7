// Command bench measures what relaying costs: pgbench -S against a private
// PostgreSQL direct, through the proxy, through a minimal framing relay and
// through PgBouncer (session pooling) where it is installed, one after another
// in every round. It prints CPU seconds of the middle process per 100,000
// transactions and rates, as ratios to the relay and to direct, and the memory
// of idle sessions.
//
//	go run ./wire/bench [-rounds 5] [-seconds 4] [-clients 8] [-protocol prepared]
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

type options struct {
	rounds, seconds, clients, idle int
	protocol, postgresBin          string
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "relay" {
		exitOn(relay(os.Args[2], os.Args[3]))
		return
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "rounds; each measures every target once")
	flag.IntVar(&o.seconds, "seconds", 4, "seconds a measurement")
	flag.IntVar(&o.clients, "clients", 8, "clients of pgbench")
	flag.IntVar(&o.idle, "idle", 1000, "idle sessions for the memory measurement")
	flag.StringVar(&o.protocol, "protocol", "prepared", "pgbench's protocol: simple, extended or prepared")
	flag.StringVar(&o.postgresBin, "postgres-bin", "", "directory of PostgreSQL's programs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exitOn(run(ctx, o))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A target is a way to the server.
type target struct {
	name string
	port string
	pid  int // of the process in the middle; 0: none

	cpu, rate []float64 // a value a round: seconds per 100,000 transactions, transactions per second
}

func run(ctx context.Context, o options) error {
	pgbench, err := exec.LookPath("pgbench")
	if err != nil {
		pgbench = "/usr/lib/postgresql/15/bin/pgbench"
	}
	server, err := devpg.Start(ctx, devpg.Config{BinDir: o.postgresBin, Settings: map[string]string{
		"fsync": "off", "max_connections": fmt.Sprint(o.idle + 100),
	}})
	if err != nil {
		return err
	}
	defer server.Close()
	targets, end, err := startTargets(ctx, server)
	defer end()
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, pgbench, pgbenchArgs(targets[0].port, "-i", "-s", "10", "-q")...).CombinedOutput(); err != nil {
		return fmt.Errorf("initialise pgbench: %w\n%s", err, out)
	}
	for round := range o.rounds {
		for i := range targets {
			t := targets[(i+round)%len(targets)]
			if err := t.measure(ctx, pgbench, o); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, t.name)
		}
	}
	report(targets)
	return idleMemory(ctx, targets, o.idle)
}

func pgbenchArgs(port string, args ...string) []string {
	return append([]string{"-h", "127.0.0.1", "-p", port, "-U", "postgres"}, append(args, "postgres")...)
}

// measure runs pgbench once and takes the CPU time of the process in the middle.
func (t *target) measure(ctx context.Context, pgbench string, o options) error {
	before := cpuSeconds(t.pid)
	out, err := exec.CommandContext(ctx, pgbench, pgbenchArgs(t.port, "-S", "-n", "-M", o.protocol,
		"-c", fmt.Sprint(o.clients), "-j", "2", "-T", fmt.Sprint(o.seconds))...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	used := cpuSeconds(t.pid) - before
	var n int
	var tps float64
	for line := range strings.Lines(string(out)) {
		_, _ = fmt.Sscanf(line, "number of transactions actually processed: %d", &n)
		_, _ = fmt.Sscanf(line, "tps = %f", &tps)
	}
	if n == 0 {
		return fmt.Errorf("no transactions\n%s", out)
	}
	t.cpu = append(t.cpu, used/float64(n)*100_000)
	t.rate = append(t.rate, tps)
	return nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func report(targets []*target) {
	relay := targets[1]
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "target\tCPU s per 100,000\tto relay\t(spread)\ttps\tto direct")
	for _, t := range targets {
		rate := fmt.Sprintf("%.0f\t%.2f", median(t.rate), median(ratios(t.rate, targets[0].rate)))
		if t.pid == 0 {
			fmt.Fprintf(w, "%s\t\t\t\t%s\n", t.name, rate)
			continue
		}
		r := ratios(t.cpu, relay.cpu)
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t(%.2f-%.2f)\t%s\n", t.name, median(t.cpu), median(r), slices.Min(r), slices.Max(r), rate)
	}
	w.Flush()
}

// ratios compares round by round, so that what disturbs the machine for a while
// disturbs both.
func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

// idleMemory opens sessions that do nothing through the proxy and tells what
// its resident memory grew by.
func idleMemory(ctx context.Context, targets []*target, n int) error {
	for _, t := range targets {
		if t.name != "pgidproxy" {
			continue
		}
		before := residentBytes(t.pid)
		for range n {
			conn, err := signOn(ctx, net.JoinHostPort("127.0.0.1", t.port))
			if err != nil {
				return err
			}
			defer conn.Close()
		}
		time.Sleep(2 * time.Second) // the collector and the scavenger take their time
		fmt.Printf("%d idle sessions: %.1f KiB each\n", n, float64(residentBytes(t.pid)-before)/float64(n)/1024)
	}
	return nil
}
