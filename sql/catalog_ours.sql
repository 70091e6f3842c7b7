-- Functions that a call of one of our names could mean: name, whether it is the
-- one that we installed in schema $1 (or PostgreSQL's own uuidv7, with $2), and
-- whether everybody may use it. A call has no argument, or one for
-- id_to_timestamp. uuidv7 with an argument is another function and left alone.
SELECT p.proname,
  CASE WHEN $2 AND p.proname = 'uuidv7' THEN n.nspname = 'pg_catalog'
    ELSE n.nspname = $1 AND p.prokind = 'f' AND NOT p.proretset
      AND coalesce(pg_catalog.obj_description(p.oid, 'pg_proc') LIKE 'pgidproxy %', false) END,
  EXISTS (SELECT FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
    WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE')
  AND EXISTS (SELECT FROM pg_catalog.aclexplode(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))) a
    WHERE a.grantee = 0 AND a.privilege_type = 'USAGE')
FROM pg_catalog.pg_proc p
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname IN ('next_snowflake', 'uuidv7', 'id_to_timestamp')
  AND n.nspname NOT LIKE 'pg\_temp\_%'
  AND CASE WHEN p.proname = 'id_to_timestamp' THEN p.pronargs > 0 AND p.pronargs - p.pronargdefaults <= 1
    ELSE p.pronargs = p.pronargdefaults END
UNION ALL
SELECT p.proname, false, false
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname IN ('next_snowflake', 'uuidv7', 'id_to_timestamp') AND p.provariadic <> 0
  AND n.nspname NOT LIKE 'pg\_temp\_%'
