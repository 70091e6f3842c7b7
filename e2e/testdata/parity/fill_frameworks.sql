# What frameworks send where the program gives no id.
# Active Record
proxy
INSERT INTO "acct" ("name", "note") VALUES ('a', 'b') RETURNING "id"

proxy
INSERT INTO "acct" DEFAULT VALUES RETURNING "id"

proxy bind "a" "b"
INSERT INTO "acct" ("name", "note") VALUES ($1, $2) RETURNING "id"

proxy
INSERT INTO "acct" ("name") VALUES ('a'), ('b') ON CONFLICT  DO NOTHING RETURNING "id"

proxy
INSERT INTO "acct" ("id","name") VALUES (DEFAULT, 'rails'), (5, 'rails2') ON CONFLICT ("id") DO UPDATE SET "name"=excluded."name" RETURNING "id"

# Django, one row and bulk; newer versions unnest arrays.
proxy bind "a" "b"
INSERT INTO "acct" ("name", "note") VALUES ($1, $2) RETURNING "acct"."id"

proxy
INSERT INTO "acct" ("name", "note") VALUES ('a', 'b'), ('c', NULL) RETURNING "acct"."id"

server bind "{a,b}" "{c,NULL}"
INSERT INTO "acct" ("name", "note") SELECT * FROM UNNEST(($1)::text[], ($2)::text[]) RETURNING "acct"."id"

# SQLAlchemy
proxy bind "a" "b"
INSERT INTO acct (name, note) VALUES ($1::VARCHAR, $2::VARCHAR) RETURNING acct.id

server
INSERT INTO acct (name, note) SELECT p0::VARCHAR, p1::VARCHAR FROM (VALUES ('a', 'b', 0), ('c', 'd', 1)) AS imp_sen(p0, p1, sen_counter) ORDER BY sen_counter RETURNING acct.id, acct.id AS id__1

# Hibernate and pgjdbc's generated keys
proxy types 1043,1043 bind "a" "b"
insert into acct (name,note) values ($1,$2) RETURNING *

proxy types 1043,1043 bind "b" "a"
insert into acct (note,name,id) values ($1,$2,default)
RETURNING "id"

proxy types 1043,1043,1043,1043 bind "a" "b" "c" "d"
insert into acct (name,note) values ($1,$2),($3,$4)
RETURNING "id"

# Prisma
proxy bind "a" "b"
INSERT INTO "public"."acct" ("name","note") VALUES ($1,$2) RETURNING "public"."acct"."id"

proxy bind "a" "b"
INSERT INTO "public"."acct" ("name","note") VALUES ($1,DEFAULT), (DEFAULT,$2) ON CONFLICT DO NOTHING RETURNING "public"."acct"."id"

# TypeORM, Sequelize, Drizzle, Kysely, Knex
proxy bind "a"
INSERT INTO "acct"("id", "name", "note") VALUES (DEFAULT, $1, DEFAULT) RETURNING "id", "note"

proxy bind "a"
INSERT INTO "acct" ("id","name") VALUES (DEFAULT,$1) RETURNING "id","name","note";

proxy bind "a" "b"
insert into "acct" ("id", "name", "note") values (default, $1, default), (default, $2, default) returning "id", "name", "note"

proxy bind "a"
insert into "acct" ("name") values ($1) returning *

proxy bind "a" "b"
insert into "acct" ("name", "note") values ($1, DEFAULT), (DEFAULT, $2) returning "id"

# GORM, bun, ent, go-pg
proxy bind "a" "b"
INSERT INTO "acct" ("name","note") VALUES ($1,$2) RETURNING "id"

proxy
INSERT INTO "acct" AS "a" ("id", "name", "note") VALUES (DEFAULT, 'x', DEFAULT), (DEFAULT, 'y', 'z') RETURNING "id", "note"

proxy bind "d"
INSERT INTO "doc" ("title") VALUES ($1) RETURNING "id"

proxy
INSERT INTO "acct" DEFAULT VALUES RETURNING "id", "note"

# Entity Framework Core, batched and merged
proxy bind "a"
INSERT INTO acct (name)
VALUES ($1)
RETURNING id, note;

proxy simple
INSERT INTO acct (name)
VALUES ('a')
RETURNING id;
INSERT INTO acct (name)
VALUES ('b')
RETURNING id;

# jOOQ, Exposed, Diesel, Ecto, Laravel
proxy bind "a"
insert into "public"."acct" ("name") values ($1) returning "public"."acct"."id"

proxy bind "a"
INSERT INTO acct ("name") VALUES ($1) RETURNING *

proxy bind "a" "b"
INSERT INTO "acct" ("id", "name") VALUES (DEFAULT, $1), (DEFAULT, $2) RETURNING "acct"."id", "acct"."name", "acct"."note"

proxy bind "a" "b" "c"
INSERT INTO "acct" AS a0 ("name","note") VALUES ($1,$2),($3,DEFAULT) ON CONFLICT DO NOTHING RETURNING "id"

proxy bind "a"
insert into "acct" ("name") values ($1) returning "id"

# PostgREST and Hasura
server bind "[{\"name\": \"a\"}, {\"name\": \"b\"}]"
WITH pgrst_source AS (INSERT INTO "public"."acct"("name") SELECT "pgrst_body"."name" FROM (SELECT $1::json AS json_data) pgrst_payload, LATERAL (SELECT "name" FROM json_to_recordset(pgrst_payload.json_data) AS _("name" text) ) pgrst_body  RETURNING "public"."acct".*) SELECT '' AS total_result_set, pg_catalog.count(_postgrest_t) AS page_total, coalesce(json_agg(_postgrest_t), '[]')::text AS body FROM (SELECT "acct".* FROM "pgrst_source" AS "acct") _postgrest_t

proxy bind "a"
WITH "public_acct__mutation_result_alias" AS (INSERT INTO "public"."acct" ("name", "id", "note") VALUES ($1, DEFAULT, DEFAULT) ON CONFLICT DO NOTHING RETURNING *, CASE WHEN 'true' THEN NULL ELSE 1 END AS "check__constraint") SELECT json_build_object('affected_rows', (SELECT COUNT(*) FROM "public_acct__mutation_result_alias"), 'returning', (SELECT coalesce(json_agg("id"), '[]') FROM "public_acct__mutation_result_alias")) ::text

# What looks like an id of nobody is a value: stored, or an error of the server's.
same once
INSERT INTO acct(id,name) VALUES (0,'go')

same ready
INSERT INTO acct(id,name) VALUES (NULL,'null')

same once types 20,25 bind NULL "null"
INSERT INTO acct(id,name) VALUES ($1,$2)

same bind NULL "null"
INSERT INTO acct(id,name) VALUES ($1,$2)

same once bind "0" "go"
INSERT INTO acct(id,name) VALUES ($1,$2) ON CONFLICT DO NOTHING

same
INSERT INTO doc(id,title) VALUES ('00000000-0000-0000-0000-000000000000','gorm')

same bind "00000000-0000-0000-0000-000000000000" "gorm"
INSERT INTO doc(id,title) VALUES ($1,$2)

same
INSERT INTO acct(id,name) VALUES ('','empty')

proxy once bind NULL "11"
INSERT INTO acct(id,name) VALUES (DEFAULT,$1), ($2,'given') RETURNING id, name

# What they do around: savepoints, SELECT 1, SET, transactions.
same
BEGIN

proxy
INSERT INTO "acct" ("name") VALUES ('tx') RETURNING "id"

same
SAVEPOINT active_record_1

either
INSERT INTO "acct" ("id", "name") VALUES (NULL, 'tx')

same
ROLLBACK TO SAVEPOINT active_record_1

same
RELEASE SAVEPOINT active_record_1

proxy
INSERT INTO "acct" ("name") VALUES ('tx2') RETURNING "id"

same
COMMIT

same
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY

either
INSERT INTO acct(name) VALUES ('read only')

same
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE

same
SET application_name = 'app; INSERT INTO acct'

proxy
INSERT INTO acct(name) VALUES ('after all') RETURNING id
