//! The network record of a run of the command line: made next to the run, or read for a repetition.

use wardian_egress::scripted::NetworkScript;
use wardian_formats::provenance::{DocumentBlob, NETWORK_KIND, NetworkDocument, ProvenanceError};
use wardian_stores::blobs::content::blob_id::BlobHasher;
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::units::ByteCount;

/// A network record, and the blob that it is.
#[derive(Debug)]
pub struct NetworkRecord {
    /// What was exchanged.
    pub document: NetworkDocument,
    /// Its canonical text.
    pub text: String,
    /// The blob with this text.
    pub blob: DocumentBlob,
}

impl NetworkRecord {
    /// Reads a network record from its canonical text.
    ///
    /// # Errors
    ///
    /// It is not a network record.
    pub fn read(text: &[u8]) -> Result<Self, ProvenanceError> {
        Self::of(NetworkDocument::read(text)?)
    }

    /// The record of these exchanges.
    pub(crate) fn of(document: NetworkDocument) -> Result<Self, ProvenanceError> {
        let text = document.text()?;
        let malformed =
            |error: &dyn std::fmt::Display| ProvenanceError::Malformed(error.to_string());
        let kind = BlobKind::parse(NETWORK_KIND).map_err(|error| malformed(&error))?;
        let mut hasher = BlobHasher::new(&kind);
        hasher.update(text.as_bytes());
        let blob = DocumentBlob {
            id: hasher.finish(),
            kind: NETWORK_KIND.to_owned(),
            size_bytes: ByteCount::from(text.len()).as_u64(),
            name: None,
            other_names: Vec::new(),
            paths: Vec::new(),
        };
        Ok(Self { document, text, blob })
    }
}

/// What is known of the network of a run that is over.
#[derive(Debug, Default)]
pub(crate) struct NetworkEnding {
    /// What it exchanged with the world, if that was recorded.
    pub record: Option<NetworkRecord>,
    /// True if it exchanged more than a record has room for.
    pub(crate) is_too_much: bool,
    /// What a repetition asked for that its record does not have, and what it did not ask for.
    pub differences: Vec<String>,
}

impl NetworkEnding {
    /// The end of a run with this network, if it was recorded or replayed.
    pub(crate) fn of(script: Option<&NetworkScript>) -> Self {
        match script {
            None => Self::default(),
            Some(NetworkScript::Replays(player)) => {
                Self { differences: player.differences(), ..Self::default() }
            }
            Some(NetworkScript::Records(recorder)) => {
                let record = recorder.document().and_then(|found| NetworkRecord::of(found).ok());
                Self { is_too_much: record.is_none(), record, differences: Vec::new() }
            }
        }
    }
}
