# SQ-13: defaults that change in an open transaction, and go back.
proxy
INSERT INTO acct(name) VALUES ('control') RETURNING id

same
BEGIN

same
ALTER TABLE acct DROP CONSTRAINT acct_pkey

same
ALTER TABLE acct ALTER id DROP NOT NULL, ALTER id DROP DEFAULT

same
INSERT INTO acct(name) VALUES ('n') RETURNING *

same
INSERT INTO acct VALUES (DEFAULT, 'n'), (DEFAULT, 'm') RETURNING *

same
INSERT INTO acct DEFAULT VALUES RETURNING *

same
INSERT INTO acct(name) SELECT 'n' UNION ALL SELECT 'm' RETURNING *

any
INSERT INTO doc(title) VALUES ('in the same transaction') RETURNING *

any on other ready
INSERT INTO doc(title) VALUES ('in another') RETURNING *

same
ROLLBACK

proxy
INSERT INTO acct(name) VALUES ('q') RETURNING id, name

# Committed.
same
BEGIN

same
ALTER TABLE acct ALTER id SET DEFAULT 9

same
INSERT INTO acct(name) VALUES ('nine') ON CONFLICT DO NOTHING RETURNING id, name

same
COMMIT

same ready
INSERT INTO acct(name) VALUES ('nine') ON CONFLICT DO NOTHING RETURNING id, name

same on other ready
INSERT INTO acct VALUES (DEFAULT, 'nine') ON CONFLICT DO NOTHING RETURNING id, name

same
ALTER TABLE acct ALTER id SET DEFAULT next_snowflake()

proxy
INSERT INTO acct(name) VALUES ('back') RETURNING id, name

proxy on other
INSERT INTO acct(name) VALUES ('back') RETURNING id, name

# In a savepoint, rolled back and released.
same
BEGIN

proxy
INSERT INTO acct(name) VALUES ('before') RETURNING id, name

same
SAVEPOINT s

same
ALTER TABLE acct ALTER id SET DEFAULT 11

same once
INSERT INTO acct(name) VALUES ('eleven') RETURNING id, name

same
ROLLBACK TO SAVEPOINT s

any
INSERT INTO acct(name) VALUES ('after') RETURNING id, name

same
ALTER TABLE acct ALTER id SET DEFAULT 12

same
SAVEPOINT t

same
ALTER TABLE acct ALTER id SET DEFAULT next_snowflake()

any
INSERT INTO acct(name) VALUES ('inner') RETURNING id, name

same
ROLLBACK TO t

same once
INSERT INTO acct(name) VALUES ('twelve') RETURNING id, name

same
ROLLBACK TO s

any
INSERT INTO acct(name) VALUES ('after') RETURNING id, name

same
RELEASE s

same
COMMIT

proxy
INSERT INTO acct(name) VALUES ('all over') RETURNING id, name

# ROLLBACK AND CHAIN, COMMIT AND CHAIN.
same
BEGIN

same
ALTER TABLE acct ALTER id SET DEFAULT 13

same once
INSERT INTO acct(name) VALUES ('thirteen') RETURNING id, name

same
ROLLBACK AND CHAIN

any
INSERT INTO acct(name) VALUES ('chained') RETURNING id, name

same
ALTER TABLE acct ALTER note SET DEFAULT 'other'

any
INSERT INTO acct(name) VALUES ('chained') RETURNING *

same
COMMIT AND CHAIN

any
INSERT INTO acct(name) VALUES ('chained again') RETURNING *

same
COMMIT

proxy
INSERT INTO acct(name) VALUES ('all over') RETURNING *

# An error ends the transaction; what it changed is undone.
same
BEGIN

same
ALTER TABLE acct ALTER id SET DEFAULT 14

same
SELECT 1/0

same
INSERT INTO acct(name) VALUES ('failed') RETURNING id

same
COMMIT

proxy
INSERT INTO acct(name) VALUES ('all over') RETURNING id

# By DO and CALL, in a transaction and on their own; a procedure that commits.
same
BEGIN

same
DO $$ BEGIN ALTER TABLE acct ALTER id SET DEFAULT 15; END $$

same once
INSERT INTO acct(name) VALUES ('fifteen') RETURNING id, name

same
ROLLBACK

any ready
INSERT INTO acct(name) VALUES ('after DO') RETURNING id, name

same on proc
CREATE PROCEDURE set_default(v text) LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'ALTER TABLE acct ALTER id SET DEFAULT ' || v; END $$

same on proc
BEGIN

same on proc
CALL set_default('16')

same on proc once
INSERT INTO acct(name) VALUES ('sixteen') RETURNING id, name

same on proc
ROLLBACK

same on proc
CALL set_default('17')

same on proc once
INSERT INTO acct(name) VALUES ('seventeen') RETURNING id, name

same on proc
CALL set_default('next_snowflake()')

any on proc ready
INSERT INTO acct(name) VALUES ('after CALL') RETURNING id, name

# The shape of the table changes in the transaction.
same on shape
BEGIN

same on shape
ALTER TABLE acct DROP COLUMN id

same on shape
INSERT INTO acct(name) VALUES ('no id') RETURNING *

same on shape
INSERT INTO acct VALUES ('no id', 'x') RETURNING *

same on shape
INSERT INTO acct(id, name) VALUES (DEFAULT, 'no id') RETURNING *

same on shape
ROLLBACK

same on shape
BEGIN

same on shape
ALTER TABLE acct RENAME COLUMN id TO ident

any on shape
INSERT INTO acct(name) VALUES ('renamed') RETURNING *

same on shape
ALTER TABLE acct ADD COLUMN id int DEFAULT 5

any on shape
INSERT INTO acct(name) VALUES ('both') RETURNING *

any on shape
INSERT INTO acct VALUES (DEFAULT, 'both', 'x', DEFAULT) RETURNING *

same on shape
ROLLBACK

same on shape
BEGIN

same on shape
ALTER TABLE acct ALTER id TYPE text, ALTER id SET DEFAULT 'text'

same on shape once
INSERT INTO acct(name) VALUES ('text') RETURNING *

same on shape
ROLLBACK

same on shape
BEGIN

same on shape
DROP TABLE acct

same on shape
CREATE TABLE acct (id int, name text)

same on shape
INSERT INTO acct(name) VALUES ('another') RETURNING *

same on shape
ROLLBACK

proxy on shape
INSERT INTO acct(name) VALUES ('as before') RETURNING *

# Rules, rights and generated columns that come in the transaction.
same on shape
BEGIN

same on shape
CREATE RULE copy AS ON INSERT TO acct DO ALSO INSERT INTO t(id, name) VALUES (new.id, 'ruled')

server on shape
INSERT INTO acct(name) VALUES ('ruled') RETURNING id

same on shape
SELECT count(DISTINCT id) > 1 FROM (SELECT id FROM acct WHERE name = 'ruled' UNION ALL SELECT id FROM t WHERE name = 'ruled') x

same on shape
ROLLBACK

same on shape
BEGIN

same on shape
GRANT INSERT ON acct TO e2e_app

same on shape
SET LOCAL ROLE e2e_app

same on shape
INSERT INTO acct(id, name) VALUES (NULL, 'a')

same on shape
ROLLBACK

same on shape
BEGIN

same on shape
CREATE TABLE young (id bigint NOT NULL DEFAULT next_snowflake(), name text)

any on shape
INSERT INTO young(name) VALUES ('a') RETURNING *

same on shape
COMMIT

proxy on shape
INSERT INTO young(name) VALUES ('a') RETURNING *

# Read only, serializable, prepared transactions; autonomous settings.
same on ro
BEGIN READ ONLY

either on ro
INSERT INTO acct(name) VALUES ('read only')

same on ro
ROLLBACK

same on ro
BEGIN ISOLATION LEVEL SERIALIZABLE

proxy on ro
INSERT INTO acct(name) VALUES ('serializable') RETURNING id

same on ro
COMMIT

same on ro
SET default_transaction_read_only = on

either on ro
INSERT INTO acct(name) VALUES ('read only')

same on ro
RESET default_transaction_read_only

proxy on ro
INSERT INTO acct(name) VALUES ('writes') RETURNING id
