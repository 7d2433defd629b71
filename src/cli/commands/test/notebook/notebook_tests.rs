//! A notebook as a test, with all that it can read.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::commands::test::notebook::notebook_file::NotebookFile;
use crate::cli::commands::test::packed_files::PackedFiles;

/// The cells of a notebook as tests.
#[derive(Debug)]
pub(crate) struct NotebookTests {
    /// The file as the user would type it.
    pub(crate) shown: String,
    /// The file.
    pub(crate) file: PathBuf,
    /// Its path in its project.
    pub(crate) path: String,
    pub(crate) notebook: NotebookFile,
    /// The files of the project that it can read.
    pub(crate) files: Arc<PackedFiles>,
    /// Folders that modules are imported from.
    pub(crate) places: Vec<&'static str>,
    /// The skill that the project is, by its number.
    pub(crate) skill: Option<usize>,
}
