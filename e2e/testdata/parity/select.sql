# The target list of a SELECT without FROM.
proxy
SELECT next_snowflake()

proxy
select next_snowflake(), uuidv7(), next_snowflake() AS x, uuidv7() y, 1 AS n;

# Columns keep the names that PostgreSQL gives them.
proxy
SELECT next_snowflake()AS x

proxy once
SELECT next_snowflake()::text, next_snowflake()::numeric, CAST(next_snowflake() AS varchar(30)), uuidv7()::text COLLATE "C"

proxy
SELECT next_snowflake()"quoted", uuidv7()AS"next_snowflake"

proxy
SELECT (next_snowflake()), ((uuidv7())), (next_snowflake())::text

same
SELECT next_snowflake() + 1 > 0, -next_snowflake() < 0

proxy
SELECT 'a' || next_snowflake(), concat(uuidv7(), '!'), ARRAY[next_snowflake(), next_snowflake()], ROW(next_snowflake(), 'x')

any
SELECT (SELECT next_snowflake()), (SELECT uuidv7() AS inner_name)

proxy
SELECT "next_snowflake"(), PUBLIC.Next_Snowflake(), "public"."next_snowflake"(), "uuidv7"()

proxy
SELECT U&"next\005fsnowflake"()

proxy
SELECT ALL next_snowflake()

proxy
(SELECT next_snowflake())

proxy
((SELECT next_snowflake() x))

proxy
VALUES (next_snowflake()), (next_snowflake())

proxy
VALUES (next_snowflake(), uuidv7(), 'x')

# Set operations of such SELECTs.
proxy
SELECT next_snowflake() UNION ALL SELECT next_snowflake() UNION ALL SELECT 1

proxy
SELECT next_snowflake(), 'a' UNION ALL SELECT next_snowflake(), 'b' UNION ALL VALUES (next_snowflake(), 'c')

same
SELECT count(*) FROM (SELECT next_snowflake() UNION SELECT next_snowflake()) x

same
SELECT 1 WHERE EXISTS (SELECT next_snowflake() INTERSECT SELECT next_snowflake())

# Of an INSERT … SELECT of that kind.
proxy
INSERT INTO t(id, name) SELECT next_snowflake(), 'select' RETURNING id, name

proxy
INSERT INTO t(id, name) SELECT next_snowflake(), 'a' UNION ALL SELECT next_snowflake(), 'b' RETURNING id, name

proxy
INSERT INTO t(id, name) (SELECT next_snowflake(), 'parens') RETURNING id, name

# CTEs.
proxy
WITH i AS (INSERT INTO t(id, name) VALUES (next_snowflake(), 'r'), (next_snowflake(), 's') RETURNING id) SELECT id FROM i

filled
WITH i AS (INSERT INTO acct(name) VALUES ('r'),('s') RETURNING id) SELECT count(DISTINCT id) FROM i

proxy
WITH x AS (SELECT 1) INSERT INTO t(id) VALUES (next_snowflake()) RETURNING id

proxy
WITH a AS (INSERT INTO t(id) VALUES (next_snowflake()) RETURNING id), b AS (INSERT INTO t(id) VALUES (next_snowflake()) RETURNING id) SELECT a.id, b.id FROM a, b

server
WITH c AS (SELECT next_snowflake() AS id) SELECT a.id, b.id FROM c a, c b

server
WITH c AS NOT MATERIALIZED (SELECT next_snowflake() AS id) SELECT a.id, b.id FROM c a, c b

server
WITH RECURSIVE r(id, n) AS (SELECT next_snowflake(), 1 UNION ALL SELECT next_snowflake(), n + 1 FROM r WHERE n < 4) SELECT id FROM r

# Anything with FROM, DISTINCT, GROUP BY, HAVING, WINDOW, ORDER BY.
server
SELECT next_snowflake() FROM other

server
SELECT next_snowflake() FROM generate_series(1,3)

server
SELECT id FROM (SELECT next_snowflake() AS id) x

server
SELECT * FROM next_snowflake()

server
SELECT * FROM next_snowflake() AS f(id), uuidv7() AS g(u)

server
SELECT DISTINCT next_snowflake()

server
SELECT next_snowflake() GROUP BY 1

server
SELECT next_snowflake() HAVING true

server
SELECT next_snowflake() ORDER BY 1

server
SELECT next_snowflake(), row_number() OVER w WINDOW w AS ()

same
SELECT a.x = b.x FROM (SELECT next_snowflake() x) a, (SELECT next_snowflake() x) b

server
SELECT x.id FROM other o, LATERAL (SELECT next_snowflake() AS id WHERE o.name <> '') x

server
SELECT (SELECT next_snowflake() WHERE o.name <> '') FROM other o

same
SELECT 1 FROM other ORDER BY next_snowflake()

same
SELECT count(*) FROM other WHERE next_snowflake() > 0

same
SELECT count(*) FROM other WHERE next_snowflake() = next_snowflake()

server
SELECT max(next_snowflake())

server
SELECT array_agg(next_snowflake())

server
SELECT count(*) FILTER (WHERE next_snowflake() > 0), next_snowflake() FROM other

# Sets in the same list.
server
SELECT next_snowflake(), generate_series(1,3)

server
SELECT next_snowflake(), unnest(ARRAY['a','b'])

kept
SELECT two(next_snowflake()) > 0

server
SELECT next_snowflake(), +% 1::bigint

server
SELECT next_snowflake(), (ROW(1,2)::pair).spread

server
SELECT next_snowflake(), maybe(1::bigint)

server
SELECT (ROW(next_snowflake(), 2)).*

server
SELECT next_snowflake(), (ROW(1,2)::pair).*

proxy
SELECT next_snowflake(), +! 1::bigint, one(2), now() > '2024-01-01', 'x' ~ 'y', 1 BETWEEN 0 AND 2, 1 IN (1,2), 'a' LIKE 'b'

# WHERE, LIMIT, OFFSET: only where computing the value cannot fail.
proxy
SELECT next_snowflake() WHERE true

same
SELECT next_snowflake() WHERE false

proxy
SELECT next_snowflake()::text LIMIT 1

same
SELECT next_snowflake() LIMIT 0

proxy once
SELECT next_snowflake()::numeric OFFSET 0

same
SELECT next_snowflake()::int WHERE false

same
SELECT next_snowflake()::int

server
SELECT (next_snowflake()::text || 'x') WHERE 1 = 1

same
SELECT 1 WHERE next_snowflake() > 0

same
SELECT 1 LIMIT next_snowflake()

same
SELECT 1 OFFSET next_snowflake()

same
SELECT 1 FETCH FIRST (next_snowflake()) ROWS ONLY

# Locking, INTO, EXPLAIN.
same once
SELECT next_snowflake() AS id INTO made

server
SELECT id FROM made

same
EXPLAIN SELECT next_snowflake()

same
EXPLAIN VERBOSE INSERT INTO t(id) VALUES (next_snowflake())

server
SELECT next_snowflake() FOR UPDATE

# Calls with arguments, in other roles, of other kinds.
same to 17
SELECT uuidv7(interval '-1 hour') < uuidv7(), uuidv7(shift => interval '1 hour') > uuidv7()

same
SELECT next_snowflake(1)

same
SELECT next_snowflake(VARIADIC ARRAY[1])

same
SELECT next_snowflake(DISTINCT)

same
SELECT next_snowflake(*)

same
SELECT next_snowflake() OVER ()

same
SELECT next_snowflake() FILTER (WHERE true)

same
SELECT next_snowflake() WITHIN GROUP (ORDER BY 1)

server
SELECT COALESCE(NULL, next_snowflake()) FROM other

same
SELECT next_snowflake

same
SELECT next_snowflake.x

same
SELECT "NEXT_SNOWFLAKE"()

same
SELECT "Next_Snowflake"()

same
SELECT next_snowflake()[1]

same
SELECT (next_snowflake()).x

same
SELECT (uuidv7()).*

same
SELECT next_snowflake() ARRAY

proxy
SELECT next_snowflake() SELECT

same
SELECT next_snowflake(), FROM

same
SELECT next_snowflake(

proxy
SELECT next_snowflake() name, uuidv7() value

# Standing next to other tokens.
proxy
SELECT next_snowflake()/**/AS/**/x,uuidv7()::text||'$1',1

proxy
SELECT 1,next_snowflake(),2

proxy
SELECT+next_snowflake()

same
SELECT-next_snowflake()<0,1-next_snowflake()<0,next_snowflake()-1>0,next_snowflake()IS NULL,next_snowflake()IN(1)
