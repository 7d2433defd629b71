//! Archives: zip, and tar alone or compressed by gzip or zstd. What an archive is, its bytes say.
//!
//! INVARIANT(bounded-archives): nothing is allocated by a size that an archive claims. Expanded bytes are counted as
//! they come, against the bounds of a tree and against a multiple of the archive's own size.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use zip::ZipArchive;

use crate::error::SourceError;
use crate::tree::{MAX_FILES, MAX_TOTAL, Tree};

/// How many times its own size an archive may become, once it is beyond [`UNSUSPICIOUS`].
const MAX_RATIO: u64 = 200;

/// Bytes that any archive may become.
const UNSUSPICIOUS: u64 = 16 << 20;

/// What the first bytes of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveKind {
    Zip,
    Tar,
    Gzip,
    Zstd,
}

impl ArchiveKind {
    /// The kind of `bytes`; `None` if they are no archive.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let is_tar = bytes.get(257..262) == Some(b"ustar");
        match bytes {
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Self::Zip),
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ if is_tar => Some(Self::Tar),
            _ => None,
        }
    }
}

/// Adds all files of an archive to a tree.
pub(crate) fn unpack(bytes: &[u8], tree: &mut Tree) -> Result<(), SourceError> {
    let Some(kind) = ArchiveKind::of(bytes) else {
        return Err(SourceError::damaged(
            "the archive",
            "it is neither zip nor tar, tar.gz or tar.zst",
        ));
    };
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let most = size.saturating_mul(MAX_RATIO).max(UNSUSPICIOUS);
    match kind {
        ArchiveKind::Zip => unzip(bytes, most, tree),
        ArchiveKind::Tar => untar(bytes, tree),
        ArchiveKind::Gzip => untar(Bounded::new(MultiGzDecoder::new(bytes), most), tree),
        ArchiveKind::Zstd => untar_zstd(bytes, most, tree),
    }
}

/// A reader that fails beyond a number of bytes.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R> Bounded<R> {
    fn new(inner: R, most: u64) -> Self {
        // Heads and padding come on top of the files.
        Self { inner, left: most.min(MAX_TOTAL.saturating_mul(2)) }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let count_wide = u64::try_from(count).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(count_wide).ok_or_else(|| {
            io::Error::other("it expands to much more than an archive of its size should")
        })?;
        Ok(count)
    }
}

/// Unpacks a tar in one frame of zstd. The decoder bounds the window of a frame itself.
fn untar_zstd(bytes: &[u8], most: u64, tree: &mut Tree) -> Result<(), SourceError> {
    let mut rest = bytes;
    let decoder = StreamingDecoder::new(&mut rest);
    let decoder = decoder.map_err(|fault| SourceError::damaged("the archive", fault))?;
    let mut reader = Bounded::new(decoder, most);
    untar(&mut reader, tree)?;
    let ended = io::copy(&mut reader, &mut io::sink());
    ended.map_err(|fault| SourceError::damaged("the archive", fault))?;
    drop(reader);
    if !rest.is_empty() {
        let problem = "something follows its first frame of zstd: compress it again, as one frame";
        return Err(SourceError::damaged("the archive", problem));
    }
    Ok(())
}

fn unzip(bytes: &[u8], most: u64, tree: &mut Tree) -> Result<(), SourceError> {
    let damaged = |fault: &dyn std::fmt::Display| SourceError::damaged("the archive", fault);
    let archive = ZipArchive::new(Cursor::new(bytes));
    let mut archive = archive.map_err(|fault| damaged(&fault))?;
    if archive.len() > MAX_FILES * 2 {
        return Err(SourceError::TooLarge(format!("more than {MAX_FILES} files")));
    }
    if archive.has_duplicate_names() {
        return Err(damaged(&"it has two entries with one name"));
    }
    if archive.has_overlapping_files().map_err(|fault| damaged(&fault))? {
        return Err(damaged(&"its entries overlap"));
    }
    let mut left = most;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|fault| damaged(&fault))?;
        let path = std::str::from_utf8(entry.name_raw()).map(str::to_owned);
        let Ok(path) = path else { return Err(damaged(&"a name is not UTF-8")) };
        if entry.encrypted() {
            return Err(SourceError::entry(&path, "is encrypted"));
        }
        if let Some(folder) = path.strip_suffix('/') {
            tree.add_folder(folder)?;
            continue;
        }
        let kind = entry.unix_mode().unwrap_or_default() & 0o170_000;
        let is_link = kind == 0o120_000;
        if !is_link && kind != 0 && kind != 0o100_000 {
            return Err(SourceError::entry(&path, "is a special file"));
        }
        let content = bounded(&mut entry, tree, &mut left).map_err(|fault| damaged(&fault))?;
        let Some(content) = content else {
            return Err(too_large(tree));
        };
        if is_link {
            tree.link(&path, &String::from_utf8_lossy(&content))?;
        } else {
            tree.add(&path, content)?;
        }
    }
    Ok(())
}

fn too_large(tree: &Tree) -> SourceError {
    match tree.check_room(tree.room().saturating_add(1)) {
        Err(why) => why,
        Ok(()) => SourceError::TooLarge("it expands to much more than its size".to_owned()),
    }
}

/// Reads an entry; `None` if it is larger than the tree or the archive may be.
fn bounded(entry: &mut impl Read, tree: &Tree, left: &mut u64) -> io::Result<Option<Vec<u8>>> {
    let most = tree.room().min(*left);
    let mut content = Vec::new();
    entry.take(most.saturating_add(1)).read_to_end(&mut content)?;
    let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
    if size > most {
        return Ok(None);
    }
    *left = left.saturating_sub(size);
    Ok(Some(content))
}

/// Most entries of a tar: files, folders, links and extended heads.
const MAX_ENTRIES: usize = MAX_FILES * 4;

fn untar(reader: impl Read, tree: &mut Tree) -> Result<(), SourceError> {
    let damaged = |fault: &dyn std::fmt::Display| SourceError::damaged("the archive", fault);
    let mut archive = tar::Archive::new(reader);
    let entries = archive.entries().map_err(|fault| damaged(&fault))?;
    let mut left = u64::MAX;
    for (count, entry) in entries.enumerate() {
        if count >= MAX_ENTRIES {
            return Err(SourceError::TooLarge(format!("more than {MAX_FILES} files")));
        }
        let mut entry = entry.map_err(|fault| damaged(&fault))?;
        let path = entry.path_bytes().into_owned();
        let Ok(path) = String::from_utf8(path) else {
            return Err(damaged(&"a name is not UTF-8"));
        };
        // `./a` is how tar writes the files of a folder.
        let path = path.strip_prefix("./").unwrap_or(&path);
        let kind = entry.header().entry_type();
        // Very old archives mark folders by their names alone.
        let is_old_folder = kind.is_file() && path.ends_with('/') && entry.size() == 0;
        if kind.is_dir() || is_old_folder {
            let folder = path.trim_end_matches('/');
            if !matches!(folder, "" | ".") {
                tree.add_folder(folder)?;
            }
        } else if kind.is_symlink() {
            let target = entry.link_name_bytes().unwrap_or_default();
            tree.link(path, &String::from_utf8_lossy(&target))?;
        } else if kind.is_hard_link() {
            // Its target is named from the top of the archive.
            let target = entry.link_name_bytes().unwrap_or_default().into_owned();
            let target = String::from_utf8_lossy(&target).into_owned();
            if crate::tree::check_path(target.strip_prefix("./").unwrap_or(&target)).is_err() {
                return Err(SourceError::entry(path, "is a link that leads out of the source"));
            }
            tree.link(path, "")?;
        } else if kind.is_file() || kind.is_contiguous() {
            tree.check_room(entry.size())?;
            let content = bounded(&mut entry, tree, &mut left).map_err(|fault| damaged(&fault))?;
            let Some(content) = content else { return Err(too_large(tree)) };
            tree.add(path, content)?;
        } else if !kind.is_pax_global_extensions() {
            return Err(SourceError::entry(path, "is a device, a pipe or another special file"));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/archives.rs"]
mod tests;
