-- Who may insert into the relations $1 with the defaults $2, a function for each,
-- and lacks a right: role, function, its schema, whether the role may execute it
-- and use its schema, and the tables. Whoever is granted INSERT directly is looked
-- at: members of such a role have its rights too.
SELECT i.role, p.oid::regprocedure::text, quote_ident(n.nspname), i.executes, i.uses, array_agg(DISTINCT i.relation)
FROM (
  SELECT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END AS role, u.function,
    CASE g.grantee WHEN 0 THEN has_function_privilege('public', u.function, 'EXECUTE') ELSE has_function_privilege(g.grantee, u.function, 'EXECUTE') END AS executes,
    CASE g.grantee WHEN 0 THEN has_schema_privilege('public', p.pronamespace, 'USAGE') ELSE has_schema_privilege(g.grantee, p.pronamespace, 'USAGE') END AS uses,
    quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS relation
  FROM unnest($1::oid[], $2::oid[]) u(relation, function)
  JOIN pg_class c ON c.oid = u.relation
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_proc p ON p.oid = u.function
  CROSS JOIN LATERAL (
    SELECT a.grantee FROM aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a WHERE a.privilege_type = 'INSERT'
    UNION
    SELECT a.grantee FROM pg_attribute t CROSS JOIN LATERAL aclexplode(t.attacl) a
    WHERE t.attrelid = c.oid AND t.attnum > 0 AND NOT t.attisdropped AND t.attacl IS NOT NULL AND a.privilege_type = 'INSERT') g
) i
JOIN pg_proc p ON p.oid = i.function
JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE NOT (i.executes AND i.uses)
GROUP BY i.role, p.oid, n.nspname, i.executes, i.uses
ORDER BY 1, 2
