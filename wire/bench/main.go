// Command bench measures what relaying costs: pgbench -S against a private
// PostgreSQL direct, through the proxy, through a minimal framing relay and
// through PgBouncer (session pooling) where it is installed, one after another
// in every round. It prints CPU seconds of the process in the middle per 100,000
// transactions and rates, as ratios to the relay and to direct, and the memory
// of idle sessions. Both ratios are taken round by round, so that what disturbs
// the machine for a while disturbs all. It reads /proc: Linux only.
//
//	go run ./wire/bench [-rounds 5] [-seconds 4] [-clients 8] [-protocol prepared]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
)

type options struct {
	rounds, seconds, clients, idle int
	protocol, postgresBin          string
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == relayCommand {
		l, err := net.Listen("tcp", os.Args[2])
		exitOn(err)
		exitOn(relay(l, os.Args[3]))
		return
	}
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "rounds; each measures every target once")
	flag.IntVar(&o.seconds, "seconds", 4, "seconds a measurement")
	flag.IntVar(&o.clients, "clients", 8, "clients of pgbench")
	flag.IntVar(&o.idle, "idle", 1000, "idle sessions for the memory measurement; 0 leaves it out")
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

func run(ctx context.Context, o options) error {
	server, err := devpg.Start(ctx, devpg.Config{BinDir: o.postgresBin, Settings: map[string]string{
		"fsync": "off", "max_connections": strconv.Itoa(max(o.idle, o.clients) + 100),
	}})
	if err != nil {
		return err
	}
	defer server.Close()
	pgbench := filepath.Join(server.BinDir(), "pgbench")
	if _, err := os.Stat(pgbench); err != nil {
		if pgbench, err = exec.LookPath("pgbench"); err != nil {
			return fmt.Errorf("find pgbench: %w", err)
		}
	}
	m, err := newMiddle(ctx, server)
	if err != nil {
		return err
	}
	defer m.close()
	if o.idle > 0 {
		if err := measureIdle(ctx, m, o.idle, os.Stdout); err != nil {
			return err
		}
	}
	return measureTransactions(ctx, m, pgbench, o, os.Stdout)
}

// A result is what was measured of a target, a value a round.
type result struct {
	cpu  []float64 // seconds per 100,000 transactions
	rate []float64 // transactions per second
}

// measureTransactions measures all targets in every round, each time beginning
// with another.
func measureTransactions(ctx context.Context, m *middle, pgbench string, o options, out io.Writer) error {
	targets, err := m.startAll(ctx)
	defer stopAll(targets)
	if err != nil {
		return err
	}
	if said, err := pgbenchCommand(ctx, pgbench, targets[0].port, "-i", "-s", "10", "-q").CombinedOutput(); err != nil {
		return fmt.Errorf("initialise pgbench: %w\n%s", err, said)
	}
	results := make([]result, len(targets))
	for round := range o.rounds {
		for i := range targets {
			k := (i + round) % len(targets)
			if err := results[k].measure(ctx, targets[k], pgbench, o); err != nil {
				return fmt.Errorf("measure %s: %w", targets[k].name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, targets[k].name)
		}
	}
	return report(out, targets, results)
}

// pgbenchCommand runs pgbench without asking for encryption first: the answer to
// that is no message, which the relay does not know.
func pgbenchCommand(ctx context.Context, pgbench, port string, args ...string) *exec.Cmd {
	args = append([]string{"-h", "127.0.0.1", "-p", port, "-U", devpg.Superuser}, append(args, devpg.Superuser)...)
	c := exec.CommandContext(ctx, pgbench, args...)
	c.Env = append(os.Environ(), "PGSSLMODE=disable", "PGGSSENCMODE=disable")
	return c
}

// measure runs pgbench once and takes the CPU time of the process in the middle.
func (r *result) measure(ctx context.Context, t *target, pgbench string, o options) error {
	before, err := t.cpuSeconds()
	if err != nil {
		return err
	}
	said, err := pgbenchCommand(ctx, pgbench, t.port, "-S", "-n", "-M", o.protocol,
		"-c", strconv.Itoa(o.clients), "-j", "2", "-T", strconv.Itoa(o.seconds)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	after, err := t.cpuSeconds()
	if err != nil {
		return err
	}
	n, tps, err := parsePgbench(string(said))
	if err != nil {
		return err
	}
	r.cpu = append(r.cpu, (after-before)/float64(n)*100_000)
	r.rate = append(r.rate, tps)
	return nil
}

// parsePgbench reads the number and the rate of transactions from what pgbench
// prints.
func parsePgbench(said string) (n int, tps float64, err error) {
	for line := range strings.Lines(said) {
		_, _ = fmt.Sscanf(line, "number of transactions actually processed: %d", &n)
		_, _ = fmt.Sscanf(line, "tps = %f", &tps)
	}
	if n == 0 || tps == 0 {
		return 0, 0, errors.New("no transactions\n" + said)
	}
	return n, tps, nil
}

// report compares all targets with the relay, and their rates with direct.
func report(out io.Writer, targets []*target, results []result) error {
	direct, relay := results[0], results[1]
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "target\tCPU s per 100,000\tto relay\t(spread)\ttps\tto direct")
	for i, t := range targets {
		r := results[i]
		rate := fmt.Sprintf("%.0f\t%.2f", median(r.rate), median(ratios(r.rate, direct.rate)))
		if t.command == nil {
			fmt.Fprintf(w, "%s\t\t\t\t%s\n", t.name, rate)
			continue
		}
		c := ratios(r.cpu, relay.cpu)
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t(%.2f-%.2f)\t%s\n", t.name, median(r.cpu), median(c), slices.Min(c), slices.Max(c), rate)
	}
	return w.Flush()
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// ratios compares round by round.
func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}
