-- The time from which on the name of a run is kept: its start, and from its end on that.
ALTER TABLE run_keys ADD COLUMN noted_ms BIGINT NOT NULL DEFAULT 0;
UPDATE run_keys SET noted_ms = COALESCE(
    (SELECT started_ms FROM runs
     WHERE runs.tenant = run_keys.tenant AND runs.run_id = run_keys.run_id), 0);
CREATE INDEX run_keys_of_tenants ON run_keys (tenant, noted_ms);
CREATE INDEX run_keys_by_time ON run_keys (noted_ms);
