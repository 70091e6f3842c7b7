-- What kinds of keys do to a B-tree: bigint identity, snowflakes, UUIDv7, UUIDv7
-- that is random within its millisecond, UUIDv4, ULID as text, UUIDv4 as text.
--
--     psql -f sql/bench/btree.sql -v rows=1000000
--
-- It fills one table for each kind (key, 100 bytes of payload, created_at), in
-- committed batches that take turns, so that a noisy machine hurts all alike.
-- For every batch it notes rows/s, WAL and full-page images, index size, leaf
-- density and fragmentation, page splits, and the index's buffer hits and reads;
-- then what reads cost: newest 100, a hundredth of the rows in order of time, by
-- the key and by created_at ("an hour" of a table that took a hundred), look-ups of recent and of random rows. Each is
-- done twice, and the second time counts: compare the buffers that it looks at,
-- not what finding them on the disk would take. At the end it prints three tables.
--
-- 200,000 rows take half a minute, 1,000,000 two to four minutes, 5,000,000 half
-- an hour; 1,000,000 rows need 3 GB of disk beside the WAL. All is done in a
-- schema of its own, pgid_bench, which is dropped at the end.
--
-- Other variables:
--   -v keys=identity,uuidv7,uuidv4   only these kinds
--   -v batch=50000                   rows of a batch (a tenth of the rows at most)
--   -v keep=1                        keeps the schema: its tables hold all figures
--
-- Snowflakes and UUIDv7 need the functions of `pgidproxy install`. In a session
-- through the proxy it makes them: a batch is then many statements of 500 rows,
-- for these two kinds as VALUES, since it replaces calls evaluated once only.
--
-- No extension is needed. pgstattuple (density, fragmentation) and pg_walinspect
-- (splits, bytes of full-page images) are used where they are, or where this
-- role may create them, which it does inside the schema.
-- WAL and images are counted for the whole server: let it do nothing else.
-- `pgidproxy bench btree` runs this file's sections and draws the outcome.

\set ON_ERROR_STOP 1
\set QUIET 1
\pset footer off
\if :{?rows}
\else
  \set rows 200000
\endif
\if :{?batch}
\else
  \set batch 0
\endif
\if :{?keys}
\else
  \set keys ''
\endif
\if :{?keep}
\else
  \set keep 0
\endif

--section schema
CREATE SCHEMA pgid_bench;
COMMENT ON SCHEMA pgid_bench IS 'made by the benchmark of pgidproxy; may be dropped';

-- One row: what this run is.
CREATE TABLE pgid_bench.run (
  rows bigint, batch bigint, rounds int,
  chunk int,            -- rows of one INSERT, through the proxy; 0: one INSERT is a batch
  checkpoints boolean,  -- one begins each round
  pgstattuple text, pg_walinspect text, -- schemas of these extensions
  began timestamptz DEFAULT clock_timestamp()
);
CREATE TABLE pgid_bench.kind (
  key text PRIMARY KEY, ordinal int, label text, type text,
  make text,            -- the expression that makes a key
  by_time boolean,      -- keys sort by the time that they tell
  make_us float8        -- microseconds that one key takes to make; NULL: the proxy makes it
);
CREATE TABLE pgid_bench.batch (
  key text, round int, rows bigint, began timestamptz, ended timestamptz,
  wal_bytes bigint,     -- of the whole server, by pg_current_wal_insert_lsn
  fpi bigint,           -- full-page images, of the whole server; NULL before PostgreSQL 15
  fpi_bytes bigint,     -- what they hold; NULL without pg_walinspect
  splits bigint,        -- of B-tree pages; NULL without pg_walinspect
  index_bytes bigint, index_growth bigint, table_bytes bigint,
  hits bigint, reads bigint, -- of the index's blocks; NULL before PostgreSQL 15
  density float8, fragmentation float8, -- percent, every tenth of the run; NULL without pgstattuple
  PRIMARY KEY (key, round)
);
CREATE TABLE pgid_bench.sample (key text, recent boolean, id text);
CREATE TABLE pgid_bench.span (key text, via text, low text, high text); -- a hundredth of the rows, the last one not included
CREATE TABLE pgid_bench.read (
  key text, query text, -- newest, range, recent, random
  via text,             -- key or created_at
  queries int, rows bigint, ms float8, hits bigint, reads bigint
);
-- The batch that is under way. Not logged, so that it adds no WAL.
CREATE UNLOGGED TABLE pgid_bench.mark (
  key text, round int, began timestamptz, ended timestamptz, low pg_lsn, high pg_lsn, fpi bigint, hits bigint, reads bigint, index_bytes bigint
);
-- What is to be done, in this order.
CREATE TABLE pgid_bench.step (
  n int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text, round int, statement text, times int DEFAULT 1,
  weight float8 DEFAULT 0 -- rows that it inserts each time, or as many as would take as long
);

-- A UUIDv7 with 74 random bits, as many libraries make it.
CREATE FUNCTION pgid_bench.uuidv7_random() RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING
    substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- The last n digits of a number in ULID's base 32.
CREATE FUNCTION pgid_bench.base32(bigint, n int) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE s text := ''; v bigint := $1;
BEGIN
  FOR i IN 1..n LOOP
    s := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (v & 31)::int + 1, 1) || s;
    v := v >> 5;
  END LOOP;
  RETURN s;
END $$;

-- 48 bits of milliseconds, and 80 random ones.
CREATE FUNCTION pgid_bench.ulid() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT pgid_bench.base32((extract(epoch FROM clock_timestamp()) * 1000)::bigint, 10)
    || pgid_bench.base32((random() * 1099511627775)::bigint, 8) || pgid_bench.base32((random() * 1099511627775)::bigint, 8)
$$;

-- The extension's schema; it is made where it is not and may be.
CREATE FUNCTION pgid_bench.extension(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = name) THEN
    EXECUTE format('CREATE EXTENSION %I SCHEMA pgid_bench', name);
  END IF;
  RETURN (SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = name);
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;

-- The kinds, of which keys may name some ('' is all).
CREATE PROCEDURE pgid_bench.kinds(keys text) LANGUAGE plpgsql AS $$
DECLARE
  functions text; -- their schema
  missing text;
BEGIN
  IF to_regclass('pgid.config') IS NOT NULL THEN
    EXECUTE 'SELECT quote_ident(schema) FROM pgid.config' INTO functions;
  END IF;
  INSERT INTO pgid_bench.kind VALUES
    ('identity', 1, 'bigint identity', 'bigint GENERATED BY DEFAULT AS IDENTITY', 'DEFAULT', false),
    ('snowflake', 2, 'snowflake', 'bigint', functions || '.next_snowflake()', true),
    ('uuidv7', 3, 'UUIDv7', 'uuid', CASE WHEN current_setting('server_version_num')::int < 180000 THEN functions ELSE 'pg_catalog' END || '.uuidv7()', true),
    ('uuidv7_random', 4, 'UUIDv7, random in its ms', 'uuid', 'pgid_bench.uuidv7_random()', true),
    ('uuidv4', 5, 'UUIDv4', 'uuid', 'gen_random_uuid()', false),
    ('ulid', 6, 'ULID as text', 'text COLLATE "C"', 'pgid_bench.ulid()', true),
    ('uuidv4_text', 7, 'UUIDv4 as text', 'text COLLATE "C"', 'gen_random_uuid()::text', false);
  IF keys <> '' THEN
    SELECT string_agg(k, ', ') INTO missing FROM unnest(string_to_array(keys, ',')) k WHERE k NOT IN (SELECT key FROM pgid_bench.kind);
    IF missing IS NOT NULL THEN
      RAISE EXCEPTION 'there is no kind of key %', missing
        USING HINT = (SELECT 'Kinds are ' || string_agg(key, ', ' ORDER BY ordinal) || '.' FROM pgid_bench.kind);
    END IF;
    DELETE FROM pgid_bench.kind WHERE key <> ALL (string_to_array(keys, ','));
  END IF;
  SELECT string_agg(key, ' and ' ORDER BY ordinal) INTO missing FROM pgid_bench.kind WHERE make IS NULL;
  IF missing IS NOT NULL THEN
    RAISE EXCEPTION 'the functions for % are not installed in this database', missing
      USING HINT = 'Run pgidproxy install, or leave these keys out.';
  END IF;
END $$;

-- How many microseconds a key takes to make in the server: the best of five.
CREATE PROCEDURE pgid_bench.measure_making(chunk int) LANGUAGE plpgsql AS $$
DECLARE k record; began timestamptz; n CONSTANT int := 5000;
BEGIN
  FOR k IN SELECT key, CASE key WHEN 'identity' THEN 'nextval(''pgid_bench.identity_id_seq'')' ELSE make END AS make
      FROM pgid_bench.kind, generate_series(1, 5) WHERE chunk = 0 OR key NOT IN ('snowflake', 'uuidv7') LOOP
    began := clock_timestamp();
    EXECUTE format('SELECT count(%s) FROM generate_series(1, %s)', k.make, n);
    UPDATE pgid_bench.kind SET make_us = least(make_us, extract(epoch FROM clock_timestamp() - began) * 1e6 / n) WHERE key = k.key;
  END LOOP;
END $$;

-- Makes the tables and the list of steps. In every round the kinds come in
-- another order. A batch of 0 chooses one.
CREATE PROCEDURE pgid_bench.prepare(rows bigint, batch bigint, keys text, chunk int) LANGUAGE plpgsql AS $$
DECLARE
  r pgid_bench.run;
  k record;
  version CONSTANT int := current_setting('server_version_num')::int;
  kinds int;
  times int; -- statements of a batch
  begin_batch text;
  insert text;
BEGIN
  IF rows < 1000 THEN
    RAISE EXCEPTION 'a run has at least 1000 rows';
  END IF;
  CALL pgid_bench.kinds(keys);
  batch := CASE batch WHEN 0 THEN least(rows / 20, 100000) ELSE least(batch, rows / 10) END;
  IF chunk > 0 THEN
    batch := greatest(batch / chunk, 1) * chunk;
  END IF;
  INSERT INTO pgid_bench.run VALUES (rows / batch * batch, batch, rows / batch, chunk,
    current_setting('is_superuser')::boolean OR version >= 150000 AND
      EXISTS (SELECT FROM pg_roles WHERE rolname = 'pg_checkpoint' AND pg_has_role(oid, 'USAGE')),
    pgid_bench.extension('pgstattuple'), CASE WHEN version >= 150000 THEN pgid_bench.extension('pg_walinspect') END)
    RETURNING * INTO r;
  FOR k IN SELECT * FROM pgid_bench.kind LOOP
    EXECUTE format('CREATE TABLE pgid_bench.%I (id %s PRIMARY KEY, payload text DEFAULT repeat(''p'', 100),
      created_at timestamptz DEFAULT clock_timestamp()) WITH (autovacuum_enabled = off)', k.key, k.type);
  END LOOP;
  CALL pgid_bench.measure_making(chunk);
  SELECT count(*) INTO kinds FROM pgid_bench.kind;
  IF chunk > 0 THEN
    INSERT INTO pgid_bench.step (statement) VALUES ('SELECT pg_sleep(3)'); -- until the proxy has seen the tables
  END IF;
  FOR round IN 1..r.rounds LOOP
    INSERT INTO pgid_bench.step (statement, round) SELECT 'CHECKPOINT', round WHERE r.checkpoints;
    FOR k IN SELECT key, make FROM (SELECT *, row_number() OVER (ORDER BY ordinal) AS place FROM pgid_bench.kind) numbered
        ORDER BY (place + round) % kinds LOOP
      times := CASE chunk WHEN 0 THEN 1 ELSE batch / chunk END;
      insert := CASE
        WHEN k.make = 'DEFAULT' THEN
          format('INSERT INTO pgid_bench.%I (payload) SELECT repeat(''p'', 100) FROM generate_series(1, %s)', k.key, batch / times)
        WHEN chunk > 0 AND k.key IN ('snowflake', 'uuidv7') THEN
          format('INSERT INTO pgid_bench.%I (id) VALUES (%s)', k.key, k.make) || repeat(format(',(%s)', k.make), chunk - 1)
        ELSE format('INSERT INTO pgid_bench.%I (id) SELECT %s FROM generate_series(1, %s)', k.key, k.make, batch / times) END;
      begin_batch := format('BEGIN; SELECT pgid_bench.start(%L, %s)', k.key, round);
      IF chunk = 0 THEN -- in one message, so that no way to the client is measured
        INSERT INTO pgid_bench.step (key, round, statement, weight)
          VALUES (k.key, round, begin_batch || '; ' || insert || '; COMMIT; SELECT pgid_bench.stop()', batch);
      ELSE
        INSERT INTO pgid_bench.step (key, round, statement, times, weight) VALUES (k.key, round, begin_batch, 1, 0),
          (k.key, round, insert, times, chunk), (k.key, round, 'COMMIT; SELECT pgid_bench.stop()', 1, 0);
      END IF;
      INSERT INTO pgid_bench.step (key, round, statement, weight) VALUES (k.key, round, 'SELECT pgid_bench.note()', batch / 10);
    END LOOP;
  END LOOP;
  INSERT INTO pgid_bench.step (key, statement, weight)
    SELECT key, format(f, key), r.rows * w FROM pgid_bench.kind, (VALUES
      (1, 'CREATE INDEX ON pgid_bench.%I (created_at)', 0.05), (2, 'VACUUM (ANALYZE) pgid_bench.%I', 0.05),
      (3, 'CALL pgid_bench.choose(%L)', 0.02), (4, 'CALL pgid_bench.measure_reads(%L)', 0.02)) AS last(n, f, w)
    ORDER BY n, ordinal;
END $$;

-- The counters of now. What sessions have counted is there once they are idle
-- after pg_stat_force_next_flush.
CREATE FUNCTION pgid_bench.counters(k text, OUT fpi bigint, OUT hits bigint, OUT reads bigint) LANGUAGE sql VOLATILE AS $$
  SELECT wal_fpi, idx_blks_hit, idx_blks_read FROM pg_stat_wal, pg_statio_user_indexes
  WHERE current_setting('server_version_num')::int >= 150000 AND indexrelid = format('pgid_bench.%I', k || '_pkey')::regclass
$$;

CREATE FUNCTION pgid_bench.flush_statistics() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('server_version_num')::int >= 150000 THEN
    PERFORM pg_stat_force_next_flush();
  END IF;
END $$;

-- Begins a batch. These are functions, since after a CALL the proxy waits until it
-- knows that no table was changed.
CREATE FUNCTION pgid_bench.start(k text, round int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM pgid_bench.mark;
  INSERT INTO pgid_bench.mark (key, round, fpi, hits, reads, index_bytes, low, began)
    SELECT k, round, c.fpi, c.hits, c.reads, pg_relation_size(format('pgid_bench.%I', k || '_pkey')),
      pg_current_wal_insert_lsn(), clock_timestamp()
    FROM (SELECT) AS one LEFT JOIN pgid_bench.counters(k) c ON true;
END $$;

-- Ends it, after its COMMIT.
CREATE FUNCTION pgid_bench.stop() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE pgid_bench.mark SET ended = clock_timestamp(), high = pg_current_wal_insert_lsn();
  PERFORM pgid_bench.flush_statistics();
  -- The WAL up to here is on disk when this has committed, to be read by pg_walinspect.
  SET LOCAL synchronous_commit = on;
  PERFORM pg_logical_emit_message(true, 'pgid_bench', '');
END $$;

-- What pg_walinspect finds in the WAL of the batch; nothing where it may not.
CREATE FUNCTION pgid_bench.inspect(low pg_lsn, high pg_lsn, OUT splits bigint, OUT fpi_bytes bigint) LANGUAGE plpgsql AS $$
DECLARE extension text := (SELECT pg_walinspect FROM pgid_bench.run);
BEGIN
  IF extension IS NOT NULL THEN
    EXECUTE format('SELECT coalesce(sum(count) FILTER (WHERE "resource_manager/record_type" IN (''Btree/SPLIT_L'', ''Btree/SPLIT_R'')), 0),
      sum(fpi_size) FROM %s.pg_get_wal_stats($1, $2, true)', extension) INTO splits, fpi_bytes USING low, high;
  END IF;
EXCEPTION WHEN OTHERS THEN
  splits := NULL;
END $$;

-- Notes the figures of the batch. The whole index is looked at every tenth of
-- the run only, since that reads all of it.
CREATE FUNCTION pgid_bench.note() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  m pgid_bench.mark;
  r pgid_bench.run;
  pkey text;
  density float8;
  fragmentation float8;
BEGIN
  SELECT * INTO m FROM pgid_bench.mark;
  SELECT * INTO r FROM pgid_bench.run;
  pkey := format('pgid_bench.%I', m.key || '_pkey');
  IF r.pgstattuple IS NOT NULL AND m.round * 10 / r.rounds > (m.round - 1) * 10 / r.rounds THEN
    BEGIN
      EXECUTE format('SELECT avg_leaf_density, leaf_fragmentation FROM %s.pgstatindex($1::regclass)', r.pgstattuple)
        INTO density, fragmentation USING pkey;
    EXCEPTION WHEN OTHERS THEN
      density := NULL;
    END;
  END IF;
  INSERT INTO pgid_bench.batch
    SELECT m.key, m.round, r.batch, m.began, m.ended, m.high - m.low, c.fpi - m.fpi, i.fpi_bytes, i.splits,
      pg_relation_size(pkey), pg_relation_size(pkey) - m.index_bytes, pg_relation_size(format('pgid_bench.%I', m.key)),
      c.hits - m.hits, c.reads - m.reads - CASE WHEN current_setting('server_version_num')::int < 160000 -- which counts new blocks too
        THEN (pg_relation_size(pkey) - m.index_bytes) / current_setting('block_size')::int ELSE 0 END, density, fragmentation
    FROM pgid_bench.inspect(m.low, m.high) i LEFT JOIN pgid_bench.counters(m.key) c ON true;
  IF m.round * 10 / r.rounds > (m.round - 1) * 10 / r.rounds AND NOT EXISTS (
      SELECT FROM pgid_bench.kind k WHERE NOT EXISTS (SELECT FROM pgid_bench.batch b WHERE b.key = k.key AND b.round = m.round)) THEN
    RAISE NOTICE '% %% of the rows are in', m.round * 100 / r.rounds;
  END IF;
  PERFORM pgid_bench.flush_statistics();
END $$;

-- Chooses rows to be looked up, recent ones (of the last hundredth) and any, and
-- a hundredth of the rows from the middle of the run on: by created_at, and in
-- the order of the keys where that is the order of time. The bounds of these are
-- keys, not the keys of two times: a key tells when it was made, created_at when
-- the row was put in. The proxy makes all keys of a statement at once, and
-- next_snowflake() may be up to 64 ms behind: rows of that time would come at one bound or
-- be missing at the other.
CREATE PROCEDURE pgid_bench.choose(k text) LANGUAGE plpgsql AS $$
DECLARE
  n CONSTANT bigint := (SELECT rows FROM pgid_bench.run);
  middle CONSTANT timestamptz := (SELECT b.began FROM pgid_bench.batch b, pgid_bench.run r WHERE key = k AND b.round = (r.rounds + 1) / 2);
BEGIN
  EXECUTE format('INSERT INTO pgid_bench.span SELECT %L, ''created_at'', min(created_at), max(created_at)
    FROM (SELECT created_at FROM pgid_bench.%1$I WHERE created_at >= %L ORDER BY created_at LIMIT %s) rows', k, middle, n / 100 + 1);
  IF (SELECT by_time FROM pgid_bench.kind WHERE key = k) THEN
    EXECUTE format('INSERT INTO pgid_bench.span SELECT %L, ''key'', (array_agg(id ORDER BY id))[1], (array_agg(id ORDER BY id DESC))[1]
      FROM (SELECT id FROM pgid_bench.%1$I WHERE id >=
        (SELECT id FROM pgid_bench.%1$I WHERE created_at >= %L ORDER BY created_at LIMIT 1) ORDER BY id LIMIT %s) rows', k, middle, n / 100 + 1);
  END IF;
  EXECUTE format('INSERT INTO pgid_bench.sample SELECT %L, true, id FROM
    (SELECT id FROM pgid_bench.%1$I ORDER BY created_at DESC LIMIT %s) recent ORDER BY random() LIMIT 200', k, n / 100);
  EXECUTE format('INSERT INTO pgid_bench.sample SELECT %L, false, id FROM
    pgid_bench.%1$I TABLESAMPLE BERNOULLI (%s) ORDER BY random() LIMIT 200', k, least(100, 100 * 1000.0 / n));
END $$;

-- Runs a query under EXPLAIN, twice, and adds what it cost the second time to the
-- figures: what the cache happened to hold has no part in that.
CREATE PROCEDURE pgid_bench.explain(k text, what text, through text, query text) LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  FOR turn IN 1..2 LOOP
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
  END LOOP;
  UPDATE pgid_bench.read SET queries = queries + 1, rows = rows + (plan #>> '{0,Plan,Actual Rows}')::numeric,
      ms = ms + (plan #>> '{0,Execution Time}')::float8, hits = hits + (plan #>> '{0,Plan,Shared Hit Blocks}')::bigint,
      reads = reads + (plan #>> '{0,Plan,Shared Read Blocks}')::bigint
    WHERE key = k AND read.query = what AND via = through;
  IF NOT FOUND THEN
    INSERT INTO pgid_bench.read SELECT k, what, through, 1, (plan #>> '{0,Plan,Actual Rows}')::numeric,
      (plan #>> '{0,Execution Time}')::float8, (plan #>> '{0,Plan,Shared Hit Blocks}')::bigint, (plan #>> '{0,Plan,Shared Read Blocks}')::bigint;
  END IF;
END $$;

-- The reads of one kind.
CREATE PROCEDURE pgid_bench.measure_reads(k text) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
  id text;
  span pgid_bench.span;
  query CONSTANT text := format('SELECT payload FROM pgid_bench.%I ', k);
BEGIN
  FOR span IN SELECT * FROM pgid_bench.span s WHERE key = k LOOP
    CALL pgid_bench.explain(k, 'range', span.via, query || format('WHERE %1$I >= %2$L AND %1$I < %3$L',
      CASE span.via WHEN 'key' THEN 'id' ELSE span.via END, span.low, span.high));
  END LOOP;
  FOR id IN SELECT s.id FROM pgid_bench.sample s WHERE key = k AND NOT recent LOOP
    CALL pgid_bench.explain(k, 'random', 'key', query || format('WHERE id = %L', id));
  END LOOP;
  FOR id IN SELECT s.id FROM pgid_bench.sample s WHERE key = k AND recent LOOP
    CALL pgid_bench.explain(k, 'recent', 'key', query || format('WHERE id = %L', id));
  END LOOP;
  CALL pgid_bench.explain(k, 'newest', 'key', query || 'ORDER BY id DESC LIMIT 100');
  CALL pgid_bench.explain(k, 'newest', 'created_at', query || 'ORDER BY created_at DESC LIMIT 100');
END $$;

-- The figures of each kind over the run. Splits that nobody could count are the
-- pages that the index has grown by.
CREATE VIEW pgid_bench.figure AS
SELECT k.ordinal, k.key, k.label, r.rows, k.make_us, b.*
FROM pgid_bench.kind k CROSS JOIN pgid_bench.run r CROSS JOIN LATERAL (
  SELECT sum(b.rows) / sum(extract(epoch FROM b.ended - b.began))::float8 AS rows_per_s,
    sum(b.rows) FILTER (WHERE late) / (sum(extract(epoch FROM b.ended - b.began)) FILTER (WHERE late))::float8 AS rows_per_s_last,
    sum(b.wal_bytes)::float8 AS wal_bytes, sum(b.wal_bytes)::float8 / sum(b.rows) AS wal_per_row,
    sum(b.fpi)::float8 / sum(b.rows) AS fpi_per_row, sum(b.fpi_bytes)::float8 / sum(b.rows) AS fpi_bytes_per_row,
    coalesce(sum(b.splits), sum(b.index_growth) / current_setting('block_size')::int)::float8 AS splits,
    sum(b.splits) IS NOT NULL AS splits_seen,
    max(b.index_bytes) AS index_bytes, max(b.table_bytes) AS table_bytes,
    (array_agg(b.density ORDER BY b.round DESC))[1] AS density, (array_agg(b.fragmentation ORDER BY b.round DESC))[1] AS fragmentation,
    sum(b.hits)::float8 / sum(b.rows) AS hits_per_row, sum(b.reads)::float8 / sum(b.rows) AS reads_per_row
  FROM (SELECT *, round > r.rounds - greatest(r.rounds / 10, 1) AS late FROM pgid_bench.batch WHERE batch.key = k.key) b) b;

-- The same as it is printed; × is the ratio to the first kind, identity.
CREATE VIEW pgid_bench.inserts AS
SELECT label AS key, round(rows_per_s) AS "rows/s", round(rows_per_s_last) AS "in the last tenth",
  round((rows_per_s_last / first_value(rows_per_s_last) OVER w)::numeric, 2) AS "× ",
  round((1e6 / rows_per_s_last)::numeric, 1) AS "µs/row", round(make_us::numeric, 1) AS "of these the key",
  round(wal_per_row::numeric) AS "WAL B/row", round((wal_per_row / first_value(wal_per_row) OVER w)::numeric, 2) AS "×  ",
  round(fpi_per_row::numeric * 1000, 1) AS "images/1000 rows",
  round(splits) AS splits, round(reads_per_row::numeric * 1000, 1) AS "index reads/1000 rows"
FROM pgid_bench.figure WINDOW w AS (ORDER BY ordinal);

CREATE VIEW pgid_bench.sizes AS
SELECT label AS key, round(index_bytes / 1048576.0, 1) AS "index MiB",
  round(index_bytes::numeric / first_value(index_bytes) OVER w, 2) AS "× ",
  round(index_bytes / rows::numeric, 1) AS "index B/row", round(density::numeric, 1) AS "leaf density %",
  round(fragmentation::numeric, 1) AS "leaf fragmentation %", round(table_bytes / 1048576.0, 1) AS "table MiB"
FROM pgid_bench.figure WINDOW w AS (ORDER BY ordinal);

CREATE VIEW pgid_bench.reads AS
SELECT k.label AS key, query, via, round(rows / queries::numeric) AS "rows", round((ms / queries)::numeric, 3) AS "ms",
  round((r.hits + r.reads) / queries::numeric, 1) AS buffers
FROM pgid_bench.read r JOIN pgid_bench.kind k USING (key)
ORDER BY array_position('{newest,range,recent,random}', query), k.ordinal, via DESC;
--end

-- Through the proxy next_snowflake() gives ids of another node than the database's.
SELECT to_regclass('pgid.config') IS NOT NULL AS installed \gset
\set chunk 0
\if :installed
  SELECT quote_ident(schema) || '.next_snowflake()' AS call FROM pgid.config \gset
  SELECT :call AS id \gset
  SELECT CASE WHEN :id >> 12 & 1023 = function_node THEN 0 ELSE 500 END AS chunk FROM pgid.config \gset
\endif
CALL pgid_bench.prepare(:rows, :batch, :'keys', :chunk);
\o /dev/null
SELECT statement FROM pgid_bench.step, generate_series(1, times) ORDER BY n \gexec
\o
SELECT * FROM pgid_bench.inserts;
SELECT * FROM pgid_bench.sizes;
SELECT * FROM pgid_bench.reads;
\if :keep
\else
  SET client_min_messages = warning;
  DROP SCHEMA pgid_bench CASCADE;
\endif
