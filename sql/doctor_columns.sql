-- Columns that hold the ids of the columns given by relations $1 and numbers $2:
-- those that refer to them by a foreign key, or to those that do; and, without a
-- key or a default of their own, those that are named after one (orders.id is
-- order_id elsewhere, orders.order_id the same). How a statement names the column,
-- its relation alone, its name, the column whose ids it holds, whether a key says
-- so, and its type: name, and OID and modifier of what it is in the end.
WITH RECURSIVE given AS (
  SELECT k.relation, k.attribute FROM unnest($1::oid[], $2::int2[]) k(relation, attribute)
), foreign_key AS (
  SELECT f.conrelid AS relation, k.attribute, f.confrelid AS target, k.target_attribute
  FROM pg_constraint f CROSS JOIN LATERAL unnest(f.conkey, f.confkey) k(attribute, target_attribute)
  WHERE f.contype = 'f' AND f.conparentid = 0
), referring(relation, attribute, source, source_attribute) AS (
  SELECT relation, attribute, relation, attribute FROM given
  UNION
  SELECT f.relation, f.attribute, r.source, r.source_attribute
  FROM referring r JOIN foreign_key f ON f.target = r.relation AND f.target_attribute = r.attribute
), named(relation, attribute, source, source_attribute) AS (
  SELECT a.attrelid, a.attnum, g.relation, g.attribute
  FROM given g
  JOIN pg_class t ON t.oid = g.relation
  JOIN pg_attribute k ON k.attrelid = g.relation AND k.attnum = g.attribute
  CROSS JOIN LATERAL (SELECT lower(replace(t.relname, '_', '')), lower(replace(k.attname, '_', ''))) plain(tablename, columnname)
  CROSS JOIN LATERAL unnest(CASE WHEN plain.columnname = 'id' THEN ARRAY[plain.tablename || 'id', regexp_replace(plain.tablename, 's$', '') || 'id',
      regexp_replace(plain.tablename, 'es$', '') || 'id', regexp_replace(plain.tablename, 'ies$', 'y') || 'id']
    WHEN plain.columnname LIKE '____%id' THEN ARRAY[plain.columnname] END) name
  JOIN pg_class c ON c.relnamespace = t.relnamespace AND c.oid <> t.oid AND c.relkind IN ('r', 'p', 'f') AND c.relpersistence <> 't' AND NOT c.relispartition
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT a.atthasdef AND a.attidentity = ''
    AND lower(replace(a.attname, '_', '')) = name
  WHERE NOT EXISTS (SELECT FROM foreign_key f WHERE f.relation = a.attrelid AND f.attribute = a.attnum)
)
SELECT DISTINCT quote_ident(n.nspname) || '.' || quote_ident(c.relname) || '.' || quote_ident(a.attname),
  quote_ident(n.nspname) || '.' || quote_ident(c.relname), quote_ident(a.attname),
  quote_ident(sn.nspname) || '.' || quote_ident(s.relname) || '.' || quote_ident(sa.attname), h.key,
  format_type(a.atttypid, a.atttypmod), b.oid, b.modifier
FROM (
  SELECT *, true AS key FROM referring UNION ALL SELECT *, false FROM named) h
JOIN pg_class c ON c.oid = h.relation
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = h.relation AND a.attnum = h.attribute
JOIN pg_class s ON s.oid = h.source
JOIN pg_namespace sn ON sn.oid = s.relnamespace
JOIN pg_attribute sa ON sa.attrelid = h.source AND sa.attnum = h.source_attribute
CROSS JOIN LATERAL (
  WITH RECURSIVE b(oid, base, inner_modifier, modifier) AS (
    SELECT t.oid, t.typbasetype, t.typtypmod, a.atttypmod FROM pg_type t WHERE t.oid = a.atttypid
    UNION ALL
    SELECT t.oid, t.typbasetype, t.typtypmod, b.inner_modifier FROM b JOIN pg_type t ON t.oid = b.base)
  SELECT b.oid, b.modifier FROM b WHERE b.base = 0) b
WHERE (h.relation, h.attribute) <> (h.source, h.source_attribute)
ORDER BY 1, 4
