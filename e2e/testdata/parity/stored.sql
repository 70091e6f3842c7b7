# Whatever is stored holds the call, never a number.
kept once
CREATE TABLE d1 (id bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7(), t text DEFAULT 'o_' || next_snowflake(), c uuid DEFAULT coalesce(NULL, uuidv7()), s text DEFAULT next_snowflake()::text, at timestamptz DEFAULT id_to_timestamp('01940000-0000-7000-8000-000000000001'))

kept
ALTER TABLE other ADD COLUMN id bigint DEFAULT next_snowflake()

server
SELECT id FROM other

kept
ALTER TABLE other ALTER COLUMN id SET DEFAULT next_snowflake() + 1

kept
ALTER TABLE other ALTER COLUMN id TYPE text USING next_snowflake()::text

kept
ALTER TABLE other ALTER COLUMN id SET DEFAULT next_snowflake()::text

kept
CREATE DOMAIN made AS bigint DEFAULT next_snowflake() CHECK (value > 0)

kept
CREATE DOMAIN timed AS bigint CHECK (id_to_timestamp(value) > id_to_timestamp('00000000-0000-1000-8000-000000000000'::uuid))

kept
CREATE TABLE d2 (id made, n int CHECK (id_to_timestamp(7312345678901234567) > '2000-01-01'), ts timestamptz GENERATED ALWAYS AS (id_to_timestamp(id::bigint)) STORED)

kept
CREATE TABLE d3 (id bigint, at timestamptz GENERATED ALWAYS AS (id_to_timestamp('01940000-0000-7000-8000-000000000001'::uuid)) STORED)

kept
CREATE INDEX d2_at ON d2 (id_to_timestamp(id::bigint)) WHERE id_to_timestamp(7) < '2100-01-01'

kept
CREATE UNIQUE INDEX ON d3 ((id_to_timestamp(id) IS NULL), (id_to_timestamp(9) IS NULL))

kept
CREATE VIEW v1 AS SELECT next_snowflake() AS id, uuidv7() AS u, id_to_timestamp(7) AS at

kept
CREATE OR REPLACE TEMP VIEW v2 AS SELECT next_snowflake()

kept
CREATE VIEW v3 (a) AS VALUES (next_snowflake()), (1)

kept
CREATE RECURSIVE VIEW v4 (a) AS SELECT next_snowflake()

kept
CREATE VIEW v5 AS SELECT next_snowflake() AS id WITH NO DATA

kept
CREATE MATERIALIZED VIEW m1 AS SELECT next_snowflake() AS id, id_to_timestamp(7) AS at

kept
REFRESH MATERIALIZED VIEW m1

kept
CREATE RULE r1 AS ON INSERT TO d3 DO ALSO INSERT INTO t(id) VALUES (next_snowflake())

kept
CREATE RULE r2 AS ON UPDATE TO d3 DO INSTEAD SELECT next_snowflake(), id_to_timestamp(7)

kept
CREATE FUNCTION f1() RETURNS bigint LANGUAGE sql AS 'SELECT next_snowflake()'

kept
CREATE FUNCTION f2() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT next_snowflake(); END

kept
CREATE FUNCTION f3() RETURNS bigint LANGUAGE sql RETURN next_snowflake()

kept
CREATE FUNCTION f4(x bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7()) RETURNS bigint LANGUAGE sql AS $$ SELECT x $$

kept
CREATE FUNCTION f5() RETURNS timestamptz LANGUAGE sql RETURN id_to_timestamp('01940000-0000-7000-8000-000000000001')

kept
CREATE FUNCTION f6() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t(id) VALUES (next_snowflake()); RETURN id_to_timestamp(7); END $$

kept
CREATE PROCEDURE p1(INOUT x bigint) LANGUAGE sql BEGIN ATOMIC INSERT INTO t(id, name) VALUES (next_snowflake(), 'p1'); SELECT next_snowflake(); END

kept
CREATE PROCEDURE p2(x bigint) LANGUAGE sql AS 'INSERT INTO t(id, id2, name) VALUES (next_snowflake(), x, ''p2'')'

kept
CREATE TRIGGER tr BEFORE INSERT ON part_1 FOR EACH ROW WHEN (new.id < next_snowflake()) EXECUTE FUNCTION v_trigger_insert()

kept
DROP TRIGGER tr ON part_1

kept
CREATE POLICY pol ON t USING (id_to_timestamp(7312345678901234567) > '2000-01-01') WITH CHECK (id < next_snowflake())

kept
CREATE STATISTICS st ON (id_to_timestamp(id)), n FROM t

kept
CREATE TABLE range_part (id bigint) PARTITION BY RANGE ((id_to_timestamp(id)))

kept
CREATE TABLE range_1 PARTITION OF range_part FOR VALUES FROM (MINVALUE) TO (id_to_timestamp(7))

kept
CREATE AGGREGATE agg (bigint) (SFUNC = int8_avg_accum, STYPE = internal, INITCOND = 'next_snowflake()')

kept
COMMENT ON TABLE t IS 'next_snowflake() makes its ids'

kept
CREATE SCHEMA whole CREATE TABLE x (id bigint DEFAULT next_snowflake()) CREATE VIEW y AS SELECT next_snowflake() AS id

kept
CREATE TYPE pair_of AS ENUM ('next_snowflake()', 'uuidv7()')

kept
ALTER DATABASE e2e_nope SET search_path = 'next_snowflake()'

kept
DO $$ BEGIN INSERT INTO t(id, name) VALUES (next_snowflake(), 'do'); EXECUTE 'CREATE TABLE by_do (id bigint DEFAULT next_snowflake())'; END $$

server
SELECT id FROM t WHERE name = 'do'

server simple
CREATE TABLE ctas AS SELECT next_snowflake() AS id, id_to_timestamp(7) AS at; SELECT id FROM ctas

kept simple
CREATE TABLE ctas2 AS VALUES (next_snowflake()), (next_snowflake())

kept simple
CREATE TEMP TABLE ctas3 ON COMMIT DROP AS EXECUTE nope(next_snowflake())

# What was stored.
same
SELECT c.relname, a.attname, pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum ORDER BY 1, 2

same
SELECT relname, pg_get_viewdef(oid) FROM pg_class WHERE relkind IN ('v','m') AND relnamespace IN ('public'::regnamespace, pg_my_temp_schema()) ORDER BY 1

same
SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE proname IN ('f1','f2','f3','f4','f5','f6','p1','p2') ORDER BY 1

same
SELECT rulename, definition FROM pg_rules WHERE schemaname = 'public' ORDER BY 1

same
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace ORDER BY 1

same
SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1

same
SELECT polname, pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid) FROM pg_policy

same
SELECT typname, typdefault FROM pg_type WHERE typname IN ('made', 'timed')

# And works: the server's functions make the ids.
any
INSERT INTO d1 DEFAULT VALUES RETURNING id, u, t, c, s, at

server
SELECT id, u FROM v1

server
SELECT f1(), f2(), f3(), f4(), f5()

any
SELECT f4(next_snowflake())

server
CALL p1(1)

kept
CALL p2(next_snowflake())

server
CALL p1(next_snowflake())

server
SELECT id, id2 FROM t WHERE name IN ('p1', 'p2')

server
INSERT INTO d2(n) VALUES (1) RETURNING id, n

any
INSERT INTO d3 VALUES (next_snowflake()) RETURNING id

same
SELECT count(*), count(DISTINCT id) FROM t

# Dropping and replacing what is ours is the server's matter.
same
DROP FUNCTION next_snowflake()

same
CREATE OR REPLACE FUNCTION uses() RETURNS bigint LANGUAGE sql AS 'SELECT public.next_snowflake()'

same
ALTER FUNCTION uses() STABLE

same
SELECT uses() > 0

same
DROP FUNCTION uses()
