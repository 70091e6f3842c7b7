// Command pgidproxy is a PostgreSQL proxy that mints sortable ids: see the
// README. It is the only place that knows all of the other packages; each file
// here but a few is one command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// cli is the command line: flags, their environment variables and the help text.
type cli struct {
	LogFormat string `enum:"text,json" default:"text" help:"Format of the log on standard error: ${enum}."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"Least level that is logged: ${enum}."`

	Dev       devCommand       `cmd:"" help:"Run a private PostgreSQL with the functions installed, and the proxy in front of it."`
	Serve     serveCommand     `cmd:"" help:"Run the proxy in front of a PostgreSQL server."`
	Install   installCommand   `cmd:"" help:"Install the server functions into a database."`
	Uninstall uninstallCommand `cmd:"" help:"Remove the server functions from a database, if nothing uses them."`
	Decode    decodeCommand    `cmd:"" help:"Tell what ids say: time, node, sequence."`
	New       newCommand       `cmd:"" help:"Mint ids."`
	Nodes     nodesCommand     `cmd:"" help:"Show and mend a registry of node numbers."`
	Bench     benchCommand     `cmd:"" help:"Measure what kinds of keys, and the proxy, cost on your server."`
	Migrate   migrateCommand   `cmd:"" help:"Replace auto-increment keys of live tables, and go back."`
	Explain   explainCommand   `cmd:"" help:"Show the text that would be sent to the server, and for every call why it is replaced or left alone."`
	Doctor    doctorCommand    `cmd:"" help:"Check a database: functions, defaults, node number and registry, clocks, rights; exit code 1 on what can cost data."`
	Version   versionCommand   `cmd:"" help:"Print the version."`
}

// environment is what a command has of the world outside.
type environment struct {
	ctx  context.Context // done at the first SIGINT or SIGTERM
	in   io.Reader
	out  io.Writer
	err  io.Writer
	log  *slog.Logger
	args []string
	now  func() int64 // wall clock in ns since 1970; nil: the system's
}

func (env *environment) time() time.Time {
	if env.now == nil {
		return time.Now()
	}
	return time.Unix(0, env.now())
}

// errReported is returned by a command that has told already what went wrong.
var errReported = errors.New("reported")

// A usageError is wrong usage that shows only once a command runs.
type usageError struct{ error }

func main() { runMain(nil) }

// runMain runs the program with a wall clock, nil being the system's.
func runMain(now func() int64) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an orderly end, the second one gets its default.
	context.AfterFunc(ctx, stop)
	os.Exit(run(&environment{ctx: ctx, in: os.Stdin, out: os.Stdout, err: os.Stderr, args: os.Args[1:], now: now}))
}

// exited is how run learns that kong has printed a help text and wants to exit.
type exited struct{ code int }

// run executes one command line and returns the exit code.
func run(env *environment) (code int) {
	var c cli
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exited:
			code = r.code
		default:
			panic(r)
		}
	}()
	parser, err := kong.New(&c,
		kong.Name("pgidproxy"),
		kong.Description("A PostgreSQL proxy that gives schemas sortable keys. Every flag has an environment variable, PGIDPROXY_ and its name."),
		kong.DefaultEnvars("PGIDPROXY"),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(env.out, env.err),
		kong.Exit(func(code int) { panic(exited{code}) }),
		kong.Bind(env),
	)
	if err != nil {
		panic(err) // the struct above is wrong
	}
	command, err := parser.Parse(env.args)
	if err != nil {
		fmt.Fprintf(env.err, "pgidproxy: %s\nSee pgidproxy --help.\n", redact(err.Error()))
		return exitUsage
	}
	env.log = newLog(env.err, c.LogFormat, c.LogLevel)
	var usage usageError
	switch err := command.Run(); {
	case err == nil:
		return exitDone
	case errors.Is(err, errReported):
		return exitFailed
	case errors.As(err, &usage):
		fmt.Fprintf(env.err, "pgidproxy: %s\n", redact(err.Error()))
		return exitUsage
	default:
		fmt.Fprintf(env.err, "pgidproxy: %s\n", redact(err.Error()))
		return exitFailed
	}
}

// isTerminal tells whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
