# Temporary tables that a session comes by in unusual ways.
proxy on a
INSERT INTO acct(name) VALUES ('control') RETURNING id

# Named by an option of the transaction that is gone when it is used.
same on g
BEGIN

same on g
SET LOCAL search_path = pg_temp

same on g
CREATE TABLE doc (id bigint DEFAULT 6, title text)

same on g
COMMIT

same on g ready
INSERT INTO doc(title) VALUES ('t') RETURNING id, title

same on h
CREATE TEMP TABLE first_name (id bigint DEFAULT 7, title text)

same on h
ALTER TABLE first_name RENAME TO second_name

same on h
ALTER TABLE IF EXISTS pg_temp."second_name" RENAME TO U&"\0064oc"

same on h ready
INSERT INTO doc(title) VALUES ('t') RETURNING id, title

same on i
CREATE TEMP TABLE U&"d\006Fc" (id bigint DEFAULT 7, title text)

same on i ready
INSERT INTO doc(title) VALUES ('t') RETURNING id, title

same on j
CREATE TEMP TABLE IF NOT EXISTS "doc" PARTITION OF part FOR VALUES IN (77)

any on j ready
INSERT INTO doc(id) VALUES (DEFAULT) RETURNING id

same on k once
EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) SELECT 8::bigint AS id, 'x'::text AS title INTO TEMP doc

same on k ready
INSERT INTO doc(title) VALUES ('t') RETURNING id, title

same on l once
(WITH x AS (SELECT 8::bigint AS id, 'x'::text AS title) SELECT * INTO TEMP doc FROM x)

same on l ready
INSERT INTO doc(title) VALUES ('t') RETURNING id, title

same on m
CREATE OR REPLACE TEMP RECURSIVE VIEW doc(id, title) AS SELECT 5::bigint, 'x'::text

either on m ready
INSERT INTO doc(title) VALUES ('t')
