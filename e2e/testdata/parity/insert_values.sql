# Each expression of INSERT … VALUES, also inside casts, operators and ordinary
# functions.
proxy
INSERT INTO t(id) VALUES (next_snowflake()) RETURNING *

proxy
INSERT INTO t(id, id2, name) VALUES (next_snowflake(), next_snowflake(), 'a'), (next_snowflake(), next_snowflake(), 'b') RETURNING id, id2, name;

proxy
INSERT INTO t(id, u) VALUES (next_snowflake(), uuidv7()), (next_snowflake(), uuidv7()), (next_snowflake(), uuidv7()) RETURNING id, u;

proxy
INSERT INTO t(name, u) VALUES ('x' || next_snowflake(), uuidv7()) RETURNING name, u

proxy
INSERT INTO t(name) VALUES (next_snowflake()::text), (CAST(next_snowflake() AS text)), (uuidv7()::text) RETURNING name

# +0 of an id is a different number, but of the same node in the same millisecond.
same
INSERT INTO t(id) VALUES (next_snowflake() + 0) RETURNING id > 0 AS positive

proxy
INSERT INTO t(id, name) VALUES (abs(next_snowflake()), upper('x' || 'y')) RETURNING id, name

proxy
INSERT INTO t(name) VALUES (format('%s/%s', next_snowflake(), uuidv7())) RETURNING name

# Names in any case, with space and comments inside.
proxy
INSERT INTO t(id, id2) VALUES (Next_Snowflake /*x*/ ( ), NEXT_SNOWFLAKE
-- and a line
()) RETURNING id, id2

proxy
INSERT INTO t(id, id2, u) VALUES (public . next_snowflake(), "public"."next_snowflake"(), "uuidv7"()) RETURNING id, id2, u;

# As many rows as make the plan fold them.
proxy
INSERT INTO t(id, name, n) VALUES (next_snowflake(), 'r1', 1), (next_snowflake(), 'r2', 2), (next_snowflake(), 'r3', 3), (next_snowflake(), 'r4', 4), (next_snowflake(), 'r5', 5), (next_snowflake(), 'r6', 6), (next_snowflake(), 'r7', 7) RETURNING id, name, n

# Rows of different shapes.
proxy
INSERT INTO t(id, name, n) VALUES (next_snowflake(), 'r1', 1), (7, 'r2', 2), (next_snowflake(), NULL, 3), (next_snowflake() , 'r4', -4), (NULL, 'r5', 1+4) RETURNING id, name, n

# The parameters of a prepared statement.
proxy bind "p" "12"
INSERT INTO t(id, name, n) VALUES (next_snowflake(), $1, $2) RETURNING id, name, n

proxy types 25 bind "p" "12"
INSERT INTO t(name, n, id) VALUES ($1, $2, next_snowflake()) RETURNING id, name, n

proxy bind "p" "12" "q" NULL
INSERT INTO t(id, name, n, id2) VALUES (next_snowflake(), $1, $2, next_snowflake()), (next_snowflake(), $3, $4, next_snowflake()) RETURNING id, name, n, id2

proxy types 0,0,0,0,23 bind "p" "12" "q" NULL "5"
INSERT INTO t(id, name, n) VALUES (next_snowflake(), $1, $2 + $5), (next_snowflake(), $3, $4) RETURNING id, name, n

# A gap in the numbers: PostgreSQL cannot tell the type of $2.
same bind "p" "12" "q"
INSERT INTO t(id, name, n) VALUES (next_snowflake(), $1, $3) RETURNING id, name, n

# A parameter that is declared and never used.
proxy types 25,23,1082 bind "p" "12" "2024-02-29"
INSERT INTO t(id, name, n) VALUES (next_snowflake(), $1, $2) RETURNING id, name, n

# Wrong numbers of values, of NULLs, a value that does not fit.
same bind "p"
INSERT INTO t(id, name, n) VALUES (next_snowflake(), $1, $2) RETURNING id

same bind "p" "1" "2"
INSERT INTO t(id, name, n) VALUES (next_snowflake(), $1, $2) RETURNING id

same bind "p" "not a number"
INSERT INTO t(id, name, n) VALUES (next_snowflake(), $1, $2) RETURNING id

same
INSERT INTO t(id, name) VALUES (next_snowflake(), $1) RETURNING id

# DEFAULT and omitted columns: the server's defaults make the id.
proxy
INSERT INTO acct VALUES (DEFAULT,'a'), (7,'b') RETURNING id, name

proxy
INSERT INTO acct(name,id) VALUES ('c',DEFAULT), ('c2',DEFAULT) RETURNING id, name

# The row of the error shows an id of the statement, which nobody else has seen.
same
INSERT INTO acct(name,id) VALUES ('d',NULL)

filled
INSERT INTO acct DEFAULT VALUES RETURNING 0

proxy
INSERT INTO acct(note,name) VALUES (DEFAULT,'e') RETURNING *

proxy
INSERT INTO acct AS x (name) VALUES ('f') RETURNING x.*

any
INSERT INTO doc VALUES (uuidv7()), (DEFAULT) RETURNING id

proxy
INSERT INTO "acct" ("name") OVERRIDING USER VALUE VALUES ('g') RETURNING *

proxy
INSERT INTO "acct" ("id", "name") OVERRIDING SYSTEM VALUE VALUES (next_snowflake(), 'g') RETURNING *

server
INSERT INTO acct(name) TABLE other RETURNING id

proxy
INSERT INTO acct AS x (id, name) VALUES (next_snowflake(), 'f') RETURNING x.*, x.id::text AS again

# One id for the call, one for the default.
any
INSERT INTO acct(name) VALUES ('n' || next_snowflake()) RETURNING id, name

# Short rows keep their meaning by position; dropped columns do not shift it.
same
ALTER TABLE acct DROP COLUMN note

same
ALTER TABLE acct ADD COLUMN extra int

proxy
INSERT INTO acct VALUES (DEFAULT,'h',3) RETURNING *

proxy
INSERT INTO acct VALUES (next_snowflake(),'h',3) RETURNING *

proxy
INSERT INTO acct VALUES (next_snowflake(),'short') RETURNING *

same
INSERT INTO acct VALUES (next_snowflake(),'long', 4, 5)

same
INSERT INTO acct(id, name, nope) VALUES (next_snowflake(),'long', 4)

same
INSERT INTO acct(id, name) VALUES (next_snowflake(),'uneven'), (next_snowflake())

# Explicit values stay what they are.
same
INSERT INTO acct(id,name) VALUES (0,'go') RETURNING id

same
INSERT INTO acct(id,name) VALUES (NULL,'null')

same
INSERT INTO doc(id,title) VALUES ('00000000-0000-0000-0000-000000000000','gorm') RETURNING id

same
INSERT INTO doc(id,title) VALUES ('00000000-0000-0000-0000-000000000000','gorm') RETURNING id

same types 20,25 bind NULL "null"
INSERT INTO acct(id,name) VALUES ($1,$2)

# An id into a column of another type: PostgreSQL's own cast or error.
proxy
INSERT INTO t(name) VALUES (next_snowflake()) RETURNING name

# (Prepared, the value is there at Bind, and the error too.)
same simple
INSERT INTO t(n) VALUES (next_snowflake())

same
INSERT INTO t(u) VALUES (next_snowflake())

same
INSERT INTO t(id) VALUES (uuidv7())

# A partitioned table is an ordinary target.
proxy
INSERT INTO part VALUES (next_snowflake(), 1), (next_snowflake(), 2) RETURNING tableoid::regclass, *

proxy
INSERT INTO part_2 VALUES (next_snowflake(), 2) RETURNING *

# All is stored as shown.
same
SELECT count(*), count(DISTINCT id), bool_and(id_to_timestamp(id) BETWEEN now() - interval '10 min' AND now() + interval '1 min') FROM part
