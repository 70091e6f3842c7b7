# Functions of our names that are not ours: what a default means is a matter of
# the function, not of its name. After the first of them there may be no call
# that the proxy replaces, so that it is not waited for.
proxy
INSERT INTO acct(name) VALUES ('control') RETURNING id

same
CREATE SCHEMA app

same
CREATE SEQUENCE app.sequence START 5

same
CREATE FUNCTION app.next_snowflake() RETURNS bigint LANGUAGE sql AS $$SELECT nextval('app.sequence')$$

same
CREATE FUNCTION app.uuidv7() RETURNS uuid LANGUAGE sql AS $$SELECT lpad(nextval('app.sequence')::text, 32, '0')::uuid$$

same
CREATE TABLE theirs (id bigint DEFAULT app.next_snowflake(), u uuid DEFAULT app.uuidv7(), name text)

same
INSERT INTO theirs(name) VALUES ('a') RETURNING *

same
INSERT INTO theirs VALUES (DEFAULT, DEFAULT, 'a'), (DEFAULT, DEFAULT, 'b') RETURNING *

same
INSERT INTO theirs DEFAULT VALUES RETURNING *

any
INSERT INTO acct(name) VALUES ('a') RETURNING id, name

same
SET search_path = app, public, pg_catalog

same
CREATE TABLE app.by_path (id bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7(), ours bigint DEFAULT public.next_snowflake(), name text)

any
INSERT INTO by_path(name) VALUES ('a') RETURNING *

any
INSERT INTO by_path(name) VALUES ('a'), ('b') RETURNING *

any
INSERT INTO by_path VALUES (DEFAULT, DEFAULT, DEFAULT, 'a') RETURNING *

any
INSERT INTO acct(name) VALUES ('a') RETURNING id, name

same
RESET search_path

any
INSERT INTO app.by_path(name) VALUES ('a') RETURNING *

# Overloads that a call could mean instead.
same
CREATE FUNCTION app.next_snowflake(text DEFAULT 'x') RETURNS bigint LANGUAGE sql AS $$SELECT nextval('app.sequence')$$

any
INSERT INTO acct(name) VALUES ('a') RETURNING id, name

same
DROP TABLE theirs, app.by_path

same
DROP SCHEMA app CASCADE

proxy
INSERT INTO acct(name) VALUES ('control') RETURNING id

# Ours gets another name: it is the default all the same.
same
ALTER FUNCTION next_snowflake() RENAME TO once_snowflake

any
INSERT INTO acct(name) VALUES ('a') RETURNING id, name

any
INSERT INTO acct VALUES (DEFAULT, 'a'), (DEFAULT, 'b') RETURNING id, name

same
CREATE SEQUENCE own START 5

same
CREATE FUNCTION next_snowflake() RETURNS bigint LANGUAGE sql AS $$SELECT nextval('own')$$

any
INSERT INTO acct(name) VALUES ('a') RETURNING id, name

same
ALTER TABLE acct ALTER id SET DEFAULT next_snowflake()

same
INSERT INTO acct(name) VALUES ('a') RETURNING id, name

same
INSERT INTO acct VALUES (DEFAULT, 'a'), (DEFAULT, 'b') RETURNING id, name

same
INSERT INTO acct DEFAULT VALUES RETURNING id, name

same
ALTER TABLE acct ALTER id SET DEFAULT once_snowflake()

same
DROP FUNCTION next_snowflake()

same
ALTER FUNCTION once_snowflake() RENAME TO next_snowflake

proxy
INSERT INTO acct(name) VALUES ('control') RETURNING id, name

# It moves to another schema, and back.
same
CREATE SCHEMA elsewhere

same
ALTER FUNCTION next_snowflake() SET SCHEMA elsewhere

any
INSERT INTO acct(name) VALUES ('a') RETURNING id, name

same
ALTER FUNCTION elsewhere.next_snowflake() SET SCHEMA public

proxy
INSERT INTO acct(name) VALUES ('control') RETURNING id, name

# Its body is another one: it is ours no longer, under its name and its OID.
same
CREATE OR REPLACE FUNCTION next_snowflake() RETURNS bigint LANGUAGE sql AS $$SELECT nextval('own')$$

same
INSERT INTO acct(name) VALUES ('a') RETURNING id, name

same
INSERT INTO acct VALUES (DEFAULT, 'a'), (DEFAULT, 'b') RETURNING id, name

same
INSERT INTO acct DEFAULT VALUES RETURNING id, name

same
INSERT INTO acct(name) SELECT 'a' UNION ALL SELECT 'b' RETURNING id, name

any
INSERT INTO doc(title) VALUES ('a') RETURNING *

# A function of the session's own does not count for a default.
same on temp
CREATE FUNCTION pg_temp.uuidv7() RETURNS uuid LANGUAGE sql AS $$SELECT '00000000-0000-0000-0000-000000000000'::uuid$$

any on temp
INSERT INTO doc(title) VALUES ('a') RETURNING *

same on temp to 17
DROP FUNCTION uuidv7() CASCADE

same on temp to 17
INSERT INTO doc(title) VALUES ('a')
