-- Relations with columns whose default is exactly a call, without arguments, of
-- one of the functions $1 that make snowflakes or $2 that make UUIDs, and whose
-- type is the function's: schema, name, all columns in their order, those
-- columns, which of them are UUIDs, whether no other permanent relation has the
-- name in any schema, and why their defaults are left to the server, '' when they are not.
-- The stored tree names the function by its OID and shows every cast around it.
-- pg_depend knows nothing of built-in functions, nor whether there is more to the
-- expression, and pg_get_expr waits, from 17 on, for whoever alters the table.
SELECT n.nspname, c.relname,
  (SELECT pg_catalog.array_agg(a.attname::text ORDER BY a.attnum) FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  d.columns, d.uuids,
  NOT EXISTS (SELECT FROM pg_catalog.pg_class o WHERE o.relname = c.relname AND o.oid <> c.oid AND o.relpersistence <> 't'),
  CASE
    WHEN c.relkind NOT IN ('r', 'p') OR c.relhasrules AND EXISTS (
      SELECT FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid AND w.ev_type = '3') THEN 'target'
    WHEN c.oid = ANY ($3) THEN 'migrating'
    WHEN EXISTS (SELECT FROM pg_catalog.pg_auth_members w WHERE w.roleid = 'pg_write_all_data'::regrole AND NOT EXISTS (
      SELECT FROM pg_catalog.pg_auth_members r WHERE r.roleid = 'pg_read_all_data'::regrole AND r.member = w.member)) THEN 'grants'
    -- This too: of a row that fails, whoever may not read the table is shown the
    -- columns that he gave a value (ExecBuildSlotValueDescription in execMain.c).
    WHEN EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attacl IS NOT NULL)
      OR EXISTS (SELECT FROM pg_catalog.aclexplode(coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner))) i
        WHERE i.privilege_type = 'INSERT' AND NOT EXISTS (
          SELECT FROM pg_catalog.aclexplode(coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner))) s
          WHERE s.privilege_type = 'SELECT' AND s.grantee = i.grantee)) THEN 'grants'
    ELSE '' END
FROM (
  SELECT a.attrelid, pg_catalog.array_agg(a.attname::text ORDER BY a.attnum), pg_catalog.array_agg(a.atttypid = 'uuid'::regtype ORDER BY a.attnum)
  FROM pg_catalog.pg_attrdef e
  JOIN pg_catalog.pg_attribute a ON a.attrelid = e.adrelid AND a.attnum = e.adnum AND a.attgenerated = '' AND NOT a.attisdropped
  CROSS JOIN LATERAL pg_catalog.regexp_match(e.adbin::text, '^\{FUNCEXPR :funcid (\d+) :funcresulttype (\d+) :funcretset false '
    ':funcvariadic false :funcformat 0 :funccollid 0 :inputcollid 0 :args <> :location -?\d+\}$') m(parts)
  WHERE pg_catalog.starts_with(e.adbin::text, '{FUNCEXPR ') AND m.parts IS NOT NULL
    AND a.atttypid = m.parts[2]::oid AND a.atttypid IN ('int8'::regtype, 'uuid'::regtype)
    AND m.parts[1]::oid = ANY (CASE WHEN a.atttypid = 'uuid'::regtype THEN $2::oid[] ELSE $1::oid[] END)
  GROUP BY a.attrelid) d(relation, columns, uuids)
JOIN pg_catalog.pg_class c ON c.oid = d.relation
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relpersistence <> 't'
ORDER BY 1, 2
