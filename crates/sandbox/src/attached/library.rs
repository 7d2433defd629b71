//! The interpreter's own files: its standard library and packages.

use std::fs::File;
use std::os::fd::{AsRawFd as _, RawFd};
use std::sync::Arc;

use crate::SandboxError;
use crate::vfs::Mount;
use crate::vfs::tree::content::{Content, FileContent, SharedBytes};
use crate::vfs::tree::immutable::ImmutableTree;

/// The path at which the interpreter looks for its library.
const STDLIB: &str = "/usr/local/lib/python315.zip";

/// matplotlib opens its data as real files, at a place inside of the library's archive.
const MPL_DATA: &str = "/usr/local/lib/python315.zip/matplotlib/mpl-data";

/// The mounts that every run has.
#[derive(Debug, Clone)]
pub struct Library {
    mounts: Vec<Mount>,
    descriptor: RawFd,
}

impl Library {
    /// The library in `archive`, which must not change any more, with matplotlib's data files.
    ///
    /// # Errors
    ///
    /// The archive cannot be read, or the files make no folder.
    pub fn new(archive: File, mpl_data: Vec<(String, Vec<u8>)>) -> Result<Self, SandboxError> {
        let cause = |cause| SandboxError::System { what: "read the library", cause };
        let descriptor = archive.as_raw_fd();
        let archive = FileContent::new(archive).map_err(cause)?;
        let files = mpl_data.into_iter().map(|(path, bytes)| {
            let content: Arc<dyn Content> = Arc::new(SharedBytes::new(bytes));
            (path, content)
        });
        let data = ImmutableTree::from_files(files).map_err(SandboxError::Skill)?;
        let mounts =
            vec![Mount::file(STDLIB, Arc::new(archive)), Mount::tree(MPL_DATA, Arc::new(data))];
        Ok(Self { mounts, descriptor })
    }

    /// The mounts; cheap to clone.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// Descriptors that must stay open.
    pub fn descriptors(&self) -> Vec<RawFd> {
        vec![self.descriptor]
    }
}
