package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A Level says what a finding means.
type Level string

// Levels, from good to bad.
const (
	LevelOK      Level = "ok"      // as it should be
	LevelNote    Level = "note"    // worth knowing
	LevelWarning Level = "warning" // something fails, or is left to the server, that need not be
	LevelDanger  Level = "danger"  // it can cost data: ids that repeat or are wrong, inserts that fail, values that do not fit
)

// A Finding is what a check says of one thing.
type Finding struct {
	Check   string `json:"check"` // its name, which stays the same from version to version
	Level   Level  `json:"level"`
	Subject string `json:"subject"` // what it is about, as SQL writes it; "" the database as a whole
	Finding string `json:"finding"` // one sentence, which does not name the subject
	Advice  string `json:"advice"`  // what to do; "" for nothing
}

// Diagnosis is what Diagnose finds.
type Diagnosis struct {
	Database      string    `json:"database"`
	ServerVersion int       `json:"server_version"` // server_version_num
	Findings      []Finding `json:"findings"`       // in the order of Checks
}

// Count returns the number of findings of a level.
func (d Diagnosis) Count(level Level) (n int) {
	for _, f := range d.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// DoctorOptions is what a diagnosis needs to know beside the database.
type DoctorOptions struct {
	// Registry is what was found out about the registry; nil where none was looked at.
	Registry *DoctorRegistry
	// Now is this machine's clock; nil means the system's.
	Now func() time.Time
}

// DoctorRegistry is what the caller has read of a registry.
type DoctorRegistry struct {
	// Implied is set for the one in the database itself where nobody named one: it is
	// left aside unless it is the one that the database records.
	Implied bool

	Err      string        // why it could not be read; "" it was, and the rest holds
	ID       string        // "" while it is empty
	Wait     time.Duration // how long it hands out nothing yet
	Problems []string      // what else is wrong with it by itself, whole sentences
	Nodes    []DoctorNode  // those that are given out or held now
}

// DoctorNode is a registry's record of a node number.
type DoctorNode struct {
	Node      int
	Functions bool   // of a database's functions; otherwise a proxy holds it
	Holder    string // in words; of functions Identity.Key, or that and the database's name
}

// A check looks at one side of a database.
type check struct {
	name, area string
	// uninstalled is set for what is looked at also where nothing is installed.
	uninstalled bool
	run         func(*doctor, context.Context) error
	// fine is said where the check has found nothing.
	fine string
}

// checks lists all in the order in which they are made and shown.
var checks = []check{
	{"installed", "Functions", true, (*doctor).checkInstalled, ""},
	{"functions", "Functions", false, (*doctor).checkFunctions, "all are there, with the text, labels and owner that they were installed with"},
	{"names", "Functions", true, (*doctor).checkNames, "nothing else has the name of one of the functions"},
	{"grants", "Functions", false, (*doctor).checkGrants, "everybody may call the functions"},
	{"search_path", "Functions", false, (*doctor).checkSearchPath, "every search_path that is set reaches the functions' schema"},
	{"defaults", "Tables", true, (*doctor).checkDefaults, "no column has one of the functions as its default"},
	{"columns", "Tables", true, (*doctor).checkColumns, "no column for ids is too small for them"},
	{"json", "Tables", true, (*doctor).checkJSON, "no view or function is known to put snowflakes into JSON"},
	{"layout", "Node number and registry", false, (*doctor).checkLayout, "epoch and layout are this program's"},
	{"copy", "Node number and registry", false, (*doctor).checkCopy, "this is the database that the functions were installed in"},
	{"registry", "Node number and registry", false, (*doctor).checkRegistry, ""},
	{"node", "Node number and registry", false, (*doctor).checkNode, ""},
	{"clock", "Clock", true, (*doctor).checkClock, ""},
	{"sequences", "Clock", false, (*doctor).checkSequences, ""},
	{"event_triggers", "Changes", false, (*doctor).checkEventTriggers, "they tell proxies of DDL when it commits"},
	{"publications", "Changes", false, (*doctor).checkPublications, "none carries what is in schema pgid"},
}

// Area returns the heading under which the findings of a check belong.
func Area(name string) string {
	for _, c := range checks {
		if c.name == name {
			return c.area
		}
	}
	return ""
}

// A doctor makes one diagnosis.
type doctor struct {
	tx  pgx.Tx // of the check that is being made
	o   DoctorOptions
	now func() time.Time

	server   server
	session  session
	config   InstalledConfig
	found    bool   // there is a config
	secret   bool   // it may not be read
	schema   string // that of the functions, quoted where needed
	database string // likewise
	named    []namedFunction
	defaults []usedDefault

	check    string
	findings []Finding
}

// session is what holds for this connection, before anything is set.
type session struct {
	role, path, source string
	standby            bool
}

// Diagnose looks at a database and changes nothing: it reads in one READ ONLY
// transaction, and waits for no lock longer than two seconds. A check that fails
// is a finding; an error means that nothing could be found out.
func Diagnose(ctx context.Context, conn *pgx.Conn, o DoctorOptions) (Diagnosis, error) {
	var d Diagnosis
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		d, err = examine(ctx, tx, o)
		return err
	})
	if err != nil {
		return Diagnosis{}, fmt.Errorf("diagnose: %w", err)
	}
	return d, nil
}

// examine makes all checks within a transaction.
func examine(ctx context.Context, tx pgx.Tx, o DoctorOptions) (Diagnosis, error) {
	d := &doctor{tx: tx, o: o, now: o.Now}
	if d.now == nil {
		d.now = time.Now
	}
	if err := d.load(ctx); err != nil {
		return Diagnosis{}, err
	}
	for _, c := range checks {
		if err := d.make(ctx, tx, c); err != nil {
			return Diagnosis{}, err
		}
	}
	return Diagnosis{Database: d.server.database, ServerVersion: d.server.version, Findings: d.findings}, nil
}

// load reads what several checks need.
func (d *doctor) load(ctx context.Context) error {
	err := d.tx.QueryRow(ctx, `SELECT current_user::pg_catalog.text, setting, source, pg_catalog.pg_is_in_recovery()
		FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) 'search_path'`).
		Scan(&d.session.role, &d.session.path, &d.session.source, &d.session.standby)
	if err != nil {
		return err
	}
	if _, err := d.tx.Exec(ctx, within+"; SET LOCAL lock_timeout = 2000", pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if d.server, err = readServer(ctx, d.tx); err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, d.tx, func(tx pgx.Tx) (err error) {
		d.config, d.found, err = readConfig(ctx, tx)
		return err
	})
	if refused(err) {
		d.secret, err = true, nil
	}
	if err != nil {
		return err
	}
	if r := d.o.Registry; r != nil && r.Implied && (r.ID == "" || d.config.Registry != "" && r.ID != d.config.Registry) {
		d.o.Registry = nil
	}
	if err := d.tx.QueryRow(ctx, "SELECT quote_ident($1), quote_ident($2)", d.config.Schema, d.server.database).Scan(&d.schema, &d.database); err != nil {
		return err
	}
	if err := d.loadNamed(ctx); err != nil {
		return err
	}
	return d.loadUsedDefaults(ctx)
}

// refused tells whether an error says that the role may not.
func refused(err error) bool {
	var reply *pgconn.PgError
	return errors.As(err, &reply) && reply.Code == "42501"
}

// make runs a check in a subtransaction, so that its failure ends it alone.
func (d *doctor) make(ctx context.Context, tx pgx.Tx, c check) error {
	if !d.found && !c.uninstalled {
		return nil
	}
	d.check = c.name
	before := len(d.findings)
	err := pgx.BeginFunc(ctx, tx, func(sub pgx.Tx) error {
		d.tx = sub
		return c.run(d, ctx)
	})
	switch {
	case err != nil && (tx.Conn().IsClosed() || ctx.Err() != nil):
		return fmt.Errorf("%s: %w", c.name, err)
	case err != nil:
		d.say(LevelWarning, "", fmt.Sprintf("this check could not be made: %v", err), "")
	case len(d.findings) == before && c.fine != "":
		d.say(LevelOK, "", c.fine, "")
	}
	return nil
}

// say takes down a finding of the check that is being made.
func (d *doctor) say(level Level, subject, finding, advice string) {
	d.findings = append(d.findings, Finding{Check: d.check, Level: level, Subject: subject, Finding: finding, Advice: advice})
}

// Advice that several checks give.
const (
	installAgain   = "Run pgidproxy install."
	installNewNode = "Run pgidproxy install --new-function-node."
)

func (d *doctor) checkInstalled(context.Context) error {
	var left []string // functions of ours without what they need
	for _, f := range d.named {
		if !d.found && f.origin == originCopy && f.Name == "next_snowflake" {
			left = append(left, f.signature)
		}
	}
	used := slices.ContainsFunc(d.defaults, func(u usedDefault) bool { return slices.Contains(left, u.function.signature) })
	switch {
	case d.secret:
		d.say(LevelWarning, "pgid.config", "this role may not read what is installed, so most checks are left out, and a proxy with this role leaves all calls to the server",
			"GRANT USAGE ON SCHEMA pgid TO PUBLIC; GRANT SELECT ON pgid.config TO PUBLIC;")
	case used:
		d.say(LevelDanger, strings.Join(left, ", "), "the default of columns, but what it needs in schema pgid is missing (as after a restore of some schemas only), so that INSERT fails",
			"Run pgidproxy install with --schema and the schema of the function.")
	case len(left) > 0:
		d.say(LevelWarning, strings.Join(left, ", "), "there, but what it needs in schema pgid is missing (as after a restore of some schemas only), so that calls fail",
			"Run pgidproxy install with --schema and the schema of the function.")
	case !d.found:
		d.say(LevelWarning, "", "the functions are not installed in this database", installAgain)
	case d.config.Version < Version:
		d.say(LevelWarning, "", fmt.Sprintf("the functions are of version %d, this program's of version %d", d.config.Version, Version), installAgain)
	case d.config.Version > Version:
		d.say(LevelWarning, "", fmt.Sprintf("the functions are of version %d, this program knows up to %d: it cannot judge their text, and a proxy of this version refuses to start",
			d.config.Version, Version), "Use a newer pgidproxy.")
	default:
		d.say(LevelOK, "", fmt.Sprintf("the functions are of version %d, in schema %s", d.config.Version, d.schema), "")
	}
	if d.session.standby {
		d.say(LevelNote, "", "this is a standby, where next_snowflake() fails as nextval does; what else is said holds for the primary as far as it was replayed", "")
	}
	return nil
}
