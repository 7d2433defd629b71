-- Keys of the API. A key itself is not stored, only its digest. Times are milliseconds since the
-- Unix epoch.
CREATE TABLE api_keys (
    prefix       TEXT   NOT NULL PRIMARY KEY,
    digest       TEXT   NOT NULL,
    tenant       TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    scopes       TEXT   NOT NULL,
    created_ms   BIGINT NOT NULL,
    expires_ms   BIGINT,
    revoked_ms   BIGINT,
    last_used_ms BIGINT
);

-- Counts the changes of keys, so that a server notices them by reading one number.
CREATE TABLE key_changes (changes BIGINT NOT NULL);
INSERT INTO key_changes (changes) VALUES (0);

-- Keys of the ids of tenants' blobs, in base64, each with the SHA-256 that it is checked by.
CREATE TABLE blob_id_keys (
    tenant   TEXT NOT NULL PRIMARY KEY,
    id_key   TEXT NOT NULL,
    checksum TEXT NOT NULL
);
