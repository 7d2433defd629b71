//! A layer of packages as one file: an index, and the contents of all files behind it.
//!
//! ```text
//! 16 bytes  "wardian layer 1\n"
//! 32 bytes  SHA-256 of all that follows
//!  8 bytes  length of the index, little-endian
//!           the index, as JSON
//!           the contents, in the order of the index
//! ```
//!
//! The gateway checks the digest when it opens the file. A worker gets the open file, and reads the
//! index when a run first looks into the layer.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::job::attachment::{AttachedName, AttachmentKey, PackedFile};
use crate::job::{LayerMount, LayerPlace};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

impl LayerMount {
    /// The folder in which guests see the layer. Bytecode contains it, so it depends on the layer
    /// alone.
    #[must_use]
    pub fn path(&self) -> String {
        match self.place {
            LayerPlace::Batteries => BATTERIES.to_owned(),
            LayerPlace::Skill => {
                let name: String = self.digest.to_string().chars().take(16).collect();
                format!("{LAYERS}/{name}")
            }
        }
    }
}

/// The folder in which guests see the batteries.
const BATTERIES: &str = "/usr/local/lib/batteries";

/// The folder in which guests see the layers of skills.
const LAYERS: &str = "/usr/local/lib/layers";

/// The beginning of every layer.
const MAGIC: &[u8; 16] = b"wardian layer 1\n";

/// Offset of the length of the index.
const LENGTH_AT: u64 = 48;

/// Offset of the index.
const INDEX_AT: u64 = 56;

/// Longest index: some 100 bytes for each file.
const MAX_INDEX: u64 = 16 << 20;

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// The table of contents of a layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerIndex {
    /// Names and versions of the packages, sorted.
    pub packages: Vec<(String, String)>,
    /// Paths and lengths of the files, sorted by path.
    pub files: Vec<(String, u64)>,
}

/// A layer in the form in which it travels to workers: an open file that nobody writes to.
#[derive(Debug, Clone)]
pub struct LayerContent {
    /// Names the layer: the digest of its index and contents.
    pub digest: Digest,
    /// The file, open for reading only.
    pub file: Arc<File>,
    /// Length of the file.
    pub length: ByteCount,
}

impl LayerContent {
    /// Opens the layer in `file` and checks its digest: reads the whole file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not what it was.
    pub fn open(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut head = [0; 48];
        file.read_exact_at(&mut head, 0)?;
        let (magic, expected) = head.split_at(MAGIC.len());
        let mut hasher = Sha256::new();
        let mut chunk = vec![0; CHUNK];
        let mut position = LENGTH_AT;
        loop {
            let read = file.read_at(&mut chunk, position)?;
            if read == 0 {
                break;
            }
            hasher.update(chunk.get(..read).unwrap_or_default());
            position = position.saturating_add(u64::try_from(read).unwrap_or_default());
        }
        let found: [u8; 32] = hasher.finalize().into();
        if magic != MAGIC || expected != found || position != length {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a damaged layer"));
        }
        let digest = Digest::from_bytes(found);
        Ok(Self { digest, file: Arc::new(file), length: ByteCount::bytes(length) })
    }

    /// Opens a layer whose digest was checked before, and which has not changed since.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn open_seen(file: File) -> io::Result<Self> {
        let length = ByteCount::bytes(file.metadata()?.len());
        let mut digest = [0; 32];
        file.read_exact_at(&mut digest, 16)?;
        Ok(Self { digest: Digest::from_bytes(digest), file: Arc::new(file), length })
    }

    /// Names the attachment. All tenants share the layers.
    #[must_use]
    pub const fn key(&self) -> AttachmentKey {
        AttachmentKey::shared(AttachedName::Layer(self.digest))
    }

    /// The file.
    #[must_use]
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Reads the index.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn index(&self) -> io::Result<LayerIndex> {
        Ok(read_index(&self.file, self.length.as_u64())?.0)
    }

    /// Reads the content of one file at its place.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn read(&self, place: &PackedFile) -> io::Result<Vec<u8>> {
        let size = usize::try_from(place.size).map_err(io::Error::other)?;
        if place.size > self.length.as_u64() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut content = vec![0; size];
        self.file.read_exact_at(&mut content, place.offset)?;
        Ok(content)
    }

    /// The place of each file, as an offset in the whole file.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn places(&self) -> io::Result<Vec<PackedFile>> {
        places(&self.file, self.length.as_u64())
    }
}

/// Reads the place of each file of a layer, as an offset in `file`.
///
/// # Errors
///
/// The file cannot be read, or is not a layer.
pub fn places(file: &File, length: u64) -> io::Result<Vec<PackedFile>> {
    let (index, mut offset) = read_index(file, length)?;
    let mut places = Vec::with_capacity(index.files.len());
    for (path, size) in index.files {
        let end = offset.checked_add(size).filter(|end| *end <= length);
        let end = end.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
        places.push(PackedFile { path, offset, size });
        offset = end;
    }
    Ok(places)
}

/// Returns the index, and the offset of the contents.
fn read_index(file: &File, length: u64) -> io::Result<(LayerIndex, u64)> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, LENGTH_AT)?;
    let size = u64::from_le_bytes(bytes);
    let end = INDEX_AT.checked_add(size).filter(|end| *end <= length && size <= MAX_INDEX);
    let end = end.ok_or_else(damaged)?;
    let mut text = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    file.read_exact_at(&mut text, INDEX_AT)?;
    Ok((serde_json::from_slice(&text).map_err(|_malformed| damaged())?, end))
}

/// Writes a layer of these packages and files, sorted. Returns its digest.
///
/// # Errors
///
/// The sink fails, or the index is too long.
pub fn write(
    into: &mut impl Write,
    packages: Vec<(String, String)>,
    files: &[(String, &[u8])],
) -> io::Result<Digest> {
    let lengths = files
        .iter()
        .map(|(path, content)| (path.clone(), u64::try_from(content.len()).unwrap_or(u64::MAX)));
    let index = LayerIndex { packages, files: lengths.collect() };
    let text = serde_json::to_vec(&index)?;
    let size = u64::try_from(text.len()).map_err(io::Error::other)?;
    if size > MAX_INDEX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many files for a layer"));
    }
    let head = size.to_le_bytes();
    let mut hasher = Sha256::new();
    hasher.update(head);
    hasher.update(&text);
    files.iter().for_each(|(_, content)| hasher.update(content));
    let digest: [u8; 32] = hasher.finalize().into();
    for part in [&MAGIC[..], &digest, &head, &text] {
        into.write_all(part)?;
    }
    files.iter().try_for_each(|(_, content)| into.write_all(content))?;
    Ok(Digest::from_bytes(digest))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, SeekFrom};

    use super::*;

    fn layer(files: &[(&str, &[u8])]) -> (File, Digest) {
        let mut file = tempfile::tempfile().unwrap();
        let files: Vec<(String, &[u8])> =
            files.iter().map(|(path, content)| ((*path).to_owned(), *content)).collect();
        let digest = write(&mut file, vec![("a".into(), "1".into())], &files).unwrap();
        (file, digest)
    }

    #[test]
    fn a_layer_reads_back() {
        let (file, digest) = layer(&[("a/__init__.py", b"x = 1\n"), ("b.py", b"")]);
        let content = LayerContent::open(file).unwrap();
        assert_eq!(content.digest, digest);
        assert_eq!(content.index().unwrap().packages, [("a".to_owned(), "1".to_owned())]);
        let places = content.places().unwrap();
        assert_eq!(places[0].path, "a/__init__.py");
        assert_eq!(content.read(&places[0]).unwrap(), b"x = 1\n");
        assert_eq!(content.read(&places[1]).unwrap(), b"");
    }

    #[test]
    fn a_changed_byte_anywhere_is_noticed() {
        let (file, _) = layer(&[("a.py", b"x = 1\n")]);
        let length = file.metadata().unwrap().len();
        for at in 0..length {
            let mut changed = tempfile::tempfile().unwrap();
            let mut bytes = vec![0; usize::try_from(length).unwrap()];
            file.read_exact_at(&mut bytes, 0).unwrap();
            bytes[usize::try_from(at).unwrap()] ^= 1;
            changed.write_all(&bytes).unwrap();
            changed.seek(SeekFrom::Start(0)).unwrap();
            assert!(LayerContent::open(changed).is_err(), "byte {at}");
        }
        file.set_len(length - 1).unwrap();
        assert!(LayerContent::open(file).is_err());
    }

    #[test]
    fn an_index_that_lies_is_refused() {
        let file = tempfile::tempfile().unwrap();
        let with = |size: u64, text: &[u8]| {
            file.set_len(0).unwrap();
            file.write_all_at(&size.to_le_bytes(), LENGTH_AT).unwrap();
            file.write_all_at(text, INDEX_AT).unwrap();
            places(&file, file.metadata().unwrap().len())
        };
        let text = br#"{"packages": [], "files": [["a", 5]]}"#;
        let size = u64::try_from(text.len()).unwrap();
        assert!(with(size, text).is_err(), "a file beyond the end");
        assert!(with(u64::MAX, text).is_err() && with(size + 1, text).is_err());
        assert!(with(4, b"null").is_err());
        let twice = br#"{"packages": [], "files": [["a", 18446744073709551615], ["b", 2]]}"#;
        assert!(with(u64::try_from(twice.len()).unwrap(), twice).is_err());
    }
}
