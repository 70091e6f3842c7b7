\set ON_ERROR_STOP off
\pset null '∅'
INSERT INTO acct(name) VALUES ('a');
INSERT INTO acct(name) VALUES ('a'), ('b'), ('c') RETURNING id, name;
INSERT INTO acct VALUES (DEFAULT, 'd', DEFAULT) RETURNING *;
INSERT INTO acct DEFAULT VALUES RETURNING *;
INSERT INTO acct(name) VALUES ('e') RETURNING id \gset
SELECT :id = id, name FROM acct WHERE name = 'e';
INSERT INTO acct(name, note) VALUES (:'id', 'variable') RETURNING name, note;
\echo :LAST_ERROR_MESSAGE :ROW_COUNT :SQLSTATE
-- errors with their caret
INSERT INTO acct(name, nope) VALUES ('ü', 1);
INSERT INTO acct VALUES (DEFAULT, 'ü', DEFAULT), (DEFAULT, nope, 'x');
INSERT INTO acct(name) VALUES ('a', 'b');
INSERT INTO acct(name, note) VALUES ('a');
INSERT INTO acct(id, name) VALUES (NULL, 'a');
INSERT INTO acct(name) VALUES ('a') RETURNING nope;
INSERT INTO acct(name) VALUES ('a') ON CONFLICT (nope) DO NOTHING;
\echo :LAST_ERROR_MESSAGE :SQLSTATE
\set VERBOSITY verbose
INSERT INTO acct(id, name) VALUES (DEFAULT, 'a'), (DEFAULT, 1/0);
\set VERBOSITY default
-- a transaction with savepoints of psql's own
\set ON_ERROR_ROLLBACK on
BEGIN;
INSERT INTO acct(name) VALUES ('in transaction') RETURNING id, name;
INSERT INTO acct(name) VALUES (1/0);
INSERT INTO acct(name) VALUES ('after an error') RETURNING id, name;
COMMIT;
\set ON_ERROR_ROLLBACK off
\set AUTOCOMMIT off
INSERT INTO acct(name) VALUES ('rolled back') RETURNING name;
ROLLBACK;
INSERT INTO acct(name) VALUES ('committed') RETURNING name;
COMMIT;
\set AUTOCOMMIT on
-- several on one line, generated statements, a crosstab, rows one by one
INSERT INTO acct(name) VALUES ('f')\; INSERT INTO doc(title) VALUES ('g')\; INSERT INTO acct(name) SELECT 'h' RETURNING name;
SELECT format('INSERT INTO acct(name) VALUES (%L) RETURNING name', g) FROM generate_series(1, 3) g \gexec
\set FETCH_COUNT 2
INSERT INTO acct(name) VALUES ('i'), ('j'), ('k') RETURNING id, name;
WITH n AS (INSERT INTO acct(name) VALUES ('l'), ('m'), ('n') RETURNING id, name) SELECT * FROM n;
\set FETCH_COUNT 0
\gdesc
INSERT INTO acct(name) VALUES ('described') RETURNING id, name, note \gdesc
\copy acct(name) FROM PROGRAM 'echo server copied'
EXPLAIN (COSTS off, VERBOSE) INSERT INTO acct(name) VALUES ('server explained');
\set ECHO_HIDDEN off
\d acct
SELECT count(*), count(DISTINCT id) FROM acct;
SELECT name FROM acct WHERE name NOT LIKE 'server%' ORDER BY id, name;
