package sql

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed doctor_grants.sql
var doctorGrantsQuery string

// checkGrants finds who may not do what is needed to insert, to call and to read
// what is installed.
func (d *doctor) checkGrants(ctx context.Context) error {
	var reach, read bool
	err := d.tx.QueryRow(ctx, `SELECT has_schema_privilege('public', (SELECT oid FROM pg_namespace WHERE nspname = $1), 'USAGE'),
		has_schema_privilege('public', (SELECT oid FROM pg_namespace WHERE nspname = 'pgid'), 'USAGE')
		AND has_table_privilege('public', 'pgid.config'::regclass, 'SELECT')`, d.config.Schema).Scan(&reach, &read)
	if err != nil {
		return err
	}
	if !reach {
		d.say(LevelWarning, d.schema, "not everybody may use the functions' schema, so that calls fail for others, and proxies leave all calls to the server",
			"GRANT USAGE ON SCHEMA "+d.schema+" TO PUBLIC;")
	}
	if !read {
		d.say(LevelWarning, "pgid.config", "not everybody may read what is installed: a proxy whose role may not leaves all calls to the server",
			"GRANT USAGE ON SCHEMA pgid TO PUBLIC; GRANT SELECT ON pgid.config TO PUBLIC;")
	}
	var relations, makers []uint32
	for _, u := range d.defaults {
		if u.relation != 0 {
			relations, makers = append(relations, u.relation), append(makers, u.function.OID)
		}
	}
	if len(relations) == 0 {
		return nil
	}
	rows, _ := d.tx.Query(ctx, doctorGrantsQuery, relations, makers)
	var role, function, schema string
	var tables []string
	var executes, uses bool
	_, err = pgx.ForEachRow(rows, []any{&role, &function, &schema, &executes, &uses, &tables}, func() error {
		if !executes {
			d.say(LevelDanger, role, fmt.Sprintf("may insert into %s, but not call its default %s, so that INSERT fails", some(tables), function),
				fmt.Sprintf("GRANT EXECUTE ON FUNCTION %s TO %s;", function, role))
		}
		if !uses {
			d.say(LevelWarning, role, fmt.Sprintf("may insert into %s, whose default is %s, but not use schema %s: a call in a statement fails", some(tables), function, schema),
				fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;", schema, role))
		}
		return nil
	})
	return err
}

// some lists a few of many.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// checkSearchPath finds for whom a call without a schema does not reach the
// functions when it is sent direct.
func (d *doctor) checkSearchPath(ctx context.Context) error {
	advice := func(setting, path string) string {
		if strings.TrimSpace(path) == "" || path == `""` {
			return fmt.Sprintf("%s SET search_path = %s; or write %[2]s.next_snowflake().", setting, d.schema)
		}
		return fmt.Sprintf("%s SET search_path = %s, %s; or write %[3]s.next_snowflake().", setting, path, d.schema)
	}
	const finding = "search_path is %s, which does not reach schema %s: a call without the schema fails when it is sent direct (a default does not)"
	// Of what is set for one role in all databases and in this, the latter counts.
	rows, _ := d.tx.Query(ctx, `SELECT coalesce(r.rolname::text, ''), coalesce(quote_ident(r.rolname), ''), s.setdatabase <> 0, substr(c.setting, 13)
		FROM pg_db_role_setting s CROSS JOIN LATERAL unnest(s.setconfig) c(setting) LEFT JOIN pg_roles r ON r.oid = s.setrole
		WHERE starts_with(c.setting, 'search_path=') AND s.setdatabase IN (0, $1)
		AND (s.setrole = 0 OR r.rolcanlogin AND has_database_privilege(r.oid, $1::oid, 'CONNECT'))
		AND (s.setdatabase <> 0 OR NOT EXISTS (SELECT FROM pg_db_role_setting o CROSS JOIN LATERAL unnest(o.setconfig) p(setting)
			WHERE o.setrole = s.setrole AND o.setdatabase = $1 AND starts_with(p.setting, 'search_path=')))
		ORDER BY 2, 3`, d.server.oid)
	var role, quoted, path string
	var here bool
	_, err := pgx.ForEachRow(rows, []any{&role, &quoted, &here, &path}, func() error {
		if reaches(path, d.config.Schema, role) {
			return nil
		}
		subject, setting := "role "+quoted, "ALTER ROLE "+quoted
		in := " IN DATABASE " + d.database
		switch {
		case role == "" && here:
			subject, setting = "database "+d.database, "ALTER DATABASE "+d.database
		case role == "":
			subject, setting = "all roles", "ALTER ROLE ALL"
		case here:
			setting += in
		}
		d.say(LevelWarning, subject, fmt.Sprintf(finding, shownPath(path), d.schema), advice(setting, path))
		return nil
	})
	if err != nil {
		return err
	}
	switch d.session.source {
	case "default", "configuration file", "command line", "environment variable":
		if !reaches(d.session.path, d.config.Schema, "") {
			d.say(LevelWarning, "the server's default", fmt.Sprintf(finding, shownPath(d.session.path), d.schema),
				advice("ALTER DATABASE "+d.database, d.session.path))
		}
	}
	return nil
}

func shownPath(path string) string {
	if strings.TrimSpace(path) == "" {
		return "empty"
	}
	return path
}

// reaches tells whether a search_path of a role leads to a schema.
func reaches(path, schema, role string) bool {
	for _, name := range pathNames(path) {
		if name == schema || name == "$user" && role != "" && role == schema {
			return true
		}
	}
	return false
}

// pathNames splits a search_path as PostgreSQL does (SplitIdentifierString in
// varlena.c): what is not quoted is folded to lower case.
func pathNames(path string) (names []string) {
	for rest := strings.TrimSpace(path); rest != ""; {
		var name strings.Builder
		if rest[0] == '"' {
			for rest = rest[1:]; rest != ""; rest = rest[1:] {
				if rest[0] == '"' && !strings.HasPrefix(rest, `""`) {
					rest = rest[1:]
					break
				}
				if rest[0] == '"' {
					rest = rest[1:]
				}
				name.WriteByte(rest[0])
			}
		} else {
			end := strings.IndexAny(rest+",", ", \t\n\r\f\v")
			name.WriteString(strings.ToLower(rest[:end]))
			rest = rest[end:]
		}
		names = append(names, name.String())
		_, rest, _ = strings.Cut(rest, ",")
		rest = strings.TrimSpace(rest)
	}
	return names
}
