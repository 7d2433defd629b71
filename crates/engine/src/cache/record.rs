//! The record next to each file of the cache, and the conditions for trusting a file without
//! reading it.
//!
//! # Why a file is not hashed at every start
//!
//! Native code of 214 MB takes 0.15 to 0.5 s to hash, which is most of a restart. So the record
//! keeps the file's [`Identity`] from the last time that its content was right. As long as the
//! identity is the same, the content is:
//!
//! - No other user can write to the folder. A process of this user can write to it, but could also
//!   write a matching record: the digest protects against accidents, not against that user.
//! - This program never writes to a file once it has its name; new content is a new inode.
//! - Every other write to the file updates its time of change (ctime), which no program can set
//!   back.
//! - Corruption on the disk, which the kernel does not see, is found once after each boot, because
//!   the boot is part of the identity; `verify` finds it at any time.
//!
//! A change within the milliseconds in which the file was written would escape, but no other
//! program knows of the file then. On a system without a boot id, every check reads the whole file.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Longest record that is read: real ones have a few hundred bytes.
const MAX_RECORD: u64 = 64 << 10;

/// Version of the records' form. Another one is treated like a missing record.
const FORMAT: u32 = 1;

/// Bytes hashed at a time.
const CHUNK: usize = 1 << 20;

/// The record of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    format: u32,
    /// A description of the file, for people.
    pub what: String,
    /// Digest of its content.
    pub sha256: Digest,
    /// Length of its content.
    pub size_bytes: ByteCount,
    /// The origin of the file: names and digests or versions.
    pub made_from: BTreeMap<String, String>,
    /// The time at which it was made, in seconds since the Unix epoch.
    pub created_unix_seconds: u64,
    /// The identity of the file at the last time that its content was right.
    pub seen: Option<Identity>,
}

/// Distinguishes a file from every other file, and from itself after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    boot: String,
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    /// The identity of an open file; `None` on a system without a boot id.
    pub fn of(metadata: &Metadata) -> Option<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(Self {
            boot: boot.trim().to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl Record {
    /// A record of content that is known to be right.
    pub fn new(what: &str, sha256: Digest, size_bytes: ByteCount) -> Self {
        Self {
            format: FORMAT,
            what: what.to_owned(),
            sha256,
            size_bytes,
            made_from: BTreeMap::new(),
            created_unix_seconds: 0,
            seen: None,
        }
    }

    /// Reads a record; `None` if it is malformed or of another format.
    pub(crate) fn read(file: &File) -> io::Result<Option<Self>> {
        let mut text = Vec::new();
        let read = file.take(MAX_RECORD).read_to_end(&mut text)?;
        let record = serde_json::from_slice::<Self>(&text).ok();
        let whole = u64::try_from(read).is_ok_and(|read| read < MAX_RECORD);
        Ok(record.filter(|record| whole && record.format == FORMAT))
    }

    /// True if the file is the one that was seen with the right content, unchanged since.
    pub(crate) fn has_seen(&self, metadata: &Metadata) -> bool {
        self.seen.is_some() && self.seen == Identity::of(metadata)
    }
}

/// Reads a whole file and returns its digest and length. Does not move its position.
pub(crate) fn digest_of(
    file: &File,
    mut advanced: impl FnMut(ByteCount),
) -> io::Result<(Digest, ByteCount)> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    let mut position = 0_u64;
    loop {
        let read = match file.read_at(&mut chunk, position) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(chunk.get(..read).unwrap_or_default());
        position = position.saturating_add(u64::try_from(read).unwrap_or_default());
        advanced(ByteCount::bytes(position));
    }
    Ok((Digest::from_bytes(hasher.finalize().into()), ByteCount::bytes(position)))
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, SeekFrom, Write as _};

    use super::*;

    fn file_with(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file
    }

    #[test]
    fn a_digest_is_of_the_whole_file_and_moves_nothing() {
        let bytes = vec![7; CHUNK + 5];
        let mut file = file_with(&bytes);
        file.seek(SeekFrom::Start(3)).unwrap();
        let mut steps = Vec::new();
        let (digest, size) = digest_of(&file, |done| steps.push(done)).unwrap();
        assert_eq!((digest, size), (Digest::of(&bytes), ByteCount::from(bytes.len())));
        assert_eq!(steps, [ByteCount::from(CHUNK), ByteCount::from(CHUNK + 5)]);
        assert_eq!(file.stream_position().unwrap(), 3);
    }

    #[test]
    fn a_change_of_any_kind_is_another_identity() {
        let mut file = file_with(b"content");
        let mut record = Record::new("a file", Digest::of(b"content"), ByteCount::bytes(7));
        assert!(!record.has_seen(&file.metadata().unwrap()), "seen by nobody");
        let seen = Identity::of(&file.metadata().unwrap());
        assert!(seen.is_some(), "this system has no boot id");
        record.seen = seen.clone();
        assert!(record.has_seen(&file.metadata().unwrap()));

        let other_boot = Identity { boot: "another".to_owned(), ..seen.clone().unwrap() };
        record.seen = Some(other_boot);
        assert!(!record.has_seen(&file.metadata().unwrap()));

        record.seen = seen;
        let before = file.metadata().unwrap().modified().unwrap();
        // A time of change has the kernel's resolution, not the clock's.
        while record.has_seen(&file.metadata().unwrap()) {
            file.seek(SeekFrom::Start(0)).unwrap();
            file.write_all(b"CONTENT").unwrap();
            file.set_modified(before).unwrap();
        }
        assert_eq!(file.metadata().unwrap().modified().unwrap(), before);
    }

    #[test]
    fn records_read_back_and_strange_ones_are_none() {
        let mut record = Record::new("a file", Digest::of(b"x"), ByteCount::bytes(1));
        record.made_from.insert("module".to_owned(), "abc".to_owned());
        record.seen = Identity::of(&file_with(b"x").metadata().unwrap());
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(Record::read(&file_with(text.as_bytes())).unwrap(), Some(record));

        let other_format = text.replace("\"format\":1", "\"format\":2");
        let unknown = text.replace("\"format\":1", "\"format\":1,\"more\":1");
        let long = text.replace("a file", &"a".repeat(70_000));
        let cut = text.strip_prefix('{').unwrap();
        for strange in ["", "{}", "null", cut, &other_format, &unknown, &long] {
            assert_eq!(Record::read(&file_with(strange.as_bytes())).unwrap(), None, "{strange}");
        }
    }
}
