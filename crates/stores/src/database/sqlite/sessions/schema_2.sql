-- The session and the checkpoint that a session was forked from.
ALTER TABLE sessions ADD COLUMN forked_session TEXT;
ALTER TABLE sessions ADD COLUMN forked_checkpoint TEXT;

-- The state in which a cell waits for its caller, or has waited until now, and what it has asked, as JSON. A
-- pack stays while such a cell needs it.
ALTER TABLE session_cells ADD COLUMN parked TEXT;
ALTER TABLE session_cells ADD COLUMN asked TEXT;
CREATE INDEX session_cells_waiting ON session_cells (session_id) WHERE state = 'waiting';
CREATE INDEX session_cells_of_packs ON session_cells (session_id, parked) WHERE parked IS NOT NULL;

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
