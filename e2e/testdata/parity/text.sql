# The name inside strings, comments, dollar quotes and identifiers is no call.
kept
SELECT 'next_snowflake()' a, E'it\'s uuidv7()' b, U&'uuidv7()\0021' c, $$next_snowflake()$$ d, $t$ $$ uuidv7() $$ $t$ e,
       1 AS "next_snowflake()", /* o /* i */ next_snowflake() */ 2 AS f, 'a'
       'uuidv7()' AS g -- next_snowflake()
;

kept
SELECT 1 /* /* */ , next_snowflake() -- */

kept
SELECT 1 /* unterminated next_snowflake()

kept
SELECT 'unterminated next_snowflake()

kept
SELECT $x$ next_snowflake() $X$

kept
SELECT N'next_snowflake()', B'1', X'1F', 'it''s next_snowflake()', E'\\', 'next_snowflake()' -- uuidv7()

kept
SELECT 1 AS foo$$next_snowflake, 2 AS "a""next_snowflake()"

kept
SELECT -- next_snowflake()
 1 -- uuidv7()

# A call beside all of these is one.
proxy
SELECT 'next_snowflake()' a, next_snowflake() b, $$uuidv7()$$ c, uuidv7() d, /* next_snowflake() /* x */ */ next_snowflake() e -- uuidv7()

proxy
SELECT E'\'next_snowflake()', next_snowflake(), e'\\', uuidv7(), 'x'
'next_snowflake()'

# What a constant with escapes spells, when it is read again later, is not looked into.
server extended
SELECT U&'d\0061t\+000061', next_snowflake() AS U&"d!0061t" UESCAPE '!'

proxy simple
SELECT U&'d\0061t\+000061', next_snowflake() AS U&"d!0061t" UESCAPE '!'

proxy
SELECT $é$ next_snowflake() $é$, next_snowflake() AS é$1

proxy
SELECT 'a''b', next_snowflake(), '''', uuidv7(), ''

# Comments and forms stay as they are.
same
/* head */ INSERT /* a */ INTO t /* b */ (id, name) -- c
VALUES /* d */ (next_snowflake( /* in */ ), 'ß') /*trace='00-ab;c'*/ ; /* after */

kept
SELECT name, id IS NOT NULL FROM t ORDER BY id DESC LIMIT 1

proxy
SELECT next_snowflake() WHERE NOT (1 > 5 AND 1 < 8) /* keep */

kept
CREATE TABLE "Ünï tbl" (id bigint, "name" text, "next_snowflake" int)

proxy
INSERT INTO "Ünï tbl"(id, "name", "next_snowflake") VALUES (next_snowflake(), 'ß', 3) RETURNING *, "next_snowflake"

kept
SELECT pg_catalog.set_config('search_path', '', false)

kept
SELECT pg_catalog.set_config('search_path', 'public', false)

# Tabs, carriage returns, nothing at all.
proxy escaped
SELECT\tnext_snowflake(\r\n)\r\n,\x0cuuidv7()

kept
;

kept
-- ping

kept
;;  ;

proxy
;SELECT next_snowflake();

# An operator that holds comment starts, jsonb's question marks.
proxy
SELECT 1 +/* */-1, '{"k":1}'::jsonb ? 'k', '{"k":1}'::jsonb ?| ARRAY['k'], next_snowflake(), '{}'::jsonb ?& ARRAY['a'] , 2 - -- x
-1

kept
SELECT 5 */* */2, 'next_snowflake()' ~* 'NEXT', @-5
