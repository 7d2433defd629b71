//! Attached skills, blobs and layers of packages, shared by all runs that mount them.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::sync::Arc;

use crate::SandboxError;
use crate::attached::file_part::FilePart;
use crate::attached::layer::AttachedLayer;
use crate::vfs::Mount;
use crate::vfs::tree::content::{Content, SharedBytes};
use crate::vfs::tree::immutable::ImmutableTree;
use wardian_formats::job::attachment::{AttachedName, AttachmentKey, Owner, PackedFile};
use wardian_formats::job::message::Payload;
use wardian_formats::job::{LayerMount, Setup, SkillMount};
use wardian_vocabulary::ids::{BlobId, Digest, TenantId};

/// The attached skills, blobs and layers, by key. The gateway bounds their number.
#[derive(Default)]
pub(crate) struct AttachedContents {
    skills: HashMap<AttachmentKey, Arc<ImmutableTree>>,
    blobs: HashMap<AttachmentKey, Arc<dyn Content>>,
    layers: HashMap<AttachmentKey, AttachedLayer>,
}

impl fmt::Debug for AttachedContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttachedContents")
            .field("skills", &self.skills.keys())
            .finish_non_exhaustive()
    }
}

impl AttachedContents {
    /// Keeps a skill's files.
    pub(crate) fn attach_skill(
        &mut self,
        key: AttachmentKey,
        files: Vec<PackedFile>,
        payload: Payload,
    ) -> Result<(), SandboxError> {
        let pack = Pack::new(payload);
        let mut contents = Vec::with_capacity(files.len());
        for file in files {
            let part = pack.part(file.offset, file.size).ok_or(SandboxError::Attachment)?;
            contents.push((file.path, part));
        }
        let tree = ImmutableTree::from_files(contents).map_err(SandboxError::Skill)?;
        self.skills.insert(key, Arc::new(tree));
        Ok(())
    }

    /// Keeps a blob's content.
    pub(crate) fn attach_blob(
        &mut self,
        key: AttachmentKey,
        payload: Payload,
    ) -> Result<(), SandboxError> {
        let size = payload.size().as_u64();
        let content = Pack::new(payload).part(0, size).ok_or(SandboxError::Attachment)?;
        self.blobs.insert(key, content);
        Ok(())
    }

    /// Keeps a layer of packages, or the bytecode of one.
    pub(crate) fn attach_layer(
        &mut self,
        key: AttachmentKey,
        payload: Payload,
    ) -> Result<(), SandboxError> {
        let layer = AttachedLayer::new(payload).ok_or(SandboxError::Attachment)?;
        self.layers.insert(key, layer);
        Ok(())
    }

    /// Forgets a skill, a blob or a layer.
    pub(crate) fn detach(&mut self, key: &AttachmentKey) {
        if let AttachedName::Layer(digest) = key.name {
            self.layers.remove(key);
            self.layers.values().for_each(|layer| layer.forget_bytecode(digest));
        }
        self.skills.remove(key);
        self.blobs.remove(key);
    }

    /// The mounts of a guest.
    pub(crate) fn mounts(&self, setup: &Setup) -> Result<Vec<Mount>, SandboxError> {
        let tree = |path: String, digest: &Digest| {
            let tree = visible(&self.skills, &setup.tenant, &AttachedName::Skill(*digest))?;
            Ok(Mount::tree(path, Arc::clone(tree)))
        };
        let skill = |mount: &SkillMount| tree(format!("/skills/{}", mount.name), &mount.digest);
        let bytecode = |mount: &SkillMount| {
            let digest = mount.bytecode.as_ref()?;
            Some(tree(format!("{BYTECODE}/{}", mount.name), digest))
        };
        let blob = |mount: &wardian_formats::job::BlobMount| {
            let content =
                visible(&self.blobs, &setup.tenant, &AttachedName::Blob(mount.id.clone()))?;
            Ok(Mount::file(blob_path(&mount.id), Arc::clone(content)))
        };
        let layer = |mount: &LayerMount| {
            let find = |digest: &Digest| {
                visible(&self.layers, &setup.tenant, &AttachedName::Layer(*digest))
            };
            let bytecode = mount.bytecode.as_ref().map(find).transpose()?;
            let bytecode = mount.bytecode.zip(bytecode);
            Ok(Mount::tree(mount.path(), find(&mount.digest)?.tree(bytecode)))
        };
        let skills = setup.skills.iter();
        let blobs = setup.blobs.iter().map(blob);
        let layers = setup.layers.iter().map(layer);
        let skills = skills.clone().map(skill).chain(skills.filter_map(bytecode));
        skills.chain(blobs).chain(layers).collect()
    }
}

/// The attachment of this name that a run of `tenant` may see.
fn visible<'a, T>(
    attached: &'a HashMap<AttachmentKey, T>,
    tenant: &TenantId,
    name: &AttachedName,
) -> Result<&'a T, SandboxError> {
    let keys = Owner::visible_to(tenant).map(|owner| AttachmentKey { owner, name: name.clone() });
    keys.iter().find_map(|key| attached.get(key)).ok_or(SandboxError::NotAttached)
}

/// The folder in which a run finds the bytecode of skills.
const BYTECODE: &str = "/usr/local/lib/skills";

/// The path at which a run sees a blob.
pub(crate) fn blob_path(id: &BlobId) -> String {
    format!("/blobs/{id}")
}

/// Bytes that files are parts of.
enum Pack {
    Memory(SharedBytes),
    File(Arc<File>, u64),
}

impl Pack {
    fn new(payload: Payload) -> Self {
        match payload {
            Payload::None => Self::Memory(SharedBytes::new(Vec::new())),
            Payload::Inline(bytes) => Self::Memory(SharedBytes::new(bytes)),
            Payload::Shared(file, size) => Self::File(Arc::new(File::from(file)), size.as_u64()),
        }
    }

    fn part(&self, start: u64, size: u64) -> Option<Arc<dyn Content>> {
        match self {
            Self::Memory(bytes) => {
                let part = bytes.part(usize::try_from(start).ok()?, usize::try_from(size).ok()?)?;
                Some(Arc::new(part))
            }
            Self::File(file, total) => {
                let file = Arc::clone(file);
                let inside = start.checked_add(size)? <= *total;
                inside.then(|| -> Arc<dyn Content> { Arc::new(FilePart::new(file, start, size)) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use wardian_vocabulary::units::ByteCount;

    fn text(content: &dyn Content) -> String {
        let mut bytes = vec![0; 64];
        let count = content.read_at(0, &mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    fn file_payload(bytes: &[u8]) -> Payload {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Payload::Shared(file.into(), ByteCount::from(bytes.len()))
    }

    #[test]
    fn a_part_is_not_read_beyond_its_end() {
        for payload in [Payload::Inline(b"onetwo".to_vec()), file_payload(b"onetwo")] {
            let pack = Pack::new(payload);
            assert_eq!(text(&*pack.part(0, 3).unwrap()), "one");
            assert_eq!(text(&*pack.part(3, 3).unwrap()), "two");
            assert!(pack.part(4, 3).is_none());
            assert!(pack.part(u64::MAX, 2).is_none());
        }
    }

    #[test]
    fn a_detached_skill_or_blob_cannot_be_mounted() {
        let mut attachments = AttachedContents::default();
        let digest = Digest::of(b"skill");
        let files = vec![PackedFile { path: "SKILL.md".into(), offset: 0, size: 1 }];
        let key = AttachmentKey::shared(AttachedName::Skill(digest));
        let content = || Payload::Inline(vec![b'x']);
        attachments.attach_skill(key.clone(), files.clone(), content()).unwrap();
        attachments.detach(&key);
        assert!(attachments.skills.is_empty());
        let beyond = vec![PackedFile { path: "SKILL.md".into(), offset: 1, size: 1 }];
        let refused = attachments.attach_skill(key, beyond, content());
        assert!(matches!(refused, Err(SandboxError::Attachment)));
    }

    #[test]
    fn a_run_sees_shared_attachments_and_those_of_its_own_tenant() {
        let [local, other] = ["local", "other"].map(|name| TenantId::parse(name).unwrap());
        let mut attachments = AttachedContents::default();
        let name = |text: &str| AttachedName::Blob(BlobId::of_digest(&Digest::of(text.as_bytes())));
        for (owner, text) in [(Owner::Shared, "all"), (Owner::Tenant(local.clone()), "own")] {
            let key = AttachmentKey { owner, name: name(text) };
            attachments.attach_blob(key, Payload::Inline(text.into())).unwrap();
        }
        let sees = |tenant: &TenantId, text: &str| {
            visible(&attachments.blobs, tenant, &name(text)).is_ok()
        };
        assert!(sees(&local, "all") && sees(&local, "own"));
        assert!(sees(&other, "all") && !sees(&other, "own"), "another tenant's blob is visible");
    }
}
