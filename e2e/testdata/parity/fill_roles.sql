# Who may insert what. An error shows a row's columns to those who may read them
# or gave them, so that a column more in the statement could show one more.
same
CREATE TABLE ra (id bigint DEFAULT next_snowflake(), name text NOT NULL, n int CHECK (n < 100), u uuid DEFAULT uuidv7())

same
CREATE TABLE rb (LIKE ra INCLUDING ALL)

same
CREATE TABLE rc (LIKE ra INCLUDING ALL)

same
CREATE TABLE rd (LIKE ra INCLUDING ALL)

same
CREATE TABLE re (LIKE ra INCLUDING ALL)

same
CREATE TABLE rf (LIKE ra INCLUDING ALL)

same
CREATE TABLE rg (LIKE ra INCLUDING ALL)

same
GRANT SELECT, INSERT ON ra TO e2e_app

same
GRANT INSERT ON rb TO e2e_app

same
GRANT INSERT (name, n), SELECT (name) ON rc TO e2e_app

same
GRANT INSERT, SELECT (name, id) ON rd TO e2e_app

same
GRANT INSERT ON re TO PUBLIC

same
GRANT SELECT ON re TO e2e_app

# The superuser first: rights do not bind it.
proxy
INSERT INTO ra(name) VALUES ('a') RETURNING *

any ready
INSERT INTO rb(name) VALUES ('a') RETURNING *

any ready
INSERT INTO rc(name) VALUES ('a') RETURNING *

proxy
INSERT INTO rf(name) VALUES ('a') RETURNING *

# May read and insert.
same
SET ROLE e2e_app

proxy
INSERT INTO ra(name) VALUES ('a') RETURNING *

proxy
INSERT INTO ra VALUES (DEFAULT, 'a'), (DEFAULT, 'b') RETURNING *

proxy
INSERT INTO ra(n) VALUES (1)

proxy
INSERT INTO ra(name, n) VALUES ('a', 100)

either ready
INSERT INTO ra(name) VALUES ('a') ON CONFLICT DO NOTHING

either ready
INSERT INTO ra(name) VALUES ('a') ON CONFLICT (id) DO UPDATE SET n = 1

# May insert and not read: the detail has what the statement gave.
kept ready
INSERT INTO rb(name) VALUES ('a')

kept ready
INSERT INTO rb(n) VALUES (1)

kept ready
INSERT INTO rb(name, n) VALUES ('a', 100)

any ready
INSERT INTO rb VALUES (DEFAULT, 'a', 100)

any ready
INSERT INTO rb(id, n) VALUES (DEFAULT, 100), (DEFAULT, 5)

kept ready
INSERT INTO rb DEFAULT VALUES

kept ready
INSERT INTO rb(n) SELECT 100

either ready
INSERT INTO rb(name) VALUES ('a') RETURNING id

either ready
INSERT INTO rb(name) VALUES ('a') RETURNING name

either ready
INSERT INTO rb(name) VALUES ('a') RETURNING 1

# May insert only some columns.
kept ready
INSERT INTO rc(name) VALUES ('a')

kept ready
INSERT INTO rc(name, n) VALUES ('a', 1), ('b', 2)

kept ready
INSERT INTO rc(n) VALUES (1)

kept ready
INSERT INTO rc(name, n) VALUES ('a', 100)

kept ready
INSERT INTO rc(name) SELECT 'a' UNION ALL SELECT 'b'

kept ready
INSERT INTO rc(name) VALUES ('a') RETURNING name

either ready
INSERT INTO rc(name) VALUES ('a') RETURNING id

either ready
INSERT INTO rc(name) VALUES ('a') RETURNING *

either ready
INSERT INTO rc(id, name) VALUES (DEFAULT, 'a')

either ready
INSERT INTO rc VALUES (DEFAULT, 'a')

either ready
INSERT INTO rc(name, u) VALUES ('a', NULL)

# (No column at all is inserted here, which any right to one allows.)
either ready
INSERT INTO rc DEFAULT VALUES

# May read only some columns.
any ready
INSERT INTO rd(name) VALUES ('a') RETURNING id

server ready
INSERT INTO rd(n, name) VALUES (100, 'a')

either ready
INSERT INTO rd(name) VALUES ('a') RETURNING *

# The right to insert is everybody's, the right to read is this role's.
any ready
INSERT INTO re(name) VALUES ('a') RETURNING *

any ready
INSERT INTO re(n) VALUES (1)

# No right at all, or one that does not help.
either ready
INSERT INTO rf(name) VALUES ('a')

either ready
INSERT INTO rf DEFAULT VALUES

either ready
INSERT INTO rf(nope) VALUES ('a')

either ready
INSERT INTO rf VALUES (DEFAULT, 'a', 'x')

# Another role, by SET SESSION AUTHORIZATION.
same
SET SESSION AUTHORIZATION e2e_evil

kept ready
INSERT INTO re(name) VALUES ('a')

kept ready
INSERT INTO re(n) VALUES (1)

either ready
INSERT INTO ra(name) VALUES ('a')

same
RESET SESSION AUTHORIZATION

# For one transaction.
same
BEGIN

same
SET LOCAL ROLE e2e_app

proxy
INSERT INTO ra(name) VALUES ('local') RETURNING *

kept
INSERT INTO rb(n, name) VALUES (100, 'a')

same
ROLLBACK

proxy
INSERT INTO ra(name) VALUES ('super again') RETURNING *

same
RESET ROLE

# Rights come and go.
same
GRANT SELECT ON rb TO e2e_app

same
SET ROLE e2e_app

proxy
INSERT INTO rb(name) VALUES ('a') RETURNING *

proxy
INSERT INTO rb(n) VALUES (1)

same
RESET ROLE

same
REVOKE SELECT ON ra FROM e2e_app

same
SET ROLE e2e_app

kept ready
INSERT INTO ra(n) VALUES (1)

same
RESET ROLE

same
GRANT SELECT ON ra TO e2e_app

same
GRANT UPDATE (n) ON ra TO e2e_evil

same
SET ROLE e2e_app

any ready
INSERT INTO ra(name) VALUES ('a') RETURNING *

same
RESET ROLE

same
REVOKE UPDATE (n) ON ra FROM e2e_evil

any ready
INSERT INTO ra(name) VALUES ('a') RETURNING *

# The owner may take the right to read from itself.
same
ALTER TABLE rg OWNER TO e2e_app

same
SET ROLE e2e_app

proxy
INSERT INTO rg(name) VALUES ('a') RETURNING *

proxy
INSERT INTO rg(n) VALUES (5)

same
REVOKE SELECT ON rg FROM e2e_app

kept ready
INSERT INTO rg(n) VALUES (5)

kept ready
INSERT INTO rg(name) VALUES ('a')

same
GRANT ALL ON rg TO e2e_app

proxy
INSERT INTO rg(n) VALUES (5)

same
RESET ROLE

# A schema that a role may not use.
same
CREATE SCHEMA closed

same
CREATE TABLE closed.inside (id bigint DEFAULT next_snowflake(), name text)

same
GRANT ALL ON closed.inside TO e2e_app

proxy
INSERT INTO closed.inside(name) VALUES ('a') RETURNING *

same
SET ROLE e2e_app

either ready
INSERT INTO closed.inside(name) VALUES ('a')

same
RESET ROLE

# A partition's rights are not asked for when the parent is named.
same
CREATE TABLE rp (id bigint DEFAULT next_snowflake(), k int CHECK (k < 5)) PARTITION BY LIST (k)

same
CREATE TABLE rp_1 PARTITION OF rp FOR VALUES IN (1, 7)

same
GRANT SELECT, INSERT ON rp TO e2e_app

same
SET ROLE e2e_app

proxy
INSERT INTO rp(k) VALUES (1) RETURNING *

any ready
INSERT INTO rp(k) VALUES (7)

either ready
INSERT INTO rp(k) VALUES (9)

either ready
INSERT INTO rp_1(k) VALUES (1)

same
RESET ROLE

same
GRANT INSERT ON rp_1 TO e2e_app

same
SET ROLE e2e_app

kept ready
INSERT INTO rp_1(k) VALUES (7)

same
RESET ROLE

# A function that not everybody may call: its default is an error for them. No
# call is replaced then.
same
REVOKE EXECUTE ON FUNCTION next_snowflake() FROM PUBLIC

server
INSERT INTO rp(k) VALUES (1) RETURNING *

same
SET ROLE e2e_app

either
INSERT INTO ra(name) VALUES ('a')

either
INSERT INTO ra VALUES (DEFAULT, 'a')

same
INSERT INTO rp DEFAULT VALUES

same
RESET ROLE

same
GRANT EXECUTE ON FUNCTION next_snowflake() TO PUBLIC

same
SET ROLE e2e_app

proxy
INSERT INTO ra(name) VALUES ('again') RETURNING *
