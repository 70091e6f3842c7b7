# PREPARE stores a statement; what its parameters are stays the client's view.
kept
PREPARE p1 AS INSERT INTO t(id, name) VALUES (next_snowflake(), $1) RETURNING id, name

server
EXECUTE p1('a')

server
EXECUTE p1('b')

kept
PREPARE p2(bigint, uuid) AS SELECT $1, $2

any
EXECUTE p2(next_snowflake(), uuidv7())

kept
EXECUTE p2

kept
PREPARE p1 AS SELECT 1

same
SELECT name, statement, parameter_types, from_sql FROM pg_prepared_statements WHERE name LIKE 'p%' ORDER BY 1

kept
DEALLOCATE p1

kept
EXECUTE p1('a')

kept
DEALLOCATE PREPARE "p2"

kept
DEALLOCATE p2

kept
PREPARE p3 AS SELECT next_snowflake() AS id, uuidv7() AS u, id_to_timestamp(7) AS at

server
EXECUTE p3

kept
EXPLAIN (COSTS off) EXECUTE p3

# The table has the ids of as many executions.
kept
CREATE TEMP TABLE of_execute AS EXECUTE p3

same
DISCARD PLANS

server
EXECUTE p3

same
DEALLOCATE ALL

same
EXECUTE p3

same
DISCARD ALL

# Cursors.
same
BEGIN

kept
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT next_snowflake() AS id FROM generate_series(1,5)

server
FETCH 2 FROM c

server
FETCH ALL FROM c

server
FETCH BACKWARD 5 FROM c

kept
DECLARE c2 CURSOR FOR SELECT next_snowflake(), id_to_timestamp(7)

server
FETCH c2

same
COMMIT

server
FETCH FIRST FROM c

same
CLOSE c

# EXPLAIN shows the client's statement; ANALYZE runs it.
kept
EXPLAIN (COSTS off, VERBOSE) INSERT INTO t(id) VALUES (next_snowflake()), (next_snowflake())

kept
EXPLAIN (ANALYZE, BUFFERS off, COSTS off, TIMING off, SUMMARY off) INSERT INTO t(id, name) VALUES (next_snowflake(), 'explained')

server once
SELECT id FROM t WHERE name = 'explained'

# COPY of a query, and into a table with a default.
server simple
COPY (SELECT next_snowflake()) TO STDOUT

server simple
COPY (SELECT next_snowflake(), uuidv7() FROM generate_series(1,3)) TO STDOUT (FORMAT csv, HEADER)

server simple
COPY (INSERT INTO t(id) VALUES (next_snowflake()) RETURNING id) TO STDOUT

same simple
COPY acct(name) FROM STDIN
----
copied 1
copied 2
next_snowflake()

server simple
SELECT id, name FROM acct WHERE name LIKE 'copied%' OR name LIKE 'next%'

same simple
COPY acct(id, name) FROM STDIN
----
next_snowflake()	x

same simple
COPY acct(id, name) FROM STDIN WHERE id > next_snowflake()
----
5	x

same simple
COPY acct(name) FROM STDIN

# Large objects, locks, notifications, session commands.
same
LISTEN "next_snowflake"

same
NOTIFY other_channel, 'next_snowflake()'

same
UNLISTEN *

same once
LOCK TABLE t

same
SHOW server_version_num

same
CHECKPOINT

same
ANALYZE t

same
TRUNCATE t
