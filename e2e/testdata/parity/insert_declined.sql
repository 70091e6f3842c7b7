# More than one row comes of a one-row VALUES with a set in it.
server
INSERT INTO t(id, n) VALUES (next_snowflake(), generate_series(1,3)) RETURNING id, n

server
INSERT INTO t(id, id2) VALUES (next_snowflake(), two(5)) RETURNING id, id2

server
INSERT INTO t(id, id2) VALUES (next_snowflake(), +% 5::bigint) RETURNING id, id2

server
INSERT INTO t(id, n) VALUES (next_snowflake(), spread((1,2)::pair)) RETURNING id, n

server
INSERT INTO t(id, n) VALUES (next_snowflake(), ((1,2)::pair).spread) RETURNING id, n

server
INSERT INTO t(id, n) VALUES (next_snowflake(), unnest(ARRAY[1,2])) RETURNING id, n

server
INSERT INTO t(id, name) VALUES (next_snowflake(), maybe('x'::text)) RETURNING id, name

# A name with one set-returning overload is not taken for single-valued.
server
INSERT INTO t(id, id2) VALUES (next_snowflake(), maybe(7::bigint)) RETURNING id, id2

# Ordinary functions and operators of the user's, and of PostgreSQL's, are.
proxy
INSERT INTO t(id, id2) VALUES (next_snowflake(), one(5)) RETURNING id, id2

proxy
INSERT INTO t(id, id2) VALUES (next_snowflake(), +! 5::bigint) RETURNING id, id2

proxy
INSERT INTO t(id, name) VALUES (next_snowflake(), lower('ABC') || length('x')) RETURNING id, name

# Several rows take no sets: PostgreSQL's own error.
same
INSERT INTO t(id, n) VALUES (next_snowflake(), generate_series(1,3)), (next_snowflake(), 4)

# A rule copies the expression; each copy is evaluated.
server
INSERT INTO ruled VALUES (next_snowflake(), 1) RETURNING id

server
SELECT (SELECT id FROM ruled ORDER BY id LIMIT 1), (SELECT id FROM ruled_log ORDER BY id LIMIT 1)

same
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM ruled UNION ALL SELECT id FROM ruled_log) x

# Views.
server
INSERT INTO v_auto(id, name) VALUES (next_snowflake(), 'auto') RETURNING id, name

server
INSERT INTO v_trigger(id, name) VALUES (next_snowflake(), 'trigger') RETURNING id, name

same
INSERT INTO nope(id) VALUES (next_snowflake())

same
INSERT INTO public.nope(id) VALUES (next_snowflake())

# Forms that produce rows.
server
INSERT INTO acct(id,name) SELECT next_snowflake(), 'n'||g FROM generate_series(1,50) g RETURNING id

server
INSERT INTO acct(name) SELECT 'm'||g FROM generate_series(1,50) g RETURNING id

server
INSERT INTO t(id) SELECT next_snowflake() FROM other RETURNING id

server
INSERT INTO t(id, u) SELECT * FROM (VALUES (next_snowflake(), uuidv7())) v RETURNING id, u

same
UPDATE doc SET id = uuidv7()

server
UPDATE t SET id2 = next_snowflake() WHERE id IS NOT NULL RETURNING id2

server
UPDATE t SET (id, u) = (next_snowflake(), uuidv7()) RETURNING id, u

same
DELETE FROM t WHERE id = next_snowflake()

server once
DELETE FROM t WHERE id < next_snowflake() RETURNING next_snowflake()

# An id in RETURNING is one per row returned.
server
INSERT INTO t(name) VALUES ('a'), ('b') RETURNING next_snowflake()

any
INSERT INTO t(id) VALUES (next_snowflake()), (next_snowflake()) RETURNING id, next_snowflake()

# ON CONFLICT: the row to insert is evaluated once, the update is not ours.
proxy
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'c1') ON CONFLICT DO NOTHING RETURNING id

proxy
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'c1') ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name RETURNING id

same
CREATE UNIQUE INDEX acct_name ON acct(name) WHERE name LIKE 'u%'

proxy once
INSERT INTO acct(name) VALUES ('u') RETURNING id

filled
INSERT INTO acct(name) VALUES ('u') ON CONFLICT (name) WHERE name LIKE 'u%' DO UPDATE SET note='2' RETURNING id

proxy
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'u') ON CONFLICT (name) WHERE name LIKE 'u%' DO UPDATE SET id = EXCLUDED.id RETURNING id

same
INSERT INTO acct(id, name) VALUES (next_snowflake(), 'u') ON CONFLICT DO NOTHING RETURNING id

server
INSERT INTO acct(id, name) VALUES (1, 'u') ON CONFLICT (name) WHERE name LIKE 'u%' DO UPDATE SET id = next_snowflake() RETURNING id

proxy
INSERT INTO acct(id,name) VALUES (DEFAULT,'rails'), (5,'rails2') ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name RETURNING id

# A correlated subquery, a subquery with FROM.
server
INSERT INTO t(id, name) VALUES ((SELECT next_snowflake() FROM generate_series(1,1)), 'from') RETURNING id

server
INSERT INTO t(id, id2) SELECT (SELECT next_snowflake() WHERE g > 0), g FROM generate_series(1,3) g RETURNING id

# MERGE makes an id per row; before 15 it is a syntax error.
same
MERGE INTO acct t USING (VALUES ('p'),('q')) s(n) ON t.name=s.n WHEN NOT MATCHED THEN INSERT (id, name) VALUES (next_snowflake(), s.n)

server from 15
SELECT id FROM acct WHERE name IN ('p', 'q') ORDER BY name

server from 17 once
MERGE INTO acct t USING (VALUES ('p2'),('q2')) s(n) ON t.name=s.n WHEN NOT MATCHED THEN INSERT (id, name) VALUES (next_snowflake(), s.n) RETURNING t.id

# Read-only transactions, aborted transactions.
same
BEGIN READ ONLY

same
INSERT INTO t(id) VALUES (next_snowflake())

same
INSERT INTO t(id) VALUES (next_snowflake())

same
SELECT next_snowflake()

same
ROLLBACK

proxy
INSERT INTO t(id) VALUES (next_snowflake()) RETURNING id
