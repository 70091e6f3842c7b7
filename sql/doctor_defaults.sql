-- Defaults that call one of the functions $1, of columns and of domains: the
-- relation's OID and the column's number, both 0 of a domain; how a statement
-- names the column or domain; the column's relation alone and its name; the
-- function; the default as it is stored; and the type that has to hold its value:
-- name, OID and modifier, those of the base type where it is a domain. The stored
-- tree names functions by their OID; a string in it is written as bytes.
WITH d(relation, attribute, type, modifier, subject, tablename, columnname, expression) AS (
  SELECT c.oid, a.attnum, a.atttypid, a.atttypmod,
    quote_ident(n.nspname) || '.' || quote_ident(c.relname) || '.' || quote_ident(a.attname),
    quote_ident(n.nspname) || '.' || quote_ident(c.relname), quote_ident(a.attname), e.adbin::text
  FROM pg_attrdef e
  JOIN pg_attribute a ON a.attrelid = e.adrelid AND a.attnum = e.adnum AND a.attgenerated = '' AND NOT a.attisdropped
  JOIN pg_class c ON c.oid = e.adrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relpersistence <> 't'
  UNION ALL
  SELECT 0, 0, t.oid, -1, 'domain ' || quote_ident(n.nspname) || '.' || quote_ident(t.typname), '', '', t.typdefaultbin::text
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE t.typtype = 'd' AND t.typdefaultbin IS NOT NULL
)
SELECT d.relation, d.attribute, d.subject, d.tablename, d.columnname, p.oid, d.expression, format_type(d.type, d.modifier), b.oid, b.modifier
FROM d
CROSS JOIN LATERAL (SELECT DISTINCT f.m[1]::oid AS oid FROM regexp_matches(d.expression, ':funcid (\d+) ', 'g') f(m)) p
CROSS JOIN LATERAL (
  WITH RECURSIVE b(oid, base, inner_modifier, modifier) AS (
    SELECT t.oid, t.typbasetype, t.typtypmod, d.modifier FROM pg_type t WHERE t.oid = d.type
    UNION ALL
    SELECT t.oid, t.typbasetype, t.typtypmod, b.inner_modifier FROM b JOIN pg_type t ON t.oid = b.base)
  SELECT b.oid, b.modifier FROM b WHERE b.base = 0) b
WHERE p.oid = ANY ($1)
ORDER BY d.subject, p.oid
