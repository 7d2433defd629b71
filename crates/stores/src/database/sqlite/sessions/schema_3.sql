-- The number of the cell in whose state each cell began; 0 for a new interpreter. Before, cells were only known to follow
-- each other.
ALTER TABLE session_cells ADD COLUMN began_after BIGINT NOT NULL DEFAULT 0;
UPDATE session_cells SET began_after = number - 1;
