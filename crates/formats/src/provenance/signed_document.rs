//! Signed documents: a DSSE envelope around an in-toto statement, whose predicate is the document.
//!
//! INVARIANT(signed-bytes): the statement is read from the very bytes that the signature covers.

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use crate::protocol::strict;
use crate::provenance::canonical::{canonical, read_canonical};
use crate::provenance::document::{MAX_DOCUMENT, RunDocument};
use crate::provenance::ed25519_keys::{PrivateKey, PublicKey};
use crate::provenance::fault::ProvenanceError;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The type of the signed bytes.
pub(in crate::provenance) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The type of the statement.
pub(in crate::provenance) const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The type of the predicate.
const PREDICATE: &str = "urn:wardian:run-record:1";

/// The name of the subject.
const SUBJECT: &str = "run record";

/// Largest envelope: Base64 takes a third more.
pub const MAX_SIGNED_DOCUMENT: ByteCount = ByteCount::mebibytes(48);

/// Largest statement: the document, and the other members.
const MAX_STATEMENT: ByteCount = ByteCount::bytes(MAX_DOCUMENT.as_u64() + (4 << 10));

/// A signed document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDocument {
    statement: Vec<u8>,
    signature: EnvelopeSignature,
}

/// An envelope, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::provenance) struct Envelope {
    pub(in crate::provenance) payload: String,
    #[serde(rename = "payloadType")]
    pub(in crate::provenance) payload_type: String,
    pub(in crate::provenance) signatures: Vec<EnvelopeSignature>,
}

/// A signature in an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::provenance) struct EnvelopeSignature {
    pub(in crate::provenance) keyid: String,
    pub(in crate::provenance) sig: String,
}

/// A statement about a document, or a skill.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::provenance) struct Statement<P> {
    #[serde(rename = "_type")]
    pub(in crate::provenance) statement_type: String,
    pub(in crate::provenance) subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    pub(in crate::provenance) predicate_type: String,
    pub(in crate::provenance) predicate: P,
}

/// What a statement is about: a document, by the digest of its canonical form, or the package of a skill.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::provenance) struct Subject {
    pub(in crate::provenance) name: String,
    pub(in crate::provenance) digest: SubjectDigest,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::provenance) struct SubjectDigest {
    pub(in crate::provenance) sha256: Digest,
}

/// The members that tell what a statement is.
#[derive(Deserialize)]
struct StatementTypes {
    #[serde(rename = "_type")]
    statement_type: String,
    #[serde(rename = "predicateType")]
    predicate_type: String,
}

impl Subject {
    fn of(document: &RunDocument) -> Result<Self, ProvenanceError> {
        let sha256 = Digest::of(document.text()?.as_bytes());
        Ok(Self { name: SUBJECT.to_owned(), digest: SubjectDigest { sha256 } })
    }
}

impl SignedDocument {
    /// Signs a document.
    ///
    /// # Errors
    ///
    /// The document is too large.
    pub fn sign(document: &RunDocument, key: &PrivateKey) -> Result<Self, ProvenanceError> {
        let statement = canonical(&Statement {
            statement_type: STATEMENT.to_owned(),
            subject: vec![Subject::of(document)?],
            predicate_type: PREDICATE.to_owned(),
            predicate: document,
        })?;
        let statement = statement.into_bytes();
        let sig = BASE64.encode(&key.sign(&covered(&statement)));
        let keyid = key.public().id();
        Ok(Self { statement, signature: EnvelopeSignature { keyid, sig } })
    }

    /// True if a text that is JSON looks like an envelope.
    #[must_use]
    pub fn is_in(text: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct PayloadOnly {
            #[serde(rename = "payloadType")]
            _payload_type: serde::de::IgnoredAny,
        }
        serde_json::from_slice::<PayloadOnly>(text).is_ok()
    }

    /// Reads an envelope. Nothing is verified yet.
    ///
    /// # Errors
    ///
    /// It is too large, no envelope, of another type, or has not exactly one signature.
    pub fn read(text: &[u8]) -> Result<Self, ProvenanceError> {
        if ByteCount::from(text.len()) > MAX_SIGNED_DOCUMENT {
            return Err(ProvenanceError::TooLarge { most: MAX_SIGNED_DOCUMENT });
        }
        let what = "the signed document";
        let read = strict::read(text)
            .map_err(|fault| ProvenanceError::Json { what, problem: fault.to_string() })?;
        let envelope: Envelope = serde_json::from_str(read.text)
            .map_err(|fault| ProvenanceError::Json { what, problem: fault.to_string() })?;
        if envelope.payload_type != PAYLOAD_TYPE {
            return Err(malformed(format!("`payloadType` must be `{PAYLOAD_TYPE}`")));
        }
        let count = envelope.signatures.len();
        let Ok([signature]) = <[EnvelopeSignature; 1]>::try_from(envelope.signatures) else {
            return Err(malformed(format!("it has {count} signatures, but must have exactly one")));
        };
        let statement = BASE64.decode(envelope.payload.as_bytes()).ok();
        let statement =
            statement.ok_or_else(|| malformed("`payload` must be Base64".to_owned()))?;
        Ok(Self { statement, signature })
    }

    /// Verifies the signature.
    ///
    /// # Errors
    ///
    /// It is of another key, or of other bytes.
    pub fn verify(&self, key: &PublicKey) -> Result<(), ProvenanceError> {
        let bytes = BASE64.decode(self.signature.sig.as_bytes()).ok();
        let bytes = bytes.ok_or(ProvenanceError::Signature("it is not Base64"))?;
        if key.is_signature(&covered(&self.statement), &bytes) {
            return Ok(());
        }
        Err(ProvenanceError::Signature(if self.signature.keyid == key.id() {
            "the document or the signature was changed"
        } else {
            "the document was signed with another key"
        }))
    }

    /// The document.
    ///
    /// # Errors
    ///
    /// The statement is malformed, or about something else.
    pub fn document(&self) -> Result<RunDocument, ProvenanceError> {
        if ByteCount::from(self.statement.len()) > MAX_STATEMENT {
            return Err(ProvenanceError::TooLarge { most: MAX_DOCUMENT });
        }
        if let Ok(found) = serde_json::from_slice::<StatementTypes>(&self.statement) {
            if found.statement_type != STATEMENT {
                return Err(malformed(format!("`_type` of the statement must be `{STATEMENT}`")));
            }
            if found.predicate_type != PREDICATE {
                return Err(malformed(format!("`predicateType` must be `{PREDICATE}`")));
            }
        }
        let statement: Statement<RunDocument> = read_canonical("the statement", &self.statement)?;
        let document = RunDocument::read(statement.predicate.text()?.as_bytes())?;
        if statement.subject != [Subject::of(&document)?] {
            return Err(malformed("its subject is not the digest of its document".to_owned()));
        }
        Ok(document)
    }

    /// The envelope.
    ///
    /// # Errors
    ///
    /// It would be too large.
    pub fn text(&self) -> Result<String, ProvenanceError> {
        let text = canonical(&Envelope {
            payload: BASE64.encode(&self.statement),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: vec![self.signature.clone()],
        })?;
        if ByteCount::from(text.len()) > MAX_SIGNED_DOCUMENT {
            return Err(ProvenanceError::TooLarge { most: MAX_SIGNED_DOCUMENT });
        }
        Ok(text)
    }
}

/// The bytes that a signature covers: DSSE's pre-authentication encoding.
pub(in crate::provenance) fn covered(statement: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), statement.len());
    [head.as_bytes(), statement].concat()
}

fn malformed(problem: String) -> ProvenanceError {
    ProvenanceError::Envelope(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_bytes_are_those_of_the_specification() {
        // The example of DSSE, with the type of this format.
        let expected = "DSSEv1 28 application/vnd.in-toto+json 11 hello world";
        assert_eq!(covered(b"hello world"), expected.as_bytes());
    }
}
