# Names that need quotes, or look like something else. The columns of ours stand
# at the end, in the middle, and more than once.
same
CREATE TABLE "Ünï tbl" ("Näme, id" text, "ID" bigint DEFAULT next_snowflake(), id int, """q""" uuid DEFAULT uuidv7(), "values" text)

proxy
INSERT INTO "Ünï tbl"("Näme, id") VALUES ('ß') RETURNING *

proxy
INSERT INTO "Ünï tbl"("values", id) VALUES ('ß', 1), ('ü', 2) RETURNING *

proxy
INSERT INTO "Ünï tbl" VALUES ('€𝄞') RETURNING *

proxy
INSERT INTO "Ünï tbl" VALUES ('€𝄞', DEFAULT, 3, DEFAULT, 'x') RETURNING *

proxy
INSERT INTO public."Ünï tbl" DEFAULT VALUES RETURNING *

proxy
INSERT INTO "Ünï tbl"("ID", """q""") VALUES (5, DEFAULT), (DEFAULT, NULL) RETURNING *

proxy
INSERT INTO U&"\00DCn\00EF tbl"(U&"N\00E4me, id") VALUES ('u&') RETURNING *

proxy
INSERT INTO U&"!00DCn!00EF tbl" UESCAPE '!' ("values") VALUES ('uescape') RETURNING *

proxy
INSERT INTO "Ünï tbl"(U&"!0076alues" UESCAPE '!') VALUES ('uescape') RETURNING *

either ready
INSERT INTO "Ünï tbl"("näme, id") VALUES ('ß')

either ready
INSERT INTO "Ünï tbl"("Näme, id") VALUES ('ß', nope)

either ready
INSERT INTO "ünï tbl"("Näme, id") VALUES ('ß')

# Upper and lower case, folded.
same
CREATE TABLE Folded (Id BIGINT DEFAULT Next_Snowflake(), "Id" bigint DEFAULT next_snowflake(), NAME text)

proxy
INSERT INTO FOLDED(name) VALUES ('a') RETURNING *

proxy
INSERT INTO "folded"("Id", "name") VALUES (1, 'a') RETURNING *

proxy
INSERT INTO folded(ID, Name) VALUES (1, 'a') RETURNING *

either ready
INSERT INTO "Folded"(name) VALUES ('a')

either ready
INSERT INTO folded("ID") VALUES (1)

# 63 bytes, and more, which PostgreSQL cuts off with a notice.
same
CREATE TABLE nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn (name text, nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn bigint DEFAULT next_snowflake())

proxy
INSERT INTO nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn(name) VALUES ('a') RETURNING *

proxy
INSERT INTO nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn(name, nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn) VALUES ('a', DEFAULT) RETURNING *

any ready
INSERT INTO nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn(name) VALUES ('a') RETURNING *

same ready
INSERT INTO nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn(name, nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn) VALUES ('a', 5) RETURNING *

any ready
INSERT INTO nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn(name, nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn) VALUES ('a', DEFAULT) RETURNING *

same
CREATE TABLE "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü" (name text, "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü" uuid DEFAULT uuidv7())

# (62 bytes, which with the quotes look like more than 63.)
any ready
INSERT INTO "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü"(name) VALUES ('a') RETURNING *

any ready
INSERT INTO "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü"(name) VALUES ('a') RETURNING *

same ready
INSERT INTO "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü"(name, "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü") VALUES ('a', NULL) RETURNING *

either ready
INSERT INTO "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü"(name, "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüx") VALUES ('a', NULL)

same ready
INSERT INTO "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü"(name, "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü") VALUES ('a', NULL) RETURNING *

any ready
INSERT INTO "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü"("üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü", name) VALUES (DEFAULT, 'a'), ('00000000-0000-0000-0000-000000000000', 'b') RETURNING *

# Backslashes, quotes, new lines and characters outside of the first plane.
same
CREATE TABLE "o\d""d𝄞" ("ü\x" text, "a\b" bigint DEFAULT next_snowflake(), "ü""q" uuid DEFAULT uuidv7(), "new
line""" bigint DEFAULT next_snowflake(), "𝄞" int, "	tab" text DEFAULT 'tab', "U&""x" uuid DEFAULT uuidv7(), " " int)

proxy
INSERT INTO "o\d""d𝄞"("𝄞") VALUES (1) RETURNING *

proxy
INSERT INTO "o\d""d𝄞" VALUES ('x') RETURNING *

proxy
INSERT INTO "o\d""d𝄞" VALUES ('x', DEFAULT, NULL, 5), ('y', 6, DEFAULT, DEFAULT) RETURNING *

proxy
INSERT INTO "o\d""d𝄞" AS "ü" DEFAULT VALUES RETURNING "ü".*

proxy
INSERT INTO U&"o\\d""d\+01D11E"(" ") SELECT 1 UNION ALL SELECT 2 RETURNING *

# Words of the grammar as names.
same
CREATE TABLE "values" ("default" bigint DEFAULT next_snowflake(), "select" text, "returning" uuid DEFAULT uuidv7(), "user" text DEFAULT current_user)

proxy
INSERT INTO "values"("select") VALUES ('a') RETURNING "default", "select", "returning"

proxy
INSERT INTO "values" VALUES (DEFAULT, 'DEFAULT'), (5, DEFAULT) RETURNING "default", "select", "returning"

proxy
INSERT INTO "values" AS "default" DEFAULT VALUES RETURNING "default"."default"

same
CREATE TABLE name (name bigint DEFAULT next_snowflake(), value text, overriding text, conflict text, "do" text)

proxy
INSERT INTO name(value) VALUES ('a') RETURNING *

proxy
INSERT INTO name(overriding) VALUES ('a'), ('b') RETURNING name, overriding

proxy
INSERT INTO name AS overriding (conflict) OVERRIDING USER VALUE VALUES ('a') ON CONFLICT DO NOTHING RETURNING overriding.name

# The column has the name of the table, of a function, of what is inserted.
same
CREATE TABLE next_snowflake (next_snowflake bigint DEFAULT next_snowflake(), uuidv7 uuid DEFAULT uuidv7(), name text)

proxy
INSERT INTO next_snowflake(name) VALUES ('a') RETURNING next_snowflake, uuidv7

proxy
INSERT INTO next_snowflake(name, next_snowflake) VALUES ('a', next_snowflake()) RETURNING *

proxy
INSERT INTO next_snowflake VALUES (DEFAULT), (next_snowflake()) RETURNING *

# Target columns with fields and elements.
same
CREATE TABLE parts (id bigint DEFAULT next_snowflake(), p pair, a int[], name text)

proxy
INSERT INTO parts(p.a, p.b, a[1], a[3]) VALUES (1, 2, 3, 4) RETURNING *

proxy
INSERT INTO parts(a[2:3], name, id, p.b) VALUES ('{7,8}', 'x', DEFAULT, 1), ('{9,10}', 'y', 5, 2) RETURNING *

either ready
INSERT INTO parts(p.a) VALUES (DEFAULT) RETURNING *

either ready
INSERT INTO parts(p.nope, name) VALUES (1, 'x')

either ready
INSERT INTO parts(name.a) VALUES (1)

either ready
INSERT INTO parts(name, id.x) VALUES ('a', 1)

either ready
INSERT INTO parts(name, id[1]) VALUES ('a', 1)

either ready
INSERT INTO parts(name, parts.id) VALUES ('a', DEFAULT)

either ready
INSERT INTO parts AS x (x.name) VALUES ('a')

# System columns, and columns that are not there any more.
either ready
INSERT INTO acct(name, ctid) VALUES ('a', '(0,1)')

either ready
INSERT INTO acct(tableoid) VALUES (1)

proxy
INSERT INTO acct(name) VALUES ('sys') RETURNING id, tableoid::regclass::text, ctid IS NOT NULL, xmin IS NOT NULL

same
CREATE TABLE dropped (gone1 int, id bigint DEFAULT next_snowflake(), gone2 bigint DEFAULT next_snowflake(), name text, gone3 uuid DEFAULT uuidv7(), u uuid DEFAULT uuidv7(), n int)

proxy
INSERT INTO dropped(name) VALUES ('a') RETURNING *

same
ALTER TABLE dropped DROP gone1, DROP gone2, DROP gone3

proxy
INSERT INTO dropped VALUES (DEFAULT, 'a', DEFAULT, 3), (5, 'b', NULL, 4) RETURNING *

proxy
INSERT INTO dropped VALUES (5, 'short') RETURNING *

proxy
INSERT INTO dropped VALUES (DEFAULT) RETURNING *

proxy
INSERT INTO dropped(n) SELECT 1 UNION ALL SELECT 2 RETURNING *

either ready
INSERT INTO dropped VALUES (DEFAULT, 'a', DEFAULT, 3, 4)

either ready
INSERT INTO dropped(name, gone2) VALUES ('a', DEFAULT)

either ready
INSERT INTO dropped(name, "........pg.dropped.3........") VALUES ('a', 1)

same
ALTER TABLE dropped ADD extra int, ADD id3 bigint DEFAULT next_snowflake()

proxy
INSERT INTO dropped(name, extra) VALUES ('h', 3) RETURNING id, name, u, n, extra, id3

proxy
INSERT INTO dropped VALUES (DEFAULT, 'h', DEFAULT, 1, 3) RETURNING id, name, u, n, extra, id3

same
ALTER TABLE dropped DROP id

proxy
INSERT INTO dropped VALUES ('first') RETURNING name, u, n, extra, id3

either ready
INSERT INTO dropped(id) VALUES (DEFAULT)

# Columns are renamed, and change places by their names.
same
ALTER TABLE folded RENAME id TO was_id

proxy
INSERT INTO folded(name) VALUES ('a') RETURNING *

same
ALTER TABLE folded RENAME "Id" TO id

proxy
INSERT INTO folded(name, was_id) VALUES ('a', 1) RETURNING *

same
ALTER TABLE folded RENAME TO unfolded

either ready
INSERT INTO folded(name) VALUES ('a')

proxy
INSERT INTO unfolded(name) VALUES ('a') RETURNING *

# Where there is no such table, schema or database.
either ready
INSERT INTO nope(name) VALUES ('a')

either ready
INSERT INTO public.nope(name) VALUES ('a')

either ready
INSERT INTO nope.acct(name) VALUES ('a')

either ready
INSERT INTO nope.public.acct(name) VALUES ('a')

either ready
INSERT INTO a.b.c.acct(name) VALUES ('a')

either ready
INSERT INTO acct name VALUES ('a')

either ready
INSERT INTO ONLY acct(name) VALUES ('a')

either ready
INSERT INTO acct *(name) VALUES ('a')

same
CREATE TYPE acct_type AS (id bigint, name text)

either ready
INSERT INTO acct_type(name) VALUES ('a')

same
CREATE INDEX an_index ON acct(name)

either ready
INSERT INTO an_index(name) VALUES ('a')

same
CREATE SEQUENCE a_sequence

either ready
INSERT INTO a_sequence(last_value) VALUES (1)

either ready
INSERT INTO pg_catalog.pg_database(datname) VALUES (1/0)
