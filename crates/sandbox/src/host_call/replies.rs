//! Encodes replies to a guest: a status byte and a body.

use serde::Serialize;

use wardian_formats::job::message::Refusal;
use wardian_vocabulary::ids::BlobId;

/// An answer to a request that was granted.
pub(crate) fn done(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len().saturating_add(1));
    bytes.push(0);
    bytes.extend_from_slice(body);
    bytes
}

/// The answer to a stored blob.
pub(crate) fn stored(id: &BlobId, size: u64) -> Vec<u8> {
    #[derive(Serialize)]
    struct Stored<'a> {
        id: &'a BlobId,
        size_bytes: u64,
    }
    // Writing two plain fields cannot fail.
    done(&serde_json::to_vec(&Stored { id, size_bytes: size }).unwrap_or_default())
}

/// An answer to a request that was not granted.
pub(crate) fn refused(refusal: &Refusal) -> Vec<u8> {
    #[derive(Serialize)]
    struct Refused<'a> {
        r#type: &'a str,
        message: &'a str,
    }
    let body = Refused { r#type: &refusal.error_type, message: &refusal.message };
    let mut bytes = vec![1];
    bytes.extend(serde_json::to_vec(&body).unwrap_or_default());
    bytes
}
