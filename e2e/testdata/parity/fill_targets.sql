# Partitioned tables: the default of the table that is named counts.
same
CREATE TABLE pt (id bigint DEFAULT next_snowflake(), k int, name text, u uuid DEFAULT uuidv7(), CONSTRAINT good CHECK (name <> 'bad')) PARTITION BY LIST (k)

same
CREATE TABLE pt_1 PARTITION OF pt FOR VALUES IN (1)

same
CREATE TABLE pt_2 PARTITION OF pt (id DEFAULT 9, u DEFAULT NULL) FOR VALUES IN (2)

same
CREATE TABLE pt_3 (u uuid, gone int, name text, k int, id bigint, CONSTRAINT good CHECK (name <> 'bad'))

same
ALTER TABLE pt_3 DROP gone

same
ALTER TABLE pt ATTACH PARTITION pt_3 FOR VALUES IN (3)

same
CREATE TABLE pt_d PARTITION OF pt DEFAULT PARTITION BY LIST (name)

same
CREATE TABLE pt_d1 PARTITION OF pt_d FOR VALUES IN ('x', 'bad')

proxy
INSERT INTO pt(k, name) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'x') RETURNING tableoid::regclass::text, *

proxy
INSERT INTO pt VALUES (DEFAULT, 2, 'a', DEFAULT), (DEFAULT, 3, 'b', NULL) RETURNING tableoid::regclass::text, *

proxy
INSERT INTO pt(k) SELECT 3 UNION ALL SELECT 2 RETURNING tableoid::regclass::text, *

proxy
INSERT INTO pt_1(k) VALUES (1) RETURNING *

same ready
INSERT INTO pt_2(k) VALUES (2) RETURNING *

same ready
INSERT INTO pt_2 VALUES (DEFAULT, 2, 'x', DEFAULT) RETURNING *

same ready
INSERT INTO pt_3(k, name) VALUES (3, 'a') RETURNING *

same ready
INSERT INTO pt_3 VALUES (DEFAULT, 'a', 3) RETURNING *

proxy
INSERT INTO pt_d(k, name) VALUES (4, 'x') RETURNING *

proxy
INSERT INTO pt_d1(k, name) VALUES (4, 'x') RETURNING *

either ready
INSERT INTO pt(k, name) VALUES (4, 'y')

proxy
INSERT INTO pt_1(k, name) VALUES (2, 'y')

either ready
INSERT INTO pt DEFAULT VALUES

proxy
INSERT INTO pt(k, name) VALUES (3, 'bad')

proxy
INSERT INTO pt(k, name) VALUES (1, 'fine'), (4, 'bad')

# The table has no default of ours, a partition has.
same
CREATE TABLE pq (id bigint, k int, name text) PARTITION BY RANGE (k)

same
CREATE TABLE pq_1 PARTITION OF pq (id DEFAULT next_snowflake()) FOR VALUES FROM (0) TO (10)

same
CREATE TABLE pq_2 PARTITION OF pq (id DEFAULT next_snowflake() NOT NULL) FOR VALUES FROM (10) TO (20)

same ready
INSERT INTO pq(k, name) VALUES (1, 'a') RETURNING *

proxy
INSERT INTO pq_1(k, name) VALUES (1, 'a') RETURNING *

same ready
INSERT INTO pq(k, name) VALUES (11, 'a')

proxy
INSERT INTO pq_2(k, name) VALUES (11, 'a') RETURNING *

# The id decides the partition.
same
CREATE TABLE pr (id bigint DEFAULT next_snowflake(), name text) PARTITION BY RANGE (id)

same
CREATE TABLE pr_low PARTITION OF pr FOR VALUES FROM (MINVALUE) TO (1000)

same
CREATE TABLE pr_high PARTITION OF pr FOR VALUES FROM (1000) TO (MAXVALUE)

proxy
INSERT INTO pr(name) VALUES ('a'), ('b') RETURNING tableoid::regclass::text, *

proxy
INSERT INTO pr VALUES (5, 'low'), (DEFAULT, 'high') RETURNING tableoid::regclass::text, *

proxy
INSERT INTO pr_low(name) VALUES ('a') RETURNING 1

same
CREATE TABLE ph (id bigint PRIMARY KEY DEFAULT next_snowflake(), name text) PARTITION BY HASH (id)

same
CREATE TABLE ph_0 PARTITION OF ph FOR VALUES WITH (MODULUS 2, REMAINDER 0)

same
CREATE TABLE ph_1 PARTITION OF ph FOR VALUES WITH (MODULUS 2, REMAINDER 1)

proxy
INSERT INTO ph(name) VALUES ('a'), ('b'), ('c') RETURNING *

same once
SELECT name, count(*) FROM ph GROUP BY name ORDER BY 1

# Inheritance: children have defaults of their own.
same
CREATE TABLE base (id bigint DEFAULT next_snowflake(), name text)

same
CREATE TABLE child (extra int) INHERITS (base)

same
CREATE TABLE child_5 (id bigint DEFAULT 5) INHERITS (base)

same
CREATE TABLE orphan (extra int) INHERITS (base)

same
ALTER TABLE orphan ALTER id DROP DEFAULT

proxy
INSERT INTO base(name) VALUES ('a') RETURNING *

proxy
INSERT INTO child(name, extra) VALUES ('a', 1) RETURNING *

proxy
INSERT INTO child VALUES (DEFAULT, 'a') RETURNING *

same ready
INSERT INTO child_5(name) VALUES ('a') RETURNING *

same ready
INSERT INTO orphan(name) VALUES ('a') RETURNING *

same
ALTER TABLE base ALTER id SET DEFAULT 7

same ready
INSERT INTO child(name) VALUES ('a') RETURNING *

same
ALTER TABLE ONLY base ALTER id SET DEFAULT next_snowflake()

same ready
INSERT INTO child(name) VALUES ('a') RETURNING *

proxy
INSERT INTO base(name) VALUES ('a') RETURNING *

same
CREATE TABLE two_parents () INHERITS (child_5, base)

same
ALTER TABLE child NO INHERIT base

same ready
INSERT INTO child DEFAULT VALUES RETURNING *

# INSERT rules see the default in every query that they make.
same
CREATE TABLE rule_log (id bigint, name text)

same
CREATE TABLE rule_also (id bigint DEFAULT next_snowflake(), name text)

same
CREATE RULE also AS ON INSERT TO rule_also DO ALSO INSERT INTO rule_log VALUES (new.id, new.name)

server ready once
INSERT INTO rule_also(name) VALUES ('a') RETURNING id

server ready once
INSERT INTO rule_also VALUES (DEFAULT, 'b'), (DEFAULT, 'c') RETURNING id

kept ready once
INSERT INTO rule_also DEFAULT VALUES

same
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM rule_also UNION ALL SELECT id FROM rule_log) x

same
CREATE TABLE rule_instead (id bigint DEFAULT next_snowflake(), name text)

same
CREATE RULE instead AS ON INSERT TO rule_instead DO INSTEAD INSERT INTO rule_log VALUES (new.id, new.name) RETURNING rule_log.*

server ready
INSERT INTO rule_instead(name) VALUES ('a') RETURNING id, name

same
CREATE TABLE rule_nothing (id bigint DEFAULT next_snowflake(), name text)

same
CREATE RULE nothing AS ON INSERT TO rule_nothing WHERE new.name = 'no' DO INSTEAD NOTHING

kept ready
INSERT INTO rule_nothing(name) VALUES ('no'), ('yes')

server
SELECT id, name FROM rule_nothing ORDER BY id

# A rule that is off, or for something else.
same
ALTER TABLE rule_also DISABLE RULE also

any ready
INSERT INTO rule_also(name) VALUES ('a') RETURNING id

same
CREATE TABLE rule_update (id bigint DEFAULT next_snowflake(), name text)

same
CREATE RULE on_update AS ON UPDATE TO rule_update DO ALSO INSERT INTO rule_log VALUES (new.id, 'updated')

any ready
INSERT INTO rule_update(name) VALUES ('a') RETURNING id

either ready
INSERT INTO rule_update(name) VALUES ('a') ON CONFLICT DO NOTHING

same
DROP RULE also ON rule_also

proxy
INSERT INTO rule_also(name) VALUES ('a') RETURNING id

# A rule that inserts into a table of ours: its columns are the server's.
same
CREATE TABLE rule_source (name text)

same
CREATE RULE source AS ON INSERT TO rule_source DO ALSO INSERT INTO acct(name) VALUES (new.name)

kept ready once
INSERT INTO rule_source VALUES ('by rule')

server
SELECT id FROM acct WHERE name = 'by rule'

# Views: the table's defaults, or their own.
same
CREATE VIEW va AS SELECT name, id FROM acct

server ready
INSERT INTO va(name) VALUES ('a') RETURNING name, id

server ready
INSERT INTO va VALUES ('a'), ('b') RETURNING name, id

server ready
INSERT INTO va DEFAULT VALUES RETURNING name, id

server ready
INSERT INTO va VALUES ('a', DEFAULT) RETURNING name, id

same
ALTER VIEW va ALTER id SET DEFAULT 5

same ready
INSERT INTO va(name) VALUES ('a') ON CONFLICT DO NOTHING RETURNING name, id

same
ALTER VIEW va ALTER id SET DEFAULT next_snowflake()

server ready
INSERT INTO va(name) VALUES ('a') RETURNING name, id

server ready
INSERT INTO va(name, id) VALUES ('a', DEFAULT), ('b', 15) ON CONFLICT DO NOTHING RETURNING name, id

same
CREATE VIEW vb AS SELECT id, name FROM acct WHERE id > 1000 WITH CHECK OPTION

server ready
INSERT INTO vb(name) VALUES ('a') RETURNING *

same
CREATE VIEW vc WITH (security_barrier) AS SELECT id, name FROM acct WHERE id < 1000 WITH LOCAL CHECK OPTION

any ready
INSERT INTO vc(name) VALUES ('a')

same
CREATE VIEW vt AS SELECT id, name FROM acct

same
CREATE FUNCTION vt_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'id %', new.id; INSERT INTO acct(name) VALUES (new.name) RETURNING id INTO new.id; RETURN new; END $$

same
CREATE TRIGGER vt_insert INSTEAD OF INSERT ON vt FOR EACH ROW EXECUTE FUNCTION vt_insert()

server ready
INSERT INTO vt(name) VALUES ('a') RETURNING *

same
ALTER VIEW vt ALTER id SET DEFAULT next_snowflake()

server ready
INSERT INTO vt(name) VALUES ('a') RETURNING *

same
CREATE VIEW vj AS SELECT a.id, o.name FROM acct a, other o

either ready
INSERT INTO vj(name) VALUES ('a')

same
CREATE MATERIALIZED VIEW vm AS SELECT id, name FROM doc, other

either ready
INSERT INTO vm(name) VALUES ('a')

# A table that becomes a view, under the same name, and a foreign table.
same
ALTER TABLE rule_also RENAME TO was_also

same
CREATE VIEW rule_also AS SELECT id, name FROM was_also

server ready
INSERT INTO rule_also(name) VALUES ('a') RETURNING *

proxy
INSERT INTO was_also(name) VALUES ('a') RETURNING *

same
CREATE FOREIGN DATA WRAPPER nothing

same
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing

same
CREATE FOREIGN TABLE foreign_one (id bigint DEFAULT next_snowflake(), name text) SERVER nowhere

either ready
INSERT INTO foreign_one(name) VALUES ('a')
