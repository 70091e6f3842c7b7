package sql

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A presentFunction is one of ours that is in the database.
type presentFunction struct {
	function
	oid   uint32
	owner string // quoted where needed
	body  string
	mark  string // its comment
	open  bool   // to everybody
}

// presence lists those of the functions that are in the database.
type presence []presentFunction

// readPresent finds our functions in the configured schema. It fails where a
// function that is not ours has the name and the arguments of one of them: ours
// is what carries our mark, or has the body that we ship (comments may be left
// out of a dump).
func readPresent(ctx context.Context, q pgx.Tx, config InstalledConfig) (presence, error) {
	rows, _ := q.Query(ctx, `SELECT p.oid, p.proname, pg_catalog.oidvectortypes(p.proargtypes), p.proowner::pg_catalog.regrole::pg_catalog.text, p.prosrc,
		coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), ''),
		EXISTS (SELECT FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
			WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE'),
		coalesce((SELECT e.extname FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
			WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid AND d.deptype = 'e'), '')
		FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
		WHERE n.nspname = $1 AND p.proname IN ('next_snowflake', 'uuidv7', 'id_to_timestamp')`, config.Schema)
	var present presence
	var f presentFunction
	var extension string
	bodies := shippedBodies(config)
	_, err := pgx.ForEachRow(rows, []any{&f.oid, &f.name, &f.args, &f.owner, &f.body, &f.mark, &f.open, &extension}, func() error {
		body, known := bodies[f.function]
		switch {
		case !known: // another signature, which is no concern of ours
		case extension != "":
			return fmt.Errorf("function %s.%s(%s) belongs to extension %s: drop the extension, move it with ALTER EXTENSION … SET SCHEMA, or install with another --schema",
				config.Schema, f.name, f.args, extension)
		case !strings.HasPrefix(f.mark, markPrefix) && f.body != body:
			return fmt.Errorf("function %s.%s(%s) is there already and is not ours: rename or drop it, or install with another --schema",
				config.Schema, f.name, f.args)
		default:
			present = append(present, f)
		}
		return nil
	})
	return present, err
}

func (p presence) has(name string) bool {
	for _, f := range p {
		if f.name == name {
			return true
		}
	}
	return false
}

// current tells whether all functions are there, as this program installs them.
func (p presence) current(config InstalledConfig, version int) bool {
	bodies := shippedBodies(config)
	missing := len(functions(version))
	for _, f := range p {
		if f.body != bodies[f.function] || f.mark != mark() || !f.open {
			return false
		}
		if version < builtinUUIDv7 || f.name != "uuidv7" {
			missing--
		}
	}
	return missing == 0
}
