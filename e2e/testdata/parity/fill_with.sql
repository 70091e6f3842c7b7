# INSERT in a WITH, under one, and beside others.
proxy
WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id FROM i

proxy
WITH i AS (INSERT INTO acct(name) VALUES ('a'), ('b') RETURNING *) SELECT * FROM i

proxy
WITH i AS (INSERT INTO acct VALUES (DEFAULT, 'a') RETURNING *) SELECT i.id, j.id FROM i, i AS j

proxy
WITH i AS (INSERT INTO doc DEFAULT VALUES RETURNING id), j AS (INSERT INTO acct DEFAULT VALUES RETURNING id) SELECT i.id, j.id FROM i, j

proxy
WITH i AS MATERIALIZED (INSERT INTO acct(name) SELECT 'a' UNION ALL SELECT 'b' RETURNING id) SELECT id FROM i

filled
WITH i AS (INSERT INTO acct(name) VALUES ('a')) SELECT 1

filled
WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT count(*) FROM i

filled
WITH i AS (INSERT INTO acct(name) VALUES ('never read') RETURNING id) SELECT 'x' WHERE false

# A statement that hands its id on.
same
CREATE TABLE line (id bigint DEFAULT next_snowflake(), acct bigint, u uuid DEFAULT uuidv7())

proxy
WITH i AS (INSERT INTO acct(name) VALUES ('parent') RETURNING id), l AS (INSERT INTO line(id, acct, u) SELECT 1, id, NULL FROM i RETURNING *) SELECT i.id, l.acct FROM i, l

any ready
WITH i AS (INSERT INTO acct(name) VALUES ('parent') RETURNING id) INSERT INTO line(acct) SELECT id FROM i RETURNING *

proxy
WITH i AS (INSERT INTO acct(name) VALUES ('parent') RETURNING id) INSERT INTO line(acct) VALUES ((SELECT id FROM i)) RETURNING *

proxy
WITH i AS (INSERT INTO acct(name) VALUES ('parent') RETURNING id) INSERT INTO line(acct) SELECT (SELECT id FROM i) RETURNING *

proxy
WITH a AS (SELECT 1 AS one) INSERT INTO acct(name) VALUES ('a'), ('b') RETURNING *

proxy
WITH a(v) AS (VALUES ('x')) INSERT INTO acct(name) VALUES ((SELECT v FROM a)) RETURNING *

proxy
WITH a(v) AS (VALUES ('x')) INSERT INTO acct(name) SELECT 'y' RETURNING *

server ready
WITH a(v) AS (VALUES ('x')) INSERT INTO acct(name) SELECT v FROM a RETURNING *

server ready
WITH a(v) AS (VALUES ('x'), ('y')) INSERT INTO acct(name) TABLE a RETURNING *

any ready
INSERT INTO acct(name) WITH a(v) AS (VALUES ('x')) SELECT 'y' RETURNING *

server ready
INSERT INTO acct(name) WITH a(v) AS (VALUES ('x')) SELECT v FROM a RETURNING *

# A name of the WITH is no target; the table is.
proxy
WITH acct AS (SELECT 1) INSERT INTO acct(name) VALUES ('a') RETURNING id

# Under UPDATE and DELETE.
proxy
WITH i AS (INSERT INTO acct(name) VALUES ('seen') RETURNING id, name) UPDATE other SET name = other.name FROM i WHERE i.name = 'seen' RETURNING i.id

filled
WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) DELETE FROM line WHERE acct IS NULL AND id = (SELECT id FROM i) RETURNING 1

proxy
WITH d AS (DELETE FROM line RETURNING 1) INSERT INTO acct(name) VALUES ((SELECT 'x' FROM d LIMIT 1)) RETURNING id, name IS NULL

# Recursive: declined, whether it recurs or not.
any ready
WITH RECURSIVE i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id FROM i

any ready
WITH RECURSIVE n(v) AS (VALUES (1) UNION ALL SELECT v + 1 FROM n WHERE v < 3) INSERT INTO acct(name) VALUES ('a') RETURNING id

server ready
WITH RECURSIVE n(v) AS (VALUES (1) UNION ALL SELECT v + 1 FROM n WHERE v < 3) INSERT INTO acct(name) SELECT v::text FROM n RETURNING id, name

# Not at the top: an error of PostgreSQL's.
either ready
SELECT * FROM (WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id FROM i) x

either ready
SELECT (WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id FROM i)

either ready
WITH o AS (WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT id FROM i) SELECT * FROM o

either ready
WITH i AS (INSERT INTO acct(name) VALUES ('a')) SELECT * FROM i

either ready
WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT nope FROM i

either ready
WITH i AS (INSERT INTO acct(name, note) VALUES ('a') RETURNING id), j AS (INSERT INTO acct(name) VALUES ('b')) SELECT * FROM i

either ready
WITH i(x, y) AS (INSERT INTO acct(name) VALUES ('a') RETURNING id) SELECT * FROM i

# An error rolls back all of them.
either ready
WITH i AS (INSERT INTO acct(name) VALUES ('gone') RETURNING id), j AS (INSERT INTO acct(id, name) VALUES (NULL, 'gone')) SELECT 1

same
SELECT count(*) FROM acct WHERE name = 'gone'

# The columns of the result are those of RETURNING.
proxy
WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING *) SELECT i FROM i

proxy
WITH i AS (INSERT INTO acct(name) VALUES ('a') RETURNING acct) SELECT (acct).id, (acct).name FROM i

proxy
WITH i AS (INSERT INTO acct AS x (name) VALUES ('a') RETURNING x, x.*, row_to_json(x)) SELECT * FROM i

proxy
INSERT INTO acct(name) VALUES ('a') RETURNING acct

proxy
INSERT INTO acct(name) VALUES ('a') RETURNING to_jsonb(acct)::text, id::text, id::text || 'x', (SELECT acct.id)

filled
INSERT INTO acct(name) VALUES ('a') RETURNING id_to_timestamp(id) BETWEEN now() - interval '10 min' AND now() + interval '1 min', id IS NULL

any ready
INSERT INTO acct(name) VALUES ('a') RETURNING id, next_snowflake(), uuidv7()

either ready
INSERT INTO acct(name) VALUES ('a') RETURNING id, generate_series(1, 2)

either ready
INSERT INTO acct(name) VALUES ('a') RETURNING count(*)

either ready
INSERT INTO acct(name) VALUES ('a') RETURNING id, nope
