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
  database_oid oid NOT NULL,
  registry text
);
ALTER TABLE pgid.config ADD COLUMN IF NOT EXISTS registry text; -- of an older version
CREATE SEQUENCE IF NOT EXISTS pgid.snowflake_last AS bigint MINVALUE 0 MAXVALUE 9007199254740991 START 0 CACHE 1 NO CYCLE;
CREATE SEQUENCE IF NOT EXISTS pgid.snowflake_gate AS bigint MINVALUE 0 START 0 CACHE 1 NO CYCLE;
CREATE TABLE IF NOT EXISTS pgid.snowflake_mover ();
-- Nobody but the owner may have rights here, whatever the default privileges say.
DO $install$ DECLARE g record; BEGIN
  FOR g IN SELECT DISTINCT c.relname, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::pg_catalog.regrole::pg_catalog.text END AS role
      FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
      WHERE c.oid IN ('pgid.config'::pg_catalog.regclass, 'pgid.snowflake_last'::pg_catalog.regclass,
        'pgid.snowflake_gate'::pg_catalog.regclass, 'pgid.snowflake_mover'::pg_catalog.regclass) AND a.grantee <> c.relowner
  LOOP
    EXECUTE pg_catalog.format('REVOKE ALL ON pgid.%I FROM %s', g.relname, g.role);
  END LOOP;
END $install$;
GRANT SELECT ON pgid.config TO PUBLIC;
