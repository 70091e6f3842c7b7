-- next_snowflake(): 41 bits ms since 2024-01-01 | 10 bits node | 12 bits sequence.
-- SECURITY DEFINER, so that nobody needs rights on the sequences; every name and
-- operator is qualified, so that no search_path leads elsewhere (a SET clause
-- would cost as much as the rest).
CREATE OR REPLACE FUNCTION {schema}.next_snowflake() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER AS $pgid$
DECLARE
  last bigint;  -- ms<<12 | sequence
  ahead bigint; -- ms that last is ahead of the clock
  done bigint;
BEGIN
  IF pg_catalog.pg_sequence_last_value('pgid.snowflake_gate'::pg_catalog.regclass)
      OPERATOR(pg_catalog.&) 1::bigint OPERATOR(pg_catalog.=) 0::bigint THEN
    --step even
    last := pg_catalog.nextval('pgid.snowflake_last'::pg_catalog.regclass);
    --step fast
    ahead := last OPERATOR(pg_catalog.>>) 12 OPERATOR(pg_catalog.-) {clock};
    IF ahead OPERATOR(pg_catalog.>=) (-64)::bigint AND ahead OPERATOR(pg_catalog.<=) {run_ahead}::bigint THEN
      RETURN last OPERATOR(pg_catalog.&) (-4096)::bigint OPERATOR(pg_catalog.<<) 10
        OPERATOR(pg_catalog.|) {node}::bigint OPERATOR(pg_catalog.|) (last OPERATOR(pg_catalog.&) 4095::bigint);
    END IF;
  END IF;
  IF ahead IS NULL OR ahead OPERATOR(pg_catalog.<) 0::bigint THEN
    BEGIN
      LOCK TABLE pgid.snowflake_mover IN ACCESS EXCLUSIVE MODE;
      --step locked
      IF pg_catalog.pg_sequence_last_value('pgid.snowflake_gate'::pg_catalog.regclass)
          OPERATOR(pg_catalog.&) 1::bigint OPERATOR(pg_catalog.=) 0::bigint THEN
        done := pg_catalog.nextval('pgid.snowflake_gate'::pg_catalog.regclass);
      END IF; -- else a mover died with the gate closed
      --step closed
      ahead := {clock};
      --step clock
      IF pg_catalog.pg_sequence_last_value('pgid.snowflake_last'::pg_catalog.regclass)
          OPERATOR(pg_catalog.<) (ahead OPERATOR(pg_catalog.<<) 12 OPERATOR(pg_catalog.-) 262144::bigint) THEN
        --step moving
        done := pg_catalog.setval('pgid.snowflake_last'::pg_catalog.regclass, ahead OPERATOR(pg_catalog.<<) 12);
      END IF;
      --step moved
      last := pg_catalog.nextval('pgid.snowflake_last'::pg_catalog.regclass);
      ahead := last OPERATOR(pg_catalog.>>) 12 OPERATOR(pg_catalog.-) ahead;
      --step taken
      done := pg_catalog.nextval('pgid.snowflake_gate'::pg_catalog.regclass);
      --step open
      RAISE SQLSTATE 'PGID0'; -- frees the lock: sequences and variables keep their values
    EXCEPTION WHEN SQLSTATE 'PGID0' THEN
      done := NULL;
    END;
  END IF;
  IF ahead OPERATOR(pg_catalog.>) {run_ahead}::bigint THEN
    RAISE EXCEPTION 'next_snowflake: the clock is % ms behind the ids that were given out', ahead
      USING ERRCODE = 'object_not_in_prerequisite_state',
        HINT = 'The server''s clock has stepped back. Set it right, or wait until it has caught up.';
  END IF;
  RETURN last OPERATOR(pg_catalog.&) (-4096)::bigint OPERATOR(pg_catalog.<<) 10
    OPERATOR(pg_catalog.|) {node}::bigint OPERATOR(pg_catalog.|) (last OPERATOR(pg_catalog.&) 4095::bigint);
END
$pgid$;

-- id_to_timestamp: the time of an id, to the millisecond (UUID v1 and v6: to the
-- microsecond); NULL for what carries no time. The epoch stands in the text, so
-- that indexes and generated columns may rely on it.
CREATE OR REPLACE FUNCTION {schema}.id_to_timestamp(bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $pgid$
  SELECT CASE WHEN $1 OPERATOR(pg_catalog.>=) 0::bigint THEN pg_catalog.to_timestamp(
    pg_catalog.float8(($1 OPERATOR(pg_catalog.>>) 22) OPERATOR(pg_catalog.+) 1704067200000::bigint)
      OPERATOR(pg_catalog./) 1000.0::pg_catalog.float8) END
$pgid$;

CREATE OR REPLACE FUNCTION {schema}.id_to_timestamp(uuid) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $pgid$
DECLARE
  b CONSTANT bytea := pg_catalog.uuid_send($1);
  hi bigint; -- the first 48 bits
  lo bigint; -- the next 16
  us bigint; -- microseconds since 1970
BEGIN
  IF pg_catalog.get_byte(b, 8) OPERATOR(pg_catalog.>>) 6 OPERATOR(pg_catalog.<>) 2 THEN
    RETURN NULL;
  END IF;
  hi := pg_catalog.int8(pg_catalog.get_byte(b, 0)) OPERATOR(pg_catalog.<<) 40
    OPERATOR(pg_catalog.|) (pg_catalog.int8(pg_catalog.get_byte(b, 1)) OPERATOR(pg_catalog.<<) 32)
    OPERATOR(pg_catalog.|) (pg_catalog.int8(pg_catalog.get_byte(b, 2)) OPERATOR(pg_catalog.<<) 24)
    OPERATOR(pg_catalog.|) (pg_catalog.int8(pg_catalog.get_byte(b, 3)) OPERATOR(pg_catalog.<<) 16)
    OPERATOR(pg_catalog.|) (pg_catalog.int8(pg_catalog.get_byte(b, 4)) OPERATOR(pg_catalog.<<) 8)
    OPERATOR(pg_catalog.|) pg_catalog.int8(pg_catalog.get_byte(b, 5));
  lo := pg_catalog.int8(pg_catalog.get_byte(b, 6)) OPERATOR(pg_catalog.<<) 8
    OPERATOR(pg_catalog.|) pg_catalog.int8(pg_catalog.get_byte(b, 7));
  IF lo OPERATOR(pg_catalog.>>) 12 OPERATOR(pg_catalog.=) 7::bigint THEN
    us := hi OPERATOR(pg_catalog.*) 1000::bigint;
  ELSIF lo OPERATOR(pg_catalog.>>) 12 OPERATOR(pg_catalog.=) 6::bigint THEN
    us := (hi OPERATOR(pg_catalog.<<) 12 OPERATOR(pg_catalog.|) (lo OPERATOR(pg_catalog.&) 4095::bigint))
      OPERATOR(pg_catalog./) 10::bigint OPERATOR(pg_catalog.-) 12219292800000000::bigint;
  ELSIF lo OPERATOR(pg_catalog.>>) 12 OPERATOR(pg_catalog.=) 1::bigint THEN
    us := (((lo OPERATOR(pg_catalog.&) 4095::bigint) OPERATOR(pg_catalog.<<) 48)
        OPERATOR(pg_catalog.|) ((hi OPERATOR(pg_catalog.&) 65535::bigint) OPERATOR(pg_catalog.<<) 32)
        OPERATOR(pg_catalog.|) (hi OPERATOR(pg_catalog.>>) 16))
      OPERATOR(pg_catalog./) 10::bigint OPERATOR(pg_catalog.-) 12219292800000000::bigint;
  ELSE
    RETURN NULL;
  END IF;
  -- Whole seconds are exact as a double; the rest is added without a time zone.
  RETURN pg_catalog.timezone('UTC', pg_catalog.timezone('UTC', pg_catalog.to_timestamp(
      pg_catalog.float8(us OPERATOR(pg_catalog./) 1000000::bigint)))
    OPERATOR(pg_catalog.+) (pg_catalog.float8(us OPERATOR(pg_catalog.%) 1000000::bigint)
      OPERATOR(pg_catalog.*) '1 microsecond'::pg_catalog.interval));
END
$pgid$;

CREATE OR REPLACE FUNCTION {schema}.id_to_timestamp(text) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $pgid$
DECLARE
  alphabet CONSTANT text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ' COLLATE pg_catalog."C";
  id CONSTANT text := pg_catalog.upper($1 COLLATE pg_catalog."C") COLLATE pg_catalog."C";
  ms bigint := 0;
BEGIN
  IF id OPERATOR(pg_catalog.~) '^[0-9]{1,19}$' THEN
    IF pg_catalog.length(id) OPERATOR(pg_catalog.=) 19 AND id OPERATOR(pg_catalog.>) '9223372036854775807' THEN
      RETURN NULL;
    END IF;
    RETURN {schema}.id_to_timestamp(id::bigint);
  ELSIF id OPERATOR(pg_catalog.~) '^[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}$'
      OR id OPERATOR(pg_catalog.~) '^[0-9A-F]{32}$' THEN
    RETURN {schema}.id_to_timestamp(id::uuid);
  ELSIF id OPERATOR(pg_catalog.~) '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' THEN
    FOR i IN 1..10 LOOP
      ms := ms OPERATOR(pg_catalog.*) 32::bigint OPERATOR(pg_catalog.+)
        pg_catalog.int8(pg_catalog.strpos(alphabet, pg_catalog.substr(id, i, 1))) OPERATOR(pg_catalog.-) 1::bigint;
    END LOOP;
    RETURN pg_catalog.timezone('UTC', pg_catalog.timezone('UTC', pg_catalog.to_timestamp(
        pg_catalog.float8(ms OPERATOR(pg_catalog./) 1000::bigint)))
      OPERATOR(pg_catalog.+) (pg_catalog.float8(ms OPERATOR(pg_catalog.%) 1000::bigint)
        OPERATOR(pg_catalog.*) '1 millisecond'::pg_catalog.interval));
  END IF;
  RETURN NULL;
END
$pgid$;
