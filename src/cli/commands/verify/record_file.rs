//! Files with records.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use crate::ids::Digest;
use crate::provenance::{MAX_DOCUMENT, RunDocument};

/// Reads the record in a file.
pub(super) fn read_record(path: &Path) -> Result<RunDocument, Failed> {
    let mut text = Vec::new();
    let file = File::open(path).map_err(|fault| Failed::named(path.display(), &fault))?;
    file.take(MAX_DOCUMENT.as_u64().saturating_add(1))
        .read_to_end(&mut text)
        .map_err(|fault| Failed::named(path.display(), &fault))?;
    RunDocument::read(&text).map_err(|fault| Failed::named(path.display(), &fault))
}

/// Writes the record of a run into a file.
pub(crate) fn write_record(path: &Path, document: &RunDocument) -> Result<(), Failed> {
    let text = document.text()?;
    fs::write(path, &text).map_err(|fault| Failed::named(path.display(), &fault))?;
    note(&format!("recorded as {} (SHA-256 {})", path.display(), Digest::of(text.as_bytes())));
    Ok(())
}
