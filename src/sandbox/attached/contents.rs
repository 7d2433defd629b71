//! Skills and blobs that were handed to this process, shared by all runs that mount them.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::ids::{BlobId, Digest};
use crate::job::attachment::PackedFile;
use crate::job::message::Payload;
use crate::job::{RunSpec, SkillMount};
use crate::sandbox::SandboxError;
use crate::sandbox::vfs::Mount;
use crate::sandbox::vfs::content::{Content, SharedBytes};
use crate::sandbox::vfs::immutable::ImmutableTree;

/// What is attached, by name. Whoever attaches decides how much that is.
#[derive(Default)]
pub(crate) struct AttachedContents {
    skills: HashMap<Digest, Arc<ImmutableTree>>,
    blobs: HashMap<BlobId, Arc<dyn Content>>,
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
        digest: Digest,
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
        self.skills.insert(digest, Arc::new(tree));
        Ok(())
    }

    /// Keeps a blob's content.
    pub(crate) fn attach_blob(&mut self, id: BlobId, payload: Payload) -> Result<(), SandboxError> {
        let size = payload.size().as_u64();
        let content = Pack::new(payload).part(0, size).ok_or(SandboxError::Attachment)?;
        self.blobs.insert(id, content);
        Ok(())
    }

    /// Forgets a skill.
    pub(crate) fn detach_skill(&mut self, digest: &Digest) {
        self.skills.remove(digest);
    }

    /// Forgets a blob.
    pub(crate) fn detach_blob(&mut self, id: &BlobId) {
        self.blobs.remove(id);
    }

    /// The mounts that `spec` asks for.
    pub(crate) fn mounts(&self, spec: &RunSpec) -> Result<Vec<Mount>, SandboxError> {
        let tree = |path: String, digest: &Digest| {
            let tree = self.skills.get(digest).ok_or(SandboxError::NotAttached)?;
            Ok(Mount::tree(path, Arc::clone(tree)))
        };
        let skill = |mount: &SkillMount| tree(format!("/skills/{}", mount.name), &mount.digest);
        let bytecode = |mount: &SkillMount| {
            let digest = mount.bytecode.as_ref()?;
            Some(tree(format!("{BYTECODE}/{}", mount.name), digest))
        };
        let blob = |mount: &crate::job::BlobMount| {
            let content = self.blobs.get(&mount.id).ok_or(SandboxError::NotAttached)?;
            Ok(Mount::file(blob_path(&mount.id), Arc::clone(content)))
        };
        let skills = spec.skills.iter();
        let blobs = spec.blobs.iter().map(blob);
        skills.clone().map(skill).chain(skills.filter_map(bytecode)).chain(blobs).collect()
    }
}

/// Where a run finds the bytecode of skills.
const BYTECODE: &str = "/usr/local/lib/skills";

/// Where a run sees a blob.
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
                inside.then(|| -> Arc<dyn Content> { Arc::new(FilePart { file, start, size }) })
            }
        }
    }
}

/// A part of a file that several contents share.
struct FilePart {
    file: Arc<File>,
    start: u64,
    size: u64,
}

impl Content for FilePart {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = into.len().min(left);
        let into = into.get_mut(..wanted).unwrap_or_default();
        self.file.read_at(into, self.start.saturating_add(offset))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::units::ByteCount;

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
    fn a_part_ends_where_it_ends() {
        for payload in [Payload::Inline(b"onetwo".to_vec()), file_payload(b"onetwo")] {
            let pack = Pack::new(payload);
            assert_eq!(text(&*pack.part(0, 3).unwrap()), "one");
            assert_eq!(text(&*pack.part(3, 3).unwrap()), "two");
            assert!(pack.part(4, 3).is_none());
            assert!(pack.part(u64::MAX, 2).is_none());
        }
    }

    #[test]
    fn what_was_detached_cannot_be_mounted() {
        let mut attachments = AttachedContents::default();
        let digest = Digest::of(b"skill");
        let files = vec![PackedFile { path: "SKILL.md".into(), offset: 0, size: 1 }];
        attachments.attach_skill(digest, files.clone(), Payload::Inline(vec![b'x'])).unwrap();
        attachments.detach_skill(&digest);
        assert!(attachments.skills.is_empty());
        let beyond = vec![PackedFile { path: "SKILL.md".into(), offset: 1, size: 1 }];
        let refused = attachments.attach_skill(digest, beyond, Payload::Inline(vec![b'x']));
        assert!(matches!(refused, Err(SandboxError::Attachment)));
    }
}
