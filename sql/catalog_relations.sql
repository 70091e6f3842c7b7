-- Permanent relations that an INSERT, UPDATE or DELETE may name: schema, name,
-- whether it is an ordinary or partitioned table without INSERT rules, and
-- whether it has rules of any kind (a view has one), a version, and whether its
-- columns have types of PostgreSQL's own only. ev_type '3' is INSERT;
-- relhasrules may stay true after the last rule is gone. The version is
-- another number after every change of the relation or its columns: SET and DROP
-- DEFAULT write the column's row too.
SELECT n.nspname, c.relname,
  c.relkind IN ('r', 'p') AND NOT (c.relhasrules AND EXISTS (
    SELECT FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid AND w.ev_type = '3')),
  c.relhasrules AND EXISTS (SELECT FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid),
  pg_catalog.hash_record_extended(ROW(c.oid, (
    SELECT sum(pg_catalog.hash_record_extended(ROW(a.attnum, a.xmin), 0)) FROM pg_catalog.pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0)), 0),
  NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.atttypid >= 16384)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'f') AND c.relpersistence <> 't' AND n.nspname <> 'pg_toast'
ORDER BY 1, 2
