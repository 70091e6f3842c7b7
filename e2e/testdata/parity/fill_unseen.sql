# Temporary tables that come about where the text does not say so.
proxy on a
INSERT INTO acct(name) VALUES ('control') RETURNING id

same
CREATE FUNCTION shadow(name text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('CREATE TEMP TABLE %I (id bigint DEFAULT 5, name text, title text)', name); END $$

same on a once
SELECT shadow('acct')

same on a ready
INSERT INTO acct(name) VALUES ('t') RETURNING id, name

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

# By a trigger, by a default, in a WITH, in RETURNING, in a cursor's query.
same
CREATE TABLE maker (name text)

same
CREATE FUNCTION maker() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM shadow(new.name); RETURN new; END $$

same
CREATE TRIGGER maker BEFORE INSERT ON maker FOR EACH ROW EXECUTE FUNCTION maker()

same on e once
INSERT INTO maker VALUES ('acct')

same on e ready
INSERT INTO acct(name) VALUES ('t') RETURNING id, name

same on f once
UPDATE other SET name = name RETURNING shadow('doc') IS NULL

same on f ready
INSERT INTO doc(title) VALUES ('t') RETURNING id, title
