# A constant is folded at plan time even on a branch that never runs, and must
# not raise an error that the call would not have raised.
same
SELECT CASE WHEN false THEN next_snowflake()::int ELSE 1 END

same
SELECT CASE 1 WHEN 2 THEN next_snowflake()::int WHEN 1 THEN 5 END

same
SELECT COALESCE(3, next_snowflake()::int)

same
SELECT COALESCE(3, (uuidv7()::text)::int)

same
SELECT true OR next_snowflake()::int > 0

same
SELECT false AND next_snowflake()::int > 0

same
SELECT NULLIF(1, 1), CASE WHEN true THEN 0 ELSE 1 / (next_snowflake() - next_snowflake())::int END

same
INSERT INTO t(n) VALUES (CASE WHEN false THEN next_snowflake()::int ELSE 1 END) RETURNING n

same
INSERT INTO t(n) VALUES (COALESCE(2, next_snowflake()::int4)) RETURNING n

same
SELECT next_snowflake()::smallint WHERE false

same
SELECT CASE WHEN false THEN 1 / (id_to_timestamp('x') IS NULL)::int ELSE 7 END

same
SELECT CASE WHEN false THEN id_to_timestamp('not an id')::text ELSE 'x' END

# One that cannot fail may stand there.
proxy
SELECT CASE WHEN true THEN next_snowflake() END

proxy
SELECT CASE WHEN false THEN 1 ELSE next_snowflake() END

proxy
SELECT CASE WHEN 1 = 1 THEN next_snowflake()::text ELSE 'x' END

proxy
SELECT COALESCE(next_snowflake(), 1), COALESCE(NULL, uuidv7())

proxy
INSERT INTO t(id, name) VALUES (COALESCE(NULL, next_snowflake()), CASE WHEN true THEN 'x' END) RETURNING id

same
INSERT INTO t(id, name) VALUES (COALESCE(5, next_snowflake()), 'x') RETURNING id

proxy bind NULL
INSERT INTO t(id) VALUES (COALESCE($1, next_snowflake())) RETURNING id

same bind "8"
INSERT INTO t(id) VALUES (COALESCE($1, next_snowflake())) RETURNING id

same
SELECT GREATEST(1, next_snowflake()) > 1, LEAST(1, next_snowflake())

same
SELECT next_snowflake() IS NOT NULL OR false, NULLIF(next_snowflake(), 1) > 0

# A scalar subquery takes its name from its column; CASE from its ELSE.
any
SELECT CASE WHEN false THEN 1::bigint ELSE next_snowflake() END, (SELECT next_snowflake()), COALESCE(next_snowflake(), 2)
