//! Finds the contents that a document names in folders, whatever the names of the files are.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::commands::blobs::store_file;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use wardian_formats::provenance::{DocumentBlob, DocumentText};
use wardian_stores::blobs::LocalBlobStore;
use wardian_stores::blobs::content::blob_id::BlobHasher;
use wardian_stores::blobs::content::kind::BlobKind;

/// Maximum number of files and folders that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// Maximum number of files and folders next to a document that are looked at without being named.
const MAX_BESIDE: usize = 20_000;

/// Longest text that is read, in bytes: programs and arguments are no longer.
const MAX_TEXT: u64 = 16 << 20;

/// Bytes hashed at a time.
const CHUNK: usize = 256 << 10;

/// Files, each with its size.
#[derive(Debug, Default)]
pub(crate) struct FoundFiles(Vec<(PathBuf, u64)>);

impl FoundFiles {
    /// One file; none if it does not exist.
    pub(crate) fn one(path: &Path) -> Self {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file);
        Self(found.map(|found| (path.to_owned(), found.len())).into_iter().collect())
    }

    /// Adds a file, if it exists.
    pub(crate) fn add(&mut self, path: &Path) {
        self.0.extend(Self::one(path).0);
    }

    /// Looks for files in folders and the folders below them. Links are left out.
    pub(crate) fn below(folders: &[PathBuf]) -> Result<Self, Failed> {
        let mut found = Vec::new();
        let (mut pending, mut count) = (folders.to_vec(), 0_usize);
        while let Some(folder) = pending.pop() {
            let unreadable = |fault: io::Error| Failed::named(folder.display(), &fault);
            for entry in fs::read_dir(&folder).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                count = count.saturating_add(1);
                if count > MAX_ENTRIES {
                    return Err(Failed::usage(format!(
                        "the folders have more than {MAX_ENTRIES} files: give smaller ones"
                    )));
                }
                let sort = entry.file_type().map_err(unreadable)?;
                if sort.is_dir() {
                    pending.push(entry.path());
                } else if sort.is_file() {
                    found.push((entry.path(), entry.metadata().map_err(unreadable)?.len()));
                }
            }
        }
        found.sort();
        Ok(Self(found))
    }

    /// Looks for files next to a document and below its folder, as far as that is quick: the inputs
    /// of a run that was recorded a moment ago are mostly there. What cannot be read is left out,
    /// and so are links and hidden folders.
    pub(crate) fn beside(document: &Path) -> Self {
        let folder = document.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut pending = vec![folder.unwrap_or(Path::new(".")).to_owned()];
        let (mut found, mut count) = (Vec::new(), 0_usize);
        while let Some(folder) = pending.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.filter_map(Result::ok) {
                count = count.saturating_add(1);
                if count > MAX_BESIDE {
                    return Self(found);
                }
                let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
                let Ok(sort) = entry.file_type() else { continue };
                if sort.is_dir() && !is_hidden {
                    pending.push(entry.path());
                } else if sort.is_file()
                    && let Ok(about) = File::open(entry.path()).and_then(|file| file.metadata())
                {
                    found.push((entry.path(), about.len()));
                }
            }
        }
        found.sort();
        Self(found)
    }

    /// Adds the files of another search.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The file with the content of a blob.
    pub(crate) fn of_blob(&self, blob: &DocumentBlob) -> Result<&Path, Failed> {
        let kind = BlobKind::parse(&blob.kind)
            .map_err(|wrong| Failed::usage(shown(&wrong.to_string())))?;
        for path in self.of_size(blob.size_bytes) {
            let unreadable = |fault: io::Error| Failed::named(path.display(), &fault);
            let mut hasher = BlobHasher::new(&kind);
            let mut file = File::open(path).map_err(unreadable)?.take(blob.size_bytes);
            let mut piece = vec![0; CHUNK];
            loop {
                let count = file.read(&mut piece).map_err(unreadable)?;
                match piece.get(..count).filter(|read| !read.is_empty()) {
                    Some(read) => hasher.update(read),
                    None => break,
                }
            }
            if hasher.finish() == blob.id {
                return Ok(path);
            }
        }
        Err(Failed::usage(format!(
            "the blob `{}` ({}, {} bytes) is in none of the folders: give its folder with \
            `--blobs`",
            blob.id,
            shown(&blob.kind),
            blob.size_bytes
        )))
    }

    /// Puts a blob into a store.
    pub(crate) fn store(
        &self,
        store: &Arc<LocalBlobStore>,
        blob: &DocumentBlob,
    ) -> Result<(), Failed> {
        let path = self.of_blob(blob)?;
        let stored = store_file(store, path, Some(&blob.kind))?;
        if stored.id == blob.id {
            return Ok(());
        }
        Err(Failed::usage(format!("{}: changed while it was being read", path.display())))
    }

    /// A text of a record: by value, or from a file.
    pub(crate) fn text(&self, what: &str, text: &DocumentText) -> Result<String, Failed> {
        if let Some(text) = &text.text {
            return Ok(text.clone());
        }
        for path in self.of_size(text.size_bytes).filter(|_| text.size_bytes <= MAX_TEXT) {
            let mut found = Vec::new();
            let file = File::open(path).map_err(|fault| Failed::named(path.display(), &fault))?;
            file.take(MAX_TEXT)
                .read_to_end(&mut found)
                .map_err(|fault| Failed::named(path.display(), &fault))?;
            if let Some(found) = String::from_utf8(found).ok().filter(|found| text.is(found)) {
                return Ok(found);
            }
        }
        Err(Failed::usage(format!(
            "the text of the {what} (SHA-256 {}, {} bytes) is too long to be in the document, and \
            is in none of the folders: give the folder of its file with `--blobs`",
            text.sha256, text.size_bytes
        )))
    }

    fn of_size(&self, size: u64) -> impl Iterator<Item = &Path> {
        self.0.iter().filter(move |(_, found)| *found == size).map(|(path, _)| path.as_path())
    }
}
