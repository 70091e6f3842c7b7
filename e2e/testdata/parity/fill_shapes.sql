# Every shape of INSERT that leaves out a column with a default of ours.
proxy
INSERT INTO acct(name) VALUES ('a') RETURNING id, name, note

proxy
INSERT INTO acct (name) VALUES ('a'), ('b'), ('c') RETURNING *

filled
INSERT INTO acct(name) VALUES ('not shown')

filled
INSERT INTO acct(name, note) VALUES ('not shown', 'x'), ('not shown', NULL), (NULL, DEFAULT);

proxy
INSERT INTO doc(title) VALUES ('d') RETURNING id, title

proxy
INSERT INTO doc(title) VALUES ('d'), (NULL), (DEFAULT) RETURNING id, title

filled
INSERT INTO doc(title) VALUES ('uuid')

# DEFAULT in its place, in some rows, in every column, in parentheses.
proxy
INSERT INTO acct VALUES (DEFAULT,'a') RETURNING id, name

proxy
INSERT INTO acct VALUES (DEFAULT,'a'), (7,'b') ON CONFLICT DO NOTHING RETURNING id, name

# Rows of unequal length are an error, whatever is missing in which.
either ready
INSERT INTO acct VALUES (8,'a'), (DEFAULT,'b'), (9, 'c'), (DEFAULT, 'd', DEFAULT), (10, 'e')

proxy once
INSERT INTO acct VALUES (8,'a', 'x'), (DEFAULT,'b', DEFAULT), (9, 'c', NULL), (DEFAULT, DEFAULT, DEFAULT), (10, 'e', 'y') RETURNING *

proxy
INSERT INTO acct(name,id) VALUES ('c',DEFAULT), ('c2',DEFAULT) RETURNING id, name

proxy
INSERT INTO acct(note,id,name) VALUES (DEFAULT,DEFAULT,DEFAULT), ('n',DEFAULT,'d') RETURNING *

proxy
INSERT INTO acct(id) VALUES (DEFAULT) RETURNING *

proxy
INSERT INTO acct(id) VALUES (DEFAULT), (DEFAULT), (DEFAULT) RETURNING *

proxy
INSERT INTO acct VALUES (DEFAULT) RETURNING *

proxy
INSERT INTO acct VALUES (DEFAULT), (DEFAULT) RETURNING *

filled
INSERT INTO acct VALUES (DEFAULT, 'quiet'), (DEFAULT, 'quiet')

proxy
INSERT INTO acct(id, name) VALUES ((DEFAULT), 'p'), (((DEFAULT)), 'q') RETURNING id, name

proxy
INSERT INTO acct(id, name) VALUES (default, 'lower'), (DeFaUlT, 'mixed') RETURNING id, name

proxy
INSERT INTO acct(id,name)VALUES(DEFAULT,'tight'),(DEFAULT,'tight')RETURNING id,name

proxy
INSERT INTO doc VALUES (DEFAULT), (DEFAULT) RETURNING id

proxy
INSERT INTO doc VALUES (uuidv7()), (DEFAULT) RETURNING id

proxy
INSERT INTO acct VALUES (next_snowflake(), 'call'), (DEFAULT, 'default') RETURNING id, name

# An id inside of another value, and the column's own beside it.
proxy
INSERT INTO acct(name) VALUES ('n' || next_snowflake()) RETURNING id, name

proxy
INSERT INTO acct(name, note) VALUES (next_snowflake()::text, uuidv7()::text), (uuidv7()::text, next_snowflake()::text) RETURNING *

proxy
INSERT INTO doc(title) VALUES (next_snowflake()) RETURNING id, title

# DEFAULT VALUES.
filled
INSERT INTO acct DEFAULT VALUES

filled
INSERT INTO acct DEFAULT VALUES RETURNING 0

proxy
INSERT INTO acct DEFAULT VALUES RETURNING *

proxy
INSERT INTO acct AS x DEFAULT VALUES RETURNING x.*, x.id AS again

proxy
INSERT INTO public.acct DEFAULT VALUES ON CONFLICT DO NOTHING RETURNING id

either
INSERT INTO acct OVERRIDING USER VALUE DEFAULT VALUES RETURNING id

proxy
INSERT INTO doc DEFAULT VALUES RETURNING id, title

proxy
insert into doc default/*x*/values returning id

# Aliases, qualified and quoted names, OVERRIDING.
proxy
INSERT INTO acct AS x (name) VALUES ('f') RETURNING x.*

proxy
INSERT INTO acct AS id (name) VALUES ('f') RETURNING id, id.id, id.name

proxy
INSERT INTO acct AS "values" (name) VALUES ('f') RETURNING "values".id

proxy
INSERT INTO acct AS "default" (name) VALUES ('f') RETURNING "default".*

proxy
INSERT INTO public.acct(name) VALUES ('q') RETURNING id, public.acct.name

proxy
INSERT INTO "public"."acct"("name") VALUES ('q') RETURNING "id"

proxy
INSERT INTO Public . ACCT ( NAME ) VALUES ( 'q' ) RETURNING ID

proxy
INSERT INTO "acct" ("name") OVERRIDING USER VALUE VALUES ('g') RETURNING *

proxy
INSERT INTO acct (name) OVERRIDING SYSTEM VALUE VALUES ('g'), ('h') RETURNING *

proxy
INSERT INTO acct OVERRIDING SYSTEM VALUE VALUES (DEFAULT, 'g') RETURNING *

proxy
INSERT INTO acct AS "a b" (name) OVERRIDING USER VALUE VALUES ('g') RETURNING "a b".id

# Comments and spaces wherever there may be any.
proxy
INSERT/*1*/INTO/*2*/acct/*3*/(/*4*/name/*5*/)/*6*/VALUES/*7*/(/*8*/'c'/*9*/)/*10*/,/*11*/(/*12*/'d'/*13*/)/*14*/RETURNING/*15*/id/*16*/

proxy
INSERT INTO acct -- the table (name)
( -- the list )
name -- , id
) -- VALUES ('x')
VALUES -- the rows
( -- one )
'c' -- , DEFAULT
) -- RETURNING name
RETURNING id -- the end

proxy
INSERT INTO acct(name/* /* nested */ , id */) VALUES ('c' /* ) */) RETURNING id

proxy
INSERT INTO acct/*)*/VALUES(/*DEFAULT*/DEFAULT/*,*/,'c'/*'*/)RETURNING id

proxy
INSERT INTO acct(id,name) VALUES (DEFAULT--x
,'c') RETURNING id

proxy
/* leading */ INSERT INTO acct(name) VALUES ('c') /*trace='00-ab;c'*/ RETURNING id /* after */ ;

proxy
-- a line before
INSERT INTO acct DEFAULT -- between
VALUES -- after
RETURNING id

filled
INSERT INTO acct(name) VALUES ('c') -- no end of line

filled
INSERT INTO acct(name) VALUES ('c')/**/;--

proxy
INSERT INTO acct/**/DEFAULT/**/VALUES/**/RETURNING id

# Values that are strings of every kind, with what looks like syntax inside.
proxy
INSERT INTO acct(name, note) VALUES ('it''s', $$) , (DEFAULT$$), (E'a\'b', $x$'$$ DEFAULT VALUES$x$), ('dat', 'a'
' b') RETURNING *

proxy
INSERT INTO acct(name, note) VALUES ('values (', ')'), (B'101', X'1F') RETURNING *

proxy
INSERT INTO acct(name) VALUES ((('deep'))), (('a' || ('b' || ('c')))) RETURNING id, name

# Expressions as values: casts, operators, functions, rows, arrays, subselects.
proxy
INSERT INTO acct(name, note) VALUES (1 + 1, now()::date - now()::date), (CAST('x' AS varchar(3)), upper('y') || lower('Z')) RETURNING *

proxy
INSERT INTO acct(name) VALUES (CASE WHEN true THEN 'then' ELSE 'else' END), (coalesce(NULL, 'co')), (NULLIF('a', 'a')), (greatest('a', 'b')) RETURNING id, name

proxy
INSERT INTO acct(name) VALUES ((SELECT 'scalar')), ((SELECT name FROM other ORDER BY name LIMIT 1)), ((VALUES ('v'))) RETURNING id, name

proxy
INSERT INTO acct(name) VALUES ((SELECT string_agg(name, ',' ORDER BY name) FROM other)) RETURNING id, name

proxy
INSERT INTO acct(name, note) VALUES (ARRAY[1,2]::text, ROW(1,'x')::text), (EXISTS (SELECT 1), 3 IN (1, 2)) RETURNING *

proxy
INSERT INTO acct(name) VALUES (current_user = session_user), (current_schema), (extract(year FROM date '2024-02-29')) RETURNING id, name

proxy
INSERT INTO acct(name) VALUES (('{"a": [1, 2]}'::jsonb -> 'a' ->> 0)), ('a' COLLATE "C"), (interval '1' day) RETURNING id, name

# Explicit values stay what they are.
same once
INSERT INTO acct VALUES (0,'go'), (-1, 'minus'), (1 + 1, 'two'), ('3', 'three'), (4.4, 'four')

same
SELECT id, name FROM acct WHERE id BETWEEN -1 AND 4 ORDER BY id

same
INSERT INTO acct(id,name) VALUES (NULL,'null')

same
INSERT INTO acct VALUES (NULL)

# A NULL among rows that are filled: the row that fails is shown, none is kept.
either ready
INSERT INTO acct(name,id) VALUES ('kept?',DEFAULT), ('d',NULL)

same
SELECT count(*) FROM acct WHERE name = 'kept?'

proxy once
INSERT INTO acct(id, name) VALUES ('5', 'five'), (DEFAULT, 'filled'), (6.4, 'six'), (6.6::numeric, 'seven'), ((SELECT 8), 'taken') ON CONFLICT DO NOTHING RETURNING id, name

# What is stored is what was shown, in rows of their own.
same
SELECT count(*), count(DISTINCT id), bool_and(id < 20 OR id_to_timestamp(id) BETWEEN now() - interval '10 min' AND now() + interval '1 min') FROM acct

same
SELECT count(*), count(DISTINCT id), bool_and(id_to_timestamp(id) BETWEEN now() - interval '10 min' AND now() + interval '1 min') FROM doc
