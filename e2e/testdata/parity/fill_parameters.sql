# The parameters that the client sees are its own: their number, types and order.
proxy bind "a"
INSERT INTO acct(name) VALUES ($1) RETURNING *

proxy bind "a" "b"
INSERT INTO acct(name, note) VALUES ($1, $2) RETURNING *

proxy bind "a" "b"
INSERT INTO acct(note, name) VALUES ($2, $1), ($1, DEFAULT), ($1, $2) RETURNING *

filled bind "a"
INSERT INTO acct(name) VALUES ($1)

proxy bind "a"
INSERT INTO acct VALUES (DEFAULT, $1) RETURNING *

proxy once bind "5" "a"
INSERT INTO acct VALUES ($1, $2), (DEFAULT, $2) RETURNING *

proxy once bind "6" "a"
INSERT INTO acct(name, id) VALUES ($2, DEFAULT), ($2, $1), ($2, DEFAULT) RETURNING *

proxy bind "a"
INSERT INTO doc(title) VALUES ($1), ($1 || 'b') RETURNING *

proxy bind NULL
INSERT INTO doc VALUES (DEFAULT, $1) RETURNING *

proxy bind NULL NULL
INSERT INTO acct(name, note) VALUES ($1, $2) RETURNING *

proxy bind
INSERT INTO acct DEFAULT VALUES RETURNING *

proxy types 25,25 bind "unused" "unused"
INSERT INTO acct DEFAULT VALUES RETURNING *

# Declared types: fewer, more, others than the columns'.
proxy types 25 bind "a" "b"
INSERT INTO acct(name, note) VALUES ($1, $2) RETURNING *

proxy types 0,1043 bind "a" "b"
INSERT INTO acct(name, note) VALUES ($1, $2) RETURNING *

proxy types 23,0,1082 bind "5" "b" "2024-02-29"
INSERT INTO acct(name, note) VALUES ($1, $2) RETURNING *

proxy types 20,2950 bind "5" "01940000-0000-4000-8000-000000000001"
INSERT INTO acct(note, name) VALUES ($1, $2) RETURNING *

proxy types 0,0,0,0,23 bind "p" "12" "q" NULL "5"
INSERT INTO t(name, n, id2, id) VALUES ($1, $2 + $5, next_snowflake(), DEFAULT), ($3, $4, DEFAULT, 5) RETURNING id, id2, name, n

either ready types 25,23 bind "a" "5"
INSERT INTO acct(name) VALUES ($1) RETURNING 1

either ready types 2950 bind "01940000-0000-4000-8000-000000000001"
INSERT INTO acct(id) VALUES ($1)

either ready types 16 bind "t"
INSERT INTO acct(name, id) VALUES ('a', $1)

# Numbers that are not used, used twice, far apart; none are declared.
either ready bind "p" "12" "q"
INSERT INTO acct(name, note) VALUES ($1, $3) RETURNING id

either ready bind
INSERT INTO acct(name) VALUES ($2)

either ready bind "a"
INSERT INTO acct(name) VALUES ($0)

either ready bind "a"
INSERT INTO acct(name) VALUES ($99999)

proxy types 0,25,0,0,0,0,0,0,0,0,25 bind "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11"
INSERT INTO acct(name, note) SELECT $2, $11 WHERE '{"k":1}'::jsonb ? 'k' AND '{}'::jsonb ?| ARRAY[$3] IS NOT TRUE AND $1 = '1' AND coalesce($4, $5, $6, $7, $8, $9, $10) IS NOT NULL RETURNING *

either ready bind "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11"
INSERT INTO acct(name, note) SELECT $2, $11 WHERE '{"k":1}'::jsonb ? 'k' AND '{}'::jsonb ?| ARRAY[$3] IS NOT TRUE RETURNING *

server bind "a" "b"
INSERT INTO acct(name) SELECT v FROM (VALUES ($1),($2)) s(v) RETURNING *

proxy bind "a"
INSERT INTO acct(name, note) VALUES ('$1', $$ $2 $$), ($1, E'\'$3' /* $4 */) RETURNING *

# Where a parameter has its type from.
proxy bind "a"
INSERT INTO acct(name) SELECT $1 RETURNING *

proxy bind "a" "b"
INSERT INTO acct(name, note) SELECT $1, $2 UNION ALL SELECT $2, $1 RETURNING *

proxy bind "5"
INSERT INTO acct(name) VALUES ($1::int + 1) RETURNING *

proxy bind "a" "1"
INSERT INTO acct(name) SELECT $1 LIMIT $2 RETURNING *

proxy bind "a" "t"
INSERT INTO acct(name) SELECT $1 WHERE $2 RETURNING *

proxy bind "a" "b"
WITH x AS (SELECT $2::text AS v) INSERT INTO acct(name) VALUES ($1) RETURNING id, (SELECT v FROM x)

proxy bind "a" "b"
WITH x AS (INSERT INTO acct(name) VALUES ($2) RETURNING id) SELECT id, $1::text FROM x

proxy bind "a" "x"
INSERT INTO acct(name) VALUES ($1) ON CONFLICT (id) DO UPDATE SET note = $2 RETURNING *

proxy bind "a" "x" "5"
INSERT INTO acct(name) VALUES ($1) RETURNING id, $2 AS two, $3::int + 1 AS three

proxy bind "{a,b}"
INSERT INTO acct(name, note) VALUES (($1::text[])[1], ($1::text[])[2]) RETURNING *

server bind "{a,b}"
INSERT INTO acct(name) SELECT unnest($1::text[]) RETURNING *

server bind "{a,b}"
INSERT INTO acct(name) VALUES (unnest($1::text[])) RETURNING *

same
CREATE TABLE typed_by (id bigint DEFAULT next_snowflake(), d date, n numeric(5,2), j jsonb, p pair, a int[], c char(3), u uuid DEFAULT uuidv7())

proxy once bind "2024-02-29" "1.234" "{\"a\": 1}" "(1,2)" "{1,2}" "ab"
INSERT INTO typed_by(d, n, j, p, a, c) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id, u, d, n::text, j::text, p::text, a::text, c

proxy once bind "1" "2"
INSERT INTO typed_by(p.a, a[2]) VALUES ($1, $2) RETURNING id, u, p::text, a::text

proxy once bind "2024-02-29"
INSERT INTO typed_by VALUES (DEFAULT, $1) RETURNING id, u, d

# Too few and too many values; values that do not fit.
either ready bind "a"
INSERT INTO acct(name, note) VALUES ($1, $2)

either ready bind "a" "b" "c"
INSERT INTO acct(name, note) VALUES ($1, $2)

either ready bind
INSERT INTO acct(name) VALUES ($1)

either ready bind "a"
INSERT INTO acct DEFAULT VALUES

either ready bind "x"
INSERT INTO typed_by(d) VALUES ($1)

either ready bind "2024-02-30" "1"
INSERT INTO typed_by VALUES (DEFAULT, $1, $2)

either ready bind "12345"
INSERT INTO typed_by(n) VALUES ($1)

either ready bind "a" "b"
INSERT INTO acct(name, note) VALUES ($1, $2 + nope)

either ready bind "a"
INSERT INTO acct(name) VALUES ($1, $2)

either ready bind "a"
INSERT INTO acct(name) VALUES ($1), ($2, $3)

either ready bind "a"
INSERT INTO acct(id, name) VALUES (DEFAULT, $1 || nope)

# NULL as an explicit id, by a parameter.
either ready bind NULL "a"
INSERT INTO acct(id, name) VALUES ($1, $2)

either ready bind NULL "a"
INSERT INTO acct(id, name) VALUES (DEFAULT, $2), ($1, $2)

# More rows than fold, with parameters each.
proxy bind "1" "2" "3" "4" "5" "6" "7" "8"
INSERT INTO acct(name) VALUES ($1), ($2), ($3), ($4), ($5), ($6), ($7), ($8) RETURNING id, name

proxy bind "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12"
INSERT INTO acct(name, note) VALUES ($1, $2), ($3, $4), ($5, $6), ($7, $8), ($9, $10), ($11, $12) RETURNING id, name, note

proxy bind "1" "2" "3"
INSERT INTO acct(id, name) VALUES (DEFAULT, $1), (DEFAULT, $2), (DEFAULT, $3), (DEFAULT, $2), (DEFAULT, $1), (DEFAULT, 'lit'), (DEFAULT, DEFAULT) RETURNING id, name

proxy bind "1" "2" "3"
INSERT INTO acct(name) SELECT $1 UNION ALL SELECT $2 UNION ALL SELECT $3 UNION ALL SELECT $2 UNION ALL SELECT $1 RETURNING id, name
