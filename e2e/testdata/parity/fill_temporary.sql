# Temporary tables in front of permanent ones, in every way that one comes about.
# Once there was one, its name may be left to the server for the session's rest.
proxy on a
INSERT INTO acct(name) VALUES ('control') RETURNING id

same on a
CREATE TEMP TABLE acct (id int, name text)

same on a
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on a
INSERT INTO acct VALUES (DEFAULT, 't'), (DEFAULT, 'u') RETURNING *

same on a ready
INSERT INTO acct DEFAULT VALUES RETURNING *

same on a
INSERT INTO pg_temp.acct(name) VALUES ('t') RETURNING *

any on a
INSERT INTO public.acct(name) VALUES ('p') RETURNING *

any on b ready
INSERT INTO acct(name) VALUES ('another session') RETURNING id

same on a
DROP TABLE pg_temp.acct

any on a ready
INSERT INTO acct(name) VALUES ('p') RETURNING id, name

# With a default of ours in the temporary table.
same on a
CREATE TEMPORARY TABLE acct (LIKE public.acct INCLUDING ALL)

server on a ready
INSERT INTO acct(name) VALUES ('t') RETURNING *

server on a ready
INSERT INTO pg_temp.acct(name) VALUES ('t') RETURNING *

same on a
DROP TABLE acct

same on a
CREATE TEMP TABLE of_none_else (id bigint DEFAULT next_snowflake(), name text)

server on a ready
INSERT INTO of_none_else(name) VALUES ('t') RETURNING *

server on a ready
INSERT INTO pg_temp.of_none_else(name) VALUES ('t') RETURNING *

# Writing to it is allowed where writing ids is not.
same on a
BEGIN READ ONLY

same on a
INSERT INTO of_none_else(name) VALUES ('t')

same on a
ROLLBACK

# LOCAL, GLOBAL, IF NOT EXISTS, UNLOGGED, ON COMMIT DROP.
same on c
CREATE GLOBAL TEMPORARY TABLE IF NOT EXISTS acct (id text DEFAULT 'global', name text)

same on c ready
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on c
BEGIN

same on c
CREATE LOCAL TEMP TABLE doc (id int DEFAULT 5, title text) ON COMMIT DROP

same on c
INSERT INTO doc(title) VALUES ('t') RETURNING *

same on c
COMMIT

any on c ready
INSERT INTO doc(title) VALUES ('p') RETURNING *

same on c
DISCARD TEMP

any on c ready
INSERT INTO acct(name) VALUES ('p') RETURNING *

# AS, INTO, EXECUTE.
same on d once
CREATE TEMP TABLE acct AS SELECT 1 AS id, 'x'::text AS name

same on d ready
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on d once
SELECT 1 AS id, 'x'::text AS title INTO TEMP doc

same on d ready
INSERT INTO doc(title) VALUES ('t') RETURNING *

same on d
DISCARD ALL

any on d ready
INSERT INTO acct(name) VALUES ('p') RETURNING *

same on e
PREPARE mk AS SELECT 1 AS id, 'x'::text AS name

same on e
CREATE TEMP TABLE acct AS EXECUTE mk

same on e ready
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on e once
SELECT 2 AS id, 'y'::text AS title INTO LOCAL TEMPORARY TABLE doc

same on e ready
INSERT INTO doc(title) VALUES ('t') RETURNING *

# By name of the schema, by the search path, by renaming, by a view.
same on f
CREATE TABLE pg_temp.acct (id int DEFAULT 3, name text)

same on f ready
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on f
SET search_path = pg_temp, public

same on f
CREATE TABLE doc (id int DEFAULT 4, title text)

same on f ready
INSERT INTO doc(title) VALUES ('t') RETURNING *

same on f
RESET search_path

same on f ready
INSERT INTO doc(title) VALUES ('t') RETURNING *

same on f
SET search_path = public, pg_temp

any on f ready
INSERT INTO acct(name) VALUES ('p') RETURNING *

same on g
CREATE TEMP TABLE unlike (id int DEFAULT 5, name text)

same on g
ALTER TABLE unlike RENAME TO acct

same on g ready
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on g
ALTER TABLE acct RENAME TO unlike

any on g ready
INSERT INTO acct(name) VALUES ('p') RETURNING *

same on g
CREATE TEMP VIEW acct AS SELECT name, id FROM public.acct

any on g ready
INSERT INTO acct(name) VALUES ('v') RETURNING *

same on g
ALTER VIEW acct ALTER id SET DEFAULT 77777

same on g ready
INSERT INTO acct VALUES ('v') ON CONFLICT DO NOTHING RETURNING *

same on g
DROP VIEW acct

any on g ready
INSERT INTO acct(name) VALUES ('p') RETURNING *

# In DO, in a function that was called, in a transaction that was rolled back.
same on h
DO $$ BEGIN CREATE TEMP TABLE acct (id int DEFAULT 6, name text); END $$

same on h
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on h ready
INSERT INTO acct VALUES (DEFAULT, 't') RETURNING *

same on h
DROP TABLE acct

any on h ready
INSERT INTO acct(name) VALUES ('p') RETURNING *

same on i
BEGIN

same on i
CREATE TEMP TABLE acct (id int DEFAULT 7, name text)

same on i
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on i
ROLLBACK

any on i ready
INSERT INTO acct(name) VALUES ('p') RETURNING *

same on i
BEGIN

same on i
SAVEPOINT s

same on i
CREATE TEMP TABLE acct (id int DEFAULT 7, name text)

same on i
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on i
ROLLBACK TO s

any on i
INSERT INTO acct(name) VALUES ('p') RETURNING *

same on i
CREATE TEMP TABLE acct (id int DEFAULT 8, name text) ON COMMIT DELETE ROWS

same on i
COMMIT

same on i ready
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on j
CREATE PROCEDURE make_temp() LANGUAGE plpgsql AS $$ BEGIN CREATE TEMP TABLE IF NOT EXISTS acct (id int DEFAULT 9, name text); END $$

same on j
CALL make_temp()

same on j
INSERT INTO acct(name) VALUES ('t') RETURNING *

same on j ready
INSERT INTO acct DEFAULT VALUES RETURNING *

same on k once
CREATE TEMP TABLE plan_b (id int DEFAULT 10, name text); ALTER TABLE plan_b RENAME TO acct; INSERT INTO acct(name) VALUES ('t') RETURNING *

same on k simple
CREATE TEMP TABLE IF NOT EXISTS doc (id int DEFAULT 10, title text); INSERT INTO doc(title) VALUES ('t') RETURNING *; DROP TABLE doc

any on k simple
INSERT INTO doc(title) VALUES ('p') RETURNING *; CREATE TEMP TABLE doc (id int DEFAULT 10, title text); INSERT INTO doc(title) VALUES ('t') RETURNING *; DROP TABLE doc; INSERT INTO doc(title) VALUES ('p') RETURNING *

# A session that did none of it is as before.
any on l ready
INSERT INTO acct(name) VALUES ('l') RETURNING id

same
SELECT count(*) FROM acct WHERE id < 100 AND name NOT IN ('v')

proxy on l
INSERT INTO part(id, k) VALUES (next_snowflake(), 1) RETURNING id
