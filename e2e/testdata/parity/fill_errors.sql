# Errors in statements that are filled: positions, rows and names as if they were
# not.
same
CREATE TABLE err (id bigint PRIMARY KEY DEFAULT next_snowflake(), name text NOT NULL CHECK (name <> 'bad'), n int CHECK (n < 100), u uuid UNIQUE DEFAULT uuidv7(), code char(3) UNIQUE, d date, CONSTRAINT positive CHECK (id > 0))

proxy
INSERT INTO err(name, n) VALUES ('control', 1) RETURNING *

# Unknown columns in the list.
either ready
INSERT INTO err(name, nope) VALUES ('a', 1)

either ready
INSERT INTO err(nope, name) VALUES (1, 'a')

either ready
INSERT INTO err(name, n, "ü", d) VALUES ('ü', 1, 2, 3), ('ü', 1, 2, 3)

either ready
INSERT INTO err(name, id, nope) VALUES ('a', DEFAULT, 1)

# Values after a DEFAULT that gave way to a longer text.
either ready
INSERT INTO err VALUES (DEFAULT, nope)

either ready
INSERT INTO err VALUES (DEFAULT, 'a', 'ten')

either ready
INSERT INTO err VALUES (DEFAULT, 'a', true)

either ready
INSERT INTO err VALUES (DEFAULT, 'ü€𝄞', 1, DEFAULT, 'ü', nope)

either ready
INSERT INTO err VALUES (DEFAULT, 'a', 1), (DEFAULT, 'b', 2), (DEFAULT, upper(5, 6), 3)

either ready
INSERT INTO err VALUES (DEFAULT, 'a', 1), (DEFAULT, 'b', nope), (DEFAULT, 'c', 3)

either ready
INSERT INTO err(u, name, id, n) VALUES (DEFAULT, 'a', DEFAULT, 1), (DEFAULT, 'b', DEFAULT, '2x')

either ready
INSERT INTO err VALUES (DEFAULT, DEFAULT + 1)

either ready
INSERT INTO err VALUES (DEFAULT + 1, 'a')

either ready
INSERT INTO err VALUES (DEFAULT::bigint, 'a')

either ready
INSERT INTO err VALUES (abs(DEFAULT), 'a')

either ready
INSERT INTO err VALUES (DEFAULT COLLATE "C", 'a')

either ready
INSERT INTO err VALUES (coalesce(DEFAULT, 1), 'a')

either ready
INSERT INTO err(name) VALUES ((SELECT DEFAULT))

either ready
INSERT INTO err VALUES (ROW(DEFAULT), 'a')

# Before and behind columns that are appended.
either ready
INSERT INTO err(name) VALUES (nope)

either ready
INSERT INTO err(name) VALUES (id)

either ready
INSERT INTO err(name, n) VALUES ('a', 1), ('b', 2), ('c', err.n)

either ready
INSERT INTO err(name, n) VALUES ('a', 1), ('b', current_date)

either ready
INSERT INTO err(name, d) VALUES ('a', '2024-02-30')

either ready
INSERT INTO err(name) VALUES ('ü', 1)

either ready
INSERT INTO err(name, n) VALUES ('ü'), ('b')

either ready
INSERT INTO err(name, n) VALUES ('ü', 1), ('b')

either ready
INSERT INTO err(name) VALUES ('a') RETURNING nope

either ready
INSERT INTO err(name) VALUES ('a'), ('b'), ('ü') RETURNING id, 'ü', nope

either ready
INSERT INTO err(name) VALUES ('a') RETURNING excluded.id

either ready
INSERT INTO err AS x (name) VALUES ('a') RETURNING err.id

either ready
INSERT INTO err DEFAULT VALUES RETURNING nope

either ready
INSERT INTO err SELECT DEFAULT

either ready
INSERT INTO err(name) SELECT nope

either ready
INSERT INTO err(name) SELECT 'a' WHERE nope

either ready
INSERT INTO err(name) SELECT 'a' UNION ALL SELECT nope

either ready
INSERT INTO err(name) SELECT 'a' UNION ALL SELECT 1

either ready
INSERT INTO err(name) SELECT 'a' UNION ALL SELECT 'b', 2

either ready
INSERT INTO err(name) SELECT 'a' LIMIT nope

either ready
INSERT INTO err(name, n) SELECT 'a', 'b' UNION ALL SELECT 'c', 'd'

either ready
WITH x AS (SELECT nope) INSERT INTO err(name) VALUES ('a')

either ready
WITH x AS (INSERT INTO err(name) VALUES ('ü') RETURNING id) SELECT id, nope FROM x

either ready
WITH x AS (INSERT INTO err(name) VALUES ('ü')), y AS (INSERT INTO err(name) VALUES (nope)) SELECT 1

# Syntax errors before, inside and after.
either ready
INSERT INTO err(name VALUES ('a')

either ready
INSERT INTO err(name,) VALUES ('a')

either ready
INSERT INTO err(name) VALUES ('a',)

either ready
INSERT INTO err(name) VALUES ('a'

either ready
INSERT INTO err(name) VALUES ('a'),

either ready
INSERT INTO err(name) VALUES ('ü') RETURNIN id

either ready
INSERT INTO err(name) VALUES ('a') RETURNING

either ready
INSERT INTO err(name) VALUE ('a')

either ready
INSERT err(name) VALUES ('a')

either ready
INSERT INTO err(name) DEFAULT VALUES

either ready
INSERT INTO err DEFAULT VALUE

either ready
INSERT INTO err(name) VALUES ('a) RETURNING id

either ready
INSERT INTO err(name) VALUES ('a') /* open

either ready
INSERT INTO err("name) VALUES ('a')

either ready
INSERT INTO err(name) VALUES ('a')) RETURNING id

either ready
INSERT INTO err(name) VALUES (E'\u00')

# At run time: the row that fails is shown with its ids.
proxy
INSERT INTO err(n) VALUES (1)

proxy
INSERT INTO err(name, n) VALUES (NULL, 1)

proxy
INSERT INTO err(name) VALUES ('a'), (NULL)

proxy
INSERT INTO err VALUES (DEFAULT, NULL, 5)

proxy
INSERT INTO err(u, id, name) VALUES (DEFAULT, 5, NULL), (DEFAULT, DEFAULT, 'x')

proxy
INSERT INTO err DEFAULT VALUES

proxy
INSERT INTO err(name) SELECT NULL WHERE true

proxy
INSERT INTO err(name) SELECT 'bad'

proxy
INSERT INTO err(name, n) VALUES ('a', 99), ('b', 100)

proxy
INSERT INTO err(id, name) VALUES (0, 'zero')

either ready
INSERT INTO err VALUES (NULL, 'a', 1, NULL)

either ready
INSERT INTO err(id, name, u) VALUES (NULL, 'a', NULL)

proxy
INSERT INTO err(name) VALUES ('bad') ON CONFLICT DO NOTHING

proxy
WITH x AS (INSERT INTO err(name) VALUES ('bad') RETURNING id) SELECT * FROM x

proxy once
INSERT INTO err(name, code) VALUES ('a', 'abc') RETURNING id

either ready
INSERT INTO err(name, code) VALUES ('a', 'abc')

either ready once
INSERT INTO err(id, name) VALUES (DEFAULT, 'a'), (1, 'b'), (1, 'c')

either ready
INSERT INTO err(name, code) VALUES ('a', 'abcd')

either ready
INSERT INTO err(name, n) VALUES ('a', 1/0)

either ready
INSERT INTO err(name, n) VALUES ('a', 1), ('b', 1/(SELECT 0))

either ready
INSERT INTO err(name, n) VALUES ('a', 99999999999)

either ready
INSERT INTO err(name, n) VALUES ('a', '99999999999')

either ready
INSERT INTO err(name, d) VALUES ('a', 'x' || 'y')

either ready
INSERT INTO err(name) VALUES (repeat('x', 3)::int::text)

proxy
INSERT INTO err(name, n) VALUES (repeat('long ', 100), 100)

# Nothing of it was kept.
same
SELECT name, n, code FROM err WHERE name <> 'control'

# Foreign keys, exclusion constraints, errors raised by triggers.
same
CREATE TABLE err_child (id bigint DEFAULT next_snowflake(), err bigint REFERENCES err, n int, EXCLUDE (n WITH =))

either ready
INSERT INTO err_child(err) VALUES (5)

proxy once
INSERT INTO err_child(n) VALUES (5) RETURNING *

either ready
INSERT INTO err_child(n) VALUES (4), (5)

same
CREATE FUNCTION err_raise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'row %', new; RAISE EXCEPTION 'no % here', new.id USING HINT = 'id ' || new.id, DETAIL = new::text, COLUMN = 'id'; END $$

same
CREATE TRIGGER err_raise AFTER INSERT ON err_child FOR EACH ROW EXECUTE FUNCTION err_raise()

proxy
INSERT INTO err_child(n) VALUES (6)

proxy
INSERT INTO err_child DEFAULT VALUES

# Parameters in the context of errors are the client's.
same
SET log_parameter_max_length_on_error = -1

either ready bind "a" "x"
INSERT INTO err(name, n) VALUES ($1, $2)

either ready bind "a" "5"
INSERT INTO err(name, n) VALUES ($1, 1 / ($2::int - 5))

proxy bind NULL "5"
INSERT INTO err(name, n) VALUES ($1, $2), ('b', DEFAULT)

proxy bind "c" "500"
INSERT INTO err VALUES (DEFAULT, $1, $2)

proxy
INSERT INTO err(n) VALUES (1)
