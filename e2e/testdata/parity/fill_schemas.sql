# One name in several schemas: which table is meant is the session's affair.
same
CREATE SCHEMA one

same
CREATE SCHEMA two

same
CREATE TABLE one.single (id bigint DEFAULT next_snowflake(), name text)

either ready
INSERT INTO single(name) VALUES ('a')

proxy
INSERT INTO one.single(name) VALUES ('a') RETURNING *

same
SET search_path = one, public

proxy
INSERT INTO single(name) VALUES ('a') RETURNING *

proxy
INSERT INTO acct(name) VALUES ('a') RETURNING *

same
RESET search_path

same
CREATE TABLE one.dup (id bigint DEFAULT next_snowflake(), name text)

same
CREATE TABLE two.dup (id text DEFAULT 'five', name text, u uuid DEFAULT uuidv7())

same
CREATE TABLE dup (id bigint DEFAULT 7, name text)

proxy
INSERT INTO one.dup(name) VALUES ('a') RETURNING *

proxy
INSERT INTO two.dup(name) VALUES ('a') RETURNING *

same ready
INSERT INTO public.dup(name) VALUES ('a') RETURNING *

same ready
INSERT INTO dup(name) VALUES ('a') RETURNING *

same
SET search_path = two, one

any ready
INSERT INTO dup(name) VALUES ('a') RETURNING *

same
SET search_path TO one, two, public

any ready
INSERT INTO dup(name) VALUES ('a') RETURNING *

any ready
INSERT INTO dup VALUES (DEFAULT, 'a'), (DEFAULT, 'b') RETURNING *

same ready
INSERT INTO public.dup VALUES (DEFAULT, 'a'), (DEFAULT, 'b') RETURNING *

same
SELECT set_config('search_path', 'public', false)

same ready
INSERT INTO dup(name) VALUES ('a') RETURNING *

same
BEGIN

same
SET LOCAL search_path = two

any
INSERT INTO dup(name) VALUES ('a') RETURNING *

either
INSERT INTO two.dup(id) VALUES (1/0)

same
ROLLBACK

same ready
INSERT INTO dup(name) VALUES ('a') RETURNING *

same simple
SET search_path = two; INSERT INTO dup(name) VALUES ('a') RETURNING id; SET search_path = public; INSERT INTO dup(name) VALUES ('a') RETURNING id

# Tables move between schemas, are made and dropped: the name becomes one of
# many, and the only one.
same
ALTER TABLE dup SET SCHEMA two

same
DROP TABLE two.dup

same
ALTER TABLE public.dup SET SCHEMA two

same ready
INSERT INTO two.dup(name) VALUES ('a') RETURNING *

either ready
INSERT INTO dup(name) VALUES ('a')

same
DROP TABLE two.dup

same
SET search_path = one

proxy
INSERT INTO dup(name) VALUES ('a') RETURNING *

same
CREATE VIEW public.dup AS SELECT id, name FROM one.dup

any ready
INSERT INTO dup(name) VALUES ('a') RETURNING *

same
ALTER SCHEMA one RENAME TO three

either ready
INSERT INTO dup(name) VALUES ('a')

proxy
INSERT INTO three.dup(name) VALUES ('a') RETURNING *

same
RESET search_path

server ready
INSERT INTO dup(name) VALUES ('a') RETURNING *

same
DROP SCHEMA three CASCADE

either ready
INSERT INTO dup(name) VALUES ('a')

either ready
INSERT INTO three.dup(name) VALUES ('a')

# Names of the system's catalogs, which come first.
same
CREATE TABLE public.pg_am (id bigint DEFAULT next_snowflake(), name text)

either ready
INSERT INTO pg_am(name) VALUES ('a')

proxy
INSERT INTO public.pg_am(name) VALUES ('a') RETURNING *

same
SET search_path = public, pg_catalog

any ready
INSERT INTO pg_am(name) VALUES ('a') RETURNING *

same
RESET search_path

same
CREATE TABLE public.tables (id bigint DEFAULT next_snowflake(), name text)

any ready
INSERT INTO tables(name) VALUES ('a') RETURNING *

same
SET search_path = information_schema, public

either ready
INSERT INTO tables(name) VALUES ('a')

same
RESET search_path

# Two schemas named alike but for case; a schema named as the user.
same
CREATE SCHEMA "Two"

same
CREATE TABLE "Two".alike (id bigint DEFAULT next_snowflake(), name text)

same
CREATE TABLE two.alike (id int DEFAULT 5, name text)

same ready
INSERT INTO Two.alike(name) VALUES ('a') RETURNING *

proxy
INSERT INTO "Two".alike(name) VALUES ('a') RETURNING *

same
CREATE SCHEMA e2e_app AUTHORIZATION e2e_app

same
CREATE TABLE e2e_app.mine (id bigint DEFAULT 6, name text)

same
CREATE TABLE public.mine (id bigint DEFAULT next_snowflake(), name text)

same
GRANT ALL ON e2e_app.mine, public.mine TO e2e_app

any ready
INSERT INTO mine(name) VALUES ('a') RETURNING *

same
SET ROLE e2e_app

same ready
INSERT INTO mine(name) VALUES ('a') RETURNING *

same
RESET ROLE

# A function with a path of its own, and one that inserts.
same
CREATE FUNCTION insert_mine() RETURNS bigint LANGUAGE sql SET search_path = public AS $$INSERT INTO mine(name) VALUES ('by function') RETURNING id$$

server ready
SELECT insert_mine()

server ready
INSERT INTO public.mine(id, name) VALUES (insert_mine(), 'x') RETURNING id
