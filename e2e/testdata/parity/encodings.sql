same
SET client_encoding = 'LATIN1'

any escaped
SELECT '\xfc', next_snowflake() AS "\xfc\xe9"

same escaped
SELECT '\xfc\xe9', next_snowflake(), nope

any escaped
INSERT INTO t(id, name) VALUES (next_snowflake(), '\xe4\xf6\xfc') RETURNING id, name

same escaped
SELECT '\xfc' AS x, uuidv7() + 1

# Each of these may hold ASCII bytes inside of characters; text of ASCII alone
# is safe all the same.
same
SET client_encoding = 'SJIS'

# 0x83 0x5c: the second byte is a backslash.
server escaped
SELECT '\x83\x5c', next_snowflake()

any
SELECT next_snowflake()

any bind "x"
INSERT INTO t(id, name) VALUES (next_snowflake(), $1) RETURNING id

same escaped
SELECT '\x83\x5c\x83\x5c', next_snowflake(), nope

same
SET client_encoding = 'GBK'

any
SELECT next_snowflake()

same
SET client_encoding = 'BIG5'

any
SELECT next_snowflake()

same
SET client_encoding = 'UHC'

any
SELECT uuidv7()

same
SET client_encoding = 'GB18030'

any
SELECT next_snowflake()

same
SET client_encoding = 'JOHAB'

any
SELECT next_snowflake()

same
SET client_encoding = 'SHIFT_JIS_2004'

any
SELECT next_snowflake()

same
RESET client_encoding

proxy
SELECT next_snowflake()

# The setting changes in the middle of a message.
any simple
SET client_encoding = 'SJIS'; SELECT next_snowflake()

same simple
RESET client_encoding; SELECT 1

any simple
SELECT set_config('client_encoding', 'SJIS', false); SELECT next_snowflake()

any
SELECT next_snowflake()

same
SET NAMES 'UTF8'

proxy
SELECT next_snowflake()

same
BEGIN

same
SET LOCAL client_encoding = 'SJIS'

any
SELECT next_snowflake()

same
ROLLBACK

proxy
SELECT next_snowflake()

same
SET client_encoding = 'EUC_JP'

# 0xa5 0xe5 is one character in EUC_JP.
any escaped
SELECT '\xa5\xe5', next_snowflake() AS x

same escaped
SELECT '\xa5\xe5\xa5\xe5', next_snowflake(), nope

same
SET client_encoding = 'SQL_ASCII'

any escaped
SELECT '\xc3\xbc', next_snowflake() AS x

same escaped
SELECT '\xc3\xbc', next_snowflake(), nope

same
RESET client_encoding

same escaped
SELECT '\xff', next_snowflake(), nope
