# Triggers see the same row, whoever made its id.
same
CREATE TABLE tr (id bigint NOT NULL DEFAULT next_snowflake(), name text, seen bigint, u uuid DEFAULT uuidv7())

same
CREATE FUNCTION tr_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % %: %', tg_when, tg_level, tg_op, new;
  CASE new.name
    WHEN 'five' THEN new.id := 5;
    WHEN 'null' THEN new.id := NULL;
    WHEN 'skip' THEN RETURN NULL;
    WHEN 'own' THEN new.id := next_snowflake();
    WHEN 'default' THEN new.name := new.id;
    WHEN 'fail' THEN RAISE EXCEPTION 'not %', new.id;
    ELSE new.seen := new.id;
  END CASE;
  RETURN new;
END $$

same
CREATE TRIGGER tr_before BEFORE INSERT ON tr FOR EACH ROW EXECUTE FUNCTION tr_before()

proxy
INSERT INTO tr(name) VALUES ('a') RETURNING *

proxy
INSERT INTO tr(name) VALUES ('a'), ('five'), ('skip'), ('b') RETURNING *

proxy
INSERT INTO tr(name) VALUES ('five') RETURNING *

proxy
INSERT INTO tr(name) VALUES ('skip') RETURNING *

proxy
INSERT INTO tr(name) VALUES ('null')

proxy
INSERT INTO tr(name) VALUES ('default') RETURNING *

proxy
INSERT INTO tr(name) VALUES ('a'), ('fail')

any ready
INSERT INTO tr(name) VALUES ('own') RETURNING *

proxy
INSERT INTO tr VALUES (DEFAULT, 'skip'), (DEFAULT, 'a') RETURNING id, name

proxy
INSERT INTO tr(name) SELECT 'a' UNION ALL SELECT 'five' RETURNING *

proxy
WITH x AS (INSERT INTO tr(name) VALUES ('skip'), ('five') RETURNING *) SELECT * FROM x

# After: another table, the statement's rows, the table itself.
same
CREATE TABLE tr_log (no serial, id bigint DEFAULT next_snowflake(), of bigint, what text)

same
CREATE FUNCTION tr_after() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tr_log(of, what) VALUES (new.id, new.name);
  IF new.name = 'again' THEN
    INSERT INTO tr(name) VALUES ('once more');
  END IF;
  RETURN NULL;
END $$

same
CREATE TRIGGER tr_after AFTER INSERT ON tr FOR EACH ROW EXECUTE FUNCTION tr_after()

proxy
INSERT INTO tr(name) VALUES ('logged') RETURNING id

server once
SELECT l.id FROM tr_log l WHERE what = 'logged' ORDER BY no

same
SELECT count(*), count(DISTINCT l.id), bool_and(EXISTS (SELECT FROM tr WHERE tr.id = l.of)) FROM tr_log l

any ready
INSERT INTO tr(name) VALUES ('again') RETURNING id

same
CREATE FUNCTION tr_statement() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% of %', (SELECT array_agg(r ORDER BY id) FROM fresh r), tg_argv[0]; RETURN NULL; END $$

same
CREATE TABLE ts (id bigint DEFAULT next_snowflake(), name text)

same
CREATE TRIGGER ts_statement AFTER INSERT ON ts REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION tr_statement('ts')

proxy
INSERT INTO ts(name) VALUES ('a'), ('b')

proxy
INSERT INTO ts VALUES (DEFAULT, 'a')

kept ready
INSERT INTO ts(name) SELECT 'x' FROM other WHERE false

# A trigger that fires where there is no id fires for NULL alone.
same
CREATE TABLE tw (id bigint DEFAULT next_snowflake(), name text)

same
CREATE FUNCTION tw_set() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'fired'; new.id := 6; RETURN new; END $$

same
CREATE TRIGGER tw_set BEFORE INSERT ON tw FOR EACH ROW WHEN (new.id IS NULL OR new.name = 'fire') EXECUTE FUNCTION tw_set()

proxy
INSERT INTO tw(name) VALUES ('a') RETURNING *

same ready
INSERT INTO tw VALUES (NULL, 'a') RETURNING *

either ready
INSERT INTO tw(name) VALUES ('fire') RETURNING *

proxy
INSERT INTO tw VALUES (DEFAULT, 'fire'), (NULL, 'b'), (DEFAULT, 'c') RETURNING *

same
ALTER TABLE tw DISABLE TRIGGER USER

proxy
INSERT INTO tw(name) VALUES ('fire') RETURNING *

same ready
INSERT INTO tw VALUES (NULL, 'a') RETURNING *

# A default that is dropped, with a trigger in its place.
same
ALTER TABLE tw ALTER id DROP DEFAULT, ENABLE TRIGGER USER

same ready
INSERT INTO tw(name) VALUES ('a') RETURNING *

same ready
INSERT INTO tw VALUES (DEFAULT, 'a') RETURNING *

# Deferred triggers fire with the row that was inserted.
same
CREATE FUNCTION tc_check() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'at last %', new; RETURN NULL; END $$

same
CREATE TABLE tc (id bigint PRIMARY KEY DEFAULT next_snowflake(), parent bigint REFERENCES tc DEFERRABLE INITIALLY DEFERRED)

same
CREATE CONSTRAINT TRIGGER tc_check AFTER INSERT ON tc DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tc_check()

proxy
INSERT INTO tc DEFAULT VALUES

proxy
INSERT INTO tc(parent) VALUES (NULL), (5)

same
BEGIN

proxy
INSERT INTO tc(parent) VALUES (6) RETURNING *

proxy
INSERT INTO tc VALUES (DEFAULT), (DEFAULT) RETURNING *

same
COMMIT

# Row security: the policy decides on the row with its id.
same
CREATE TABLE rl (id bigint DEFAULT next_snowflake(), owner text DEFAULT current_user, name text)

same
ALTER TABLE rl ENABLE ROW LEVEL SECURITY

same
GRANT SELECT, INSERT, UPDATE ON rl, acct TO e2e_app

proxy
INSERT INTO rl(name) VALUES ('as owner') RETURNING id, name

same
SET ROLE e2e_app

either ready
INSERT INTO rl(name) VALUES ('no policy')

same
RESET ROLE

same
CREATE POLICY mine ON rl TO e2e_app USING (owner = current_user) WITH CHECK (owner = current_user AND id > 0 AND name <> 'bad')

same
SET ROLE e2e_app

proxy
INSERT INTO rl(name) VALUES ('mine') RETURNING *

proxy
INSERT INTO rl VALUES (DEFAULT, DEFAULT, 'mine'), (DEFAULT, 'e2e_app', 'too') RETURNING *

either ready
INSERT INTO rl(name, owner) VALUES ('theirs', 'e2e_evil')

either ready
INSERT INTO rl(name) VALUES ('bad')

either ready
INSERT INTO rl(name) VALUES ('mine'), ('bad')

either ready
INSERT INTO rl(id) VALUES (-1)

proxy
INSERT INTO rl(name) VALUES ('up') ON CONFLICT DO NOTHING RETURNING id

same
SELECT count(*), count(DISTINCT id) FROM rl

same
RESET ROLE

same
CREATE POLICY narrow ON rl AS RESTRICTIVE FOR INSERT TO e2e_app WITH CHECK (EXISTS (SELECT FROM acct WHERE acct.id = rl.id))

same
SET ROLE e2e_app

either ready
INSERT INTO rl(name) VALUES ('no such id')

same
RESET ROLE

same
ALTER TABLE rl FORCE ROW LEVEL SECURITY

proxy
INSERT INTO rl(name) VALUES ('as superuser') RETURNING id, name
