-- Keys of the ids of tenants' blobs, in base64, each with the SHA-256 that it is checked by.
CREATE TABLE blob_id_keys (
    tenant   TEXT NOT NULL PRIMARY KEY,
    id_key   TEXT NOT NULL,
    checksum TEXT NOT NULL
);
