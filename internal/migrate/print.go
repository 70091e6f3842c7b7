package migrate

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// What a server does in a second, for estimates: on the low side.
const (
	rowsFilled   = 20_000
	bytesIndexed = 30 << 20
	bytesRead    = 200 << 20
)

// Estimate is about how long a step takes on an idle server.
func (s *Step) Estimate() time.Duration {
	var seconds float64
	switch s.Kind {
	case kindFill:
		seconds = float64(s.Rows) / rowsFilled
	case kindIndex:
		seconds = float64(s.Bytes) / bytesIndexed
	case kindValidate:
		seconds = float64(s.Bytes) / bytesRead
	case kindWait:
		return polls.Round(time.Second)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

// locks says what a step locks.
func (s *Step) locks(o Options) string {
	switch {
	case s.Kind == kindFill:
		return "ROW EXCLUSIVE, and the rows of one batch"
	case s.Kind == kindChange && len(s.Tables) > 0:
		return fmt.Sprintf("%s on %s, no longer than others wait %s", s.Mode, strings.Join(s.locked(), ", "), o.LockTimeout)
	}
	return ""
}

// A printer remembers the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// Print shows a plan to people.
func (p *Plan) Print(w io.Writer) error {
	out := &printer{w: w}
	out.f("%s: %s %s to %s\n\n", p.Table, ident(p.Column), p.Type, p.Options.Target)
	for _, r := range p.Relations {
		out.f("table    %s: about %d rows, %s\n", r.Name, r.Rows, size(r.Bytes))
	}
	for _, b := range p.Blockers {
		out.f("BLOCKED  %s\n", b)
	}
	for _, x := range p.Warnings {
		out.f("warning  %s\n", x)
	}
	var total time.Duration
	for _, s := range p.Steps {
		total += s.Estimate()
	}
	out.f("\nabout %s on an idle server", max(total, time.Second))
	if p.Space > 0 {
		out.f(", and up to %s more on its disk, besides WAL, until finish and VACUUM", size(p.Space))
	}
	out.f("\n")
	if len(p.Steps) == 0 {
		out.f("the steps can be told once what is BLOCKED is resolved\n")
		return out.err
	}
	printSteps(out, "apply", p.Steps, p.Options)
	printSteps(out, "rollback after the swap (then the steps above are undone)", p.Back, p.Options)
	printSteps(out, "finish", p.Finish, p.Options)
	if len(p.Blockers) > 0 {
		out.f("\nNothing can be done before what is BLOCKED is resolved.\n")
	}
	return out.err
}

func printSteps(out *printer, title string, steps []Step, o Options) {
	if len(steps) == 0 {
		return
	}
	out.f("\n%s\n", title)
	for i := range steps {
		s := &steps[i]
		out.f("%3d. %s", i+1, s.Name)
		if e := s.Estimate(); e > 0 {
			out.f(" (about %s)", e)
		}
		out.f("\n")
		if l := s.locks(o); l != "" {
			out.f("     locks: %s\n", l)
		}
		if s.Note != "" {
			out.f("     %s\n", s.Note)
		}
		if s.Fill != nil {
			out.f("       UPDATE %s t SET %s WHERE %s\n", s.Fill.Table, s.Fill.Set, s.Fill.Missing)
		}
		for _, sql := range s.SQL {
			out.f("       %s;\n", strings.ReplaceAll(sql, "\n", "\n       "))
		}
		for _, c := range s.Checks {
			when := "fails"
			if c.Before {
				when = "changes nothing"
			}
			out.f("     %s if %s\n", when, strings.ReplaceAll(strings.ReplaceAll(c.Wrong, "%d", "any"), "\n", " "))
		}
	}
}

func size(n int64) string {
	for _, u := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 10<<10 {
			return fmt.Sprintf("%d %s", n, u)
		}
		n >>= 10
	}
	return fmt.Sprintf("%d TiB", n)
}

// Script prints what apply does as a script for psql.
func (p *Plan) Script(w io.Writer) error {
	out := &printer{w: w}
	out.f("-- %s.%s to %s: what pgidproxy migrate apply does, to be run by hand with psql.\n", p.Table, ident(p.Column), p.Options.Target)
	out.f("-- A statement that ends with \"lock timeout\" has done nothing: run its transaction again.\n")
	for _, b := range p.Blockers {
		out.f("-- BLOCKED: %s\n", b)
	}
	for _, x := range p.Warnings {
		out.f("-- warning: %s\n", x)
	}
	out.f("\\set ON_ERROR_STOP on\n%s;\n", settings)
	for i, s := range p.Steps {
		out.f("\n-- %d. %s\n", i+1, s.Name)
		p.scriptStep(out, s)
		for _, c := range s.Checks {
			if !c.Before {
				out.scriptCheck(c)
			}
		}
	}
	out.f("\n-- The way back until the old columns are dropped: pgidproxy migrate plan prints it.\n-- finish:\n")
	for _, s := range p.Finish {
		for _, sql := range s.SQL {
			out.f("-- %s;\n", strings.ReplaceAll(sql, "\n", "\n-- "))
		}
	}
	return out.err
}

func (p *Plan) scriptStep(out *printer, s Step) {
	switch s.Kind {
	case kindChange:
		out.f("BEGIN;\nSET LOCAL lock_timeout = %d;\n", p.Options.LockTimeout.Milliseconds())
		if len(s.Tables) > 0 {
			out.f("LOCK TABLE ONLY %s IN %s MODE;\n", strings.Join(s.Tables, ", ONLY "), s.Mode)
		}
		for _, c := range s.Checks {
			if c.Before {
				out.scriptCheck(c)
			}
		}
		for _, sql := range s.SQL {
			out.f("%s;\n", sql)
		}
		if s.Guard || s.Name == changeDefault {
			out.f("DELETE FROM pgid.migrations WHERE job = %s::regclass;\n", literal(p.Table))
		}
		out.f("COMMIT;\n")
	case kindFill:
		replica := ""
		if s.Fill.Replica {
			replica = "    PERFORM set_config('session_replication_role', 'replica', true);\n"
		}
		out.f("DO $fill$\nDECLARE pages bigint := pg_relation_size(%d) / current_setting('block_size')::int; block bigint := 0;\nBEGIN\n  WHILE block < pages LOOP\n%s"+
			"    UPDATE ONLY %s t SET %s WHERE t.ctid >= format('(%%s,0)', block)::tid AND t.ctid < format('(%%s,0)', block + 100)::tid AND (%s);\n    COMMIT;\n    block := block + 100;\n  END LOOP;\nEND $fill$;\n",
			s.Fill.OID, replica, s.Fill.Table, s.Fill.Set, s.Fill.Missing)
	case kindSettle:
		out.f("-- wait until no transaction is left that began before now (pg_stat_activity.backend_xmin, pg_prepared_xacts)\n")
	case kindWait:
		out.f("-- proxies fill no table that is named here; they look every second\n%s", namesTable)
		for _, r := range p.Relations {
			out.f("INSERT INTO pgid.migrations VALUES (%s, %s) ON CONFLICT DO NOTHING;\n", literal(r.Name), literal(p.Table))
		}
		out.f("SELECT pg_sleep(%.1f);\n", polls.Seconds())
	default:
		for _, sql := range s.SQL {
			out.f("%s;\n", sql)
		}
	}
}

func (p *printer) scriptCheck(c Check) {
	p.f("DO $check$ BEGIN IF (%s) <> 0 THEN RAISE EXCEPTION USING MESSAGE = %s; END IF; END $check$;\n", c.SQL, literal(strings.ReplaceAll(c.Wrong, "%d", "any")))
}
