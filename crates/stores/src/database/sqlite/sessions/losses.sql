-- 0 until it is known that the file of the pack survives a loss of power.
ALTER TABLE session_packs ADD COLUMN is_settled BIGINT NOT NULL DEFAULT 1;
CREATE INDEX session_packs_unsettled ON session_packs (is_settled) WHERE is_settled = 0;

-- 1 if a loss of power may have undone cells, until its next caller was told.
ALTER TABLE sessions ADD COLUMN may_have_gone_back BIGINT NOT NULL DEFAULT 0;

-- The server that uses the file: a row from its start until all that it has changed survives a loss of
-- power, at its end.
CREATE TABLE session_lives (
    -- Names the time since the machine was started, if that has a name.
    boot        TEXT,
    -- 1 if a loss of power may undo ends of cells.
    may_lose    BIGINT NOT NULL
);
