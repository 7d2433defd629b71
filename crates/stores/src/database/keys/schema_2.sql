-- Keys of tenants, under which the keys of their sessions are kept, in base64, each with the SHA-256
-- that it is checked by.
CREATE TABLE session_tenant_keys (
    tenant     TEXT NOT NULL PRIMARY KEY,
    tenant_key TEXT NOT NULL,
    checksum   TEXT NOT NULL
);
