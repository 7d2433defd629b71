//! An attached layer of packages. Its index is read when a run first looks into it, so that a worker
//! whose runs import nothing of it pays nothing for it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::SandboxError;
use crate::attached::file_part::FilePart;
use crate::vfs::Mount;
use crate::vfs::tree::content::Content;
use crate::vfs::tree::immutable::ImmutableTree;
use wardian_formats::job::layer::{self, LayerContent};
use wardian_formats::job::message::Payload;
use wardian_formats::job::{LayerMount, LayerPlace};
use wardian_vocabulary::ids::Digest;

/// A layer, or the bytecode of one: a file with an index.
pub(crate) struct AttachedLayer {
    pack: LayerPack,
    /// The layer as a folder, by the bytecode that is in it.
    trees: Mutex<HashMap<Option<Digest>, Arc<ImmutableTree>>>,
}

/// The open file of a layer.
#[derive(Clone)]
struct LayerPack {
    file: Arc<File>,
    length: u64,
}

impl AttachedLayer {
    /// The layer in a payload, which must be a file.
    pub(crate) fn new(payload: Payload) -> Option<Self> {
        let Payload::Shared(file, length) = payload else { return None };
        let pack = LayerPack { file: Arc::new(File::from(file)), length: length.as_u64() };
        Some(Self { pack, trees: Mutex::default() })
    }

    /// The layer as a folder, with bytecode in it.
    pub(crate) fn tree(&self, bytecode: Option<(Digest, &Self)>) -> Arc<ImmutableTree> {
        let mut trees = self.trees.lock();
        let key = bytecode.as_ref().map(|(digest, _)| *digest);
        let made = trees.entry(key).or_insert_with(|| {
            let packs = [Some(self.pack.clone()), bytecode.map(|(_, code)| code.pack.clone())];
            // The gateway has checked the digest of the file. Of one that cannot be read nothing
            // can be imported.
            let files = move || packs.iter().flatten().flat_map(LayerPack::files).collect();
            Arc::new(ImmutableTree::lazy(files))
        });
        Arc::clone(made)
    }

    /// Forgets the folder with this bytecode, whose file is closed then.
    pub(crate) fn forget_bytecode(&self, bytecode: Digest) {
        self.trees.lock().remove(&Some(bytecode));
    }
}

/// The batteries as every run has them, for an interpreter that becomes an image.
pub(crate) fn batteries_mount(
    layer: &LayerContent,
    bytecode: Option<&LayerContent>,
) -> Result<Mount, SandboxError> {
    let attached = |content: &LayerContent| {
        let system = |cause| SandboxError::System { what: "open the batteries", cause };
        let file = content.file.try_clone().map_err(system)?;
        let payload = Payload::Shared(file.into(), content.length);
        AttachedLayer::new(payload).ok_or(SandboxError::Attachment)
    };
    let compiled = bytecode.map(attached).transpose()?;
    let digest = bytecode.map(|content| content.digest);
    let mount = LayerMount { digest: layer.digest, bytecode: digest, place: LayerPlace::Batteries };
    let tree = attached(layer)?.tree(digest.zip(compiled.as_ref()));
    Ok(Mount::tree(mount.path(), tree))
}

impl LayerPack {
    fn files(&self) -> Vec<(String, Arc<dyn Content>)> {
        let places: io::Result<_> = layer::places(&self.file, self.length);
        let places = places.unwrap_or_default().into_iter();
        let file = |place: wardian_formats::job::attachment::PackedFile| {
            let part = FilePart::new(Arc::clone(&self.file), place.offset, place.size);
            let part: Arc<dyn Content> = Arc::new(part);
            (place.path, part)
        };
        places.map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::units::ByteCount;

    fn attached(files: &[(&str, &[u8])]) -> (AttachedLayer, Digest) {
        let mut file = tempfile::tempfile().unwrap();
        let files: Vec<(String, &[u8])> =
            files.iter().map(|(path, content)| ((*path).to_owned(), *content)).collect();
        let digest = layer::write(&mut file, Vec::new(), &files).unwrap();
        let length = ByteCount::bytes(file.metadata().unwrap().len());
        (AttachedLayer::new(Payload::Shared(file.into(), length)).unwrap(), digest)
    }

    #[test]
    fn a_layer_and_its_bytecode_are_one_folder() {
        let (layer, _) = attached(&[("a/__init__.py", b"x = 1\n"), ("b.py", b"")]);
        let (code, digest) = attached(&[("a/__pycache__/__init__.cpython-315.pyc", b"code")]);
        let tree = layer.tree(Some((digest, &code)));
        let mut bytes = [0; 6];
        tree.find_file("a/__init__.py").unwrap().read_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"x = 1\n");
        assert!(tree.find_file("a/__pycache__/__init__.cpython-315.pyc").is_some());
        assert!(layer.tree(None).find_file("a/__pycache__/__init__.cpython-315.pyc").is_none());
        assert!(Arc::ptr_eq(&tree, &layer.tree(Some((digest, &code)))), "it was read twice");
        layer.forget_bytecode(digest);
        assert_eq!(layer.trees.lock().len(), 1);
    }

    #[test]
    fn a_file_that_is_no_layer_is_an_empty_folder() {
        let file = tempfile::tempfile().unwrap();
        let layer = AttachedLayer::new(Payload::Shared(file.into(), ByteCount::bytes(9))).unwrap();
        assert!(layer.tree(None).entries(0).unwrap().is_empty());
        assert!(AttachedLayer::new(Payload::Inline(vec![1])).is_none());
    }
}
