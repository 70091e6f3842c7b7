# Parameter numbers are counted outside of strings and comments.
proxy bind "5"
SELECT '$7', $1::bigint, $$ $2 $$, next_snowflake() /* $9 */ -- $10

proxy bind "a" "b" "c" "d" "e" "f" "g" "h" "i" "j" "k"
INSERT INTO t(id, name) VALUES (next_snowflake(), $1::text || $2::text || $3::text || $4::text || $5::text || $6::text || $7::text || $8::text || $9::text || $10::text || $11::text) RETURNING id, name

same bind "a" "b" "c" "d" "e" "f" "g" "h" "i" "j" "k"
INSERT INTO acct(name,note) SELECT $2, $11 WHERE '{"k":1}'::jsonb ? 'k' AND '{}'::jsonb ?| ARRAY[$3] IS NOT TRUE

proxy types 25,25,25,25,25,25,25,25,25,25,25 bind "a" "b" "c" "d" "e" "f" "g" "h" "i" "j" "k"
INSERT INTO acct(name,note) SELECT $2, $11 WHERE '{"k":1}'::jsonb ? 'k' AND '{}'::jsonb ?| ARRAY[$3] IS NOT TRUE RETURNING id, name, note

any types 25,25,25,25,25,25,25,25,25,25,25 bind "a" "b" "c" "d" "e" "f" "g" "h" "i" "j" "k"
INSERT INTO t(id, name) SELECT next_snowflake(), $2 || $11 WHERE '{"k":1}'::jsonb ? 'k' RETURNING id, name

server bind "a" "b"
INSERT INTO acct(name) SELECT v FROM (VALUES ($1),($2)) s(v) RETURNING id, name

same bind "5"
SELECT '$1', $1::bigint, $$ $2 $$

# The types of the client's parameters are inferred as without the call.
proxy bind "1" "2"
SELECT $1, next_snowflake(), $2::numeric

proxy bind "1"
SELECT next_snowflake(), $1 || 'x'

same bind "1"
SELECT $1 + next_snowflake() > 0

same bind "1"
SELECT next_snowflake() > $1, $1 * 2

same bind "2024-01-01"
SELECT next_snowflake() || $1 IS NULL

proxy bind "1" "t"
SELECT CASE WHEN $2::bool THEN next_snowflake() ELSE $1 END

same bind "1" "f"
SELECT CASE WHEN $2::bool THEN next_snowflake() ELSE $1 END

same bind "x"
SELECT COALESCE($1, next_snowflake())

proxy bind "{1,2}"
SELECT next_snowflake(), $1::int[], 1 = ANY ($1::int[])

same bind
SELECT next_snowflake(), $1

same bind "1" "2"
SELECT next_snowflake()

same types 25 bind
SELECT next_snowflake()

proxy types 25 bind "unused"
SELECT next_snowflake()

proxy types 0 bind "unused"
SELECT next_snowflake(), $1::text

# No such type, no such parameter, far too many.
same types 99999 bind "1"
SELECT next_snowflake(), $1

same bind "1"
SELECT next_snowflake(), $0

same bind "1"
SELECT next_snowflake(), $70000

same bind "1"
SELECT next_snowflake(), $99999999999
