//! The use count and last use of an image, noted next to it in the cache.
//!
//! Notes only decide the order in which images are loaded and removed: a lost or wrong note costs
//! time and nothing else.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Name of the note.
const NOTE: &str = "uses";

/// Longest note that is read, in bytes.
const MAX_NOTE: u64 = 1_024;

/// The use of an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageUsage {
    /// Runs that began as it.
    pub hits: u64,
    /// The time of the last one, in seconds since the Unix epoch.
    pub last_used_unix_seconds: u64,
}

impl ImageUsage {
    /// The note in the folder of an image; zeros if there is none that can be read.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let read = || -> io::Result<Self> {
            let mut text = String::new();
            fs::File::open(folder.join(NOTE))?.take(MAX_NOTE).read_to_string(&mut text)?;
            Ok(serde_json::from_str(&text)?)
        };
        read().unwrap_or_default()
    }

    /// Replaces the note in the folder of an image.
    ///
    /// # Errors
    ///
    /// The folder is gone or cannot be written to.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let draft = folder.join(format!("{NOTE}.new"));
        fs::write(&draft, serde_json::to_vec(self)?)?;
        fs::rename(draft, folder.join(NOTE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_and_anything_else_as_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ImageUsage::read(folder.path()), ImageUsage::default());
        let usage = ImageUsage { hits: 7, last_used_unix_seconds: 1_700_000_000 };
        usage.write(folder.path()).unwrap();
        assert_eq!(ImageUsage::read(folder.path()), usage);
        fs::write(folder.path().join(NOTE), "{\"hits\": -1").unwrap();
        assert_eq!(ImageUsage::read(folder.path()), ImageUsage::default());
    }
}
