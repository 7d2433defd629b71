-- Runs in the background, from their acceptance until their record is written: the record of each as
-- it is if the server ends before the run does.
CREATE TABLE detached_runs (
    tenant     TEXT   NOT NULL,
    run_id     TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    record     TEXT   NOT NULL,
    PRIMARY KEY (tenant, run_id)
);

-- The names that clients gave to runs in the background, with a digest of the call.
CREATE TABLE run_keys (
    tenant     TEXT   NOT NULL,
    run_key    TEXT   NOT NULL,
    run_id     TEXT   NOT NULL,
    call_digest TEXT  NOT NULL,
    PRIMARY KEY (tenant, run_key)
);
CREATE INDEX run_keys_of_runs ON run_keys (tenant, run_id);

-- The result of a run in the background, as JSON. Its length is part of `bytes`.
ALTER TABLE run_logs ADD COLUMN result TEXT;
