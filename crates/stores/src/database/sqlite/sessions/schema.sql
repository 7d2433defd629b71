-- Sessions: interpreters that several calls use. Times are milliseconds since the Unix epoch. The times
-- of sessions decide when they end: `expires_ms` is moved by each use.
CREATE TABLE sessions (
    session_id  TEXT   NOT NULL PRIMARY KEY,
    tenant      TEXT   NOT NULL,
    -- A text for people.
    label       TEXT,
    -- The digest of the image that its first cell begins with.
    image       TEXT   NOT NULL,
    -- How its guest is made, as JSON.
    setup       TEXT   NOT NULL,
    state       TEXT   NOT NULL,
    created_ms  BIGINT NOT NULL,
    used_ms     BIGINT NOT NULL,
    idle_ms     BIGINT NOT NULL,
    max_age_ms  BIGINT NOT NULL,
    expires_ms  BIGINT NOT NULL,
    -- The number of the last cell.
    cells       BIGINT NOT NULL,
    -- The checkpoint that it is at.
    head        TEXT,
    -- 1 if the state at that checkpoint has been continued, or may be elsewhere.
    must_reseed BIGINT NOT NULL,
    -- Bytes of the label and the setup.
    bytes       BIGINT NOT NULL
);
CREATE INDEX sessions_of_tenants ON sessions (tenant, state, created_ms, session_id);
CREATE INDEX sessions_by_end ON sessions (state, expires_ms);

-- The keys that a session has: its own, and those of the sessions whose packs it needs. Each is wrapped
-- for this session under the key of its tenant.
CREATE TABLE session_keys (
    session_id  TEXT   NOT NULL,
    origin      TEXT   NOT NULL,
    wrapped     TEXT   NOT NULL,
    PRIMARY KEY (session_id, origin)
);
CREATE INDEX session_keys_of_origins ON session_keys (origin);

-- The calls in sessions.
CREATE TABLE session_cells (
    session_id  TEXT   NOT NULL,
    number      BIGINT NOT NULL,
    source      TEXT,
    state       TEXT   NOT NULL,
    result      TEXT,
    fuel        BIGINT,
    checkpoint  TEXT,
    began_ms    BIGINT NOT NULL,
    -- What it counts in the quota of its tenant.
    bytes       BIGINT NOT NULL,
    PRIMARY KEY (session_id, number)
);
CREATE INDEX session_cells_running ON session_cells (session_id) WHERE state = 'running';

-- The states after cells. A fork has the one that it was made of, with the pack of its origin.
CREATE TABLE session_checkpoints (
    session_id  TEXT   NOT NULL,
    checkpoint  TEXT   NOT NULL,
    cell        BIGINT NOT NULL,
    parent      TEXT,
    name        TEXT,
    made_ms     BIGINT NOT NULL,
    origin      TEXT   NOT NULL,
    PRIMARY KEY (session_id, checkpoint)
);
CREATE INDEX session_checkpoints_in_order ON session_checkpoints (session_id, cell);
CREATE INDEX session_checkpoints_of_packs ON session_checkpoints (origin, checkpoint);
-- Those that may be thinned out: few, however many are kept.
CREATE INDEX session_checkpoints_to_thin ON session_checkpoints (session_id, cell)
    WHERE name IS NULL AND cell % 10 <> 0;

-- The packs, named by the checkpoint that made each. A delta continues the pack that it is based on. A
-- pack stays while a checkpoint, or a pack that stays, needs it.
CREATE TABLE session_packs (
    origin      TEXT   NOT NULL,
    checkpoint  TEXT   NOT NULL,
    tenant      TEXT   NOT NULL,
    base_origin TEXT,
    base_checkpoint TEXT,
    sequence    BIGINT NOT NULL,
    base_digest TEXT,
    digest      TEXT   NOT NULL,
    size        BIGINT NOT NULL,
    -- Bytes of the file.
    stored      BIGINT NOT NULL,
    PRIMARY KEY (origin, checkpoint)
);
CREATE INDEX session_packs_of_bases ON session_packs (base_origin, base_checkpoint);

-- The bytes of packs, cells and sessions of a tenant. Changed together with them.
CREATE TABLE session_totals (
    tenant      TEXT   NOT NULL PRIMARY KEY,
    bytes       BIGINT NOT NULL
);
