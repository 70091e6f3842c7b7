# INSERT … SELECT that is evaluated once: without FROM and what goes with it.
proxy
INSERT INTO acct(name) SELECT 'a' RETURNING *

proxy
INSERT INTO acct(name, note) SELECT 'a', 'b' RETURNING *

filled
INSERT INTO acct(name) SELECT 'a'

proxy
INSERT INTO acct(name) SELECT upper('a') || lower('B') AS "name, id" RETURNING *

proxy
INSERT INTO acct(name) (SELECT 'a') RETURNING *

proxy
INSERT INTO acct(name) ((SELECT ('a'))) RETURNING *

proxy
INSERT INTO acct (SELECT 5000000000000 WHERE false UNION ALL SELECT next_snowflake()) RETURNING *

proxy
INSERT INTO doc(title) SELECT NULL RETURNING *

proxy
INSERT INTO doc(title) SELECT 5 RETURNING *

proxy
INSERT INTO acct(name) SELECT (SELECT name FROM other ORDER BY name LIMIT 1) RETURNING *

proxy
INSERT INTO acct(name) SELECT ALL 'a'/*)*/RETURNING *

proxy
INSERT INTO acct(name) SELECT 'a'--x
RETURNING *

# With WHERE, LIMIT and OFFSET: one row or none.
proxy
INSERT INTO acct(name) SELECT 'a' WHERE 1 = 1 RETURNING *

either ready
INSERT INTO acct(name) SELECT 'a' WHERE 1 = 2 RETURNING *

proxy
INSERT INTO acct(name) SELECT 'a' WHERE EXISTS (SELECT FROM other) RETURNING *

either ready
INSERT INTO acct(name) SELECT 'a' WHERE EXISTS (SELECT FROM acct a WHERE a.name = 'nobody') RETURNING *

proxy
INSERT INTO acct(name) SELECT 'a' LIMIT 1 RETURNING *

either ready
INSERT INTO acct(name) SELECT 'a' LIMIT 0 RETURNING *

either ready
INSERT INTO acct(name) SELECT 'a' OFFSET 1 RETURNING *

proxy
INSERT INTO acct(name) SELECT 'a' WHERE NOT (1 > 5 AND 1 < 8) FETCH FIRST ROW ONLY RETURNING *

# Where the row is not there its values are not computed: no error.
either ready
INSERT INTO acct(name) SELECT (1/(SELECT 0))::text WHERE false RETURNING *

# UNION ALL keeps all rows.
proxy
INSERT INTO acct(name) SELECT 'a' UNION ALL SELECT 'a' RETURNING *

proxy
INSERT INTO acct(name) SELECT 'a' UNION ALL SELECT 'a' UNION ALL (SELECT 'b' UNION ALL SELECT 'c') RETURNING *

proxy
INSERT INTO acct(name, note) SELECT 'a', 'b' WHERE true UNION ALL SELECT 'c', 'd' WHERE false UNION ALL SELECT NULL, 'e' RETURNING *

server
INSERT INTO acct(name) VALUES ('a') UNION ALL VALUES ('b') RETURNING *

server
INSERT INTO acct(name) SELECT 'a' UNION ALL VALUES ('b'), ('c') RETURNING *

proxy
INSERT INTO acct(name) SELECT NULL UNION ALL SELECT 'x' RETURNING *

proxy
INSERT INTO acct(name) SELECT 1 UNION ALL SELECT 2.5 RETURNING *

# The others count rows that are equal: what is inserted depends on it.
server ready
INSERT INTO acct(name) SELECT 'a' UNION SELECT 'a' RETURNING *

server ready
INSERT INTO acct(name) SELECT 'a' UNION DISTINCT SELECT 'a' UNION SELECT 'a' RETURNING *

server ready
INSERT INTO acct(name) SELECT 'a' INTERSECT SELECT 'a' RETURNING *

server ready
INSERT INTO acct(name) SELECT 'a' INTERSECT ALL SELECT 'a' RETURNING *

same ready
INSERT INTO acct(name) SELECT 'a' EXCEPT SELECT 'a' RETURNING *

same ready
INSERT INTO acct(name) SELECT 'a' EXCEPT ALL SELECT 'a' RETURNING *

server ready
INSERT INTO acct(name) SELECT 'a' UNION ALL SELECT 'b' EXCEPT SELECT 'c' RETURNING *

server ready
INSERT INTO acct(name) (SELECT 'a' UNION SELECT 'a') UNION ALL SELECT 'a' RETURNING *

server ready
INSERT INTO acct(name) SELECT 'a' UNION ALL (SELECT 'a' UNION SELECT 'a') RETURNING *

server ready
INSERT INTO acct(name) (SELECT 'a' UNION ALL SELECT 'a') UNION SELECT 'a' RETURNING *

server ready
INSERT INTO acct(name) VALUES ('a'), ('a') UNION VALUES ('a') RETURNING *

# An outer ORDER BY, LIMIT or WITH makes VALUES a query, and its DEFAULT an error.
server ready
INSERT INTO acct(name) SELECT 'b' UNION ALL SELECT 'a' ORDER BY 1 RETURNING *

server ready
INSERT INTO acct(name) VALUES ('b'), ('a'), ('c') ORDER BY 1 RETURNING *

any ready
INSERT INTO acct(name) VALUES ('b'), ('a'), ('c') LIMIT 2 RETURNING *

any ready
INSERT INTO acct(name) VALUES ('b'), ('a'), ('c') OFFSET 1 RETURNING *

any ready
INSERT INTO acct(name) SELECT 'a' UNION ALL SELECT 'b' LIMIT 1 RETURNING *

any ready
INSERT INTO acct(name) WITH y AS (SELECT 1) VALUES ('a') RETURNING *

either ready
INSERT INTO acct VALUES (DEFAULT, 'a') LIMIT 1

either ready
INSERT INTO acct VALUES (DEFAULT, 'a') ORDER BY 2

either ready
INSERT INTO acct(name, id) VALUES ('a', DEFAULT), ('b', DEFAULT) OFFSET 1

either ready
INSERT INTO acct(id, name) WITH y AS (SELECT 1) VALUES (DEFAULT, 'a')

either ready
INSERT INTO acct(id, name) VALUES (DEFAULT, 'a') UNION ALL VALUES (DEFAULT, 'b')

either ready
INSERT INTO acct(id, name) VALUES (DEFAULT, 'a') UNION ALL SELECT 1, 'b'

either ready
INSERT INTO acct(id, name) VALUES (DEFAULT, 'a') FOR UPDATE

either ready
INSERT INTO acct(id, name) SELECT DEFAULT, 'a'

either ready
INSERT INTO acct(id, name) SELECT * FROM (VALUES (DEFAULT, 'a')) v

any ready
INSERT INTO acct(id, name) (VALUES (DEFAULT, 'a')) RETURNING *

# What comes with several rows, or is counted, sorted, grouped.
server ready
INSERT INTO acct(name) SELECT name FROM other ORDER BY name RETURNING *

server ready
INSERT INTO acct(name) TABLE other RETURNING name IS NOT NULL, id

server ready
INSERT INTO acct(name) SELECT * FROM (VALUES ('a'), ('b')) v RETURNING *

server ready
INSERT INTO acct(name) SELECT v FROM (SELECT 'a' AS v) s RETURNING *

server ready
INSERT INTO acct(name) SELECT g::text FROM generate_series(1, 3) g RETURNING *

server ready
INSERT INTO acct(name) SELECT generate_series(1, 3)::text RETURNING *

server ready
INSERT INTO acct(name) SELECT unnest(ARRAY['a', 'b']) RETURNING *

server ready
INSERT INTO acct(name) VALUES (unnest(ARRAY['a', 'b'])) RETURNING *

server ready
INSERT INTO acct VALUES (DEFAULT, unnest(ARRAY['a', 'b'])) RETURNING *

server ready
INSERT INTO acct(name) VALUES (regexp_split_to_table('a b', ' ')) RETURNING *

server ready
INSERT INTO acct(name, note) VALUES (generate_series(1, 2), generate_series(1, 3)) RETURNING *

server ready
INSERT INTO acct(name) SELECT 'a' || generate_series(1, 2) WHERE true RETURNING *

either ready
INSERT INTO acct(name) VALUES (unnest(ARRAY['a', 'b'])), ('c')

same
CREATE TABLE sets (id bigint DEFAULT next_snowflake(), v bigint, w int)

server ready
INSERT INTO sets(v) VALUES (two(5)) RETURNING *

server ready
INSERT INTO sets(v) VALUES (+% 5::bigint) RETURNING *

server ready
INSERT INTO sets(w) VALUES (((1,2)::pair).spread) RETURNING *

server ready
INSERT INTO sets(w) VALUES (spread((1,2)::pair)) RETURNING *

proxy
INSERT INTO sets(v) VALUES (one(5)), (+! 6::bigint) RETURNING *

any ready
INSERT INTO acct(name) SELECT DISTINCT 'a' RETURNING *

any ready
INSERT INTO acct(name) SELECT 'a' GROUP BY () RETURNING *

any ready
INSERT INTO acct(name) SELECT 'a' HAVING true RETURNING *

same ready
INSERT INTO acct(name) SELECT 'a' HAVING false RETURNING *

any ready
INSERT INTO acct(name) SELECT count(*)::text RETURNING *

any ready
INSERT INTO acct(name) SELECT row_number() OVER ()::text RETURNING *

any ready
INSERT INTO acct(name) SELECT 'a' ORDER BY 1 RETURNING *

any ready
INSERT INTO acct(name) SELECT 'a' FOR UPDATE RETURNING *

either ready
INSERT INTO acct(name) SELECT *

either ready
INSERT INTO acct(name) SELECT 'a' INTO x

# Ids ascend in the order in which rows are made.
same
CREATE TABLE sorted (id bigint DEFAULT next_snowflake(), name text)

any ready once
INSERT INTO sorted(name) VALUES ('c'), ('a'), ('b') ORDER BY 1 RETURNING *

same once
SELECT string_agg(name, ' ' ORDER BY id) FROM sorted

same once
TRUNCATE sorted

any ready once
INSERT INTO sorted(name) SELECT 'c' UNION ALL SELECT 'a' UNION ALL SELECT 'b' RETURNING *

same once
SELECT string_agg(name, ' ' ORDER BY id) FROM sorted

same once
TRUNCATE sorted

any ready once
INSERT INTO sorted(name) SELECT name FROM (VALUES ('c'), ('a'), ('b')) v(name) ORDER BY name DESC RETURNING *

same once
SELECT string_agg(name, ' ' ORDER BY id) FROM sorted
