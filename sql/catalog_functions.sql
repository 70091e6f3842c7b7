-- Names of functions and operators, and whether every overload of the name is an
-- ordinary function that returns one value. Temporary functions count: a call can
-- name their schema.
SELECT false, p.proname, bool_and(p.prokind = 'f' AND NOT p.proretset)
FROM pg_catalog.pg_proc p GROUP BY p.proname
UNION ALL
SELECT true, o.oprname, bool_and(p.prokind = 'f' AND NOT p.proretset)
FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode GROUP BY o.oprname
