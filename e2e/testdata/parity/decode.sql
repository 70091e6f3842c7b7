# id_to_timestamp of a constant may be folded; the result is the function's own.
fold
SELECT id_to_timestamp('3f2b8c10-5a6d-4e7f-9a1b-0c2d3e4f5a6b'::uuid), id_to_timestamp('00000000-0000-0000-0000-000000000000'::uuid), id_to_timestamp('01940000-0000-7000-8000-000000000001'::uuid), id_to_timestamp('ffffffff-ffff-7fff-bfff-ffffffffffff'::uuid)

fold
SELECT id_to_timestamp('01940000-0000-7000-8000-000000000001')

fold
SELECT id_to_timestamp('01940000-0000-7000-8000-000000000001'::uuid) AS t, id_to_timestamp('01940000000070008000000000000001'::uuid)

fold
SELECT id_to_timestamp(7312345678901234567), id_to_timestamp(7312345678901234567::bigint)::text

# These may be folded or not: what comes back is the same.
same
SELECT id_to_timestamp(0), id_to_timestamp(42), id_to_timestamp(9223372036854775807), id_to_timestamp(NULL::bigint)

same
SELECT id_to_timestamp(-1)

same
SELECT id_to_timestamp(-9223372036854775808)

same
SELECT id_to_timestamp(9223372036854775808)

same
SELECT id_to_timestamp('7312345678901234567')

same
SELECT id_to_timestamp('7312345678901234567'::text)

same
SELECT id_to_timestamp('-1'), id_to_timestamp('')

same
SELECT id_to_timestamp('not an id')

same
SELECT id_to_timestamp(NULL)

same
SELECT id_to_timestamp(1.5)

same
SELECT id_to_timestamp(1, 2)

same
SELECT id_to_timestamp()

same
SELECT id_to_timestamp(E'01940000-0000-7000-8000-00000000000\x31')

same
SELECT id_to_timestamp(' 01940000-0000-7000-8000-000000000001 ')

same
SELECT id_to_timestamp('{01940000-0000-7000-8000-000000000001}')

same
SELECT id_to_timestamp('{01940000-0000-7000-8000-000000000001}'::uuid)

same
SELECT id_to_timestamp('01940000-0000-7000-8000-000000000001'::text)

same
SELECT id_to_timestamp('c232ab00-9414-11ec-b3c8-9f6bdeced846')

same
SELECT id_to_timestamp('1ec9414c-232a-6b00-b3c8-9f6bdeced846'::uuid)

same
SELECT id_to_timestamp('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'::uuid)

same
SELECT id_to_timestamp('01ARZ3NDEKTSV4RRFFQ69G5FAV')

same
SELECT id_to_timestamp('01arz3ndektsv4rrffq69g5fav')

same
SELECT id_to_timestamp('7ZZZZZZZZZZZZZZZZZZZZZZZZZ'), id_to_timestamp('80000000000000000000000000')

same
SELECT id_to_timestamp('c232ab00-9414-11ec-33c8-9f6bdeced846'::uuid), id_to_timestamp('017f22e2-79b0-7cc3-58c4-dc0c0c07398f'::uuid)

same
SELECT id_to_timestamp('017f22e2-79b0-8cc3-98c4-dc0c0c07398f'::uuid), id_to_timestamp('017f22e2-79b0-2cc3-98c4-dc0c0c07398f'::uuid)

same
SELECT id_to_timestamp(0x10)

same
SELECT id_to_timestamp(1_000_000)

same
SELECT id_to_timestamp(1+1), id_to_timestamp(+5), id_to_timestamp((7)), id_to_timestamp(- 5)

same
SELECT id_to_timestamp(7::int), id_to_timestamp(7::smallint), id_to_timestamp(CAST('7' AS bigint)), id_to_timestamp(bigint '7')

same
SELECT id_to_timestamp(7::numeric)

same
SELECT id_to_timestamp('7'::varchar), id_to_timestamp('7'::unknown)

same
SELECT public.id_to_timestamp(7), "id_to_timestamp"(8), Id_To_Timestamp ( 9 )

same
SELECT id_to_timestamp(id) IS NULL FROM (SELECT 7::bigint AS id) x

same
SELECT * FROM id_to_timestamp(7)

same
SELECT * FROM id_to_timestamp(7) AS x(y)

same
SELECT id_to_timestamp(7) FROM generate_series(1,2) WHERE id_to_timestamp(8) > '2000-01-01' ORDER BY id_to_timestamp(9)

same
SELECT 1 FETCH FIRST (id_to_timestamp(7) IS NULL)::int ROWS ONLY

same
SELECT extract(year FROM id_to_timestamp(7312345678901234567)), date_trunc('day', id_to_timestamp(7312345678901234567)), id_to_timestamp(7312345678901234567)::date

same
SELECT id_to_timestamp(7) + interval '1 day' AS tomorrow, id_to_timestamp(7) - id_to_timestamp(4194304000)

same
SELECT id_to_timestamp(7312345678901234567) AT TIME ZONE 'UTC', id_to_timestamp(7) COLLATE "C"

same
SELECT CASE WHEN true THEN id_to_timestamp(7) END, COALESCE(NULL, id_to_timestamp(7)), (SELECT id_to_timestamp(7)), ARRAY[id_to_timestamp(7)]

same
SELECT id_to_timestamp(7), nope

same
SELECT 'ü', id_to_timestamp(7312345678901234567), id_to_timestamp('01940000-0000-7000-8000-000000000001'::uuid), nope

same
SELECT id_to_timestamp(7) = 5

same
INSERT INTO t(n) VALUES (extract(year FROM id_to_timestamp(7312345678901234567))) RETURNING n

same
UPDATE t SET n = 5 WHERE id_to_timestamp(7312345678901234567) > '2000-01-01' RETURNING n

same
DELETE FROM t WHERE id_to_timestamp(7) > now() RETURNING n

same
SELECT id_to_timestamp(7) GROUP BY id_to_timestamp(7)

same
SELECT id_to_timestamp(7) FROM other GROUP BY id_to_timestamp(7)

same
SELECT name, id_to_timestamp(7) FROM other GROUP BY 1, id_to_timestamp(7) ORDER BY 1

same
SELECT DISTINCT id_to_timestamp(7) FROM other ORDER BY id_to_timestamp(7)

same
SELECT DISTINCT ON (id_to_timestamp(7)) name FROM other ORDER BY id_to_timestamp(7), name

same
SELECT 1 FROM other ORDER BY id_to_timestamp(7), id_to_timestamp('2')

same
EXPLAIN SELECT id_to_timestamp(7)

same
SELECT id_to_timestamp(next_snowflake()) BETWEEN now() - interval '10 min' AND now() + interval '1 min'

same
SELECT id_to_timestamp(uuidv7()) BETWEEN now() - interval '10 min' AND now() + interval '1 min'

same
SELECT id_to_timestamp(next_snowflake()::text) BETWEEN now() - interval '10 min' AND now() + interval '1 min'

same
VALUES (id_to_timestamp(7)), (id_to_timestamp(8))

same
SELECT x.* FROM (VALUES (id_to_timestamp(7))) x

same
TABLE other

same
SELECT id_to_timestamp(7) UNION SELECT id_to_timestamp(7)

same
SELECT id_to_timestamp(7)::timestamp::text, id_to_timestamp(7)::time

# A parameter is no constant.
same bind "7"
SELECT id_to_timestamp($1)

same types 20 bind "7312345678901234567"
SELECT id_to_timestamp($1)

same types 2950 bind "01940000-0000-7000-8000-000000000001"
SELECT id_to_timestamp($1)

same types 20 bind "1"
SELECT id_to_timestamp(7) + $1 * interval '1 day'

same bind "2000-01-01"
SELECT id_to_timestamp(7) > $1

proxy
SELECT next_snowflake(), id_to_timestamp(7), uuidv7(), id_to_timestamp('01940000-0000-7000-8000-000000000001'::uuid) AS id_to_timestamp
