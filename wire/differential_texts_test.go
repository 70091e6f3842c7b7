package wire_test

// A text is one statement of the random sequences. Values of the ids that it
// shows are all new ones: no text reads an id from a table, so that every id
// that is ever seen must differ from all others.
type text struct {
	sql     string
	params  string // kind of each parameter: i int4, l int8, s text, b bool
	cols    int    // result columns
	changes bool   // may change permanent objects: the databases are made anew afterwards
}

// schema is the content of both databases.
const schema = `
CREATE TABLE t (id int8 PRIMARY KEY DEFAULT next_snowflake(), n int, s text CHECK (s <> 'bad'));
CREATE TABLE u (id uuid PRIMARY KEY DEFAULT uuidv7(), n int NOT NULL);
CREATE TABLE k (n int PRIMARY KEY);
CREATE VIEW v AS SELECT * FROM t;
CREATE FUNCTION speak(i int8) RETURNS int8 LANGUAGE plpgsql VOLATILE AS $$
BEGIN RAISE NOTICE 'spoken'; RETURN i; END $$;
`

// empty takes out what a sequence has left.
const empty = `DELETE FROM t; DELETE FROM u; DELETE FROM k`

// ours mention our functions at sites that are replaced and at others.
var ours = []text{
	{"SELECT next_snowflake(), 'a\\'", "", 2, false},
	{"INSERT INTO v (id, n) VALUES (next_snowflake(), $1)", "i", 0, false},
	{"INSERT INTO t (id, n) VALUES (next_snowflake(), $1), (next_snowflake(), $1 + 1) RETURNING id, n", "i", 2, false},
	{"INSERT INTO t VALUES (next_snowflake(), $1, $2)", "is", 0, false},
	{"INSERT INTO t (id, n) VALUES (next_snowflake(), $1) RETURNING id", "i", 1, false},
	{"INSERT INTO t (n) VALUES ($1) RETURNING id", "i", 1, false},
	{"INSERT INTO t (s, n) VALUES ($2, $1), (DEFAULT, 5) RETURNING n, id", "is", 2, false},
	{"INSERT INTO t VALUES (DEFAULT, $1), (DEFAULT, 6) RETURNING *", "i", 3, false},
	{"INSERT INTO t DEFAULT VALUES RETURNING n", "", 1, false},
	{"INSERT INTO u (n) SELECT $1 WHERE $2 RETURNING *", "ib", 2, false},
	{"INSERT INTO t (n) VALUES (7) ON CONFLICT (id) DO UPDATE SET s = $1", "s", 0, false},
	{"INSERT INTO t (id, n, s) VALUES (DEFAULT, $1, next_snowflake()::text) RETURNING *", "i", 3, false},
	{"INSERT INTO u (id, n) VALUES (uuidv7(), $1) RETURNING *", "i", 2, false},
	{"INSERT INTO t (id, n) SELECT next_snowflake(), $1 RETURNING id", "i", 1, false},
	{"WITH w AS (INSERT INTO t (id, n) VALUES (next_snowflake(), $1) RETURNING n) SELECT * FROM w", "i", 1, false},
	{"SELECT next_snowflake(), $1::int", "i", 2, false},
	{"SELECT next_snowflake()", "", 1, false},
	{"SELECT uuidv7(), next_snowflake(), uuidv7(), next_snowflake()", "", 4, false},
	{"SELECT uuidv7() AS a, next_snowflake()::text, 1 / $1::int", "i", 3, false},
	{"SELECT $1, next_snowflake()", "s", 2, false},
	{"SELECT $2 || 'x', public.next_snowflake(), $1", "ss", 3, false},
	{"SELECT next_snowflake(), pg_typeof($1)", "s", 2, false},
	{"SELECT next_snowflake() > $1", "l", 1, false},
	{"VALUES (next_snowflake(), $2::text, $1::int), (next_snowflake(), NULL, 2)", "is", 3, false},
	{"SELECT next_snowflake() WHERE $1", "b", 1, false},
	{"SELECT speak(next_snowflake())", "", 1, false},
	{"SELECT CASE WHEN $1 THEN next_snowflake() END", "b", 1, false},
	{"SELECT next_snowflake() UNION ALL SELECT next_snowflake()", "", 1, false},
	{"SELECT next_snowflake(), ARRAY[next_snowflake(), next_snowflake()]", "", 2, false},
	{"SELECT next_snowflake() FROM generate_series(1, $1)", "i", 1, false},
	{"SELECT x, next_snowflake() FROM generate_series(1, 5) x", "", 2, false},
	{"SELECT next_snowflake(), generate_series(1, 3)", "", 2, false},
	{"SELECT id_to_timestamp(4194304000), $1::int", "i", 2, false},
	{"SELECT id_to_timestamp(-1)", "", 1, false},
	{"SELECT next_snowflake(), E'\\n' || $1", "s", 2, false},
	{"UPDATE t SET id = next_snowflake(), n = $1", "i", 0, false},
	{"EXPLAIN (COSTS OFF) INSERT INTO t VALUES (next_snowflake(), 1)", "", 1, false},
	{"EXPLAIN (COSTS OFF) SELECT n FROM t WHERE id = next_snowflake()", "", 1, false},
	{"DECLARE c CURSOR FOR SELECT next_snowflake() FROM generate_series(1, 4)", "", 0, false},
	{"PREPARE s1 AS SELECT next_snowflake(), 1", "", 0, false},
	{"PREPARE s2 (int) AS INSERT INTO t VALUES (next_snowflake(), $1) RETURNING id", "", 0, false},
	{"CREATE TEMP TABLE made AS SELECT next_snowflake() AS i", "", 0, false},
	{"DO $$ BEGIN PERFORM next_snowflake(); RAISE NOTICE 'done'; END $$", "", 0, false},
}

// plain have nothing for us.
var plain = []text{
	{"SELECT 1", "", 1, false},
	{"SELECT $1::int, $2::text", "is", 2, false},
	{"SELECT count(*), min(n), max(n) FROM t", "", 3, false},
	{"SELECT n, length(s) FROM t ORDER BY n, 2 LIMIT 5", "", 2, false},
	{"SELECT n FROM u ORDER BY n", "", 1, false},
	{"SELECT n FROM k WHERE n > $1 ORDER BY n", "i", 1, false},
	{"SELECT x FROM generate_series(1, 7) x", "", 1, false},
	{"INSERT INTO k VALUES ($1)", "i", 0, false},
	{"INSERT INTO k VALUES (1), (2)", "", 0, false},
	{"DELETE FROM k", "", 0, false},
	{"", "", 0, false},
	{" ; ", "", 0, false},
	{"FETCH 2 FROM c", "", 1, false},
	{"CLOSE c", "", 0, false},
	{"SHOW standard_conforming_strings", "", 1, false},
	{"DO $$ BEGIN RAISE NOTICE 'hear'; END $$", "", 0, false},
	{"COPY k TO STDOUT", "", 0, false},
	{"EXPLAIN (COSTS OFF) SELECT * FROM k", "", 1, false},
}

// failing fail, most of them in the parser or the analyzer, some when they run.
var failing = []text{
	{"INSERT INTO u VALUES (uuidv7(), NULL)", "", 0, false},
	{"INSERT INTO t VALUES (next_snowflake(), 1, 'bad')", "", 0, false},
	{"SELECT next_snowflake(), 1 / 0", "", 2, false},
	{"SELECT 'é', next_snowflake(), nothing", "", 3, false},
	{"SELECT /* é */ next_snowflake(), uuidv7(), 1 + ", "", 0, false},
	{"SELECT next_snowflake(), $1 + 'x'", "i", 2, false},
	{"SELECT next_snowflake(), $3::int", "iii", 2, false},
	{"SELECT next_snowflake(), $1::int + $1::text", "i", 2, false},
	{"SELECT next_snowflake(1)", "", 1, false},
	{"INSERT INTO missing VALUES (next_snowflake())", "", 0, false},
	{"INSERT INTO t (n, x) VALUES ($1, 1)", "i", 0, false},
	{"INSERT INTO u (n) VALUES (NULL)", "", 0, false},
	{"INSERT INTO t (s, n) VALUES ('é', nothing)", "", 0, false},
	{"INSERT INTO u (n) VALUES ($1, 2)", "i", 0, false},
	{"INSERT INTO t (id, x) VALUES (next_snowflake(), $1)", "i", 0, false},
	{"INSERT INTO t VALUES (next_snowflake(), 1, 's', 4)", "", 0, false},
	{"SELECT 'it\\'s', next_snowflake(), '", "", 0, false},
	{"SELECT 1 / 0", "", 1, false},
	{"SELECT nothing", "", 1, false},
	{"SELEC 1", "", 0, false},
}

// control decide transactions, names and settings.
var control = []text{
	{"BEGIN", "", 0, false},
	{"BEGIN", "", 0, false},
	{"COMMIT", "", 0, false},
	{"COMMIT", "", 0, false},
	{"ROLLBACK", "", 0, false},
	{"SAVEPOINT a", "", 0, false},
	{"ROLLBACK TO a", "", 0, false},
	{"RELEASE a", "", 0, false},
	{"COMMIT AND CHAIN", "", 0, false},
	{"DEALLOCATE s1", "", 0, false},
	{"DEALLOCATE PREPARE s2", "", 0, false},
	{"DEALLOCATE ALL", "", 0, false},
	{"DISCARD ALL", "", 0, false},
	{"DISCARD PLANS", "", 0, false},
	{"DISCARD TEMP", "", 0, false},
	{"PREPARE s1 AS SELECT 5", "", 0, false},
	{"EXECUTE s1", "", 1, false},
	{"EXECUTE s2 (3)", "", 1, false},
	{"EXECUTE s3 (4, 'x')", "", 1, false},
	{"SET standard_conforming_strings = off", "", 0, false},
	{"SET standard_conforming_strings = on", "", 0, false},
	{"SET LOCAL standard_conforming_strings = off", "", 0, false},
	{"SELECT set_config('standard_conforming_strings', 'off', true)", "", 1, false},
	{"SET client_encoding = LATIN1", "", 0, false},
	{"SET client_encoding = UTF8", "", 0, false},
	{"SET client_encoding = SJIS", "", 0, false},
	{"RESET ALL", "", 0, false},
	// Not one without our schema, where a call counts as ours all the same (README).
	{"SET search_path = pg_catalog, public", "", 0, false},
	{"SET log_parameter_max_length_on_error = -1", "", 0, false},
	{"SET plan_cache_mode = force_generic_plan", "", 0, false},
}

// definitions change what names mean.
var definitions = []text{
	{"CREATE TEMP TABLE t (id text, n text, s int)", "", 0, false},
	{"CREATE TEMP TABLE u (id uuid, n int DEFAULT 4)", "", 0, false},
	{"CREATE TEMP VIEW k AS SELECT 5 AS n", "", 0, false},
	{"CREATE TEMP TABLE IF NOT EXISTS t (id int8, n int) ON COMMIT DROP", "", 0, false},
	{"CREATE TEMP TABLE d (id int8 DEFAULT next_snowflake(), n int)", "", 0, false},
	{"INSERT INTO d (n) VALUES (1) RETURNING id", "", 1, false},
	{"SELECT 1 AS id, 2 AS n INTO TEMP t", "", 0, false},
	{"DROP TABLE IF EXISTS pg_temp.t", "", 0, false},
	{"DROP TABLE t CASCADE", "", 0, true},
	{"ALTER TABLE t ADD COLUMN x int", "", 0, true},
	{"ALTER TABLE t ALTER n TYPE text", "", 0, true},
	{"ALTER TABLE t ALTER id DROP DEFAULT", "", 0, true},
	{"ALTER TABLE t ALTER id SET DEFAULT 9", "", 0, true},
	{"ALTER TABLE t ALTER id SET DEFAULT next_snowflake()", "", 0, true},
	{"ALTER TABLE u DROP COLUMN id", "", 0, true},
	{"ALTER TABLE t ADD COLUMN y int8 DEFAULT next_snowflake()", "", 0, true},
	{"ALTER TABLE u RENAME n TO m", "", 0, true},
	{"ALTER TABLE t RENAME TO missing", "", 0, true},
	{"CREATE TABLE missing (id int8 PRIMARY KEY)", "", 0, true},
	{"CREATE RULE r AS ON INSERT TO t DO ALSO INSERT INTO k VALUES (new.n)", "", 0, true},
	{"CREATE FUNCTION pg_temp.next_snowflake() RETURNS int LANGUAGE sql AS 'SELECT 3'", "", 0, false},
	{"CREATE INDEX ON t (n)", "", 0, true},
	{"DROP FUNCTION next_snowflake() CASCADE", "", 0, true},
}

// copies read copy data.
var copies = []text{
	{"COPY k FROM STDIN", "", 0, false},
	{"COPY t (n, s) FROM STDIN", "", 0, false},
	{"COPY k FROM STDIN (FORMAT csv)", "", 0, false},
	{"COPY missing FROM STDIN", "", 0, false},
}
