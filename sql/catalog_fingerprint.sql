-- One value that changes with every change of what the catalog queries read, but
-- for the tables in pgid, and whether pgid.config and pgid.migrations are there. A
-- row has another xmin after every
-- change of it (of pg_class the columns that matter are taken instead, since
-- TRUNCATE writes there too); count and sum tell what was dropped. What initdb made (oid below
-- 16384) stays as it is but for grants.
SELECT pg_catalog.concat_ws(',', pg_catalog.current_setting('server_version_num'),
  (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(
      ROW(c.oid, c.relname, c.relnamespace, c.relkind, c.relowner, c.relacl, c.relhasrules, c.relnatts), 0)))
    FROM pg_catalog.pg_class c WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'f', 'm', 'S') AND c.relpersistence <> 't'),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(c.oid::bigint)) FROM pg_catalog.pg_class c
    WHERE c.relpersistence = 't' AND c.relkind IN ('r', 'v', 'p', 'S') AND EXISTS (
      SELECT FROM pg_catalog.pg_class o WHERE o.relname = c.relname AND o.relpersistence <> 't')),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(m.roleid, m.member), 0)))
    FROM pg_catalog.pg_auth_members m WHERE m.roleid IN ('pg_write_all_data'::pg_catalog.regrole, 'pg_read_all_data'::pg_catalog.regrole)),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(a.attrelid, a.attnum, a.xmin), 0)))
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
    WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'f', 'c') AND c.relpersistence <> 't'),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(y.oid, y.xmin), 0)))
    FROM pg_catalog.pg_type y WHERE y.oid >= 16384 AND y.typtype IN ('b', 'd', 'e', 'r') AND y.typelem = 0),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(l.oid, l.xmin), 0)))
    FROM pg_catalog.pg_enum l),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(w.oid, w.xmin), 0)))
    FROM pg_catalog.pg_rewrite w WHERE w.oid >= 16384),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(p.oid, p.xmin), 0)))
    FROM pg_catalog.pg_proc p WHERE p.oid >= 16384 OR p.proname = 'uuidv7'),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(o.oid, o.xmin), 0)))
    FROM pg_catalog.pg_operator o WHERE o.oid >= 16384),
  (SELECT pg_catalog.concat_ws(':', count(*), sum(pg_catalog.hash_record_extended(ROW(n.oid, n.xmin), 0)))
    FROM pg_catalog.pg_namespace n WHERE NOT pg_catalog.starts_with(n.nspname::text, 'pg_t')),
  (SELECT count(*) FROM pg_catalog.pg_type t WHERE t.typname = 'id_to_timestamp')),
  EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'pgid' AND c.relname = 'config'),
  EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'pgid' AND c.relname = 'migrations')
