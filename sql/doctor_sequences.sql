-- What next_snowflake keeps its state in: name, whether it is there as it was
-- made, whether a crash keeps it, and its owner's rights aside, whether this role
-- may read its last value.
SELECT w.name, c.oid IS NOT NULL AND coalesce(CASE w.kind
    WHEN 'S' THEN s.seqtypid = 'int8'::regtype AND s.seqincrement = 1 AND s.seqmin = 0 AND s.seqcache = 1 AND NOT s.seqcycle AND s.seqmax = w.most
    ELSE c.relkind = 'r' END, false),
  coalesce(c.relpersistence <> 'u', true),
  CASE WHEN s.seqrelid IS NOT NULL THEN has_sequence_privilege(c.oid, 'USAGE') OR has_sequence_privilege(c.oid, 'SELECT') ELSE true END
FROM (VALUES ('snowflake_last', 'S', 9007199254740991), ('snowflake_gate', 'S', 9223372036854775807), ('snowflake_mover', 'r', 0)) w(name, kind, most)
LEFT JOIN pg_class c ON c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'pgid') AND c.relname = w.name
LEFT JOIN pg_sequence s ON s.seqrelid = c.oid
