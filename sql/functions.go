package sql

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
)

// Version is that of the installed objects: it grows with every change of them.
const Version = 3

// DefaultFunctionNode is the node number of a database's functions unless
// another is chosen.
const DefaultFunctionNode = gen.MaxNode

// layout is how the bits of a snowflake are laid out, as it is recorded.
const layout = "41/10/12"

// builtinUUIDv7 is the server_version_num from which on uuidv7() is PostgreSQL's
// own.
const builtinUUIDv7 = 180000

var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed functions.sql
	functionsSQL string
	//go:embed uuidv7.sql
	uuidv7SQL string
)

// The clock of the functions; tests put another in its place.
const clockNow = "pg_catalog.clock_timestamp()"

// clockMs is the clock in milliseconds since that time.
func clockMs(epoch int64) string {
	return fmt.Sprintf("(pg_catalog.int8(pg_catalog.floor(pg_catalog.date_part('epoch', {now}) "+
		"OPERATOR(pg_catalog.*) 1000.0::pg_catalog.float8)) OPERATOR(pg_catalog.-) %d::bigint)", epoch)
}

// ascending is the clock in 1/4096 ms since 1970, or one more than the
// session's last.
const ascending = `pg_catalog.set_config('pgid.uuidv7_last', GREATEST(
    pg_catalog.int8(pg_catalog.date_part('epoch', {now}) OPERATOR(pg_catalog.*) 4096000.0::pg_catalog.float8),
    ('0' OPERATOR(pg_catalog.||) pg_catalog.current_setting('pgid.uuidv7_last', true))::bigint OPERATOR(pg_catalog.+) 1::bigint
  )::pg_catalog.text, false)::bigint`

// behind is how many milliseconds next_snowflake may be behind the clock:
// 2^18 ids, which is more than there can be sessions.
const behind = 64

// InstallOptions says what is installed.
type InstallOptions struct {
	// Schema is that of the functions; "" means the recorded one, or public.
	Schema string
	// FunctionNode is the node number that the functions mint under, 1 to 1023;
	// 0 means the recorded one, or DefaultFunctionNode.
	FunctionNode int
	// Registry is the id of the registry that gave it out, to be recorded; ""
	// leaves what is recorded.
	Registry string
}

func (o InstallOptions) check() error {
	if o.FunctionNode < 0 || o.FunctionNode > gen.MaxNode {
		return fmt.Errorf("function node %d is out of range: want 1 to %d", o.FunctionNode, gen.MaxNode)
	}
	return nil
}

// script is what makes the schema and the functions; withUUIDv7 where the server
// has none of its own, or has ours from before an upgrade.
func script(o InstallOptions, withUUIDv7 bool) string {
	s := schemaSQL + render(functionsSQL, o)
	if withUUIDv7 {
		s += render(uuidv7SQL, o)
	}
	return s
}

// A function is one that we install.
type function struct {
	name, args string
}

// functions lists what is installed on a server of that version.
func functions(version int) []function {
	all := []function{
		{"next_snowflake", ""},
		{"id_to_timestamp", "bigint"}, {"id_to_timestamp", "uuid"}, {"id_to_timestamp", "text"},
	}
	if version < builtinUUIDv7 {
		all = append(all, function{"uuidv7", ""}, function{"uuidv7", "interval"})
	}
	return all
}

// grants opens the functions to all, whatever the default privileges say, and
// marks them as ours.
func grants(o InstallOptions, list []function) string {
	var b strings.Builder
	for _, f := range list {
		name := fmt.Sprintf("%s.%s(%s)", quoteIdent(cmp.Or(o.Schema, "public")), f.name, f.args)
		fmt.Fprintf(&b, "GRANT EXECUTE ON FUNCTION %s TO PUBLIC;\n", name)
		fmt.Fprintf(&b, "COMMENT ON FUNCTION %s IS '%s';\n", name, mark())
	}
	return b.String()
}

// mark is the comment by which a function of ours is known.
func mark() string { return markPrefix + strconv.Itoa(Version) }

const markPrefix = "pgidproxy "

func render(text string, o InstallOptions) string {
	return renderClock(text, o, clockNow)
}

// stepInside marks a step within an expression, for tests.
var stepInside = regexp.MustCompile(` /\*step ([a-z]+)\*/`)

// renderClock fills in a text with another clock.
func renderClock(text string, o InstallOptions, now string) string {
	ahead := gen.DefaultRunAhead.Milliseconds()
	middle := (ahead - behind) / 2
	fill := func(clock string) string { return strings.ReplaceAll(clock, "{now}", now) }
	r := strings.NewReplacer(
		"{clock}", fill(clockMs(gen.Epoch)),
		"{clock_middle}", fill(clockMs(gen.Epoch-middle)),
		"{half}", strconv.FormatInt(middle+behind, 10),
		"{ascending}", fill(ascending),
		"{now}", now,
		"{schema}", quoteIdent(cmp.Or(o.Schema, "public")),
		"{node}", strconv.Itoa(cmp.Or(o.FunctionNode, DefaultFunctionNode)<<gen.SequenceBits),
		"{run_ahead}", strconv.FormatInt(ahead, 10),
	)
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--step ") {
			b.WriteString(r.Replace(stepInside.ReplaceAllString(line, "")))
		}
	}
	return b.String()
}

func quoteIdent(name string) string { return pgx.Identifier{name}.Sanitize() }
