//! The layers on the disk, and the bytecode that was made of them.
//!
//! A file is named by what it is made of, appears under its name only when it is complete, and is
//! never written to again. Its own digest is checked when it is opened for the first time after a boot.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use tracing::warn;

use crate::packages::layer::{LayerDraft, LayerKey};
use wardian_formats::job::layer::{self, LayerContent};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Beginning of the names of unfinished files.
const UNFINISHED: &str = ".unfinished-";

/// Ending of the note next to a file that says which file had the right digest.
const SEEN: &str = ".seen";

/// Layers cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("could not {what} the folder of layers")]
pub struct StoreError {
    what: &'static str,
    #[source]
    cause: io::Error,
}

/// The folder with the layers of this machine.
#[derive(Debug, Clone)]
pub struct LayerStore {
    folder: PathBuf,
}

/// A layer that is open and checked.
#[derive(Debug, Clone)]
pub struct OpenLayer {
    /// Its content.
    pub content: LayerContent,
    /// Names and versions of its packages.
    pub packages: Vec<(String, String)>,
}

impl LayerStore {
    /// The layers in the cache folder `cache`. Nothing is made on the disk yet.
    #[must_use]
    pub fn new(cache: &Path) -> Self {
        Self { folder: cache.join("layers") }
    }

    /// The layers in this very folder.
    #[must_use]
    pub const fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// True if the layer exists, unchecked.
    #[must_use]
    pub fn has(&self, key: LayerKey) -> bool {
        fs::symlink_metadata(self.layer_path(key)).is_ok_and(|found| found.is_file())
    }

    /// Opens a layer and checks it, which reads the whole file. A damaged one is `None`, as a
    /// missing one is, and is logged.
    ///
    /// # Errors
    ///
    /// The disk fails.
    pub fn open(&self, key: LayerKey) -> Result<Option<OpenLayer>, StoreError> {
        let Some(content) = open_checked(&self.layer_path(key)).map_err(failed("read"))? else {
            return Ok(None);
        };
        let packages = content.index().map_err(failed("read"))?.packages;
        Ok(Some(OpenLayer { content, packages }))
    }

    /// Keeps a layer.
    ///
    /// # Errors
    ///
    /// The disk is full or fails.
    pub fn keep(&self, key: LayerKey, draft: &LayerDraft) -> Result<Digest, StoreError> {
        let path = self.layer_path(key);
        self.keep_file(&path, |sink| draft.write(sink)).map_err(failed("write to"))
    }

    /// Opens the bytecode that `engine` compiled of a layer.
    ///
    /// # Errors
    ///
    /// The disk fails.
    pub fn open_bytecode(
        &self,
        layer: Digest,
        engine: Digest,
    ) -> Result<Option<LayerContent>, StoreError> {
        open_checked(&self.bytecode_path(layer, engine)).map_err(failed("read"))
    }

    /// Keeps the bytecode of a layer: paths and contents, sorted by path.
    ///
    /// # Errors
    ///
    /// The disk is full or fails.
    pub fn keep_bytecode(
        &self,
        layer: Digest,
        engine: Digest,
        files: &[(String, &[u8])],
    ) -> Result<Digest, StoreError> {
        let path = self.bytecode_path(layer, engine);
        // The digest of a file must differ between layers even if their bytecode is the same.
        let made_of = vec![(layer.to_string(), engine.to_string())];
        self.keep_file(&path, |sink| layer::write(sink, made_of, files)).map_err(failed("write to"))
    }

    /// Removes all files but the layers in `used` and their bytecode. Returns the freed bytes.
    ///
    /// # Errors
    ///
    /// A file cannot be removed.
    pub fn clean(&self, used: &HashSet<LayerKey>) -> Result<ByteCount, StoreError> {
        let kept: HashSet<String> = used.iter().map(|key| file_name(*key)).collect();
        let mut digests = HashSet::new();
        for key in used {
            if let Some(layer) = self.open(*key)? {
                digests.insert(layer.content.digest.to_string());
            }
        }
        let mut freed = 0_u64;
        let found = match fs::read_dir(&self.folder) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ByteCount::default());
            }
            Err(error) => return Err(failed("read")(error)),
        };
        for entry in found {
            let entry = entry.map_err(failed("read"))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let of = name.split('-').next().unwrap_or_default();
            let file = name.strip_suffix(SEEN).unwrap_or(&name);
            if kept.contains(file) || digests.contains(of) {
                continue;
            }
            let size = entry.metadata().map_err(failed("read"))?.len();
            fs::remove_file(entry.path()).map_err(failed("remove files from"))?;
            freed = freed.saturating_add(size);
        }
        Ok(ByteCount::bytes(freed))
    }

    fn layer_path(&self, key: LayerKey) -> PathBuf {
        self.folder.join(file_name(key))
    }

    fn bytecode_path(&self, layer: Digest, engine: Digest) -> PathBuf {
        self.folder.join(format!("{layer}-{engine}.bytecode"))
    }

    /// Writes a file under its own name, flushes it to the disk, and gives it its name.
    fn keep_file<T>(
        &self,
        path: &Path,
        write: impl FnOnce(&mut BufWriter<&mut NamedTempFile>) -> io::Result<T>,
    ) -> io::Result<T> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        let mut sink = BufWriter::new(&mut file);
        let value = write(&mut sink)?;
        sink.flush()?;
        drop(sink);
        file.as_file().set_permissions(fs::Permissions::from_mode(0o400))?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(&self.folder)?.sync_all()?;
        Ok(value)
    }
}

fn file_name(key: LayerKey) -> String {
    format!("{key}.layer")
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    move |cause| StoreError { what, cause }
}

/// Opens a file of the store and checks its digest, unless it is the very file whose digest was
/// right before.
fn open_checked(path: &Path) -> io::Result<Option<LayerContent>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let note = PathBuf::from(format!("{}{SEEN}", path.display()));
    let identity = identity_of(&file.metadata()?);
    if identity.is_some() && fs::read_to_string(&note).ok() == identity {
        return LayerContent::open_seen(file).map(Some);
    }
    match LayerContent::open(file) {
        Ok(content) => {
            if let Some(identity) = identity {
                // A note that cannot be written costs the next start the time of the check.
                fs::write(&note, identity).ok();
            }
            Ok(Some(content))
        }
        Err(error) => {
            warn!("a layer of packages is damaged and is not used: {}", CauseChain(&error));
            Ok(None)
        }
    }
}

/// Tells a file from every other, and from itself after a change: no program can set its time of
/// change back, and damage on the disk is found once after each boot. The engine's cache does the
/// same, for the same reasons.
fn identity_of(found: &Metadata) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let (modified, changed) =
        ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    let (boot, device, inode, size) = (boot.trim(), found.dev(), found.ino(), found.len());
    Some(format!("{boot} {device} {inode} {size} {modified:?} {changed:?}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> LayerKey {
        LayerKey::of([Digest::of(name.as_bytes())])
    }

    #[test]
    fn layers_and_their_bytecode_are_kept_and_cleaned_up() {
        let cache = tempfile::tempdir().unwrap();
        let store = LayerStore::new(cache.path());
        assert!(store.open(key("a")).unwrap().is_none() && !store.has(key("a")));
        assert_eq!(store.clean(&HashSet::new()).unwrap(), ByteCount::default());
        let digest = store.keep(key("a"), &LayerDraft::default()).unwrap();
        store.keep(key("b"), &LayerDraft::default()).unwrap();
        assert_eq!(store.open(key("a")).unwrap().unwrap().content.digest, digest);
        let engine = Digest::of(b"engine");
        assert!(store.open_bytecode(digest, engine).unwrap().is_none());
        store.keep_bytecode(digest, engine, &[("a.pyc".to_owned(), b"x")]).unwrap();
        assert!(store.open_bytecode(digest, engine).unwrap().is_some());
        fs::write(store.folder.join(".unfinished-x"), "x").unwrap();

        assert!(store.clean(&HashSet::from([key("a")])).unwrap() > ByteCount::default());
        assert!(store.has(key("a")) && !store.has(key("b")));
        assert!(store.open_bytecode(digest, engine).unwrap().is_some());
        store.clean(&HashSet::new()).unwrap();
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 0);
    }

    #[test]
    fn a_damaged_layer_counts_as_missing() {
        let cache = tempfile::tempdir().unwrap();
        let store = LayerStore::new(cache.path());
        store.keep(key("a"), &LayerDraft::default()).unwrap();
        let path = store.layer_path(key("a"));
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
        assert!(store.open(key("a")).unwrap().is_none());
        store.keep(key("a"), &LayerDraft::default()).unwrap();
        assert!(store.open(key("a")).unwrap().is_some());
        let note = store.folder.join(format!("{}{SEEN}", file_name(key("a"))));
        let noted = fs::read_to_string(&note).unwrap();
        assert!(store.open(key("a")).unwrap().is_some());
        assert_eq!(fs::read_to_string(&note).unwrap(), noted);
        // The note is of another file now.
        fs::remove_file(&path).unwrap();
        fs::write(&path, b"wardian layer 1\n, damaged, but long enough for a head").unwrap();
        assert!(store.open(key("a")).unwrap().is_none());
    }
}
