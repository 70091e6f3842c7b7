# Statements that hold an INSERT and do not run it now, or not once: their columns
# are left to the server.
proxy
INSERT INTO acct(name) VALUES ('control') RETURNING id

kept ready
EXPLAIN (COSTS off, VERBOSE) INSERT INTO acct(name) VALUES ('a')

kept ready
EXPLAIN (COSTS off, VERBOSE) INSERT INTO acct VALUES (DEFAULT, 'a'), (DEFAULT, 'b')

kept ready
EXPLAIN (COSTS off, VERBOSE) INSERT INTO acct DEFAULT VALUES RETURNING id

kept ready
EXPLAIN (COSTS off, VERBOSE) WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id FROM i

kept ready
EXPLAIN (ANALYZE, BUFFERS off, COSTS off, TIMING off, SUMMARY off) INSERT INTO acct(name) VALUES ('explained')

server
SELECT id FROM acct WHERE name = 'explained' ORDER BY id

kept ready
PREPARE p AS INSERT INTO acct(name) VALUES ($1) RETURNING id, name

server ready
EXECUTE p('a')

server ready
EXECUTE p('b')

kept ready
PREPARE q(bigint) AS INSERT INTO acct VALUES (DEFAULT, $1), (DEFAULT, $1) RETURNING id

server
EXECUTE q(5)

kept
SELECT name, statement, parameter_types FROM pg_prepared_statements WHERE from_sql ORDER BY 1

kept
EXPLAIN (COSTS off, VERBOSE) EXECUTE p('c')

kept
DEALLOCATE ALL

# Stored: functions, rules, procedures, anonymous blocks.
kept ready
CREATE FUNCTION f_insert(text) RETURNS bigint LANGUAGE sql AS $$INSERT INTO acct(name) VALUES ($1) RETURNING id$$

kept ready
CREATE FUNCTION f_atomic(text) RETURNS bigint LANGUAGE sql BEGIN ATOMIC INSERT INTO acct(name) VALUES ($1) RETURNING id; END

kept ready
CREATE FUNCTION f_plain() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE i bigint; BEGIN INSERT INTO acct VALUES (DEFAULT, 'f') RETURNING id INTO i; INSERT INTO doc DEFAULT VALUES; RETURN i; END $$

server ready
SELECT f_insert('a'), f_atomic('b'), f_plain()

server ready
INSERT INTO acct(id, name) VALUES (-f_insert('a'), 'b') ON CONFLICT DO NOTHING RETURNING f_atomic('c')

kept ready
SELECT pg_get_functiondef('f_atomic'::regproc)

kept ready
DO $$ BEGIN INSERT INTO acct(name) VALUES ('do'); END $$

server
SELECT id FROM acct WHERE name = 'do' ORDER BY id

kept ready
CREATE RULE stored AS ON INSERT TO other DO ALSO INSERT INTO acct(name) VALUES (new.name)

kept
SELECT definition FROM pg_rules WHERE rulename = 'stored'

same once
INSERT INTO other VALUES ('through the rule')

server
SELECT id FROM acct WHERE name = 'through the rule'

same
DROP RULE stored ON other

either ready
CREATE VIEW v AS WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id FROM i

either ready
CREATE TABLE c AS WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id FROM i

either ready
DECLARE c CURSOR FOR WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id FROM i

either ready
SELECT 1 WHERE EXISTS (INSERT INTO acct(name) VALUES ('a') RETURNING id)

kept ready
CREATE TABLE stored_default (id bigint DEFAULT next_snowflake(), name text)

kept
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'stored_default'::regclass

# COPY.
server simple ready
COPY (INSERT INTO acct(name) VALUES ('a') RETURNING id) TO STDOUT

server simple ready
COPY (WITH i AS (INSERT INTO acct VALUES (DEFAULT, 'a') RETURNING id) SELECT id FROM i) TO STDOUT (FORMAT csv, HEADER)

same simple ready
COPY acct(name) FROM STDIN
----
copied 1
INSERT INTO acct(name) VALUES ('x')

server simple
SELECT id, name FROM acct WHERE name LIKE 'copied%' OR name LIKE 'INSERT%'

same simple from 16
COPY acct FROM STDIN (DEFAULT '\D')
----
\D	default	\D

server simple from 16
SELECT id, name, note FROM acct WHERE name = 'default'

# UPDATE and MERGE: their DEFAULT is the server's.
server ready once
UPDATE doc SET id = DEFAULT, title = 'updated' RETURNING id, title

server ready once
UPDATE acct SET (id, note) = (DEFAULT, 'updated') WHERE name = 'control' RETURNING id, note

same to 14
MERGE INTO acct t USING (VALUES ('p'),('q')) s(n) ON t.name=s.n WHEN NOT MATCHED THEN INSERT (name) VALUES (s.n)

kept from 15 ready
MERGE INTO acct t USING (VALUES ('p'),('q')) s(n) ON t.name=s.n WHEN NOT MATCHED THEN INSERT (name) VALUES (s.n)

kept from 15 ready
MERGE INTO acct t USING (VALUES ('r'),('s')) s(n) ON t.name=s.n WHEN NOT MATCHED THEN INSERT VALUES (DEFAULT, s.n)

kept from 15 ready
MERGE INTO doc t USING (VALUES ('r')) s(n) ON false WHEN NOT MATCHED THEN INSERT DEFAULT VALUES

server from 15
SELECT id FROM acct WHERE name IN ('p', 'q', 'r', 's') ORDER BY name

server from 17 ready
MERGE INTO acct t USING (VALUES ('p'),('q')) s(n) ON false WHEN NOT MATCHED THEN INSERT (name) VALUES (s.n) RETURNING t.id

# Settings under which a text may mean something else.
same on strings
SET standard_conforming_strings = off

any ready on strings
INSERT INTO acct(name) VALUES ('a') RETURNING *

server ready on strings
INSERT INTO acct(name, note) VALUES ('it\'s', 'b\\c') RETURNING *

same on strings
RESET standard_conforming_strings

any ready on strings
INSERT INTO acct(name, note) VALUES ('it\''s', 'b\\c') RETURNING *

proxy on strings
INSERT INTO public.acct(name, note) VALUES ('it\''s', 'b\\c') RETURNING *

same on sjis
SET client_encoding = 'SJIS'

any ready on sjis
INSERT INTO acct(name) VALUES ('a') RETURNING *

server ready on sjis escaped
INSERT INTO acct(name) VALUES ('\x83\x5c') RETURNING id

same on sjis
SET client_encoding = 'UTF8'

proxy on sjis
INSERT INTO acct(name) VALUES ('ソ') RETURNING *

same on latin
SET client_encoding = 'LATIN1'

any ready on latin
INSERT INTO acct(name) VALUES ('a') RETURNING *

any ready on latin escaped
INSERT INTO acct(name) VALUES ('\xfc') RETURNING id

either ready on latin escaped
INSERT INTO acct(name) VALUES ('\xfc'), (nope)

same on latin
RESET client_encoding

# Bytes that are no text.
either ready once escaped
INSERT INTO acct(name) VALUES ('\xff')

either ready once escaped
INSERT INTO acct("\xc3") VALUES ('a')

# Values of the statement's own beside the default. (After DO the session at hand
# may have temporary tables of any name.)
proxy on late
INSERT INTO stored_default(name) VALUES (next_snowflake()) RETURNING id, name

any ready on late
INSERT INTO stored_default(name) SELECT next_snowflake() WHERE true RETURNING id, name

# Whole-row, row-locking and session commands around an INSERT.
same on late
LISTEN e2e_fill

proxy on late
WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id, pg_notify('e2e_other', 'x')::text FROM i

same on late
UNLISTEN *

same on late
SET plan_cache_mode = force_generic_plan

proxy on late
INSERT INTO acct(name) VALUES ('generic') RETURNING id

same on late
SET plan_cache_mode = force_custom_plan

proxy on late
INSERT INTO acct(name) VALUES ('custom') RETURNING id

same on late
SET session_replication_role = replica

any ready on late
INSERT INTO acct(name) VALUES ('replica') RETURNING id

same on late
RESET ALL

proxy on late
INSERT INTO acct(name) VALUES ('reset') RETURNING id

same on late
DISCARD ALL

any ready on late
INSERT INTO acct(name) VALUES ('discarded') RETURNING id
