# FN-09: a default is filled if it is exactly a call of ours, in a column of
# exactly its type; how it is written does not matter.
same
CREATE TABLE d_bare (name text, id bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7())

same to 17
CREATE TABLE d_qualified (name text, id int8 DEFAULT public.next_snowflake(), u uuid DEFAULT (public.uuidv7())) WITH (fillfactor = 50)

same from 18
CREATE TABLE d_qualified (name text, id int8 DEFAULT public.next_snowflake(), u uuid DEFAULT (pg_catalog.uuidv7())) WITH (fillfactor = 50)

same to 17
CREATE TABLE d_parens (name text, id bigint DEFAULT ((((next_snowflake ( ))))), u uuid DEFAULT /* ours */ "public"."uuidv7" ( ))

same from 18
CREATE TABLE d_parens (name text, id bigint DEFAULT ((((next_snowflake ( ))))), u uuid DEFAULT /* ours */ "pg_catalog"."uuidv7" ( ))

same
CREATE TABLE d_added (name text)

same
ALTER TABLE d_added ADD id bigint, ADD u uuid

same
ALTER TABLE d_added ALTER id SET DEFAULT next_snowflake(), ALTER u SET DEFAULT uuidv7()

same
CREATE UNLOGGED TABLE d_unlogged (name text, id bigint PRIMARY KEY DEFAULT next_snowflake(), u uuid DEFAULT uuidv7())

same
CREATE TABLE d_like (LIKE d_bare INCLUDING ALL)

same
CREATE TABLE d_like_not (LIKE d_bare)

same
CREATE TYPE d_type AS (name text, id bigint, u uuid)

same
CREATE TABLE d_typed OF d_type (id WITH OPTIONS DEFAULT next_snowflake(), u WITH OPTIONS DEFAULT uuidv7())

proxy
INSERT INTO d_bare(name) VALUES ('a') RETURNING *

proxy
INSERT INTO d_qualified(name) VALUES ('a') RETURNING *

proxy
INSERT INTO d_parens(name) VALUES ('a') RETURNING *

proxy
INSERT INTO d_added(name) VALUES ('a') RETURNING *

proxy
INSERT INTO d_unlogged(name) VALUES ('a') RETURNING *

proxy
INSERT INTO d_like(name) VALUES ('a') RETURNING *

same ready
INSERT INTO d_like_not(name) VALUES ('a') RETURNING *

proxy
INSERT INTO d_typed(name) VALUES ('a') RETURNING *

# A table made with rows of its own has no defaults.
same
CREATE TABLE d_as AS SELECT name FROM d_bare LIMIT 0

same ready
INSERT INTO d_as(name) VALUES ('a') RETURNING *

# A cast to the same type is no cast.
same
CREATE TABLE d_same (name text, id bigint DEFAULT next_snowflake()::bigint, u uuid DEFAULT CAST(uuidv7() AS uuid))

any ready
INSERT INTO d_same(name) VALUES ('a') RETURNING *

# Anything around the call, or another type of the column.
same
CREATE TABLE d_around (name text, a text DEFAULT next_snowflake()::text, b text DEFAULT 'o_'||next_snowflake(), c uuid DEFAULT coalesce(NULL, uuidv7()), d bigint DEFAULT coalesce(next_snowflake(), 0), e bigint DEFAULT abs(next_snowflake()), f bigint DEFAULT CASE WHEN true THEN next_snowflake() END, g text DEFAULT uuidv7()::text, h bigint DEFAULT greatest(next_snowflake(), 1), i text DEFAULT json_build_array(next_snowflake(), uuidv7()))

server ready
INSERT INTO d_around(name) VALUES ('a') RETURNING *

server ready
INSERT INTO d_around(name, a, b, c, d, e, f, g, h) VALUES (DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT) RETURNING *

server ready
INSERT INTO d_around DEFAULT VALUES RETURNING *

server ready
INSERT INTO d_around(name) SELECT 'a' UNION ALL SELECT 'b' RETURNING *

same
CREATE TABLE d_types (name text, a text DEFAULT next_snowflake(), b varchar(20) DEFAULT next_snowflake(), c text DEFAULT uuidv7(), d bigint[] DEFAULT ARRAY[next_snowflake()], e uuid[] DEFAULT ARRAY[uuidv7(), uuidv7()], f char(36) DEFAULT uuidv7(), g numeric DEFAULT next_snowflake())

server ready
INSERT INTO d_types(name) VALUES ('a') RETURNING a, b, c, d, e, f, g::text

server ready
INSERT INTO d_types(name, a, b, c, d, e, f, g) VALUES ('a', DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT), ('b', DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT) RETURNING a, b, c, d, e, f, g::text

# These are too large for their columns: an error for every row that has none.
same
CREATE TABLE d_small (name text, a int DEFAULT next_snowflake())

same ready
INSERT INTO d_small(name) VALUES ('a') RETURNING *

same ready
INSERT INTO d_small(name, a) VALUES ('a', 5), ('b', DEFAULT) RETURNING *

same ready
INSERT INTO d_small DEFAULT VALUES

same
CREATE TABLE d_lossy (name text, a real DEFAULT next_snowflake(), b double precision DEFAULT next_snowflake(), c numeric(30,2) DEFAULT next_snowflake(), d money, e timestamptz DEFAULT id_to_timestamp(next_snowflake()))

same ready
INSERT INTO d_lossy(name) VALUES ('a') RETURNING a > 1e15, b > 1e15, c = trunc(c), e > '2024-01-01'

same
CREATE TABLE d_oid (name text, a oid DEFAULT next_snowflake())

same ready
INSERT INTO d_oid(name) VALUES ('a') RETURNING *

# Domains: over the type, with the default, with a check.
same
CREATE DOMAIN dom_id AS bigint

same
CREATE DOMAIN dom_default AS bigint DEFAULT next_snowflake()

same
CREATE DOMAIN dom_uuid AS uuid DEFAULT uuidv7() NOT NULL

same
CREATE DOMAIN dom_check AS bigint CHECK (VALUE < 1000)

same
CREATE TABLE d_domains (name text, a dom_id DEFAULT next_snowflake(), b dom_default, c dom_uuid, d dom_id DEFAULT 5, e dom_default DEFAULT 6)

server ready
INSERT INTO d_domains(name) VALUES ('a') RETURNING *

server ready
INSERT INTO d_domains(name, a, b, c, d, e) VALUES ('a', DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT), ('b', 1, DEFAULT, DEFAULT, NULL, NULL) RETURNING *

server ready
INSERT INTO d_domains DEFAULT VALUES RETURNING *

same ready
INSERT INTO d_domains(name, c) VALUES ('a', NULL)

same
CREATE TABLE d_check (name text, a dom_check DEFAULT next_snowflake())

same ready
INSERT INTO d_check(name) VALUES ('a')

# Beside identity, serial and generated columns.
same
CREATE TABLE d_gen (always int GENERATED ALWAYS AS IDENTITY, id bigint DEFAULT next_snowflake(), given bool GENERATED ALWAYS AS (id IS NOT NULL) STORED, bydef int GENERATED BY DEFAULT AS IDENTITY, ser serial, name text)

proxy
INSERT INTO d_gen(name) VALUES ('a') RETURNING *

proxy
INSERT INTO d_gen VALUES (DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, 'b'), (DEFAULT, DEFAULT, DEFAULT, DEFAULT, DEFAULT, 'c') RETURNING *

proxy
INSERT INTO d_gen VALUES (DEFAULT) RETURNING *

proxy
INSERT INTO d_gen(always, name) OVERRIDING SYSTEM VALUE VALUES (100, 'd'), (101, 'e') RETURNING *

proxy
INSERT INTO d_gen(always, name, bydef) OVERRIDING USER VALUE VALUES (100, 'd', 200) RETURNING *

proxy
INSERT INTO d_gen(always, bydef, name) OVERRIDING USER VALUE SELECT 100, 200, 'd' RETURNING *

proxy
INSERT INTO d_gen OVERRIDING USER VALUE VALUES (100, DEFAULT) RETURNING *

# (USER VALUE overrides identity columns, not defaults.)
same ready
INSERT INTO d_gen(id, name) OVERRIDING USER VALUE VALUES (5, 'five') RETURNING id, name

proxy
INSERT INTO d_gen(bydef, ser) VALUES (7, 8) RETURNING *

proxy
INSERT INTO d_gen DEFAULT VALUES RETURNING *

either ready
INSERT INTO d_gen(always, name) VALUES (100, 'd')

either ready
INSERT INTO d_gen(always, name) VALUES (DEFAULT, 'd'), (100, 'e')

either ready
INSERT INTO d_gen(always, name) SELECT 100, 'e'

either ready
INSERT INTO d_gen(given, name) VALUES (true, 'd')

either ready
INSERT INTO d_gen VALUES (DEFAULT, DEFAULT, true)

either ready
INSERT INTO d_gen(given, name) SELECT true, 'd'

same
CREATE TABLE d_of_id (id bigint DEFAULT next_snowflake(), made timestamptz GENERATED ALWAYS AS (id_to_timestamp(id)) STORED, name text)

filled
INSERT INTO d_of_id(name) VALUES ('a'), ('b') RETURNING made = id_to_timestamp(id), made > now() - interval '10 min'

same from 18
CREATE TABLE d_virtual (id bigint DEFAULT next_snowflake(), again bigint GENERATED ALWAYS AS (id) VIRTUAL, name text)

proxy from 18
INSERT INTO d_virtual(name) VALUES ('a') RETURNING *

proxy from 18
INSERT INTO d_virtual VALUES (DEFAULT, DEFAULT, 'a') RETURNING *

# The built-in function has arguments.
same from 18
CREATE TABLE d_shifted (name text, u uuid DEFAULT uuidv7('1 minute'::interval))

server ready from 18
INSERT INTO d_shifted(name) VALUES ('a') RETURNING *

# Types that change under the default, and back.
same
CREATE TABLE d_change (name text, id bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7())

proxy
INSERT INTO d_change(name) VALUES ('a') RETURNING name, id::text, u

same
ALTER TABLE d_change ALTER id TYPE numeric

any ready
INSERT INTO d_change(name) VALUES ('a') RETURNING name, id::text, u

same
ALTER TABLE d_change ALTER id TYPE bigint

any ready
INSERT INTO d_change(name) VALUES ('a') RETURNING *

same
ALTER TABLE d_change ALTER u DROP DEFAULT, ALTER u TYPE text

proxy
INSERT INTO d_change(name) VALUES ('a') RETURNING *

same
ALTER TABLE d_change ALTER id SET DEFAULT 6, ALTER u SET DEFAULT uuidv7()

server ready
INSERT INTO d_change(name) VALUES ('a') RETURNING *

same
ALTER TABLE d_change ALTER id SET DEFAULT next_snowflake()

any ready
INSERT INTO d_change(name) VALUES ('a') RETURNING id, name

# Functions of the user's that call ours.
same
CREATE FUNCTION make_id() RETURNS bigint LANGUAGE sql AS 'SELECT next_snowflake()'

same
CREATE FUNCTION snowflake_or(bigint DEFAULT next_snowflake()) RETURNS bigint LANGUAGE sql AS 'SELECT $1'

same
CREATE TABLE d_functions (name text, a bigint DEFAULT make_id(), b bigint DEFAULT snowflake_or())

server ready
INSERT INTO d_functions(name) VALUES ('a') RETURNING *

# The search path does not matter to a default.
same
SET search_path = ''

proxy
INSERT INTO public.d_bare(name) VALUES ('a') RETURNING *

proxy
INSERT INTO public.d_qualified VALUES ('a') RETURNING *

either ready
INSERT INTO d_bare(name) VALUES ('a')

same
CREATE TABLE public.d_from_afar (name text, id bigint DEFAULT public.next_snowflake())

proxy
INSERT INTO public.d_from_afar(name) VALUES ('a') RETURNING *

same
RESET search_path

proxy
INSERT INTO d_from_afar(name) VALUES ('a') RETURNING *

same
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'd_from_afar'::regclass
