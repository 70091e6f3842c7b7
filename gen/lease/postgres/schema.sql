-- The registry of node numbers: one head, and a record for each number that was
-- ever given out. Nobody but the owner may use it until the owner grants that.
DO $do$ BEGIN
  -- CREATE SCHEMA IF NOT EXISTS wants a right on the database even where it is.
  IF pg_catalog.to_regnamespace('pgid') IS NULL THEN
    CREATE SCHEMA pgid;
    GRANT USAGE ON SCHEMA pgid TO PUBLIC;
  END IF;
END $do$;
CREATE TABLE IF NOT EXISTS pgid.registry (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  id text NOT NULL,
  era text NOT NULL,
  server text NOT NULL,
  floor_ms bigint NOT NULL,
  wait_ms bigint NOT NULL,
  ready timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS pgid.node (
  node integer PRIMARY KEY CHECK (node BETWEEN 0 AND 1023),
  kind text NOT NULL CHECK (kind IN ('lease', 'functions', 'free')),
  token text NOT NULL CHECK (token <> ''),
  holder text NOT NULL,
  mark_ms bigint NOT NULL,
  every_ms bigint NOT NULL,
  ttl_ms bigint NOT NULL,
  since timestamptz NOT NULL,
  until timestamptz NOT NULL
) WITH (fillfactor = 50);
