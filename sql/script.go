package sql

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pgidproxy/pgidproxy/gen"
)

// Script returns statements that do what Install does, for psql or any other
// client: in one transaction, not replacing functions that are not ours, and
// without a uuidv7 on PostgreSQL 18 and later. It is for a database without
// functions of ours, and may be repeated with the same options.
func Script(o InstallOptions) string {
	o.Schema = cmp.Or(o.Schema, "public")
	o.FunctionNode = cmp.Or(o.FunctionNode, DefaultFunctionNode)
	always, old := functions(builtinUUIDv7), functions(0)[len(functions(builtinUUIDv7)):]
	var b strings.Builder
	fmt.Fprintf(&b, "BEGIN;\nSET LOCAL search_path = pg_catalog;\nSET LOCAL client_min_messages = warning;\n"+
		"SELECT pg_advisory_xact_lock(%d);\n", lockKey)
	fmt.Fprintf(&b, foreignCheck, quoteLiteral(o.Schema), "pgidproxy %")
	b.WriteString(script(o, false))
	b.WriteString(grants(o, always))
	fmt.Fprintf(&b, "DO $install$ BEGIN IF current_setting('server_version_num')::int < %d THEN EXECUTE $text$\n%s%s$text$; END IF; END $install$;\n",
		builtinUUIDv7, render(uuidv7SQL, o), grants(o, old))
	registry := "NULL"
	if o.Registry != "" {
		registry = quoteLiteral(o.Registry)
	}
	fmt.Fprintf(&b, record, Version, int64(gen.Epoch), layout, quoteLiteral(o.Schema), o.FunctionNode, registry)
	b.WriteString(notifyScript())
	b.WriteString("COMMIT;\n")
	return b.String()
}

// foreignCheck fails where a function that is not ours has one of the names; %
// are the schema and the pattern of our comment.
const foreignCheck = `DO $install$ BEGIN
  IF EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = %s AND p.proname IN ('next_snowflake', 'uuidv7', 'id_to_timestamp')
      AND coalesce(obj_description(p.oid, 'pg_proc'), '') NOT LIKE '%s') THEN
    RAISE EXCEPTION 'a function next_snowflake, uuidv7 or id_to_timestamp is there already and is not ours';
  END IF;
END $install$;
`

// record writes pgid.config, with the system's identifier where it may be read.
const record = `INSERT INTO pgid.config AS c (version, epoch_ms, layout, schema, function_node, registry, database_oid)
  SELECT %d, %d, '%s', %s, %d, %s, oid FROM pg_database WHERE datname = current_database()
  ON CONFLICT (singleton) DO UPDATE SET version = excluded.version, function_node = excluded.function_node,
    registry = coalesce(excluded.registry, c.registry), database_oid = excluded.database_oid;
DO $install$ BEGIN
  UPDATE pgid.config SET system_identifier = s.system_identifier FROM pg_control_system() s;
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $install$;
`

func quoteLiteral(s string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}
