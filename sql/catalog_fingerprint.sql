-- One value that changes with every change of what the catalog queries read. A
-- row's xmin is new after every change of it; counts tell what was dropped. What
-- initdb made (oid below 16384) is read for grants and comments only.
SELECT pg_catalog.concat_ws(',',
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hashint8(oid::int8 * 4294967296 + xmin::text::int8)::int8))
    FROM pg_catalog.pg_class WHERE oid >= 16384 AND relkind IN ('r', 'p', 'v', 'm', 'f') AND relpersistence <> 't'),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hashint8(oid::int8 * 4294967296 + xmin::text::int8)::int8))
    FROM pg_catalog.pg_rewrite WHERE oid >= 16384),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hashint8(oid::int8 * 4294967296 + xmin::text::int8)::int8))
    FROM pg_catalog.pg_proc WHERE oid >= 16384 OR proname = 'uuidv7'),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hashint8(oid::int8 * 4294967296 + xmin::text::int8)::int8))
    FROM pg_catalog.pg_operator WHERE oid >= 16384),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hashint8(oid::int8 * 4294967296 + xmin::text::int8)::int8))
    FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg\_%'))
