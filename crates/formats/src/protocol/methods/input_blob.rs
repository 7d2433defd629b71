//! Wire types of the blobs that a call mounts.

use serde::{Deserialize, Serialize};

/// A blob to mount, as a call sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected the id of a blob, or an object with `blob` and `path`")]
pub enum InputBlob {
    /// Its id.
    Id(String),
    /// Its id, and the path of a file in the working folder that has its content.
    AtPath(BlobAtPath),
}

/// A blob and the path of a file, as a call sends them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlobAtPath {
    /// The id of the blob.
    pub blob: String,
    /// The path, relative to the working folder of the program.
    pub path: String,
}

impl InputBlob {
    /// The id of the blob, as sent.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Id(id) => id,
            Self::AtPath(BlobAtPath { blob, .. }) => blob,
        }
    }

    /// The same with another id.
    #[must_use]
    pub fn with_id(self, id: String) -> Self {
        match self {
            Self::Id(_) => Self::Id(id),
            Self::AtPath(BlobAtPath { path, .. }) => Self::AtPath(BlobAtPath { blob: id, path }),
        }
    }
}
