-- The document of a reproducible run, which can be executed again, in canonical JSON. Its length is
-- part of `bytes`.
ALTER TABLE run_logs ADD COLUMN document TEXT;
