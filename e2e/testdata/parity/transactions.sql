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

proxy
INSERT INTO old VALUES (next_snowflake(), 1) RETURNING id

same
DROP VIEW young

# Savepoints, errors, aborted transactions.
same
BEGIN

proxy
INSERT INTO t(id, name) VALUES (next_snowflake(), 'kept') RETURNING id

same
SAVEPOINT s

same
INSERT INTO t(id, name) VALUES (next_snowflake(), 1/0)

same
SELECT next_snowflake()

same
ROLLBACK TO s

proxy
INSERT INTO t(id, name) VALUES (next_snowflake(), 'after') RETURNING id

same
RELEASE s

same
COMMIT AND CHAIN

proxy
SELECT next_snowflake()

same
ROLLBACK

same
SELECT name, id IS NOT NULL FROM t WHERE name IN ('kept', 'after') ORDER BY id

# Temp tables in front of permanent ones.
same
CREATE TEMP TABLE acct (id int, name text)

same
INSERT INTO acct(name) VALUES ('t') RETURNING id, name

same
INSERT INTO acct(id, name) VALUES (next_snowflake(), 't')

same
CREATE RULE tr AS ON INSERT TO acct DO ALSO SELECT new.name, 'ruled'

same
INSERT INTO acct(name) VALUES ('t' || (next_snowflake() > 0)) RETURNING 1

same
DROP TABLE pg_temp.acct

server
INSERT INTO acct(name) VALUES ('p') RETURNING id

proxy
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'p') RETURNING id

same
CREATE TEMP VIEW t AS SELECT id, name FROM public.t

server
INSERT INTO t(id, name) VALUES (next_snowflake(), 'through a view') RETURNING id

proxy
INSERT INTO public.t(id, name) VALUES (next_snowflake(), 'not through a view') RETURNING id

same
DROP VIEW pg_temp.t

same
CREATE TABLE pg_temp.other (id bigint, name text)

any
INSERT INTO other VALUES (next_snowflake(), 'x') RETURNING id

same once
SELECT 1 AS id INTO TEMP doc

same
INSERT INTO doc VALUES (next_snowflake()) RETURNING id

same
DISCARD TEMP

proxy
INSERT INTO doc VALUES (uuidv7()) RETURNING id

# The search path decides which table is meant.
same
CREATE SCHEMA tenant2

same
CREATE TABLE tenant2.acct (id text DEFAULT 5, name text)

same
CREATE RULE r AS ON INSERT TO tenant2.acct DO ALSO INSERT INTO tenant2.acct2 VALUES (1)

same
CREATE TABLE tenant2.acct2 (id text)

same
CREATE RULE r AS ON INSERT TO tenant2.acct DO ALSO INSERT INTO tenant2.acct2 VALUES (new.id)

same
SET search_path = tenant2, public

server
INSERT INTO acct(id) VALUES (next_snowflake()) RETURNING id

same
INSERT INTO acct(name) VALUES ('r') RETURNING id

same
RESET search_path

any
INSERT INTO acct(id) VALUES (next_snowflake()) RETURNING id

proxy
INSERT INTO public.acct(id) VALUES (next_snowflake()) RETURNING id

server
INSERT INTO tenant2.acct(id) VALUES (next_snowflake()) RETURNING id

same
SELECT count(DISTINCT id), count(*) FROM (SELECT id FROM tenant2.acct UNION ALL SELECT id FROM tenant2.acct2) x

# From another session.
same on b
SELECT 1

same on b
ALTER TABLE public.acct ALTER id SET DEFAULT 9

same
INSERT INTO public.acct(name) VALUES ('nine') RETURNING id

proxy on b
INSERT INTO public.acct(id) VALUES (next_snowflake()) RETURNING id

# Serializable transactions, row locks in two sessions.
same
BEGIN ISOLATION LEVEL SERIALIZABLE

proxy
INSERT INTO t(id, name) VALUES (next_snowflake(), 'ser') RETURNING id

same on b
BEGIN ISOLATION LEVEL SERIALIZABLE

proxy on b
INSERT INTO t(id, name) VALUES (next_snowflake(), 'ser') RETURNING id

same
COMMIT

same on b
COMMIT

# A transaction that cannot be prepared is over.
same
BEGIN

proxy
INSERT INTO t(id, name) VALUES (next_snowflake(), '2pc') RETURNING id

same
PREPARE TRANSACTION 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'

same
ROLLBACK
