# ON CONFLICT: EXCLUDED is the row that would have been inserted.
same
CREATE TABLE up (id bigint PRIMARY KEY DEFAULT next_snowflake(), name text UNIQUE, note text DEFAULT 'n/a', n int)

proxy once
INSERT INTO up(name) VALUES ('u') RETURNING id

either ready
INSERT INTO up(name) VALUES ('u') ON CONFLICT (name) DO UPDATE SET note='2' RETURNING id, name, note

proxy
INSERT INTO up(name) VALUES ('u') ON CONFLICT (name) DO UPDATE SET id = EXCLUDED.id RETURNING id

either ready
INSERT INTO up(name) VALUES ('u') ON CONFLICT DO NOTHING RETURNING id

same
SELECT * FROM up

proxy
INSERT INTO up(id, name) VALUES (DEFAULT, 'u') ON CONFLICT (name) DO UPDATE SET id = EXCLUDED.id, note = up.id::text || ' before ' || EXCLUDED.id RETURNING *

proxy
INSERT INTO up(name) VALUES ('u') ON CONFLICT (name) DO UPDATE SET (id, note) = (EXCLUDED.id, DEFAULT) RETURNING *

proxy
INSERT INTO up(name) VALUES ('u') ON CONFLICT (name) DO UPDATE SET (id, note) = (SELECT EXCLUDED.id, 'sub') RETURNING *

proxy
INSERT INTO up AS target (name, n) VALUES ('u', 1) ON CONFLICT (name) DO UPDATE SET id = EXCLUDED.id, n = coalesce(target.n, 0) + EXCLUDED.n WHERE target.id <> EXCLUDED.id RETURNING target.*

proxy
INSERT INTO up(name) VALUES ('u') ON CONFLICT ON CONSTRAINT up_name_key DO UPDATE SET note = EXCLUDED.id RETURNING note

either ready
INSERT INTO up(name) VALUES ('u') ON CONFLICT (name) DO UPDATE SET note = 'x' WHERE EXCLUDED.id IS NULL RETURNING *

either ready
INSERT INTO up(name) VALUES ('u') ON CONFLICT (name) DO UPDATE SET note = EXCLUDED.note WHERE up.id < EXCLUDED.id RETURNING *

# The update's own DEFAULT is the server's.
any ready
INSERT INTO up(name) VALUES ('u') ON CONFLICT (name) DO UPDATE SET id = DEFAULT RETURNING id

any ready
INSERT INTO up(name) VALUES ('u') ON CONFLICT (name) DO UPDATE SET id = next_snowflake() RETURNING id

# An explicit id that is there already; rows with and without.
same once
INSERT INTO up(id, name) VALUES (5, 'five')

proxy once
INSERT INTO up(id, name) VALUES (DEFAULT, 'rails'), (5, 'rails2') ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name RETURNING id, name

proxy once
INSERT INTO up VALUES (5, 'a'), (DEFAULT, 'b') ON CONFLICT (id) DO NOTHING RETURNING id, name

proxy once
INSERT INTO up(name) VALUES ('one'), ('u'), ('two') ON CONFLICT DO NOTHING RETURNING id, name

proxy once
INSERT INTO up(name) VALUES ('three'), ('u'), ('four') ON CONFLICT (name) DO UPDATE SET n = 7 RETURNING id, name, n

proxy once
INSERT INTO up(name) VALUES ('same'), ('same') ON CONFLICT DO NOTHING RETURNING id, name

either ready
INSERT INTO up(name) VALUES ('twice'), ('twice') ON CONFLICT (name) DO UPDATE SET n = 1 RETURNING id

proxy once
INSERT INTO up(name) SELECT 'six' UNION ALL SELECT 'six' ON CONFLICT DO NOTHING RETURNING id, name

proxy once
INSERT INTO up(name, n) VALUES ('xmax', 1) ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n RETURNING id, xmax = 0 AS inserted

either ready once
INSERT INTO up(name, n) VALUES ('xmax', 2) ON CONFLICT (name) DO UPDATE SET n = EXCLUDED.n RETURNING id, n, xmax = 0 AS inserted

either ready
INSERT INTO up(name) VALUES ('u')

# Arbiters that are partial, of expressions, on the column of ours, or not there.
same
CREATE UNIQUE INDEX up_lower ON up (lower(note)) WHERE n > 100

proxy once
INSERT INTO up(name, note, n) VALUES ('p1', 'Part', 101) ON CONFLICT (lower(note)) WHERE n > 100 DO UPDATE SET id = EXCLUDED.id RETURNING *

proxy once
INSERT INTO up(name, note, n) VALUES ('p2', 'PART', 102) ON CONFLICT (lower(note)) WHERE n > 100 DO UPDATE SET id = EXCLUDED.id RETURNING *

proxy
INSERT INTO up(n) VALUES (1) ON CONFLICT (id) DO NOTHING RETURNING *

proxy
INSERT INTO up(n) VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 2 RETURNING *

proxy
INSERT INTO up DEFAULT VALUES ON CONFLICT (id) DO UPDATE SET note = EXCLUDED.note RETURNING *

either ready
INSERT INTO up(name) VALUES ('a') ON CONFLICT (note) DO NOTHING

either ready
INSERT INTO up(name) VALUES ('a') ON CONFLICT (nope) DO NOTHING

either ready
INSERT INTO up(name) VALUES ('a') ON CONFLICT ON CONSTRAINT nope DO NOTHING

either ready
INSERT INTO up(name) VALUES ('a') ON CONFLICT DO UPDATE SET n = 1

either ready
INSERT INTO up(name) VALUES ('a') ON CONFLICT (name) DO UPDATE SET nope = 1

either ready
INSERT INTO up(name) VALUES ('a') ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.nope

either ready
INSERT INTO up(name) VALUES ('a') ON CONFLICT (name) DO UPDATE SET name = id

either ready
INSERT INTO up(name, id) VALUES ('a', DEFAULT) ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name WHERE nope

# A table of two ids, in conflict on one.
same
CREATE TABLE up2 (name text PRIMARY KEY, id bigint DEFAULT next_snowflake(), u uuid DEFAULT uuidv7())

proxy once
INSERT INTO up2 VALUES ('a') ON CONFLICT (name) DO UPDATE SET u = EXCLUDED.u RETURNING *

proxy
INSERT INTO up2 VALUES ('a') ON CONFLICT (name) DO UPDATE SET u = EXCLUDED.u RETURNING *

proxy
INSERT INTO up2 VALUES ('a', DEFAULT, NULL) ON CONFLICT (name) DO UPDATE SET (id, u) = (EXCLUDED.id, EXCLUDED.u) RETURNING *

proxy
INSERT INTO up2(u, name) VALUES (DEFAULT, 'a') ON CONFLICT (name) DO UPDATE SET (id, u) = ROW (EXCLUDED.id, EXCLUDED.u) RETURNING *

# A deferred constraint is no arbiter; it fails at the end.
same
CREATE TABLE late (id bigint DEFAULT next_snowflake(), name text UNIQUE DEFERRABLE INITIALLY DEFERRED)

proxy once
INSERT INTO late(name) VALUES ('a') RETURNING *

any ready once
INSERT INTO late(name) VALUES ('a') RETURNING *

either ready
INSERT INTO late(name) VALUES ('b') ON CONFLICT (name) DO NOTHING

same
SELECT count(*) FROM late
