-- Calls of a fleet that wait for a server, until one begins their runs. A server that has claimed one, in its epoch, is
-- about to begin it; in another epoch the claim is over. The order of a call is sealed. Calls wait in the order of the
-- database's clock, in microseconds.
CREATE TABLE queued_runs (
    tenant     TEXT   NOT NULL,
    run_id     TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    record     TEXT   NOT NULL,
    sealed     TEXT   NOT NULL,
    queued_us  BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    server     TEXT,
    epoch      BIGINT,
    PRIMARY KEY (tenant, run_id)
);
CREATE INDEX queued_runs_waiting ON queued_runs (tenant, queued_us, run_id) WHERE server IS NULL;
CREATE INDEX queued_runs_claimed ON queued_runs (server, epoch) WHERE server IS NOT NULL;
CREATE INDEX queued_runs_by_expiry ON queued_runs (expires_ms);

-- A run in progress that somebody has asked to stop.
ALTER TABLE detached_runs ADD COLUMN cancelled BIGINT NOT NULL DEFAULT 0;
CREATE INDEX detached_runs_cancelled ON detached_runs (server, epoch) WHERE cancelled = 1;

-- What a server says of itself, for operators.
ALTER TABLE servers ADD COLUMN host TEXT;
ALTER TABLE servers ADD COLUMN version TEXT;
ALTER TABLE servers ADD COLUMN settings TEXT;
