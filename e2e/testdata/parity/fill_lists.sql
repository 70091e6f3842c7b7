# Where the list of a SELECT ends, to which a column is added: words that are
# names, operators and keywords by turns.
proxy
INSERT INTO acct(name) SELECT 'a' ON CONFLICT DO NOTHING RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS "on" ON CONFLICT DO NOTHING RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS on ON CONFLICT (id) DO NOTHING RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS returning RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS from WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS where WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS limit LIMIT 1 RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS offset OFFSET 0 RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS fetch FETCH FIRST ROW ONLY RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS union UNION ALL SELECT 'b' AS all UNION ALL SELECT 'c' AS select RETURNING id, name

proxy
INSERT INTO acct(name, note) SELECT 'a' AS as, 'b' AS from RETURNING id, name, note

proxy
INSERT INTO acct(name) SELECT 'a' AS for RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS window RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS having RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS into RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS group RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS order RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS case RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS end WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS values WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS distinct WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS intersect RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' AS except RETURNING id, name

# Names without AS.
proxy
INSERT INTO acct(name) SELECT 'a' label RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' "from" RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' "union" UNION ALL SELECT 'b' "limit" RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' values RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' conflict ON CONFLICT DO NOTHING RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' distinct UNION ALL SELECT 'b' all RETURNING id, name

# Keywords within expressions.
proxy
INSERT INTO acct(name) SELECT 'a' IS DISTINCT FROM 'b' RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' IS NOT DISTINCT FROM 'b' WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' IS DISTINCT FROM 'b' AS distinct WHERE 1 IS DISTINCT FROM 2 RETURNING id, name

proxy
INSERT INTO acct(name) SELECT extract(year FROM date '2024-02-29') RETURNING id, name

proxy
INSERT INTO acct(name) SELECT substring('abc' FROM 2 FOR 1) || trim(both FROM ' x ') || overlay('abc' placing 'x' FROM 2) || position('a' IN 'b') RETURNING id, name

proxy
INSERT INTO acct(name) SELECT CASE WHEN 1 = 1 THEN 'from' ELSE CASE 'x' WHEN 'y' THEN 'z' END END RETURNING id, name

proxy
INSERT INTO acct(name) SELECT CASE WHEN true THEN 'a' END AS end WHERE CASE WHEN true THEN true END RETURNING id, name

proxy
INSERT INTO acct(name) SELECT CASE WHEN true THEN 'a' END "end" RETURNING id, name

proxy
INSERT INTO acct(name) SELECT CASE (SELECT 1) WHEN 1 THEN (SELECT 'x' WHERE true) END UNION ALL SELECT (SELECT 'y' LIMIT 1) RETURNING id, name

any ready
INSERT INTO acct(name) SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY 'a'::text) RETURNING id, name

any ready
INSERT INTO acct(name) SELECT count(*) FILTER (WHERE true) OVER () RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' LIKE ANY ('{a,b}'::text[]) AND (date '2024-01-01', date '2024-01-02') OVERLAPS (date '2024-01-01', date '2024-01-03') RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' IS NORMALIZED WHERE 'a' IS NFC NORMALIZED RETURNING id, name

proxy
INSERT INTO acct(name) SELECT interval '1' day RETURNING id, name

proxy
INSERT INTO acct(name) SELECT interval '1 02:03' day to second WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT timestamp '2024-02-29 10:00' AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo' RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' COLLATE "C" WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' OPERATOR(pg_catalog.||) 'b' WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a' LIKE 'b' ESCAPE 'x' WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 1 BETWEEN SYMMETRIC 2 AND 3 AND true IS UNKNOWN OR NOT false RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 3 IN (1, 2) RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 1 = ANY (ARRAY[1, 2]) AND 3 <> ALL ('{1,2}'::int[]) RETURNING id, name

proxy
INSERT INTO acct(name) SELECT EXISTS (SELECT FROM other WHERE true LIMIT 1) WHERE EXISTS (SELECT 1) RETURNING id, name

proxy
INSERT INTO acct(name) SELECT ARRAY(SELECT name FROM other ORDER BY 1)::text RETURNING id, name

proxy
INSERT INTO acct(name) SELECT (ARRAY['a', 'b'])[1] WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT ROW(1, 'x')::text RETURNING id, name

proxy
INSERT INTO acct(name) SELECT (1, 'x')::text AS row WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT current_date - current_date WHERE true RETURNING id, name

either ready
INSERT INTO acct(name) SELECT 'from' 'x' RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a'
' where' WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT $$from$$ || E' where ' || U&' limit ' || $x$ union $x$ WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT -- from
'a' /* where */ WHERE /* union */ true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a'WHERE true RETURNING id, name

proxy
INSERT INTO acct(name)SELECT(1)UNION ALL SELECT(2)RETURNING id, name

either ready
INSERT INTO acct(name) SELECT 1UNION ALL SELECT'b'RETURNING 1

proxy
INSERT INTO acct(name) SELECT 'a'"label"RETURNING id, name

proxy
INSERT INTO acct(name) SELECT .5 WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 1. WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 5::numeric(10,2)::text WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT now()::timestamp(0) IS NOT NULL RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'x'::varchar(3) "varchar" RETURNING id, name

proxy
INSERT INTO acct(name) SELECT '5'::double precision WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT '10:00'::time without time zone WHERE true RETURNING id, name

proxy
INSERT INTO acct(name) SELECT 'a'::character varying UNION ALL SELECT 'b'::text RETURNING id, name

# Arms in parentheses, with what belongs to them.
proxy
INSERT INTO acct(name) (SELECT 'a') UNION ALL (SELECT 'b') RETURNING id, name

proxy
INSERT INTO acct(name) ((SELECT 'a') UNION ALL ((SELECT 'b' WHERE true))) RETURNING id, name

proxy
INSERT INTO acct(name) (SELECT 'a' LIMIT 1) UNION ALL (SELECT 'b' WHERE false) UNION ALL SELECT 'c' RETURNING id, name

any ready
INSERT INTO acct(name) (SELECT 'a' ORDER BY 1 LIMIT 1) UNION ALL SELECT 'b' RETURNING id, name

any ready
INSERT INTO acct(name) (WITH y AS (SELECT 1) SELECT 'a') UNION ALL SELECT 'b' RETURNING id, name

any ready
INSERT INTO acct(name) WITH y AS (SELECT 'y' AS v) SELECT (SELECT v FROM y) UNION ALL SELECT 'b' RETURNING id, name

any ready
INSERT INTO acct(name) (VALUES ('a')) UNION ALL SELECT 'b' RETURNING id, name

either ready
INSERT INTO acct(name) SELECT 'a' UNION ALL TABLE other RETURNING name IS NOT NULL

# The same with no list of columns, and with one that names all.
same
CREATE TABLE tail (a text, b text DEFAULT 'b', id bigint DEFAULT next_snowflake())

proxy
INSERT INTO tail SELECT 'a' AS from WHERE true RETURNING *

proxy
INSERT INTO tail SELECT 'a' AS from, 'x' AS where UNION ALL SELECT 'b', NULL RETURNING *

proxy
INSERT INTO tail(b) SELECT 'a' IS DISTINCT FROM 'b' RETURNING *

proxy
INSERT INTO tail AS "select" SELECT 'a' ON CONFLICT DO NOTHING RETURNING "select".*

proxy
INSERT INTO tail AS x OVERRIDING USER VALUE SELECT 'a' RETURNING x.*

proxy
INSERT INTO tail OVERRIDING SYSTEM VALUE (SELECT 'a', 'b') RETURNING *
