# PostgreSQL 18 has a uuidv7() of its own; the call is replaced all the same.
proxy
SELECT uuidv7()

proxy from 18
SELECT pg_catalog.uuidv7()

same from 18
SELECT public.uuidv7()

proxy to 17
SELECT public.uuidv7()

same
SELECT uuidv7(interval '-1 hour') < uuidv7()

same from 18
SELECT uuidv7(shift => interval '-1 hour') < uuidv7(), uuid_extract_version(uuidv7()), uuid_extract_timestamp(uuidv7()) > now() - interval '10 minutes'

server
SELECT u FROM (SELECT uuidv7() AS u, g FROM generate_series(1,3) g) x ORDER BY g

same
SELECT count(DISTINCT u), count(*), min(length(u::text)) FROM (SELECT uuidv7() AS u FROM generate_series(1,1000)) x

proxy
INSERT INTO doc(id, title) VALUES (uuidv7(), 'a') RETURNING id, title

proxy
INSERT INTO doc(title) VALUES ('a') RETURNING id, title

# A function of the user's in front of pg_catalog.
same
CREATE SCHEMA front

same
CREATE FUNCTION front.uuidv7() RETURNS text LANGUAGE sql AS 'SELECT ''front'''

same
SET search_path = front, pg_catalog

same
SELECT uuidv7()

same
RESET search_path

same
SELECT front.uuidv7()

server
SELECT uuidv7()

same
DROP SCHEMA front CASCADE

proxy
SELECT uuidv7()
