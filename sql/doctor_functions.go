package sql

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
)

//go:embed doctor_functions.sql
var doctorFunctionsQuery string

// An origin says whose a function with one of our names is.
type origin int

const (
	originOther   origin = iota // somebody else's
	originOurs                  // as recorded, whatever has become of its text
	originBuiltin               // PostgreSQL's own uuidv7
	originCopy                  // one that we made, where it is not recorded
)

// A namedFunction has the name of one of ours.
type namedFunction struct {
	candidate
	origin     origin
	signature  string // as a statement writes it
	schema     string // likewise
	owner      string // likewise
	labels     labels
	extension  string
	executable bool // by everybody
}

func (f *namedFunction) key() function { return function{f.Name, f.Args} }

// labels are what CREATE FUNCTION says of a function beside its text.
type labels struct{ volatile, parallel, security, strict string }

// shippedLabels returns those of our functions. What is not written there is what
// PostgreSQL takes.
func shippedLabels() map[function]labels {
	all := map[function]labels{}
	for _, m := range functionText.FindAllStringSubmatch(functionsSQL+uuidv7SQL, -1) {
		l := labels{"VOLATILE", "PARALLEL UNSAFE", "SECURITY INVOKER", "CALLED ON NULL INPUT"}
		for label, at := range map[string]*string{
			"IMMUTABLE": &l.volatile, "STABLE": &l.volatile, "PARALLEL SAFE": &l.parallel, "PARALLEL RESTRICTED": &l.parallel,
			"SECURITY DEFINER": &l.security, "STRICT": &l.strict,
		} {
			if strings.Contains(m[3], " "+label) {
				*at = label
			}
		}
		all[textOf(m)] = l
	}
	return all
}

// nodePattern matches the text of next_snowflake for any node, with the number
// that it adds.
func nodePattern() *regexp.Regexp {
	const some = 777
	body := shippedBodies(InstalledConfig{Schema: "public", FunctionNode: some})[function{rewrite.NextSnowflake, ""}]
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(body), strconv.Itoa(some<<gen.SequenceBits), `(\d+)`) + "$")
}

// mintsUnder returns the node under which a next_snowflake of this version mints.
func mintsUnder(body string) (node int, ok bool) {
	m := nodePattern().FindStringSubmatch(body)
	if m == nil || slices.ContainsFunc(m[1:], func(n string) bool { return n != m[1] }) {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n >> gen.SequenceBits, err == nil && n%(1<<gen.SequenceBits) == 0
}

// loadNamed reads everything that has the name of one of ours.
func (d *doctor) loadNamed(ctx context.Context) error {
	rows, _ := d.tx.Query(ctx, oursQuery)
	candidates, err := pgx.CollectRows(rows, pgx.RowToStructByPos[candidate])
	if err != nil {
		return err
	}
	oids := []uint32{}
	for _, c := range candidates {
		oids = append(oids, c.OID)
	}
	facts := map[uint32]namedFunction{}
	var f namedFunction
	rows, _ = d.tx.Query(ctx, doctorFunctionsQuery, oids)
	_, err = pgx.ForEachRow(rows, []any{&f.OID, &f.signature, &f.schema, &f.owner, &f.labels.volatile, &f.labels.parallel, &f.labels.security,
		&f.labels.strict, &f.extension, &f.executable}, func() error {
		facts[f.OID] = f
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range candidates {
		f := facts[c.OID]
		if f.candidate = c; c.OID == 0 { // a type
			f.signature, f.schema = c.Schema+"."+c.Name, c.Schema
		}
		f.origin = d.originOf(&f)
		d.named = append(d.named, f)
	}
	slices.SortFunc(d.named, func(a, b namedFunction) int { return strings.Compare(a.signature, b.signature) })
	return nil
}

func (d *doctor) originOf(f *namedFunction) origin {
	_, known := shippedBodies(d.config)[f.key()]
	made := known && (strings.HasPrefix(f.Comment, markPrefix) || f.Body == shippedBodies(InstalledConfig{Schema: f.Schema, FunctionNode: d.config.FunctionNode})[f.key()])
	if f.Name == rewrite.NextSnowflake && !made {
		_, made = mintsUnder(f.Body)
	}
	switch {
	case f.Schema == "pg_catalog" && f.Name == rewrite.UUIDv7 && d.server.version >= builtinUUIDv7:
		return originBuiltin
	case d.found && f.Schema == d.config.Schema && known, d.secret && made:
		return originOurs
	case made:
		return originCopy
	}
	return originOther
}

func (d *doctor) checkFunctions(ctx context.Context) error {
	missing := functions(d.server.version)
	for i := range d.named {
		if f := &d.named[i]; f.origin == originOurs {
			missing = slices.DeleteFunc(missing, func(m function) bool { return m == f.key() })
			if err := d.checkFunction(ctx, f); err != nil {
				return err
			}
		}
	}
	for _, m := range missing {
		level, what := LevelWarning, "it is missing, so that calls fail"
		if makesIDs(m) {
			level, what = LevelDanger, "it is missing, so that an INSERT with a call fails"
		}
		d.say(level, fmt.Sprintf("%s.%s(%s)", d.schema, m.name, m.args), what, installAgain)
	}
	return d.checkOwner(ctx)
}

// makesIDs tells whether a function gives ids for rows.
func makesIDs(f function) bool { return f.name != rewrite.IDToTimestamp && f.args == "" }

// checkFunction looks at one of ours that is there.
func (d *doctor) checkFunction(_ context.Context, f *namedFunction) error {
	level := LevelWarning
	if makesIDs(f.key()) {
		level = LevelDanger
	}
	marked := strings.HasPrefix(f.Comment, markPrefix)
	node, sound := mintsUnder(f.Body)
	switch {
	case f.extension != "":
		d.say(LevelWarning, f.signature, "it belongs to extension "+f.extension+", so that install refuses to touch it",
			"If it is ours: ALTER EXTENSION "+pgx.Identifier{f.extension}.Sanitize()+" DROP FUNCTION "+f.signature+";")
	case d.config.Version > Version, f.Body == shippedBodies(d.config)[f.key()]:
	case f.Name == rewrite.NextSnowflake && sound && node != d.config.FunctionNode:
		d.say(LevelDanger, f.signature, fmt.Sprintf("it mints under node %d, but the database records node %d: others may be given the number that it really uses", node, d.config.FunctionNode),
			fmt.Sprintf("Run pgidproxy install --function-node %d, or with %d, whichever number is this database's.", d.config.FunctionNode, node))
	case d.config.Version < Version && marked: // said by the version
	case marked:
		d.say(level, f.signature, "its text is not the one that was installed, so that its ids or times may be wrong", installAgain)
	default:
		d.say(level, f.signature, "it is not the function that was installed, although it has its name",
			"Rename or drop it, then run pgidproxy install.")
	}
	d.checkLabels(f)
	if !f.executable {
		d.say(LevelWarning, f.signature, "not everybody may call it, so that proxies leave its calls to the server", "GRANT EXECUTE ON FUNCTION "+f.signature+" TO PUBLIC;")
	}
	if f.Name == rewrite.UUIDv7 && d.server.version >= builtinUUIDv7 {
		d.say(LevelNote, f.signature, "it is from before the upgrade to a server that has a uuidv7() of its own, which calls without a schema mean: both are right", "")
	}
	return nil
}

// checkLabels compares volatility and the like. An install does not notice these.
func (d *doctor) checkLabels(f *namedFunction) {
	want, got := shippedLabels()[f.key()], f.labels
	for _, l := range []struct{ want, got, danger string }{
		{want.volatile, got.volatile, "PostgreSQL may compute one id for many rows"},
		{want.parallel, got.parallel, ""},
		{want.security, got.security, "only roles with rights on its sequences can insert"},
		{want.strict, got.strict, ""},
	} {
		if l.want == l.got {
			continue
		}
		level, then := LevelWarning, ""
		if l.danger != "" && makesIDs(f.key()) {
			level, then = LevelDanger, ": "+l.danger
		}
		d.say(level, f.signature, fmt.Sprintf("it is %s instead of %s%s", l.got, l.want, then), fmt.Sprintf("ALTER FUNCTION %s %s;", f.signature, l.want))
	}
}

// checkOwner sees to it that all that is installed has one owner, with whose
// rights next_snowflake runs.
func (d *doctor) checkOwner(ctx context.Context) error {
	var owner string
	if err := d.tx.QueryRow(ctx, "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'pgid'").Scan(&owner); err != nil {
		return err
	}
	for _, f := range d.named {
		if f.origin != originOurs || f.owner == owner {
			continue
		}
		level, finding := LevelWarning, fmt.Sprintf("it belongs to %s, but schema pgid to %s, so that install refuses to touch it", f.owner, owner)
		if f.Name == rewrite.NextSnowflake {
			var may bool
			err := d.tx.QueryRow(ctx, `SELECT has_schema_privilege(p.proowner, n.oid, 'USAGE')
				AND coalesce(bool_and(c.relkind <> 'S' OR has_sequence_privilege(p.proowner, c.oid, 'USAGE') AND has_sequence_privilege(p.proowner, c.oid, 'UPDATE')), true)
				FROM pg_proc p, pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname IN ('snowflake_last', 'snowflake_gate')
				WHERE p.oid = $1 AND n.nspname = 'pgid' GROUP BY p.proowner, n.oid`, f.OID).Scan(&may)
			if err != nil {
				return err
			}
			if !may {
				level, finding = LevelDanger, fmt.Sprintf("it belongs to %s, who has no rights on its sequences, so that INSERT fails", f.owner)
			}
		}
		d.say(level, f.signature, finding, fmt.Sprintf("ALTER FUNCTION %s OWNER TO %s;", f.signature, owner))
	}
	return nil
}

// checkNames finds what else a call without a schema could mean.
func (d *doctor) checkNames(context.Context) error {
	for i := range d.named {
		f := &d.named[i]
		if f.origin == originOurs || f.origin == originBuiltin || !f.callable() || !d.found && f.origin == originCopy {
			continue
		}
		what := "a function of its own"
		switch {
		case f.OID == 0:
			what = "a type, to which a call can be a cast"
		case f.extension != "":
			what = "a function of extension " + f.extension
		case f.origin == originCopy:
			what = "a copy of ours, which install does not bring up to date"
		}
		level, then := LevelNote, "to a session whose search_path finds it"
		if d.found {
			level, then = LevelWarning, "in sessions whose search_path finds it first, so that proxies leave all calls of "+f.Name+" to the server"
		}
		d.say(level, f.signature, what+", which calls without a schema mean "+then, "Rename or drop it, if it is not needed.")
	}
	return nil
}
