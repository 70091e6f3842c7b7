# Which function is meant?
proxy
SELECT Next_Snowflake /*x*/ ( ), public . next_snowflake()

same
SELECT pg_catalog.next_snowflake()

same
SELECT t.next_snowflake FROM (SELECT 1 AS next_snowflake) t

same
SELECT next_snowflake(t) FROM t LIMIT 0

same
GRANT EXECUTE ON FUNCTION next_snowflake() TO e2e_app

same
SELECT 'next_snowflake()'::regprocedure, 'public.next_snowflake()'::regprocedure::oid > 0

# A function of the same name in another schema is another function.
same
CREATE SCHEMA app

same
CREATE FUNCTION app.next_snowflake() RETURNS bigint LANGUAGE sql AS 'SELECT 42::bigint'

same
SELECT app.next_snowflake()

server
SELECT next_snowflake()

same
SET search_path = app, public

same
SELECT next_snowflake(), app.next_snowflake()

any
SELECT public.next_snowflake()

same
INSERT INTO t(id) VALUES (next_snowflake()) RETURNING id

same
RESET search_path

same
DROP FUNCTION app.next_snowflake()

proxy
SELECT next_snowflake()

# One that takes defaults or is variadic could win a call without arguments.
same
CREATE FUNCTION app.next_snowflake(int DEFAULT 1) RETURNS bigint LANGUAGE sql AS 'SELECT 43::bigint'

same
SET search_path = app

same
SELECT next_snowflake()

same
RESET search_path

same
DROP SCHEMA app CASCADE

# pg_temp is never searched for functions, but may be named.
same
CREATE FUNCTION pg_temp.next_snowflake() RETURNS text LANGUAGE sql AS 'SELECT ''t'''

same
SELECT pg_temp.next_snowflake()

any
SELECT next_snowflake()

same
DROP FUNCTION pg_temp.next_snowflake()

# The rights of others.
same
SELECT has_function_privilege('e2e_app', 'next_snowflake()', 'EXECUTE')

same once
REVOKE EXECUTE ON FUNCTION next_snowflake() FROM PUBLIC, e2e_app

same
SET ROLE e2e_app

same
SELECT next_snowflake()

same
RESET ROLE

server
SELECT next_snowflake()

same
GRANT EXECUTE ON FUNCTION next_snowflake() TO PUBLIC

proxy
SELECT next_snowflake()

# A user's own function under the name, after ours was dropped.
same
CREATE SCHEMA mine

same
CREATE FUNCTION mine.id_to_timestamp(text) RETURNS text LANGUAGE sql AS 'SELECT ''mine'''

same
SELECT mine.id_to_timestamp('01940000-0000-7000-8000-000000000001')

same
SET search_path = mine, public

same
SELECT id_to_timestamp('01940000-0000-7000-8000-000000000001'), id_to_timestamp('x'::text)

same
RESET search_path

# A comment of the user's may make the function one that we do not know.
same
COMMENT ON FUNCTION next_snowflake() IS 'next_snowflake()'

any
SELECT next_snowflake()
