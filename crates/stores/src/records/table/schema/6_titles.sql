-- What people look for when they look for a run: its title, and the text that a search reads, in lower
-- case. Beside the runs, whose rows have the whole record in between.
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

-- The order of lists over all tenants.
CREATE INDEX runs_by_time ON runs (run_id);

-- The program, the arguments and the output of a run as JSON. Its length is part of `bytes`.
ALTER TABLE run_logs ADD COLUMN content TEXT;
