-- Notifies when DDL is committed, so that proxies need not wait for their next
-- poll. Nobody's DDL may fail for that: a transaction that has notified cannot be
-- prepared, and cannot commit while the queue is full. The function runs with the
-- rights of whoever runs DDL, superusers too: it must belong to the triggers'
-- owner, whoever owns the schema. A rule has no schema of its own, and is listed
-- with a dropped view even where that was temporary.
DO $install$ BEGIN
  CREATE OR REPLACE FUNCTION pgid.notify_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $pgid$
BEGIN
  IF pg_catalog.current_setting('max_prepared_transactions') OPERATOR(pg_catalog.<>) '0'
      OR pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.>) 0.5::pg_catalog.float8 THEN
    RETURN;
  ELSIF tg_event OPERATOR(pg_catalog.=) 'sql_drop' THEN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_event_trigger_dropped_objects() o
        WHERE NOT o.is_temporary AND (o.original OR o.object_type OPERATOR(pg_catalog.<>) 'rule')
        AND o.object_type OPERATOR(pg_catalog.=) ANY (ARRAY['table', 'table column', 'foreign table', 'view', 'materialized view', 'sequence', 'rule',
          'function', 'procedure', 'aggregate', 'operator', 'type', 'schema'])) THEN
      RETURN;
    END IF;
  ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_event_trigger_ddl_commands() c
      WHERE coalesce(c.schema_name, '') OPERATOR(pg_catalog.<>) 'pg_temp') THEN
    RETURN;
  END IF;
  PERFORM pg_catalog.pg_notify('pgidproxy_catalog', '');
EXCEPTION WHEN OTHERS THEN
  RETURN;
END
$pgid$;
  ALTER FUNCTION pgid.notify_ddl() OWNER TO CURRENT_USER;
  DROP EVENT TRIGGER IF EXISTS pgidproxy_ddl;
  DROP EVENT TRIGGER IF EXISTS pgidproxy_drop;
  CREATE EVENT TRIGGER pgidproxy_ddl ON ddl_command_end WHEN TAG IN ({tags}) EXECUTE FUNCTION pgid.notify_ddl();
  CREATE EVENT TRIGGER pgidproxy_drop ON sql_drop EXECUTE FUNCTION pgid.notify_ddl();
EXCEPTION WHEN insufficient_privilege THEN
  RAISE INFO 'pgidproxy: {no_notify}';
END $install$;
