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

-- The order of lists over all tenants.
CREATE INDEX runs_by_time ON runs (run_id);

-- The longer texts of runs that have some. `bytes` is the sum of their lengths.
CREATE TABLE run_logs (
    tenant     TEXT   NOT NULL,
    run_id     TEXT   NOT NULL,
    bytes      BIGINT NOT NULL,
    -- The output and the log lines, as a JSON list of pieces.
    pieces     TEXT   NOT NULL,
    -- The result of a run in the background, as JSON.
    result     TEXT,
    -- The document of a reproducible run, which can be executed again, in canonical JSON.
    document   TEXT,
    -- The program, the arguments and the output, as JSON.
    content    TEXT,
    PRIMARY KEY (tenant, run_id)
);

-- The sums over both tables. They are changed together with them.
CREATE TABLE run_totals (
    tenant     TEXT   NOT NULL PRIMARY KEY,
    runs       BIGINT NOT NULL,
    log_bytes  BIGINT NOT NULL
);

-- What people look for when they look for a run: its title, and the text that a search reads, in lower
-- case. Separate from the runs, whose rows hold the whole record.
CREATE TABLE run_titles (
    tenant     TEXT   NOT NULL,
    run_id     TEXT   NOT NULL,
    title      TEXT,
    search     TEXT   NOT NULL,
    PRIMARY KEY (tenant, run_id)
);

-- The runs that stored a blob.
CREATE TABLE run_blobs (
    tenant     TEXT   NOT NULL,
    blob_id    TEXT   NOT NULL,
    run_id     TEXT   NOT NULL,
    PRIMARY KEY (tenant, blob_id, run_id)
);
CREATE INDEX run_blobs_of_runs ON run_blobs (tenant, run_id);

-- Servers that have runs in progress. The epoch of a server rises when it starts, and when its lease
-- has ended and another server takes its runs over.
CREATE TABLE servers (
    server     TEXT   NOT NULL PRIMARY KEY,
    epoch      BIGINT NOT NULL,
    lease_ms   BIGINT NOT NULL
);

-- Runs in the background, from their acceptance until their record is written: the record of each as
-- it is if its server ends before the run does. The run is over once its server has another epoch.
CREATE TABLE detached_runs (
    tenant     TEXT   NOT NULL,
    run_id     TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    record     TEXT   NOT NULL,
    server     TEXT   NOT NULL,
    epoch      BIGINT NOT NULL,
    PRIMARY KEY (tenant, run_id)
);

-- The names that clients gave to calls, with a digest of the call. A call has begun a run, or, if
-- `run_id` is null, stored a blob. The name of a run is kept from its start, and from its end on.
CREATE TABLE call_names (
    tenant     TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    run_id     TEXT,
    call_digest TEXT  NOT NULL,
    noted_ms   BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);
CREATE INDEX call_names_of_runs ON call_names (tenant, run_id);
CREATE INDEX call_names_of_tenants ON call_names (tenant, noted_ms);
CREATE INDEX call_names_by_time ON call_names (noted_ms);
