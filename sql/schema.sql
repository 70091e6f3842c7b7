CREATE SCHEMA IF NOT EXISTS pgid;
GRANT USAGE ON SCHEMA pgid TO PUBLIC;
CREATE TABLE IF NOT EXISTS pgid.config (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  version integer NOT NULL,
  epoch_ms bigint NOT NULL,
  layout text NOT NULL,
  schema text NOT NULL,
  function_node integer NOT NULL,
  system_identifier bigint,
  database_oid oid NOT NULL
);
REVOKE ALL ON pgid.config FROM PUBLIC;
GRANT SELECT ON pgid.config TO PUBLIC;
CREATE SEQUENCE IF NOT EXISTS pgid.snowflake_last AS bigint MINVALUE 0 MAXVALUE 9007199254740991 START 0 CACHE 1 NO CYCLE;
CREATE SEQUENCE IF NOT EXISTS pgid.snowflake_gate AS bigint MINVALUE 0 START 0 CACHE 1 NO CYCLE;
REVOKE ALL ON SEQUENCE pgid.snowflake_last, pgid.snowflake_gate FROM PUBLIC;
SELECT pg_catalog.setval('pgid.snowflake_last', 0) WHERE pg_catalog.pg_sequence_last_value('pgid.snowflake_last') IS NULL;
SELECT pg_catalog.setval('pgid.snowflake_gate', 0) WHERE pg_catalog.pg_sequence_last_value('pgid.snowflake_gate') IS NULL;
CREATE TABLE IF NOT EXISTS pgid.snowflake_mover ();
REVOKE ALL ON pgid.snowflake_mover FROM PUBLIC;
