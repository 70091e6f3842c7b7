-- What people type into psql, and what psql asks by itself.
\set VERBOSITY verbose
\pset null '∅'
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_snowflake(), customer text NOT NULL, total numeric DEFAULT 0);
\d orders
\d acct
\d+ doc
\d ruled
\df next_snowflake
\df uuidv7
\df id_to_timestamp
\d v_trigger
\dt
INSERT INTO orders(id, customer) VALUES (next_snowflake(), 'ann'), (next_snowflake(), 'bob') RETURNING id, customer;
INSERT INTO orders(customer) VALUES ('cid') RETURNING id, customer;
SELECT id, customer, id_to_timestamp(id) BETWEEN now() - interval '10 min' AND now() + interval '1 min' AS recent FROM orders ORDER BY customer;
SELECT next_snowflake(), uuidv7();
SELECT next_snowflake() \gdesc
INSERT INTO orders(id, customer) VALUES (next_snowflake(), 'x') RETURNING id, uuidv7() AS u \gdesc
SELECT next_snowflake() AS made \gset
SELECT :made = :made AS same;
SELECT next_snowflake() AS id, 'a' AS b \gx
SELECT 'ü', next_snowflake(), nope;
INSERT INTO orders(id, customer) VALUES (next_snowflake(), 1 + 'x');
INSERT INTO orders(id, customer) VALUES (next_snowflake(), NULL);
SELECT id_to_timestamp('01940000-0000-7000-8000-000000000001');
\set AUTOCOMMIT off
INSERT INTO orders(id, customer) VALUES (next_snowflake(), 'not kept');
\echo :ROW_COUNT :SQLSTATE
SELECT 1/0;
SELECT next_snowflake();
ROLLBACK;
\set AUTOCOMMIT on
\set ON_ERROR_ROLLBACK on
BEGIN;
INSERT INTO orders(id, customer) VALUES (next_snowflake(), 'kept');
SELECT nope;
COMMIT;
\set ON_ERROR_ROLLBACK off
SELECT customer FROM orders ORDER BY id;
\copy orders(customer, total) FROM stdin (FORMAT csv)
copied,1.5
next_snowflake(),2
\.
\copy (SELECT customer, total FROM orders WHERE total > 0 ORDER BY total) TO stdout
COPY orders(customer) FROM stdin;
copied by COPY
\.
SELECT count(*), count(DISTINCT id) FROM orders;
\set FETCH_COUNT 2
SELECT g, next_snowflake() FROM generate_series(1,5) g;
SELECT next_snowflake();
\unset FETCH_COUNT
SELECT 1 \; SELECT next_snowflake() \; SELECT 2;
DO $$ BEGIN RAISE NOTICE 'next_snowflake()'; END $$;
SELECT E'first\nsecond', next_snowflake(), -- a comment
  nope2
FROM nothing;
LISTEN psql_channel;
NOTIFY psql_channel, 'p';
\sf id_to_timestamp(uuid)
\echo :SERVER_VERSION_NUM :ENCODING
\errverbose
