# Rights: inserting needs none on what the functions use.
same
GRANT INSERT, SELECT, UPDATE ON acct, t TO e2e_app

same
SET ROLE e2e_app

proxy
INSERT INTO acct(name) VALUES ('x') RETURNING id

proxy
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'x') RETURNING id

server
SELECT next_snowflake() FROM acct LIMIT 1

same
CREATE TABLE pgid.mine (x int)

same
UPDATE pgid.config SET value = value

same
RESET ROLE

# Objects of an attacker's are never called.
same
CREATE SCHEMA evil AUTHORIZATION e2e_evil

same
GRANT USAGE ON SCHEMA evil TO PUBLIC

same
SET ROLE e2e_evil

same
CREATE FUNCTION evil.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'

same
CREATE FUNCTION evil.setval(regclass, bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'

same
CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT ''2000-01-01''::timestamptz'

same
CREATE FUNCTION evil.stolen(bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stolen'; END $$

same
CREATE OPERATOR evil.+ (FUNCTION = evil.stolen, LEFTARG = bigint, RIGHTARG = bigint)

same
CREATE OPERATOR evil.<< (FUNCTION = evil.stolen, LEFTARG = bigint, RIGHTARG = bigint)

same
CREATE OPERATOR evil.- (FUNCTION = evil.stolen, LEFTARG = bigint, RIGHTARG = bigint)

same
CREATE OPERATOR evil.* (FUNCTION = evil.stolen, LEFTARG = bigint, RIGHTARG = bigint)

same
RESET ROLE

same
CREATE TEMP TABLE pgid_state(x int)

same
SET search_path = evil, pg_catalog, public

server
SELECT public.next_snowflake() FROM other LIMIT 1

any
SELECT public.next_snowflake()

same
SET pgid.node_id = '3'

server
SELECT public.next_snowflake() FROM other LIMIT 1

same
SELECT public.id_to_timestamp(1), public.id_to_timestamp('01940000-0000-7000-8000-000000000001'::uuid)

server to 17
SELECT public.uuidv7() FROM other LIMIT 1

same
RESET search_path

# Read-only transactions.
same
BEGIN READ ONLY

same
SELECT id_to_timestamp(1) = '2024-01-01 00:00:00+00'

server
SELECT uuidv7() FROM other

same
SELECT next_snowflake() FROM other

same
ROLLBACK

same
BEGIN READ ONLY

proxy
SELECT uuidv7(), id_to_timestamp(1)

same
COMMIT

# Labels.
same
SELECT proname, pg_get_function_identity_arguments(oid), provolatile, proparallel, proisstrict, prosecdef FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname IN ('next_snowflake', 'uuidv7', 'id_to_timestamp') ORDER BY 1, 2

same
SET parallel_setup_cost=0

same
SET parallel_tuple_cost=0

same
SET min_parallel_table_scan_size=0

same
CREATE TABLE big AS SELECT g FROM generate_series(1,20000) g

same once
INSERT INTO acct(id) SELECT next_snowflake() FROM big

same once
CREATE TABLE x AS SELECT g, next_snowflake() i, uuidv7() u FROM big

same
SELECT count(DISTINCT i), count(DISTINCT u), bool_and(i >> 12 & 1023 = 1023) FROM x

same
SELECT count(*), count(DISTINCT id) FROM acct

same
CREATE TABLE y (id bigint, ts timestamptz GENERATED ALWAYS AS (id_to_timestamp(id)) STORED)

same
CREATE INDEX ON y (id_to_timestamp(id))

same once
INSERT INTO y(id) SELECT i FROM x LIMIT 100

same
SET pgid.epoch_ms = '0'

same
SELECT count(*) FROM y WHERE id_to_timestamp(id) > now() - interval '1 day'

same
SELECT count(*) FROM y WHERE id_to_timestamp(id) <> ts

# 100,000 rows, and UPDATEs of them.
same once
INSERT INTO t(id) SELECT next_snowflake() FROM generate_series(1,100000)

same once
UPDATE t SET u = uuidv7(), id2 = next_snowflake()

same
SELECT count(DISTINCT id), count(DISTINCT u), count(DISTINCT id2), bool_and(id >> 12 & 1023 = 1023 AND id2 >> 12 & 1023 = 1023) FROM t WHERE name IS NULL AND u IS NOT NULL
