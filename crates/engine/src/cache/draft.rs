//! A file of the cache while it is being written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::cache::file::{CheckedFile, RECORD, open_existing, storage};
use crate::cache::record::{Identity, Record};
use crate::error::EngineError;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Ending of the names of unfinished files.
pub(crate) const PARTIAL: &str = ".partial";

/// Smallest hole: a page of memory, which is a block on the usual disk.
const HOLE: usize = 4 << 10;

/// A file that has no name yet. Dropped before [`Draft::commit`], it leaves nothing behind.
///
/// The digest is computed on the way, so the content is read only once.
#[derive(Debug)]
pub struct Draft {
    folder: PathBuf,
    name: String,
    file: NamedTempFile,
    hasher: Sha256,
    size: u64,
    clock: Clock,
}

impl Draft {
    pub(crate) fn new(folder: &Path, name: &str, clock: Clock) -> Result<Self, EngineError> {
        let file = partial_in(folder, name).map_err(storage("write to", folder))?;
        let (folder, name) = (folder.to_owned(), name.to_owned());
        Ok(Self { folder, name, file, hasher: Sha256::new(), size: 0, clock })
    }

    /// Adds `bytes`; long runs of zeros become holes that take no space on the disk.
    ///
    /// # Errors
    ///
    /// The disk is full or broken.
    pub fn write_sparse(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        for chunk in bytes.chunks(HOLE) {
            let result = if chunk.iter().all(|byte| *byte == 0) {
                self.skip(chunk)
            } else {
                self.write_all(chunk)
            };
            result.map_err(storage("write to", &self.folder))?;
        }
        Ok(())
    }

    fn skip(&mut self, zeros: &[u8]) -> io::Result<()> {
        self.hasher.update(zeros);
        self.size = self.size.saturating_add(ByteCount::from(zeros.len()).as_u64());
        self.file.seek(SeekFrom::Start(self.size)).map(|_| ())
    }

    /// Digest and length of what was written so far.
    #[must_use]
    pub(crate) fn measure(&self) -> (Digest, ByteCount) {
        let digest = Digest::from_bytes(self.hasher.clone().finalize().into());
        (digest, ByteCount::bytes(self.size))
    }

    /// Gives the file its name, once everything has reached the disk, and records what it is.
    ///
    /// The record is written last. A file without a record counts as damaged, so after a power
    /// failure at any moment the file is either right or made again.
    ///
    /// # Errors
    ///
    /// The disk is full or broken.
    pub fn commit(
        self,
        what: &str,
        made_from: BTreeMap<String, String>,
    ) -> Result<CheckedFile, EngineError> {
        let (digest, size) = self.measure();
        let path = self.folder.join(&self.name);
        let failed = || storage("write to", &path);

        self.file.as_file().set_len(self.size).map_err(failed())?;
        self.file.as_file().sync_all().map_err(failed())?;
        self.file.persist(&path).map_err(|error| failed()(error.error))?;
        sync_folder(&self.folder).map_err(failed())?;

        // The writable descriptor is closed; this one cannot change the file.
        let file = open_existing(&path).and_then(|file| file.ok_or(io::ErrorKind::NotFound.into()));
        let file = file.map_err(failed())?;
        let mut record = Record::new(what, digest, size);
        record.made_from = made_from;
        record.created_unix_seconds = self.clock.now().as_secs();
        record.seen = Identity::of(&file.metadata().map_err(failed())?);
        write_record(&self.folder, &self.name, &record).map_err(failed())?;
        Ok(CheckedFile { file, path, record })
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        self.size = self.size.saturating_add(u64::try_from(written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes or replaces the record of `name`.
pub(crate) fn write_record(folder: &Path, name: &str, record: &Record) -> io::Result<()> {
    let mut file = partial_in(folder, name)?;
    serde_json::to_writer_pretty(&mut file, record)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(folder.join(format!("{name}{RECORD}"))).map_err(|error| error.error)?;
    sync_folder(folder)
}

fn partial_in(folder: &Path, name: &str) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(&format!(".{name}.")).suffix(PARTIAL).tempfile_in(folder)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
