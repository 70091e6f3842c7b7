# Temporary tables of which the text does not say so. Those that a function makes in
# a SELECT are seen at the next poll (README).
proxy on a
INSERT INTO acct(name) VALUES ('control') RETURNING id

same on a
DO $$ BEGIN CREATE TEMP TABLE acct (id bigint DEFAULT 5, name text); END $$

same on a ready
INSERT INTO acct(name) VALUES ('t') RETURNING id, name

same on a
DROP TABLE pg_temp.acct

proxy on a
INSERT INTO acct(name) VALUES ('p') RETURNING id

# The name of the schema is not written out.
same on b
CREATE TABLE U&"pg\005ftemp".acct (id bigint DEFAULT 5, name text)

same on b ready
INSERT INTO acct(name) VALUES ('t') RETURNING id, name

same on c
SET search_path = E'pg\x5ftemp', public

same on c
CREATE TABLE acct (id bigint DEFAULT 5, name text)

same on c ready
INSERT INTO acct(name) VALUES ('t') RETURNING id, name

same on d
SELECT set_config('search_path', 'pg_' || 'temp, public', false)

same on d
CREATE TABLE acct (id bigint DEFAULT 5, name text)

same on d ready
INSERT INTO acct(name) VALUES ('t') RETURNING id, name

# Others do not see it, and are left to the server for as long as it is there.
server on e
INSERT INTO acct(name) VALUES ('e') RETURNING id
