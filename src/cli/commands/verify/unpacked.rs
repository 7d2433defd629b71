//! Bundles: unpacked into a temporary folder, each file checked against the document.

use std::fs::{self, File, OpenOptions};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::commands::verify::document_text::{ReadDocument, parse};
use crate::cli::failed::Failed;
use wardian_formats::provenance::bundle::{BundleContents, DOCUMENT_NAME};
use wardian_formats::provenance::tar::TarReader;
use wardian_formats::provenance::{ProvenanceError, PublicKey};

/// The contents of a bundle.
#[derive(Debug)]
pub(super) struct UnpackedBundle {
    folder: TempDir,
}

impl UnpackedBundle {
    /// A folder of the contents, which may be empty.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Unpacks a bundle. Names are relative paths without `..`, each comes once, and the folder is new:
/// so no file is written to another place, or twice.
pub(super) fn unpack(
    file: File,
    key: Option<&PublicKey>,
) -> Result<(ReadDocument, UnpackedBundle), ProvenanceError> {
    let failed = |what| move |cause| ProvenanceError::File { what, cause };
    let folder = TempDir::new().map_err(failed("create a temporary folder"))?;
    for name in ["blobs", "layers", "skills", "texts"] {
        fs::create_dir(folder.path().join(name)).map_err(failed("unpack the bundle"))?;
    }
    let mut archive = TarReader::new(BufReader::new(file));
    let first = archive.next_entry()?.filter(|entry| entry.name == DOCUMENT_NAME);
    let first = first.ok_or_else(|| {
        ProvenanceError::Bundle(format!("its first file must be `{DOCUMENT_NAME}`"))
    })?;
    let most = BundleContents::largest_document();
    if first.size > most.as_u64() {
        return Err(ProvenanceError::TooLarge { most });
    }
    let mut text = Vec::new();
    archive.read_content(&first, &mut text)?;
    let read = parse(text, key)?;
    let mut contents = BundleContents::of(&read.document.inputs);
    while let Some(entry) = archive.next_entry()? {
        contents.accept(&entry)?;
        let path = folder.path().join(&entry.name);
        let parent = path.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent).map_err(failed("unpack the bundle"))?;
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        archive.read_content(&entry, &mut made.map_err(failed("unpack the bundle"))?)?;
    }
    contents.finish()?;
    Ok((read, UnpackedBundle { folder }))
}

/// True if a file begins as an archive does.
pub(super) fn is_archive(path: &Path, file: &File) -> Result<bool, Failed> {
    use std::os::unix::fs::FileExt as _;

    let mut mark = [0; 5];
    match file.read_exact_at(&mut mark, 257) {
        Ok(()) => Ok(mark == *b"ustar"),
        Err(fault) if fault.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(fault) => Err(Failed::named(path.display(), &fault)),
    }
}
