//! What a worker keeps for the runs to come: attached once, used by many runs.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ids::{BlobId, Digest};

/// Describes an attachment. Its content travels beside the description as a payload.
///
/// A new kind of attachment is a variant here and in [`AttachmentKey`], and what the worker's runner
/// does with it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    /// A skill's files.
    Skill {
        /// Names the snapshot.
        digest: Digest,
        /// Where each file lies in the payload.
        files: Vec<PackedFile>,
    },
    /// A blob's content.
    Blob {
        /// Names the blob.
        id: BlobId,
    },
    /// An image's memory.
    Image {
        /// Names the image: the digest of its memory.
        digest: Digest,
        /// The files that are open in it, in the sandbox's own words.
        open_files: Box<RawValue>,
    },
}

/// Names an attachment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKey {
    /// A snapshot of a skill.
    Skill(Digest),
    /// A blob.
    Blob(BlobId),
    /// A memory image.
    Image(Digest),
}

impl Attachment {
    /// Its name.
    #[must_use]
    pub fn key(&self) -> AttachmentKey {
        match self {
            Self::Skill { digest, .. } => AttachmentKey::Skill(*digest),
            Self::Blob { id } => AttachmentKey::Blob(id.clone()),
            Self::Image { digest, .. } => AttachmentKey::Image(*digest),
        }
    }
}

/// A file's place in the payload of [`Attachment::Skill`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedFile {
    /// Path below the skill's root, with `/`.
    pub path: String,
    /// Where it starts.
    pub offset: u64,
    /// Its length.
    pub size: u64,
}
