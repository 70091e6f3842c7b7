CREATE TABLE acct (id bigint PRIMARY KEY DEFAULT next_snowflake(), name text, note text DEFAULT 'n/a');
CREATE TABLE doc (id uuid PRIMARY KEY DEFAULT uuidv7(), title text);
CREATE TABLE t (id bigint, id2 bigint, u uuid, name text, n int);
CREATE TABLE other (name text);
INSERT INTO other VALUES ('o1'), ('o2');
CREATE TABLE part (id bigint, k int) PARTITION BY LIST (k);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2);
CREATE TABLE ruled (id bigint, n int);
CREATE TABLE ruled_log (id bigint, n int);
CREATE RULE ruled_copy AS ON INSERT TO ruled DO ALSO INSERT INTO ruled_log VALUES (new.id, new.n);
CREATE VIEW v_auto AS SELECT id, name FROM t;
CREATE VIEW v_trigger AS SELECT id, name FROM t;
CREATE FUNCTION v_trigger_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t(id, id2, name) VALUES (new.id, new.id, new.name);
  RETURN new;
END $$;
CREATE TRIGGER v_trigger_insert INSTEAD OF INSERT ON v_trigger FOR EACH ROW EXECUTE FUNCTION v_trigger_insert();
CREATE FUNCTION two(bigint) RETURNS SETOF bigint LANGUAGE sql AS 'VALUES ($1), ($1 + 1)';
CREATE FUNCTION one(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION maybe(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION maybe(text) RETURNS SETOF text LANGUAGE sql AS 'VALUES ($1), ($1)';
CREATE OPERATOR +% (FUNCTION = two, RIGHTARG = bigint);
CREATE OPERATOR +! (FUNCTION = one, RIGHTARG = bigint);
CREATE TYPE pair AS (a int, b int);
CREATE FUNCTION spread(pair) RETURNS SETOF int LANGUAGE sql AS 'VALUES ($1.a), ($1.b)';
