//! The text of a document, signed or not.

use wardian_formats::provenance::{ProvenanceError, PublicKey, RunDocument, SignedDocument};

/// A document that was read.
#[derive(Debug)]
pub(super) struct ReadDocument {
    pub(super) document: RunDocument,
    /// The text that it was read from.
    pub(super) text: Vec<u8>,
    /// Whether it has a signature, and whether that was verified.
    pub(super) signature: SignatureState,
}

/// The state of the signature of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignatureState {
    None,
    Unverified,
    Verified,
}

/// Reads a document, signed or not. With a key, the signature is verified before anything that it
/// covers is read.
pub(super) fn parse(
    text: Vec<u8>,
    key: Option<&PublicKey>,
) -> Result<ReadDocument, ProvenanceError> {
    if !SignedDocument::is_in(&text) {
        let document = RunDocument::read(&text)?;
        if key.is_some() {
            return Err(ProvenanceError::Signature("the document is not signed"));
        }
        return Ok(ReadDocument { document, text, signature: SignatureState::None });
    }
    let signed = SignedDocument::read(&text)?;
    let signature = match key {
        None => SignatureState::Unverified,
        Some(key) => signed.verify(key).map(|()| SignatureState::Verified)?,
    };
    Ok(ReadDocument { document: signed.document()?, text, signature })
}
