-- What testCatalog says, on a server. Ids are counted by the sequences that
-- make them; they have the digits and the size of real ones.
CREATE SEQUENCE snowflakes;
CREATE FUNCTION next_snowflake() RETURNS bigint LANGUAGE sql VOLATILE AS
  'SELECT 7119438508367872000 + nextval(''public.snowflakes'')';
CREATE SEQUENCE uuids;
CREATE FUNCTION uuidv7() RETURNS uuid LANGUAGE sql VOLATILE AS
  'SELECT (''01940000-0000-7000-8000-'' || lpad(nextval(''public.uuids'')::text, 12, ''0''))::uuid';
CREATE FUNCTION id_to_timestamp(bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT AS
  'SELECT CASE WHEN $1 >= 0 THEN to_timestamp((($1 >> 22) + 1704067200000) / 1000.0::float8) END';
CREATE FUNCTION id_to_timestamp(uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT AS
  $$SELECT CASE WHEN $1::text ~ '^.{14}7.{4}[89ab]' THEN
    to_timestamp(('x' || lpad(substr(replace($1::text, '-', ''), 1, 12), 16, '0'))::bit(64)::int8 / 1000.0::float8) END$$;
CREATE FUNCTION id_to_timestamp(text) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE STRICT AS
  'BEGIN RETURN id_to_timestamp($1::bigint); EXCEPTION WHEN OTHERS THEN RETURN NULL; END';

CREATE FUNCTION one(bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS
  'BEGIN RAISE NOTICE ''one %'', $1; RETURN $1; END';
CREATE FUNCTION two(bigint) RETURNS SETOF bigint LANGUAGE sql AS 'VALUES ($1), ($1)';
CREATE OPERATOR +! (RIGHTARG = bigint, PROCEDURE = one);
CREATE OPERATOR +% (RIGHTARG = bigint, PROCEDURE = two);

CREATE TYPE pair AS (a bigint, b uuid);
CREATE TABLE t (
  id bigint, n bigint, txt text, b boolean, ts timestamptz, small int4, arr bigint[], pr pair, u uuid);
CREATE UNIQUE INDEX ON t (id);
CREATE TABLE p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p DEFAULT;
CREATE VIEW v AS SELECT * FROM t;
CREATE TABLE r (id bigint);
CREATE TABLE r_log (id bigint);
CREATE RULE copy AS ON INSERT TO r DO ALSO INSERT INTO r_log VALUES (NEW.id);
CREATE TABLE u (id bigint);
CREATE RULE copy AS ON UPDATE TO u DO ALSO INSERT INTO r_log VALUES (NEW.id);
CREATE RULE gone AS ON DELETE TO u DO ALSO INSERT INTO r_log VALUES (OLD.id);
CREATE TABLE two (id bigint);
CREATE SCHEMA other;
CREATE VIEW other.two AS SELECT * FROM two;
CREATE TABLE "Ünï tbl" (name text, id bigint);
CREATE SEQUENCE s;
INSERT INTO t (id, n, txt, b, ts) VALUES (1, 1, 'a', true, '2024-01-01 00:00:00+00'), (2, 2, 'b', false, '2025-01-01 00:00:00+00');

CREATE TABLE acct (id bigint PRIMARY KEY DEFAULT next_snowflake(), name text UNIQUE, note text DEFAULT 'n/a');
CREATE TABLE doc (id uuid PRIMARY KEY DEFAULT uuidv7(), title text NOT NULL);
CREATE TABLE duo (a bigint DEFAULT next_snowflake(), gone int, txt text, "Ü ""\x" uuid DEFAULT uuidv7(), b bigint DEFAULT next_snowflake());
ALTER TABLE duo DROP COLUMN gone;
CREATE TABLE late (name text, note text DEFAULT 'n/a', id bigint PRIMARY KEY DEFAULT next_snowflake());
CREATE TABLE ruled (id bigint DEFAULT next_snowflake(), name text);
CREATE RULE copy AS ON INSERT TO ruled DO ALSO INSERT INTO r_log VALUES (NEW.id);
CREATE TABLE written (id bigint DEFAULT next_snowflake(), name text);
CREATE RULE copy AS ON UPDATE TO written DO ALSO INSERT INTO r_log VALUES (NEW.id);
CREATE TABLE granted (id bigint DEFAULT next_snowflake(), name text);
CREATE TABLE twin (id bigint DEFAULT next_snowflake(), name text);
CREATE TABLE other.twin (id bigint, name text);
CREATE TABLE moved (id bigint DEFAULT next_snowflake(), name text);
CREATE TABLE hidden (id bigint DEFAULT next_snowflake(), name text);
