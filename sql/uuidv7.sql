-- uuidv7(): RFC 9562 with 12 bits below the millisecond, which also count: within
-- a session every id is larger than the last one, also when the clock steps back
-- or stands still. The last one is kept in a setting of the session, so that the
-- function works in read-only transactions and on standbys. A setting that is
-- further ahead than a clock can have stepped back is not followed.
CREATE OR REPLACE FUNCTION {schema}.uuidv7() RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $pgid$
DECLARE
  t bigint := pg_catalog.int8(pg_catalog.floor(pg_catalog.date_part('epoch', {now})
    OPERATOR(pg_catalog.*) 4096000.0::pg_catalog.float8));
  last CONSTANT bigint := '0' OPERATOR(pg_catalog.||) pg_catalog.current_setting('pgid.uuidv7_last', true);
  kept text;
BEGIN
  IF last OPERATOR(pg_catalog.>=) t AND last OPERATOR(pg_catalog.<) (t OPERATOR(pg_catalog.+) 353894400000::bigint) THEN
    t := last OPERATOR(pg_catalog.+) 1::bigint;
  END IF;
  kept := pg_catalog.set_config('pgid.uuidv7_last', t::text, false);
  RETURN pg_catalog.encode(
    pg_catalog.int8send(t OPERATOR(pg_catalog.>>) 12 OPERATOR(pg_catalog.<<) 16
      OPERATOR(pg_catalog.|) 28672::bigint OPERATOR(pg_catalog.|) (t OPERATOR(pg_catalog.&) 4095::bigint))
    OPERATOR(pg_catalog.||) pg_catalog.substr(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 9), 'hex');
END
$pgid$;

-- uuidv7(interval): as PostgreSQL 18's, shifted from the present by an interval.
CREATE OR REPLACE FUNCTION {schema}.uuidv7(shift interval) RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $pgid$
DECLARE
  t CONSTANT bigint := pg_catalog.int8(pg_catalog.floor(pg_catalog.date_part('epoch',
    {now} OPERATOR(pg_catalog.+) shift) OPERATOR(pg_catalog.*) 4096000.0::pg_catalog.float8));
BEGIN
  RETURN pg_catalog.encode(
    pg_catalog.int8send(t OPERATOR(pg_catalog.>>) 12 OPERATOR(pg_catalog.<<) 16
      OPERATOR(pg_catalog.|) 28672::bigint OPERATOR(pg_catalog.|) (t OPERATOR(pg_catalog.&) 4095::bigint))
    OPERATOR(pg_catalog.||) pg_catalog.substr(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 9), 'hex');
END
$pgid$;
