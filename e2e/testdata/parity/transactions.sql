# DDL in an open transaction, rolled back and committed.
same
BEGIN

same
CREATE TABLE young (id bigint, n int)

any
INSERT INTO young VALUES (next_snowflake(), 1) RETURNING id

same
CREATE RULE young_twice AS ON INSERT TO young DO ALSO INSERT INTO t(id) VALUES (new.id)

server
INSERT INTO young VALUES (next_snowflake(), 1) RETURNING id

same
ROLLBACK

same
INSERT INTO young VALUES (next_snowflake(), 1) RETURNING id

proxy
INSERT INTO t(id, n) VALUES (next_snowflake(), 1) RETURNING id

same
CREATE TABLE young (id bigint, n int)

proxy
INSERT INTO young VALUES (next_snowflake(), 1) RETURNING id

same
BEGIN

same
CREATE RULE young_twice AS ON INSERT TO young DO ALSO INSERT INTO t(id, name) VALUES (new.id, 'ruled')

server
INSERT INTO young VALUES (next_snowflake(), 1) RETURNING id

same
COMMIT

server
INSERT INTO young VALUES (next_snowflake(), 1) RETURNING id

server
SELECT id FROM t WHERE name = 'ruled' ORDER BY id

same
DROP RULE young_twice ON young

proxy
INSERT INTO young VALUES (next_snowflake(), 1) RETURNING id

same
ALTER TABLE young RENAME TO old

same
CREATE VIEW young AS SELECT id, n FROM old

server
INSERT INTO young VALUES (next_snowflake(), 1) RETURNING id

any
INSERT INTO old VALUES (next_snowflake(), 1) RETURNING id

same
DROP VIEW young

# Savepoints, errors, aborted transactions.
same on save
BEGIN

proxy on save
INSERT INTO t(id, name) VALUES (next_snowflake(), 'kept') RETURNING id

same on save
SAVEPOINT s

same on save
INSERT INTO t(id, name) VALUES (next_snowflake(), 1/0)

same on save
SELECT next_snowflake()

same on save
ROLLBACK TO s

proxy on save
INSERT INTO t(id, name) VALUES (next_snowflake(), 'after') RETURNING id

same on save
RELEASE s

same on save
COMMIT AND CHAIN

proxy on save
SELECT next_snowflake()

same on save
ROLLBACK

same on save
SELECT name, id IS NOT NULL FROM t WHERE name IN ('kept', 'after') ORDER BY id

# Temp tables in front of permanent ones. Once there was one, its name may be
# left to the server for the rest of the session.
same on temp
CREATE TEMP TABLE acct (id int, name text)

same on temp
INSERT INTO acct(name) VALUES ('t') RETURNING id, name

same on temp
INSERT INTO acct(id, name) VALUES (next_snowflake(), 't')

same on temp
CREATE RULE tr AS ON INSERT TO acct DO ALSO SELECT new.name, 'ruled'

same on temp
INSERT INTO acct(name) VALUES ('t' || (next_snowflake() > 0)) RETURNING 1

same on temp
DROP TABLE pg_temp.acct

server on temp
INSERT INTO acct(name) VALUES ('p') RETURNING id

any on temp
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'p') RETURNING id

same on temp
CREATE TEMP VIEW t AS SELECT id, name FROM public.t

server on temp
INSERT INTO t(id, name) VALUES (next_snowflake(), 'through a view') RETURNING id

any on temp
INSERT INTO public.t(id, name) VALUES (next_snowflake(), 'not through a view') RETURNING id

same on temp
DROP VIEW pg_temp.t

same on temp
CREATE TABLE pg_temp.other (id bigint, name text)

any on temp
INSERT INTO other VALUES (next_snowflake(), 'x') RETURNING id

same on temp once
SELECT 1 AS id INTO TEMP doc

same on temp
INSERT INTO doc VALUES (next_snowflake()) RETURNING id

same on temp
DISCARD TEMP

any on temp
INSERT INTO doc VALUES (uuidv7()) RETURNING id

# The search path decides which table is meant.
same on path
CREATE SCHEMA tenant2

same on path
CREATE TABLE tenant2.acct (id text DEFAULT 5, name text)

same on path
CREATE RULE r AS ON INSERT TO tenant2.acct DO ALSO INSERT INTO tenant2.acct2 VALUES (1)

same on path
CREATE TABLE tenant2.acct2 (id text)

same on path
CREATE RULE r AS ON INSERT TO tenant2.acct DO ALSO INSERT INTO tenant2.acct2 VALUES (new.id)

same on path
SET search_path = tenant2, public

server on path
INSERT INTO acct(id) VALUES (next_snowflake()) RETURNING id

same on path
INSERT INTO acct(name) VALUES ('r') RETURNING id

same on path
RESET search_path

any on path
INSERT INTO acct(id) VALUES (next_snowflake()) RETURNING id

any on path
INSERT INTO public.acct(id) VALUES (next_snowflake()) RETURNING id

server on path
INSERT INTO tenant2.acct(id) VALUES (next_snowflake()) RETURNING id

same on path
SELECT count(DISTINCT id), count(*) FROM (SELECT id FROM tenant2.acct UNION ALL SELECT id FROM tenant2.acct2) x

# From another session.
same on b
SELECT 1

same on b
ALTER TABLE public.acct ALTER id SET DEFAULT 9

same on far
INSERT INTO public.acct(name) VALUES ('nine') RETURNING id

any on b
INSERT INTO public.acct(id) VALUES (next_snowflake()) RETURNING id

# Serializable transactions, row locks in two sessions.
same on ser
BEGIN ISOLATION LEVEL SERIALIZABLE

proxy on ser
INSERT INTO t(id, name) VALUES (next_snowflake(), 'ser') RETURNING id

same on b
BEGIN ISOLATION LEVEL SERIALIZABLE

proxy on b
INSERT INTO t(id, name) VALUES (next_snowflake(), 'ser') RETURNING id

same on ser
COMMIT

same on b
COMMIT

# A transaction that cannot be prepared is over.
same on prep
BEGIN

proxy on prep
INSERT INTO t(id, name) VALUES (next_snowflake(), '2pc') RETURNING id

same on prep
PREPARE TRANSACTION 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'

same on prep
ROLLBACK
