-- What a call of one of our names could mean, temporary functions aside: OID,
-- schema, name, types of the arguments, body, whether it is an ordinary function of one
-- value, the least and the largest number of arguments, whether everybody may
-- call it, and its comment. id_to_timestamp(x) is also a cast where a type has
-- that name (FuncNameAsType in parse_func.c); such a row has no body.
SELECT p.oid, n.nspname, p.proname, pg_catalog.oidvectortypes(p.proargtypes), p.prosrc,
  p.prokind = 'f' AND NOT p.proretset,
  p.pronargs - p.pronargdefaults - CASE WHEN p.provariadic = 0 THEN 0 ELSE 1 END,
  CASE WHEN p.provariadic = 0 THEN p.pronargs ELSE 100 END,
  EXISTS (SELECT FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
    WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE')
  AND EXISTS (SELECT FROM pg_catalog.aclexplode(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))) a
    WHERE a.grantee = 0 AND a.privilege_type = 'USAGE'),
  coalesce(pg_catalog.obj_description(p.oid, 'pg_proc'), '')
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname IN ('next_snowflake', 'uuidv7', 'id_to_timestamp')
  AND NOT pg_catalog.starts_with(n.nspname::text, 'pg_temp_')
UNION ALL
SELECT 0, n.nspname, t.typname, '', '', false, 1, 1, false, ''
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typname = 'id_to_timestamp' AND NOT pg_catalog.starts_with(n.nspname::text, 'pg_temp_')
