-- Records of runs. Ids of runs sort by time, so the primary key is the order of lists, and the
-- order in which records expire. Times are milliseconds since the Unix epoch.
CREATE TABLE runs (
    tenant     TEXT   NOT NULL,
    run_id     TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    skill      TEXT,
    version    TEXT,
    outcome    TEXT   NOT NULL,
    error_type TEXT,
    started_ms BIGINT NOT NULL,
    duration_us BIGINT NOT NULL,
    log_bytes  BIGINT NOT NULL,
    -- All of the record, as JSON.
    record     TEXT   NOT NULL,
    PRIMARY KEY (tenant, run_id)
);

-- The output and the log lines of runs that have some, as a JSON list of pieces.
CREATE TABLE run_logs (
    tenant     TEXT   NOT NULL,
    run_id     TEXT   NOT NULL,
    bytes      BIGINT NOT NULL,
    pieces     TEXT   NOT NULL,
    PRIMARY KEY (tenant, run_id)
);

-- The sums over both tables. They are changed together with them.
CREATE TABLE run_totals (
    tenant     TEXT   NOT NULL PRIMARY KEY,
    runs       BIGINT NOT NULL,
    log_bytes  BIGINT NOT NULL
);
