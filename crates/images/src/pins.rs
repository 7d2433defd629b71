//! The images that open sessions began as, as files of the server's own.
//!
//! The states of a session are differences from the image that it began as. The cache has the images of
//! the present hash secret alone, and operators may empty it at any time. So the image is copied to a
//! folder beside the states before its session exists, once for all sessions that began as it.
//!
//! ```text
//! <root>/draft       being written; removed at the next start
//! <root>/<digest>    an image: the digest of its head, its head, and from the next page on its memory
//! ```
//!
//! # Why copies
//!
//! No image but that of reproducible runs can be made again byte for byte: its clock and its randomness
//! were those of the machine. The files are not encrypted, because an image has nothing of a tenant: it
//! is made of the engine, the guest package and imports.
//!
//! INVARIANT(sessions-keep-their-image): as long as an open session names an image, its file stays,
//! whatever becomes of the cache and of the hash secret.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::image::ImageFault;
use wardian_formats::job::image::ImageContent;
use wardian_formats::job::socket;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::files::private_file::{PRIVATE, create_folder};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Name of the file that is being written.
const DRAFT: &str = "draft";

/// Longest head: an image's list of open files has 1 MiB at most.
const MAX_HEAD: u64 = 2 << 20;

/// Bytes that are copied at once.
const CHUNK: usize = 64 << 10;

/// Smallest hole: a page of memory, which is a block on the usual disk.
const PAGE: usize = 4 << 10;

/// A page that is left out of files.
static EMPTY_PAGE: [u8; PAGE] = [0; PAGE];

/// The reason why the image of a session cannot be kept or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinFault {
    /// The images of open sessions take as much as they may.
    #[error(
        "the memory images that open sessions began as may take {limit} on this server, and a new \
         session needs another one; continue an open session, close some, or ask the operator to \
         raise `sessions.images`"
    )]
    Full {
        /// What they may take.
        limit: ByteCount,
    },
    /// The disk is full.
    #[error("the server's disk is full; close sessions that are not needed, or tell its operator")]
    DiskFull(#[source] io::Error),
    /// The file is not as it was written.
    #[error("the memory image that it began as is damaged on the disk")]
    Damaged,
    /// The image belongs to another engine or another guest package.
    #[error(
        "the memory image that it began as belongs to another version of this server, and only that \
         version can continue it"
    )]
    OtherVersion,
    /// The folder cannot be used. `what` is safe to show; the cause is for the log.
    #[error("could not {what} the memory images of sessions")]
    Storage {
        /// Verb, such as "read" or "write to".
        what: &'static str,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The cache of images fails.
    #[error("the memory image that it began as cannot be read")]
    Cache(#[source] ImageFault),
}

impl PinFault {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Full { .. } | Self::DiskFull(_) => ErrorKind::QuotaExceeded,
            Self::Damaged | Self::OtherVersion => ErrorKind::SessionDamaged,
            Self::Storage { .. } | Self::Cache(_) => ErrorKind::Internal,
        }
    }

    fn storage(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| match cause.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::DiskFull(cause),
            _ => Self::Storage { what, cause },
        }
    }
}

/// An image that was read from its file.
#[derive(Debug)]
pub(crate) struct PinnedImage {
    pub(crate) content: Arc<ImageContent>,
    /// Memory that it takes on this machine.
    pub(crate) resident: ByteCount,
}

/// The number of images that are kept for sessions, and their size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PinnedReport {
    /// Images.
    pub images: u64,
    /// Disk space that they take.
    pub bytes: ByteCount,
}

/// The images that open sessions began as. Clones share them. Most operations block.
#[derive(Debug, Clone)]
pub struct PinnedImages(Arc<Pins>);

#[derive(Debug)]
struct Pins {
    root: PathBuf,
    limit: ByteCount,
    /// Held while files are written, read or removed.
    work: Mutex<()>,
    /// The size of each file, once the folder was read.
    files: Mutex<Option<BTreeMap<Digest, ByteCount>>>,
    /// Shared by those that make a session, against those that remove files.
    making: Arc<RwLock<()>>,
}

/// What a file says of its image.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// Names the engine and the guest package that it was made of.
    version: Digest,
    name: String,
    /// Bytes of its memory.
    length: u64,
    open_files: Box<RawValue>,
}

impl PinnedImages {
    /// The images in this folder, which take at most `limit`. The folder is made when it is needed, and
    /// belongs to one process.
    #[must_use]
    pub fn at(root: PathBuf, limit: ByteCount) -> Self {
        let (work, files, making) = <_>::default();
        Self(Arc::new(Pins { root, limit, work, files, making }))
    }

    /// Keeps all files until the guard is dropped. A session is made meanwhile: its image is pinned
    /// first, and named by the session later.
    pub async fn hold(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.0.making).read_owned().await
    }

    /// Waits until no session is being made, and lets none be made until the guard is dropped. The images
    /// that sessions name now are all that are needed.
    pub async fn alone(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.0.making).write_owned().await
    }

    /// Keeps `image` for a session, or `base` in its place if too little room is left. Images other than
    /// the base ones take half of the room at most, so that no choice of packages keeps others from
    /// making sessions. Returns the one that is kept. The caller [holds](Self::hold) the files.
    ///
    /// # Errors
    ///
    /// There is no room, or the disk fails.
    pub fn pin(
        &self,
        image: &ImageContent,
        base: &ImageContent,
        version: Digest,
    ) -> Result<Digest, PinFault> {
        let limit = self.0.limit;
        if image.digest() != base.digest() {
            let half = ByteCount::bytes(limit.as_u64().saturating_div(2));
            match self.pin_within(image, version, half) {
                Err(PinFault::Full { .. }) => {}
                pinned => return pinned.map(|()| image.digest()),
            }
        }
        self.pin_within(base, version, limit).map(|()| base.digest())
    }

    /// Writes the file of an image, unless it exists or there would be more than `most` bytes.
    fn pin_within(
        &self,
        image: &ImageContent,
        version: Digest,
        most: ByteCount,
    ) -> Result<(), PinFault> {
        let _alone = self.0.work.lock();
        let files = self.read()?;
        // Somebody may have removed the file.
        if files.contains_key(&image.digest())
            && fs::symlink_metadata(self.path(image.digest())).is_ok()
        {
            return Ok(());
        }
        let full = || PinFault::Full { limit: self.0.limit };
        let left = most.as_u64().checked_sub(sum(&files).as_u64()).ok_or_else(full)?;
        let size = self.write(image, version, left).map_err(PinFault::storage("write to"))?;
        let size = size.ok_or_else(full)?;
        if let Some(files) = &mut *self.0.files.lock() {
            files.insert(image.digest(), size);
        }
        Ok(())
    }

    /// The image with this digest, made for this version of the server; `None` if it has no file. Its
    /// memory is copied and compared with the digest.
    ///
    /// # Errors
    ///
    /// The file is damaged or of another version, or the disk fails.
    pub(crate) fn load(
        &self,
        digest: Digest,
        version: Digest,
    ) -> Result<Option<PinnedImage>, PinFault> {
        let _alone = self.0.work.lock();
        let failed = || PinFault::storage("read");
        let file = match File::open(self.path(digest)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed())?,
        };
        let (head, begin) = read_head(&file).map_err(failed())?.ok_or(PinFault::Damaged)?;
        if head.version != version {
            return Err(PinFault::OtherVersion);
        }
        if file.metadata().map_err(failed())?.len() != begin.saturating_add(head.length) {
            return Err(PinFault::Damaged);
        }
        let (memory, found) = copied_memory(&file, begin, head.length).map_err(failed())?;
        if found != digest {
            return Err(PinFault::Damaged);
        }
        let resident = taken(&memory).map_err(failed())?;
        let sealed = socket::seal(memory).map_err(failed())?;
        let length = ByteCount::bytes(head.length);
        let content = ImageContent::new(head.name, digest, (sealed, length), head.open_files);
        Ok(Some(PinnedImage { content: Arc::new(content), resident }))
    }

    /// Removes all images but those that are `named`. The caller is [alone](Self::alone). Returns the
    /// number of those that were removed.
    ///
    /// # Errors
    ///
    /// The disk fails. What could not be removed is tried again by the next call.
    pub fn keep_only(&self, named: &BTreeSet<Digest>) -> Result<usize, PinFault> {
        let _alone = self.0.work.lock();
        let mut removed = 0_usize;
        for digest in self.read()?.into_keys().filter(|digest| !named.contains(digest)) {
            match fs::remove_file(self.path(digest)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other.map_err(PinFault::storage("write to"))?,
            }
            if let Some(files) = &mut *self.0.files.lock() {
                files.remove(&digest);
            }
            removed = removed.saturating_add(1);
        }
        Ok(removed)
    }

    /// The number of images and their size, as far as the folder was read.
    #[must_use]
    pub fn report(&self) -> PinnedReport {
        let files = self.0.files.lock();
        files.as_ref().map_or_else(PinnedReport::default, |files| PinnedReport {
            images: u64::try_from(files.len()).unwrap_or(u64::MAX),
            bytes: sum(files),
        })
    }

    /// The files and their sizes. Reads the folder the first time, and removes what a former process was
    /// writing.
    fn read(&self) -> Result<BTreeMap<Digest, ByteCount>, PinFault> {
        if let Some(files) = &*self.0.files.lock() {
            return Ok(files.clone());
        }
        let files = files_in(&self.0.root).map_err(PinFault::storage("read"))?;
        *self.0.files.lock() = Some(files.clone());
        Ok(files)
    }

    /// Writes a file and makes it durable. Returns the space that it takes; `None` if the memory alone takes
    /// more than `left` bytes, and then there is no file.
    fn write(
        &self,
        image: &ImageContent,
        version: Digest,
        left: u64,
    ) -> io::Result<Option<ByteCount>> {
        let memory = File::from(image.memory().try_clone_to_owned()?);
        // A call that is refused costs no write.
        if taken(&memory)?.as_u64() > left {
            return Ok(None);
        }
        create_folder(&self.0.root)?;
        let (draft, path) = (self.0.root.join(DRAFT), self.path(image.digest()));
        let written = write_draft(&draft, (image, &memory), version).and_then(|size| {
            fs::rename(&draft, &path)?;
            File::open(&self.0.root)?.sync_all()?;
            Ok(size)
        });
        if written.is_err() {
            // The next start tries again. The rename may have had its effect.
            fs::remove_file(&draft).ok();
            fs::remove_file(&path).ok();
        }
        written.map(Some)
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.0.root.join(digest.to_string())
    }
}

fn sum(files: &BTreeMap<Digest, ByteCount>) -> ByteCount {
    let sizes = files.values().map(|size| size.as_u64());
    ByteCount::bytes(sizes.fold(0, u64::saturating_add))
}

/// Space that a file takes: it has holes.
fn taken(file: &File) -> io::Result<ByteCount> {
    Ok(ByteCount::bytes(file.metadata()?.blocks().saturating_mul(512)))
}

fn files_in(root: &Path) -> io::Result<BTreeMap<Digest, ByteCount>> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries?,
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if name == DRAFT {
            fs::remove_file(entry.path())?;
        } else if let Some(digest) = name.to_str().and_then(|name| Digest::parse(name).ok()) {
            let blocks = entry.metadata()?.blocks();
            files.insert(digest, ByteCount::bytes(blocks.saturating_mul(512)));
        }
    }
    Ok(files)
}

/// The place of the memory behind a head of this length.
fn behind(head: usize) -> u64 {
    ByteCount::from(head.next_multiple_of(PAGE)).as_u64()
}

fn write_draft(
    path: &Path,
    (image, memory): (&ImageContent, &File),
    version: Digest,
) -> io::Result<ByteCount> {
    let length = image.length().as_u64();
    let (name, open_files) = (image.name().to_owned(), image.open_files().to_owned());
    let head = serde_json::to_string(&Head { version, name, length, open_files })?;
    let lines = format!("{}\n{head}\n", Digest::of(head.as_bytes()));
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(PRIVATE);
    let mut file = options.open(path)?;
    file.write_all(lines.as_bytes())?;
    let begin = behind(lines.len());
    copy((memory, 0), (&file, begin), length, |_| {})?;
    file.set_len(begin.saturating_add(length))?;
    file.sync_all()?;
    taken(&file)
}

/// The head of a file, and the place of the memory; `None` if it is not as it was written.
fn read_head(file: &File) -> io::Result<Option<(Head, u64)>> {
    let mut reader = BufReader::new(file.take(MAX_HEAD));
    let (mut digest, mut head) = (Vec::new(), Vec::new());
    reader.read_until(b'\n', &mut digest)?;
    reader.read_until(b'\n', &mut head)?;
    let begin = behind(digest.len().saturating_add(head.len()));
    let line = |bytes: Vec<u8>| Some(String::from_utf8(bytes).ok()?.strip_suffix('\n')?.to_owned());
    let (Some(digest), Some(head)) = (line(digest), line(head)) else { return Ok(None) };
    if Digest::of(head.as_bytes()).to_string() != digest {
        return Ok(None);
    }
    Ok(serde_json::from_str(&head).ok().map(|head| (head, begin)))
}

/// A memory file with the memory from `begin` on, and its digest.
fn copied_memory(file: &File, begin: u64, length: u64) -> io::Result<(File, Digest)> {
    let memory = socket::memory_file()?;
    let mut digest = Digest::in_pieces();
    copy((file, begin), (&memory, 0), length, |piece| digest.add(piece))?;
    memory.set_len(length)?;
    Ok((memory, digest.finish()))
}

/// Copies bytes between places of two files and shows them. Empty pages become holes.
fn copy(
    (from, from_place): (&File, u64),
    (to, to_place): (&File, u64),
    length: u64,
    mut show: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK];
    let mut done = 0_u64;
    while done < length {
        let wanted = usize::try_from(length.saturating_sub(done)).unwrap_or(CHUNK).min(CHUNK);
        let piece = chunk.get_mut(..wanted).unwrap_or_default();
        from.read_exact_at(piece, from_place.saturating_add(done))?;
        show(piece);
        for page in piece.chunks(PAGE) {
            if EMPTY_PAGE.get(..page.len()) != Some(page) {
                to.write_all_at(page, to_place.saturating_add(done))?;
            }
            done = done.saturating_add(ByteCount::from(page.len()).as_u64());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUCH: ByteCount = ByteCount::mebibytes(64);
    const PAGES: usize = 40;

    fn version() -> Digest {
        Digest::of(b"version")
    }

    /// An image of 40 pages, of which half are empty.
    fn image(name: &str) -> ImageContent {
        let (memory, page) = (socket::memory_file().unwrap(), [name.as_bytes()[0]; PAGE]);
        let length = ByteCount::from(PAGES * PAGE);
        for number in (0..PAGES).step_by(2) {
            memory.write_all_at(&page, ByteCount::from(number * PAGE).as_u64()).unwrap();
        }
        memory.set_len(length.as_u64()).unwrap();
        let mut bytes = vec![0; PAGES * PAGE];
        memory.read_exact_at(&mut bytes, 0).unwrap();
        let open_files = RawValue::from_string(r#"{"files": ["ü\n"]}"#.to_owned()).unwrap();
        let memory = socket::seal(memory).unwrap();
        let digest = Digest::of(&bytes);
        ImageContent::new(name.to_owned(), digest, (memory, length), open_files)
    }

    fn bytes_of(image: &ImageContent) -> Vec<u8> {
        let file = File::from(image.memory().try_clone_to_owned().unwrap());
        let mut bytes = vec![0; image.length().as_usize()];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    fn names_in(folder: &Path) -> BTreeSet<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn sessions_keep_their_image_as_long_as_they_name_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("images");
        let (base, other) = (image("base"), image("lxml"));
        let pins = PinnedImages::at(root.clone(), MUCH);
        assert_eq!(pins.report(), PinnedReport::default());
        for _ in 0..2 {
            assert_eq!(pins.pin(&base, &base, version()).unwrap(), base.digest());
            assert_eq!(pins.pin(&other, &base, version()).unwrap(), other.digest());
        }
        assert_eq!(pins.report().images, 2);
        let least = ByteCount::from(PAGES * PAGE);
        assert!(pins.report().bytes.as_u64() >= least.as_u64(), "two halves: {:?}", pins.report());

        // The next process finds them, and nothing of a draft.
        fs::write(root.join(DRAFT), "half").unwrap();
        let pins = PinnedImages::at(root.clone(), MUCH);
        let named = BTreeSet::from([base.digest(), other.digest(), Digest::of(b"lost")]);
        assert_eq!(pins.keep_only(&named).unwrap(), 0);
        let expected = [&base, &other].map(|one| one.digest().to_string());
        assert_eq!(names_in(&root), BTreeSet::from(expected));
        for image in [&base, &other] {
            let loaded = pins.load(image.digest(), version()).unwrap().unwrap();
            assert_eq!(bytes_of(&loaded.content), bytes_of(image));
            assert_eq!(loaded.content.digest(), image.digest());
            assert_eq!(loaded.content.name(), image.name());
            assert_eq!(loaded.content.open_files().get(), image.open_files().get());
            assert!(loaded.resident.as_u64() < image.length().as_u64(), "holes are kept");
        }
        assert!(pins.load(Digest::of(b"lost"), version()).unwrap().is_none());

        assert_eq!(pins.keep_only(&BTreeSet::from([base.digest()])).unwrap(), 1);
        assert!(pins.load(other.digest(), version()).unwrap().is_none());
        fs::remove_file(pins.path(base.digest())).unwrap();
        assert_eq!(pins.keep_only(&BTreeSet::new()).unwrap(), 1, "also without its file");
        assert_eq!(names_in(&root), BTreeSet::new());
        assert_eq!(pins.report(), PinnedReport::default());
    }

    #[test]
    fn an_image_that_is_not_as_it_was_written_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pins = PinnedImages::at(folder.path().to_owned(), MUCH);
        let base = image("base");
        pins.pin(&base, &base, version()).unwrap();
        let path = pins.path(base.digest());
        let whole = fs::read(&path).unwrap();
        let mut cut = whole.clone();
        cut.truncate(whole.len() - PAGE);
        let mut changes = vec![Vec::new(), cut, [&whole[..], &[0]].concat()];
        for place in [0, 70, 100, PAGE + 5, 2 * PAGE + 5, whole.len() - 1] {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            changes.push(changed);
        }
        for (number, changed) in changes.into_iter().enumerate() {
            fs::write(&path, changed).unwrap();
            let found = pins.load(base.digest(), version());
            assert!(matches!(found, Err(PinFault::Damaged)), "{number}: {found:?}");
        }
        fs::write(&path, whole).unwrap();
        let found = pins.load(base.digest(), Digest::of(b"another"));
        assert!(matches!(found, Err(PinFault::OtherVersion)), "{found:?}");
        assert!(pins.load(base.digest(), version()).unwrap().is_some());
        fs::remove_file(&path).unwrap();
        assert!(pins.load(base.digest(), version()).unwrap().is_none());
        pins.pin(&base, &base, version()).unwrap();
        assert!(pins.load(base.digest(), version()).unwrap().is_some(), "it is written again");
    }

    #[test]
    fn images_beyond_the_limit_are_refused_and_the_base_has_a_half_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let one = ByteCount::from(PAGES / 2 * PAGE).as_u64();
        // Room for three and the heads.
        let pins = PinnedImages::at(folder.path().to_owned(), ByteCount::bytes(one * 7 / 2));
        let base = image("base");
        assert_eq!(pins.pin(&image("lxml"), &base, version()).unwrap(), image("lxml").digest());
        // Half of the room is used by now.
        assert_eq!(pins.pin(&image("scipy"), &base, version()).unwrap(), base.digest());
        assert_eq!(pins.pin(&image("lxml"), &base, version()).unwrap(), image("lxml").digest());
        let next = image("next");
        assert_eq!(pins.pin(&next, &next, version()).unwrap(), next.digest());
        let last = image("zero");
        let refused = pins.pin(&last, &last, version()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::QuotaExceeded);
        assert!(refused.to_string().contains("`sessions.images`"), "{refused}");
        assert_eq!(pins.report().images, 3);
        assert_eq!(names_in(folder.path()).len(), 3, "a refused image leaves no file");
        pins.keep_only(&BTreeSet::from([next.digest()])).unwrap();
        assert_eq!(pins.pin(&last, &last, version()).unwrap(), last.digest());
    }

    #[tokio::test]
    async fn nothing_is_removed_while_a_session_is_being_made() {
        let pins = PinnedImages::at(PathBuf::from("/nowhere"), MUCH);
        let making = pins.hold().await;
        let other = pins.hold().await;
        let mut alone = tokio::spawn({
            let pins = pins.clone();
            async move { drop(pins.alone().await) }
        });
        drop(making);
        let early = tokio::time::timeout(std::time::Duration::from_millis(20), &mut alone).await;
        assert!(early.is_err());
        drop(other);
        alone.await.unwrap();
    }
}
