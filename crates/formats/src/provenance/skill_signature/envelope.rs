//! The signature that `wardian skills publish --sign` makes: a DSSE envelope around an in-toto statement.
//!
//! The subject of the statement is the package, by its SHA-256, for tools that know in-toto. Its predicate is the claim,
//! which a server can check when the package is long gone.

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use crate::protocol::strict;
use crate::provenance::canonical::{canonical, read_canonical};
use crate::provenance::ed25519_keys::PrivateKey;
use crate::provenance::fault::ProvenanceError;
use crate::provenance::signed_document::{
    Envelope, EnvelopeSignature, PAYLOAD_TYPE, STATEMENT, Statement, Subject, SubjectDigest,
    covered,
};
use crate::provenance::skill_signature::claim::SkillClaim;
use crate::provenance::skill_signature::skill_key::SkillKey;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Largest file of signatures, and largest envelope.
pub const MAX_SIGNATURES_SIZE: ByteCount = ByteCount::kibibytes(256);

/// The type of the predicate.
const PREDICATE: &str = "urn:wardian:skill:1";

/// A signed statement about a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SkillEnvelope(Envelope);

impl SkillEnvelope {
    /// Signs a claim. `package` is the digest of the package that has the files.
    ///
    /// # Errors
    ///
    /// The claim has no canonical form.
    pub fn sign(
        claim: &SkillClaim,
        package: Digest,
        key: &PrivateKey,
    ) -> Result<Self, ProvenanceError> {
        let statement = canonical(&Statement {
            statement_type: STATEMENT.to_owned(),
            subject: vec![Subject {
                name: claim.to_string(),
                digest: SubjectDigest { sha256: package },
            }],
            predicate_type: PREDICATE.to_owned(),
            predicate: claim,
        })?;
        let sig = BASE64.encode(&key.sign(&covered(statement.as_bytes())));
        Ok(Self(Envelope {
            payload: BASE64.encode(statement.as_bytes()),
            payload_type: PAYLOAD_TYPE.to_owned(),
            signatures: vec![EnvelopeSignature { keyid: key.public().id(), sig }],
        }))
    }

    /// Reads an envelope. Nothing is verified yet.
    ///
    /// # Errors
    ///
    /// It is too large, or no envelope.
    pub fn read(text: &[u8]) -> Result<Self, ProvenanceError> {
        if ByteCount::from(text.len()) > MAX_SIGNATURES_SIZE {
            return Err(ProvenanceError::TooLarge { most: MAX_SIGNATURES_SIZE });
        }
        let what = "the signature";
        let json = |problem: String| ProvenanceError::Json { what, problem };
        let read = strict::read(text).map_err(|fault| json(fault.to_string()))?;
        serde_json::from_str(read.text).map_err(|fault| json(fault.to_string()))
    }

    /// The envelope as JSON.
    ///
    /// # Errors
    ///
    /// It has no canonical form.
    pub fn text(&self) -> Result<String, ProvenanceError> {
        canonical(&self.0)
    }

    /// The id that the envelope gives for its key. Anybody can write any id.
    #[must_use]
    pub fn key_id(&self) -> &str {
        let [signature] = self.0.signatures.as_slice() else { return "" };
        &signature.keyid
    }

    /// The digest of the package that the statement is about. Nothing is verified.
    ///
    /// # Errors
    ///
    /// The statement is malformed.
    pub fn package(&self) -> Result<Digest, ProvenanceError> {
        let (statement, _) = self.statement()?;
        let [subject] = statement.subject.as_slice() else {
            return Err(ProvenanceError::Envelope("it must have one subject".to_owned()));
        };
        Ok(subject.digest.sha256)
    }

    /// The claim. It is worth something if the envelope [is signed by](Self::is_signed_by) a trusted key.
    ///
    /// # Errors
    ///
    /// The statement is malformed, or about something else.
    pub fn claim(&self) -> Result<SkillClaim, ProvenanceError> {
        Ok(self.statement()?.0.predicate)
    }

    /// True if the key has signed the envelope.
    #[must_use]
    pub fn is_signed_by(&self, key: &SkillKey) -> bool {
        let [signature] = self.0.signatures.as_slice() else { return false };
        let statement = BASE64.decode(self.0.payload.as_bytes());
        let bytes = BASE64.decode(signature.sig.as_bytes());
        let (Ok(statement), Ok(bytes)) = (statement, bytes) else { return false };
        self.0.payload_type == PAYLOAD_TYPE && key.is_signature(&covered(&statement), &bytes)
    }

    /// The statement, and its bytes.
    fn statement(&self) -> Result<(Statement<SkillClaim>, Vec<u8>), ProvenanceError> {
        let malformed = |problem: &str| ProvenanceError::Envelope(problem.to_owned());
        let bytes = BASE64.decode(self.0.payload.as_bytes()).ok();
        let bytes = bytes.ok_or_else(|| malformed("`payload` must be Base64"))?;
        let statement: Statement<SkillClaim> = read_canonical("the statement", &bytes)?;
        if statement.statement_type != STATEMENT || statement.predicate_type != PREDICATE {
            return Err(malformed("its statement is not about a skill"));
        }
        Ok((statement, bytes))
    }
}
