-- The names that clients gave to calls that store a blob, with a digest of the call.
CREATE TABLE blob_keys (
    tenant     TEXT   NOT NULL,
    blob_key   TEXT   NOT NULL,
    call_digest TEXT  NOT NULL,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (tenant, blob_key)
);
CREATE INDEX blob_keys_of_tenants ON blob_keys (tenant, created_ms);
CREATE INDEX blob_keys_by_time ON blob_keys (created_ms);
