-- What a diagnosis asks of the functions $1 beside what catalog_ours.sql tells: OID,
-- how a statement writes the function and its schema, owner, labels as CREATE
-- FUNCTION writes them, and the extension that it belongs to.
SELECT p.oid, quote_ident(n.nspname) || '.' || quote_ident(p.proname) || '(' || oidvectortypes(p.proargtypes) || ')', quote_ident(n.nspname),
  p.proowner::regrole::text,
  CASE p.provolatile WHEN 'v' THEN 'VOLATILE' WHEN 's' THEN 'STABLE' ELSE 'IMMUTABLE' END,
  CASE p.proparallel WHEN 'u' THEN 'PARALLEL UNSAFE' WHEN 'r' THEN 'PARALLEL RESTRICTED' ELSE 'PARALLEL SAFE' END,
  CASE WHEN p.prosecdef THEN 'SECURITY DEFINER' ELSE 'SECURITY INVOKER' END,
  CASE WHEN p.proisstrict THEN 'STRICT' ELSE 'CALLED ON NULL INPUT' END,
  coalesce((SELECT e.extname::text FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
    WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'), ''),
  EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE')
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE p.oid = ANY ($1)
