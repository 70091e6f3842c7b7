-- uuidv7(): RFC 9562 with 12 bits below the millisecond, which also count: within
-- a session every id is larger than the last one, also when the clock steps back
-- or stands still. The last one is kept in a setting of the session, so that the
-- function works in read-only transactions and on standbys; a rollback takes the
-- setting back, but with it what was stored. Here t is ms<<12 | those bits.
CREATE OR REPLACE FUNCTION {schema}.uuidv7() RETURNS uuid
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $pgid$
DECLARE
  t CONSTANT bigint := {ascending};
BEGIN
  RETURN pg_catalog.encode(
    pg_catalog.int8send(((t OPERATOR(pg_catalog.>>) 12) OPERATOR(pg_catalog.<<) 16)
      OPERATOR(pg_catalog.|) 28672::bigint OPERATOR(pg_catalog.|) (t OPERATOR(pg_catalog.&) 4095::bigint))
    OPERATOR(pg_catalog.||) pg_catalog.substr(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 9), 'hex')::pg_catalog.uuid;
END
$pgid$;

-- uuidv7(interval): as PostgreSQL 18's, shifted from the present by an interval.
CREATE OR REPLACE FUNCTION {schema}.uuidv7(shift interval) RETURNS uuid
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE AS $pgid$
DECLARE
  present CONSTANT pg_catalog.timestamptz := {now};
  t CONSTANT bigint := {ascending} OPERATOR(pg_catalog.+) (pg_catalog.int8((
    pg_catalog.date_part('epoch', present OPERATOR(pg_catalog.+) shift)
    OPERATOR(pg_catalog.-) pg_catalog.date_part('epoch', present)) OPERATOR(pg_catalog.*) 1000.0::pg_catalog.float8)
    OPERATOR(pg_catalog.<<) 12);
BEGIN
  RETURN pg_catalog.encode(
    pg_catalog.int8send(((t OPERATOR(pg_catalog.>>) 12) OPERATOR(pg_catalog.<<) 16)
      OPERATOR(pg_catalog.|) 28672::bigint OPERATOR(pg_catalog.|) (t OPERATOR(pg_catalog.&) 4095::bigint))
    OPERATOR(pg_catalog.||) pg_catalog.substr(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()), 9), 'hex')::pg_catalog.uuid;
END
$pgid$;
