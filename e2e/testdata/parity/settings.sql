same
SET standard_conforming_strings = off

server
SELECT next_snowflake(), 'a\'b'

server
SELECT next_snowflake(), 'x'

server
INSERT INTO t(id, name) VALUES (next_snowflake(), 'a\\b') RETURNING id, name

same
SELECT 'a\' , next_snowflake()'

same
RESET standard_conforming_strings

proxy
SELECT next_snowflake(), 'a\b', 'x'

# Both in one message.
same simple
SET standard_conforming_strings = off; SELECT next_snowflake(), 'a\'b'

any simple
SET standard_conforming_strings = on; SELECT next_snowflake(), 'a\', 'b'

proxy
SELECT next_snowflake(), 'a\', 'b'

same
BEGIN

same
SET LOCAL standard_conforming_strings = off

server
SELECT next_snowflake(), 'a\'b'

same
COMMIT

proxy
SELECT next_snowflake(), 'a\b'

same
CREATE FUNCTION loosen() RETURNS void LANGUAGE sql SET standard_conforming_strings = off AS 'SELECT'

same
SELECT loosen(), 'a\b'

proxy
SELECT next_snowflake(), 'a\b'

same
SELECT set_config('standard_conforming_strings', 'off', false)

server
SELECT next_snowflake(), 'a\'b'

same
DISCARD ALL

proxy
SELECT next_snowflake(), 'a\b'

# No setting moves what the id means.
same
SET TimeZone = 'Asia/Kathmandu'

fold
SELECT id_to_timestamp('01940000-0000-7000-8000-000000000001')

same
SET DateStyle = 'SQL, DMY'

fold
SELECT id_to_timestamp('01940000-0000-7000-8000-000000000001'), id_to_timestamp(7312345678901234567)

same
SET IntervalStyle = 'iso_8601'

same
SET extra_float_digits = 0

proxy
SELECT next_snowflake(), uuidv7()

same
SET bytea_output = 'escape'

same
SET transform_null_equals = on

same
SELECT next_snowflake() = NULL

same
RESET ALL

same
SET search_path = ''

same
SELECT next_snowflake() FROM pg_catalog.pg_class WHERE false

proxy
SELECT public.next_snowflake()

proxy
INSERT INTO public.acct(name) VALUES ('x') RETURNING id

same
SELECT public.id_to_timestamp(1) = '2024-01-01 00:00:00+00'

same
RESET search_path
