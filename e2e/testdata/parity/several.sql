# Several statements in one Query message are one implicit transaction.
filled
INSERT INTO acct(name) VALUES ('a;b'); INSERT INTO acct(name) VALUES ('c'); SELECT 1/0

same
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'a;b'); INSERT INTO acct(id, name) VALUES (next_snowflake(), 'c'); SELECT 1/0

same
SELECT count(*) FROM acct

proxy simple
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'd') RETURNING id; COMMIT; INSERT INTO acct(id, name) VALUES (next_snowflake(), 'e'); SELECT 1/0

same
SELECT name FROM acct

filled
INSERT INTO acct(name) VALUES ('f'); VACUUM

same
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'f'); VACUUM

same
SELECT name FROM acct

proxy simple
COPY acct(id, name) FROM STDIN; SELECT next_snowflake()
----
11	one
12	two

proxy simple
SELECT next_snowflake(); SELECT 'x'; SELECT next_snowflake(), uuidv7(); ; INSERT INTO t(id) VALUES (next_snowflake()) RETURNING id;

proxy simple
BEGIN; INSERT INTO t(id, name) VALUES (next_snowflake(), 'in'); SELECT id FROM t WHERE name = 'in'; COMMIT

same simple
BEGIN; INSERT INTO t(id, name) VALUES (next_snowflake(), 'gone'); ROLLBACK; SELECT count(*) FROM t WHERE name = 'gone'

# Statements are planned each on its own.
any simple
SELECT next_snowflake() FROM other; SELECT next_snowflake(); UPDATE t SET id = next_snowflake() WHERE name = 'in' RETURNING id

# A table that the same message makes is not one that the catalog knows.
any simple
CREATE TABLE fresh (id bigint); INSERT INTO fresh VALUES (next_snowflake()) RETURNING id; DROP TABLE fresh; SELECT 1

server simple
CREATE SCHEMA other_path; CREATE TABLE other_path.t (id text); SET LOCAL search_path = other_path, public; CREATE RULE r AS ON INSERT TO other_path.t DO ALSO SELECT new.id AS twice; INSERT INTO t VALUES (next_snowflake()) RETURNING id; DROP SCHEMA other_path CASCADE

# An error in one of them; positions count in the whole text.
filled
INSERT INTO acct(name) VALUES ('a'); SELECT nope2

same
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'a'); SELECT nope2

same
SELECT next_snowflake(); SELEC next_snowflake()

same
SELECT 1; SELECT next_snowflake(), nope; SELECT 2

# Extended: only one statement may be prepared.
same extended
SELECT next_snowflake(); SELECT next_snowflake()

proxy extended
SELECT next_snowflake();

proxy extended
SELECT next_snowflake() ; ;
