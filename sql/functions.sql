-- next_snowflake(): 41 bits ms since 2024-01-01 | 10 bits node | 12 bits sequence.
-- SECURITY DEFINER, so that nobody needs rights on the sequences; every name and
-- operator is qualified, so that no search_path leads elsewhere (a SET clause
-- would cost as much as the rest). The fast path is three expressions, since
-- plpgsql takes a snapshot for each.
CREATE OR REPLACE FUNCTION {schema}.next_snowflake() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER AS $pgid$
DECLARE
  -- ms<<12 | sequence; NULL while the gate is closed, or was never used
  last bigint := CASE WHEN pg_catalog.pg_sequence_last_value('pgid.snowflake_gate'::pg_catalog.regclass)
      OPERATOR(pg_catalog.&) 1::bigint OPERATOR(pg_catalog.=) 0::bigint /*step even*/
    THEN pg_catalog.nextval('pgid.snowflake_last'::pg_catalog.regclass) END;
  ahead bigint; -- ms that last is ahead of the clock
  now bigint;
  gate bigint;
BEGIN
  --step fast
  -- -64 <= ahead <= {run_ahead}, as a distance from the middle
  IF pg_catalog.abs((last OPERATOR(pg_catalog.>>) 12) OPERATOR(pg_catalog.-) {clock_middle})
      OPERATOR(pg_catalog.<=) {half}::bigint THEN
    RETURN last OPERATOR(pg_catalog.+) ((last OPERATOR(pg_catalog.>>) 12) OPERATOR(pg_catalog.*) 4190208::bigint)
      OPERATOR(pg_catalog.+) {node}::bigint; -- ms*2^12 + ms*(2^22-2^12) + node*2^12 + sequence
  END IF;
  ahead := (last OPERATOR(pg_catalog.>>) 12) OPERATOR(pg_catalog.-) {clock};
  IF ahead IS NULL OR ahead OPERATOR(pg_catalog.<) 0::bigint THEN
    BEGIN
      -- Conflicts with itself, but not with what readers and pg_dump hold.
      LOCK TABLE pgid.snowflake_mover IN SHARE UPDATE EXCLUSIVE MODE;
      --step locked
      LOOP
        gate := pg_catalog.pg_sequence_last_value('pgid.snowflake_gate'::pg_catalog.regclass);
        EXIT WHEN gate OPERATOR(pg_catalog.&) 1::bigint OPERATOR(pg_catalog.=) 1::bigint;
        gate := pg_catalog.nextval('pgid.snowflake_gate'::pg_catalog.regclass);
      END LOOP; -- odd at once where a mover died
      --step closed
      now := {clock};
      IF now OPERATOR(pg_catalog.>) 2199023255551::bigint THEN
        RAISE EXCEPTION 'next_snowflake: the clock is past 2093-09-06, where 41 bits of milliseconds since 2024 end'
          USING ERRCODE = 'numeric_value_out_of_range', HINT = 'Set the server''s clock right.';
      END IF;
      --step clock
      IF coalesce(pg_catalog.pg_sequence_last_value('pgid.snowflake_last'::pg_catalog.regclass), (-1)::bigint)
          OPERATOR(pg_catalog.<) ((now OPERATOR(pg_catalog.<<) 12) OPERATOR(pg_catalog.-) 262144::bigint) THEN
        --step moving
        -- The sequence starts where the gate says, so that ids spread over id % 16.
        last := pg_catalog.setval('pgid.snowflake_last'::pg_catalog.regclass, (now OPERATOR(pg_catalog.<<) 12)
          OPERATOR(pg_catalog.|) ((gate OPERATOR(pg_catalog.>>) 1) OPERATOR(pg_catalog.&) 255::bigint));
      END IF;
      --step moved
      last := pg_catalog.nextval('pgid.snowflake_last'::pg_catalog.regclass);
      ahead := (last OPERATOR(pg_catalog.>>) 12) OPERATOR(pg_catalog.-) now;
      --step taken
      gate := pg_catalog.nextval('pgid.snowflake_gate'::pg_catalog.regclass);
      --step open
      RAISE SQLSTATE 'PGID0'; -- frees the lock: sequences and variables keep their values
    EXCEPTION WHEN SQLSTATE 'PGID0' THEN
      gate := NULL;
    END;
  END IF;
  IF ahead OPERATOR(pg_catalog.>) {run_ahead}::bigint THEN
    RAISE EXCEPTION 'next_snowflake: the server''s clock has stepped back: it is % ms behind the ids that were given out', ahead
      USING ERRCODE = 'object_not_in_prerequisite_state',
        HINT = 'Set the clock right, or wait: ids are given out again once it is at most {run_ahead} ms behind.';
  END IF;
  RETURN last OPERATOR(pg_catalog.+) ((last OPERATOR(pg_catalog.>>) 12) OPERATOR(pg_catalog.*) 4190208::bigint)
    OPERATOR(pg_catalog.+) {node}::bigint;
END
$pgid$;

-- id_to_timestamp: the time of an id, to the millisecond (UUID v1 and v6: to the
-- microsecond); NULL for what carries no time. The epoch stands in the text, so
-- that indexes and generated columns may rely on it. For a bigint it is an
-- array's only element: below 0 the index misses it, which gives NULL as a CASE
-- would, but is strict, so that the function can be inlined.
CREATE OR REPLACE FUNCTION {schema}.id_to_timestamp(bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $pgid$
  SELECT pg_catalog.to_timestamp(pg_catalog.float8(($1 OPERATOR(pg_catalog.>>) 22) OPERATOR(pg_catalog.+)
      ('{1704067200000}'::pg_catalog.int8[])[pg_catalog.int4($1 OPERATOR(pg_catalog.>>) 63) OPERATOR(pg_catalog.+) 1])
    OPERATOR(pg_catalog./) 1000.0::pg_catalog.float8)
$pgid$;

CREATE OR REPLACE FUNCTION {schema}.id_to_timestamp(uuid) RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $pgid$
DECLARE
  b CONSTANT pg_catalog.bytea := pg_catalog.uuid_send($1);
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
  alphabet CONSTANT pg_catalog.text := '0123456789ABCDEFGHJKMNPQRSTVWXYZ' COLLATE pg_catalog."C";
  id CONSTANT pg_catalog.text := pg_catalog.upper($1 COLLATE pg_catalog."C") COLLATE pg_catalog."C";
  ms bigint := 0;
BEGIN
  IF id OPERATOR(pg_catalog.~) '^[0-9]{1,19}$' THEN
    IF pg_catalog.length(id) OPERATOR(pg_catalog.=) 19 AND id OPERATOR(pg_catalog.>) '9223372036854775807' THEN
      RETURN NULL;
    END IF;
    RETURN {schema}.id_to_timestamp(id::bigint);
  ELSIF id OPERATOR(pg_catalog.~) '^[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}$'
      OR id OPERATOR(pg_catalog.~) '^[0-9A-F]{32}$' THEN
    RETURN {schema}.id_to_timestamp(id::pg_catalog.uuid);
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
