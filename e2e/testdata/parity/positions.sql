# Positions are characters of the client's own text.
same
SELECT 'ü', next_snowflake(), nope

same
SELECT nope, 'ü', next_snowflake()

same
SELECT next_snowflake(), uuidv7(), next_snowflake(), nope

same
SELECT 'ü€𝄞', next_snowflake() AS "ü€𝄞", uuidv7(), 'ü€𝄞' AS "ü€𝄞", nope

same
INSERT INTO t(id, name) VALUES (next_snowflake(), nope)

same
INSERT INTO t(id, nope) VALUES (next_snowflake(), 1)

same
INSERT INTO t(id, n) VALUES (next_snowflake(), 'a'::int)

same
INSERT INTO t(id, n) VALUES (next_snowflake(), 1), (next_snowflake(), 2), (next_snowflake(), 3), (next_snowflake(), 4), (next_snowflake(), 'ü'), (next_snowflake(), 'x')

same
INSERT INTO t(id, n) VALUES (next_snowflake(), 1), (next_snowflake(), 2), (next_snowflake(), 3), (next_snowflake(), nope)

# At the call itself: inside an insertion means its start.
same
INSERT INTO t(n) VALUES (next_snowflake()::date)

same
SELECT next_snowflake()::date

same
SELECT 'üü', uuidv7() + 1

same
SELECT uuidv7()::bigint, 1

same
INSERT INTO t(u, id) VALUES (next_snowflake(), 1)

same
INSERT INTO t(name, id) VALUES ('ü', uuidv7())

same
SELECT next_snowflake() UNION ALL SELECT uuidv7()

same
SELECT 1 UNION ALL SELECT next_snowflake(), 2

same
SELECT next_snowflake() = uuidv7()

same
SELECT next_snowflake() || next_snowflake()

# Syntax errors before, after and at the call.
same
SELEC next_snowflake()

same
SELECT 'ü', next_snowflake() FROM

same
SELECT next_snowflake() nope nope

same
SELECT next_snowflake()) , 'ü'

same
SELECT 'ü' next_snowflake() x

# In a subquery, in a function's body (p and q are not ours to shift).
same
SELECT next_snowflake(), (SELECT nope)

same
DO $$ BEGIN PERFORM next_snowflake(), nope; END $$

same
CREATE FUNCTION bad() RETURNS bigint LANGUAGE sql AS 'SELECT next_snowflake(), nope'

same
SELECT next_snowflake(), query_to_xml('SELECT nope, next_snowflake()', true, true, '')

# Notices have positions too, and errors at run time have none.
same
SELECT next_snowflake(), 1/0

same
INSERT INTO t(id, n) VALUES (next_snowflake(), 99999999999)

same
INSERT INTO t(id, n) VALUES (next_snowflake(), '99999999999')

# Prepared, with values.
same bind "a"
SELECT 'ü', next_snowflake(), $1 + nope

same bind "a"
INSERT INTO t(id, n) VALUES (next_snowflake(), $1::int + nope)

same bind "a"
SELECT next_snowflake(), $1::int

same bind "a"
SELECT next_snowflake(), $1, $3

# Duplicate keys show values, not how they came.
same
INSERT INTO acct(id, name) VALUES (1, 'x'), (1, 'y')

same
ALTER TABLE t ADD CONSTRAINT small CHECK (n < 10)

proxy once
INSERT INTO acct(name) VALUES ('dup') RETURNING id

same
INSERT INTO acct(id, name) SELECT id, 'again' FROM acct WHERE name = 'dup'
