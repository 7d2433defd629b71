//! Attachments: content that a worker keeps for later runs. Each is sent once and used by many
//! runs.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use wardian_vocabulary::ids::{BlobId, Digest, TenantId};

/// Describes an attachment. Its content travels next to the description as a payload.
#[derive(Debug, Serialize, Deserialize)]
pub struct Attachment {
    /// The runs that may see it.
    pub owner: Owner,
    /// The kind of content.
    pub content: AttachedContent,
}

/// The kinds of content that can be attached.
///
/// A new kind is a variant here and in [`AttachedName`], and its handling in the worker's runner.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachedContent {
    /// A skill's files.
    Skill {
        /// Names the snapshot.
        digest: Digest,
        /// The place of each file in the payload.
        files: Vec<PackedFile>,
    },
    /// A blob's content.
    Blob {
        /// Names the blob.
        id: BlobId,
    },
    /// A layer of packages: see [`crate::job::layer`].
    Layer {
        /// Names the layer.
        digest: Digest,
    },
    /// An image's memory.
    Image {
        /// Names the image: the digest of its memory.
        digest: Digest,
        /// The files that are open in it, as the sandbox describes them.
        open_files: Box<RawValue>,
    },
}

/// The owner of an attachment: a run sees what is shared, and what its own tenant owns.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// All tenants: images, and the skills of the server's folders.
    Shared,
    /// One tenant.
    Tenant(TenantId),
}

impl Owner {
    /// The owners whose attachments a run of `tenant` may see.
    #[must_use]
    pub fn visible_to(tenant: &TenantId) -> [Self; 2] {
        [Self::Tenant(tenant.clone()), Self::Shared]
    }
}

/// Names an attachment. Two tenants that attach equal content have two attachments.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttachmentKey {
    /// The runs that may see it.
    pub owner: Owner,
    /// Names it among all attachments of its owner.
    pub name: AttachedName,
}

/// The kind and name of an attachment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachedName {
    /// A snapshot of a skill.
    Skill(Digest),
    /// A blob.
    Blob(BlobId),
    /// A layer of packages.
    Layer(Digest),
    /// A memory image.
    Image(Digest),
}

impl Attachment {
    /// Names the attachment.
    #[must_use]
    pub fn key(&self) -> AttachmentKey {
        let name = match &self.content {
            AttachedContent::Skill { digest, .. } => AttachedName::Skill(*digest),
            AttachedContent::Blob { id } => AttachedName::Blob(id.clone()),
            AttachedContent::Layer { digest } => AttachedName::Layer(*digest),
            AttachedContent::Image { digest, .. } => AttachedName::Image(*digest),
        };
        AttachmentKey { owner: self.owner.clone(), name }
    }
}

impl AttachmentKey {
    /// Names an attachment that all tenants share.
    #[must_use]
    pub const fn shared(name: AttachedName) -> Self {
        Self { owner: Owner::Shared, name }
    }

    /// True for a memory image.
    #[must_use]
    pub const fn is_image(&self) -> bool {
        matches!(self.name, AttachedName::Image(_))
    }
}

/// A file's place in the payload of [`AttachedContent::Skill`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedFile {
    /// Path below the skill's root, with `/`.
    pub path: String,
    /// Its offset.
    pub offset: u64,
    /// Its length.
    pub size: u64,
}
