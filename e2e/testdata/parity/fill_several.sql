# Several statements in one Query message: each is filled on its own, none after
# something that may have changed what its table is.
proxy simple
INSERT INTO acct(name) VALUES ('a') RETURNING id; INSERT INTO doc(title) VALUES ('b') RETURNING id; INSERT INTO acct VALUES (DEFAULT, 'c') RETURNING id;

proxy simple
INSERT INTO acct DEFAULT VALUES RETURNING id;INSERT INTO acct(name)VALUES('a;b')RETURNING id;;/* ; */ INSERT INTO acct(name) SELECT ';' RETURNING id -- ;

filled simple
INSERT INTO acct(name) VALUES ('a'); INSERT INTO doc DEFAULT VALUES; SELECT 1

proxy simple
SELECT 1; INSERT INTO acct(name) VALUES ('a'), ('b') RETURNING id; SELECT next_snowflake(); INSERT INTO acct(id, name) VALUES (next_snowflake(), 'c') RETURNING id

proxy simple
BEGIN; INSERT INTO acct(name) VALUES ('tx') RETURNING id; COMMIT; INSERT INTO acct(name) VALUES ('tx') RETURNING id

proxy simple
BEGIN; INSERT INTO acct(name) VALUES ('gone') RETURNING id; ROLLBACK; SELECT count(*) FROM acct WHERE name = 'gone'

# They are one transaction: an error undoes them all.
either simple
INSERT INTO acct(name) VALUES ('undone'); INSERT INTO acct(name) VALUES ('undone'); SELECT 1/0

proxy simple
INSERT INTO acct(name) VALUES ('done') RETURNING id; COMMIT; INSERT INTO acct(name) VALUES ('undone'); SELECT 1/0

either simple
INSERT INTO acct(name) VALUES ('undone'); VACUUM

same
SELECT count(*) FROM acct WHERE name = 'undone'

# Positions count in the whole text.
either simple
INSERT INTO acct(name) VALUES ('a'); SELECT nope2

either simple
INSERT INTO acct(name) VALUES ('ü'), ('ü'); INSERT INTO acct VALUES (DEFAULT, 'ü'); INSERT INTO acct(name) VALUES (nope)

either simple
INSERT INTO acct(name) VALUES ('a'); INSERT INTO acct VALUES (DEFAULT, 'b'), (DEFAULT, nope)

either simple
INSERT INTO acct(name) VALUES ('a'); INSERT INTO acct(name) VALUES ('b'

proxy simple
INSERT INTO acct(name) VALUES ('a') RETURNING id; INSERT INTO acct(id) VALUES (NULL)

# The schema changes between them.
same
CREATE TABLE sv (id bigint DEFAULT next_snowflake(), name text)

proxy
INSERT INTO sv(name) VALUES ('control') RETURNING id

same simple
ALTER TABLE sv ALTER id DROP DEFAULT; INSERT INTO sv(name) VALUES ('none') RETURNING *

same simple
INSERT INTO sv(name) VALUES ('none') RETURNING *

any simple
ALTER TABLE sv ALTER id SET DEFAULT next_snowflake(); INSERT INTO sv(name) VALUES ('some') RETURNING *

same extended
ALTER TABLE sv ALTER id SET DEFAULT next_snowflake()

proxy
INSERT INTO sv(name) VALUES ('some') RETURNING *

proxy simple
INSERT INTO sv(name) VALUES ('before') RETURNING *; SELECT 2

any simple
INSERT INTO sv(name) VALUES ('before') RETURNING *; ALTER TABLE sv ALTER id SET DEFAULT 5; INSERT INTO sv(name) VALUES ('after') RETURNING *

any simple
ALTER TABLE sv ALTER id SET DEFAULT next_snowflake(); INSERT INTO sv(name) VALUES ('again') RETURNING *; BEGIN; ALTER TABLE sv ALTER id DROP DEFAULT; INSERT INTO sv(name) VALUES ('none') RETURNING *; ROLLBACK; INSERT INTO sv(name) VALUES ('again') RETURNING *

# (The ROLLBACK undid the default before it too.)
same simple
INSERT INTO sv(name) VALUES ('five') RETURNING *

same
ALTER TABLE sv ALTER id SET DEFAULT next_snowflake()

any simple
BEGIN; SAVEPOINT s; ALTER TABLE sv ALTER id SET DEFAULT 6; INSERT INTO sv(name) VALUES ('six') RETURNING *; ROLLBACK TO s; INSERT INTO sv(name) VALUES ('again') RETURNING *; COMMIT

proxy
INSERT INTO sv(name) VALUES ('control') RETURNING id

any simple
INSERT INTO sv(name) VALUES ('before') RETURNING *; ALTER TABLE sv ADD extra text DEFAULT 'x'; INSERT INTO sv VALUES (DEFAULT, 'a', 'b') RETURNING *; ALTER TABLE sv DROP extra; INSERT INTO sv VALUES (DEFAULT, 'c') RETURNING *

any simple
DO $$ BEGIN ALTER TABLE sv ALTER id SET DEFAULT 7; END $$; INSERT INTO sv(name) VALUES ('seven') RETURNING *; ALTER TABLE sv ALTER id SET DEFAULT next_snowflake(); INSERT INTO sv(name) VALUES ('again') RETURNING *

# Fresh sessions for what a session may not forget.
any simple on b
CREATE TABLE fresh (id bigint DEFAULT next_snowflake(), name text); INSERT INTO fresh(name) VALUES ('a') RETURNING *; DROP TABLE fresh; SELECT 1

same simple on b
CREATE TABLE fresh (id int DEFAULT 5, name text); INSERT INTO fresh(name) VALUES ('a') RETURNING *; DROP TABLE fresh

any simple on c
CREATE TEMP TABLE sv (id int, name text); INSERT INTO sv(name) VALUES ('t') RETURNING *; DROP TABLE sv; INSERT INTO sv(name) VALUES ('p') RETURNING *

same simple on d
BEGIN; CREATE TEMP TABLE sv (id int, name text) ON COMMIT DROP; INSERT INTO sv(name) VALUES ('t') RETURNING *; COMMIT

any simple on d
INSERT INTO sv(name) VALUES ('p') RETURNING *

same simple on e
SELECT 1 AS id, 'x'::text AS name INTO TEMP sv; INSERT INTO sv(name) VALUES ('t') RETURNING *

same simple on e
ALTER TABLE pg_temp.sv RENAME TO sv2; CREATE TEMP TABLE sv AS SELECT 2 AS id, 'y'::text AS name; INSERT INTO sv(name) VALUES ('t') RETURNING *

same on f
CREATE SCHEMA sf

same on f
CREATE TABLE sf.sv (id text DEFAULT 'sf', name text)

same simple on f
SET search_path = sf; INSERT INTO sv(name) VALUES ('a') RETURNING *; RESET search_path

same simple on f
SET LOCAL search_path = sf; INSERT INTO sv(name) VALUES ('a') RETURNING *

same simple on f
SELECT set_config('search_path', 'sf', true); INSERT INTO sv(name) VALUES ('a') RETURNING *

any ready on f
INSERT INTO sv(name) VALUES ('a') RETURNING *

same
GRANT INSERT ON sf.sv TO e2e_app

same
GRANT USAGE ON SCHEMA sf TO e2e_app

any simple on f
INSERT INTO public.sv(name) VALUES ('a') RETURNING id; SET ROLE e2e_app; INSERT INTO sf.sv(name) VALUES ('a'); INSERT INTO public.sv(name) VALUES ('b')

same on f
RESET ROLE

# A rule, made on the way.
any simple on g
CREATE RULE twice AS ON INSERT TO public.sv DO ALSO INSERT INTO t(id, name) VALUES (new.id, 'twice'); INSERT INTO public.sv(name) VALUES ('twice') RETURNING id; DROP RULE twice ON public.sv

same simple on g
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM public.sv WHERE name = 'twice' UNION ALL SELECT id FROM t WHERE name = 'twice') x

# COPY between inserts; a failed one.
any simple
INSERT INTO acct(name) VALUES ('before copy') RETURNING id; COPY acct(name) FROM STDIN; INSERT INTO acct(name) VALUES ('after copy') RETURNING id
----
copied 1
copied 2

server simple
SELECT id FROM acct WHERE name LIKE 'copied%' ORDER BY name

any simple
INSERT INTO acct(name) VALUES ('before copy') RETURNING id; COPY acct(name) FROM STDIN; INSERT INTO acct(name) VALUES ('after copy') RETURNING id

# Extended: only one statement may be prepared.
either extended
INSERT INTO acct(name) VALUES ('a'); INSERT INTO acct(name) VALUES ('b')

proxy extended
INSERT INTO acct(name) VALUES ('a') RETURNING id;

proxy extended
INSERT INTO acct(name) VALUES ('a') RETURNING id ; ;
