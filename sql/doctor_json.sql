-- Views and functions of users that make JSON of the columns given by relations $1
-- and numbers $2: how a statement names them, and the tables. A view is known by
-- what it depends on, a column or the whole row, and by the functions in its stored
-- tree, a function by its text. This is a guess: what is put into JSON may be
-- another column, or the id as text.
WITH given AS (
  SELECT k.relation, k.attribute, quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS name, c.relname
  FROM unnest($1::oid[], $2::int2[]) k(relation, attribute) JOIN pg_class c ON c.oid = k.relation JOIN pg_namespace n ON n.oid = c.relnamespace
), maker AS (
  SELECT ':(funcid|aggfnoid|winfnoid) (' || string_agg(p.oid::text, '|') || ') |\{JSONCONSTRUCTOREXPR' AS tree,
    '\m(' || string_agg(DISTINCT p.proname, '|') || '|json_object|json_array|json_arrayagg)\s*\(' AS text
  FROM pg_proc p
  WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN ('to_json', 'to_jsonb', 'row_to_json', 'array_to_json',
    'json_agg', 'jsonb_agg', 'json_agg_strict', 'jsonb_agg_strict', 'json_build_object', 'jsonb_build_object', 'json_build_array', 'jsonb_build_array',
    'json_object_agg', 'jsonb_object_agg', 'json_object_agg_strict', 'jsonb_object_agg_strict')
)
SELECT CASE c.relkind WHEN 'm' THEN 'materialized view ' ELSE 'view ' END || quote_ident(n.nspname) || '.' || quote_ident(c.relname),
  array_agg(DISTINCT g.name)
FROM pg_rewrite w
JOIN pg_class c ON c.oid = w.ev_class AND c.relkind IN ('v', 'm')
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
JOIN given g ON g.relation = d.refobjid AND (d.refobjsubid = g.attribute OR d.refobjsubid = 0 AND w.ev_action::text ~ ':varattno 0 ')
WHERE w.ev_action::text ~ (SELECT m.tree FROM maker m)
GROUP BY c.relkind, n.nspname, c.relname
UNION ALL
SELECT 'function ' || p.oid::regprocedure::text, array_agg(DISTINCT g.name)
FROM pg_proc p
JOIN given g ON p.prosrc ~* ('\m' || regexp_replace(g.relname, '([^[:alnum:]_])', '\\\1', 'g') || '\M')
  OR EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = g.relation)
WHERE p.oid >= 16384 AND (p.prosrc ~* (SELECT m.text FROM maker m) OR p.prosqlbody::text ~ (SELECT m.tree FROM maker m))
  AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = 'pg_proc'::regclass AND e.objid = p.oid AND e.deptype = 'e')
GROUP BY p.oid
ORDER BY 1
