//! Checks one folder for its author. Keeps the texts for the source lines of the findings.

use std::path::Path;
use std::sync::Arc;

use crate::registry::RegistryError;
use crate::registry::error::AtPath;
use crate::registry::folders::handle::Dir;
use crate::registry::folders::snapshot::{Snapshot, read_folder};
use crate::registry::folders::trust::SkillTrust;
use wardian_formats::skill::diagnostic::Diagnostic;

/// The result of checking one folder.
#[derive(Debug)]
pub struct FolderCheck {
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The skill, if there are no errors.
    pub snapshot: Option<Arc<Snapshot>>,
    texts: Vec<(String, String)>,
}

impl FolderCheck {
    /// Adds texts of files for the source lines of diagnostics.
    pub fn add_texts(&mut self, texts: Vec<(String, String)>) {
        self.texts.extend(texts);
    }

    /// The diagnostics with their source lines, for people at a terminal.
    #[must_use]
    pub fn reports(&self) -> Vec<miette::Report> {
        let text_of = |file: &str| {
            let found = self.texts.iter().find(|(name, _)| name == file);
            found.map(|(_, text)| text.as_str())
        };
        self.diagnostics.iter().map(|one| one.to_report(text_of(&one.file))).collect()
    }
}

/// Reads and checks the skill in the folder at `path`, as a registry would that needs no signatures.
///
/// # Errors
///
/// The folder cannot be opened.
pub fn check_folder(path: &Path) -> Result<FolderCheck, RegistryError> {
    check_signed_folder(path, &SkillTrust::default())
}

/// Reads and checks the skill in the folder at `path`, as the registry would that trusts these keys.
///
/// # Errors
///
/// The folder cannot be opened.
pub fn check_signed_folder(path: &Path, trust: &SkillTrust) -> Result<FolderCheck, RegistryError> {
    let at_path = |cause| RegistryError::Root(AtPath { path: path.to_owned(), cause });
    let folder = Dir::open_path(path).map_err(at_path)?;
    let absolute = std::path::absolute(path).map_err(at_path)?;
    let name = absolute.file_name().unwrap_or_default().to_string_lossy();
    let reading = read_folder(&name, &folder, &mut |_| (), trust);
    Ok(FolderCheck {
        diagnostics: reading.diagnostics,
        snapshot: reading.snapshot,
        texts: reading.texts,
    })
}
