-- Blobs whose content is in an object store. Times are milliseconds since the Unix epoch.
CREATE TABLE blob_uses (
    tenant     TEXT   NOT NULL,
    blob       TEXT   NOT NULL,
    kind       TEXT   NOT NULL,
    bytes      BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    used_ms    BIGINT NOT NULL,
    -- `uploading`, `stored` or `removing`.
    state      TEXT   NOT NULL,
    -- The time of the last change of the state.
    changed_ms BIGINT NOT NULL,
    -- The object, as the store tells its versions apart; while it is uploaded, a text that no other upload has.
    tag        TEXT   NOT NULL,
    -- The names of the blob as a JSON list, the latest first.
    names      TEXT   NOT NULL,
    PRIMARY KEY (tenant, blob)
);

-- The order in which blobs expire, and in which what was left half done is looked for.
CREATE INDEX blob_uses_by_use ON blob_uses (state, used_ms);
CREATE INDEX blob_uses_by_change ON blob_uses (state, changed_ms);

-- The sums over blobs that are stored or uploaded. They are changed together with them, and who changes the
-- blobs of a tenant changes its row first.
CREATE TABLE blob_totals (
    tenant     TEXT   NOT NULL PRIMARY KEY,
    blobs      BIGINT NOT NULL,
    bytes      BIGINT NOT NULL
);

-- The id of this database, by which a place in an object store knows that it belongs to it. `place` is 1.
CREATE TABLE blob_database (
    place      BIGINT NOT NULL PRIMARY KEY,
    id         TEXT   NOT NULL
);
