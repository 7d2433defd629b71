//! The differences between a cell of a document and its repetition.
//!
//! INVARIANT(unequal-cells-differ): two ends that are not equal have a difference.

use serde::Serialize;

use crate::provenance::check::{ensure, ensure_few_blobs};
use crate::provenance::difference::{Difference, OtherInputs, walk};
use crate::provenance::fault::ProvenanceError;
use crate::provenance::session::cell::{CellEnding, CellInputs};
use crate::provenance::session::document::SessionInputs;

/// Members of [`SessionInputs`] that belong to a machine and not to a session.
const OF_MACHINE: [&str; 3] = ["engine", "image", "layers"];

impl CellEnding {
    /// The differences from another end: output, error, log, display, blobs, files, fuel, size of memory,
    /// and the digest of memory and files.
    ///
    /// # Errors
    ///
    /// The ends have no JSON, which does not happen.
    pub fn differences(&self, other: &Self) -> Result<Vec<Difference>, ProvenanceError> {
        differences("ending", self, other)
    }

    /// Checks what no cell leaves that is kept.
    pub(super) fn check(&self) -> Result<(), ProvenanceError> {
        let is_short = self.files.len() <= crate::job::outcome::MAX_LEFT_FILES;
        ensure(is_short, "it names too many files")?;
        ensure_few_blobs(&self.parts)
    }
}

impl CellInputs {
    /// The differences from what decided another cell.
    ///
    /// # Errors
    ///
    /// The inputs have no JSON, which does not happen.
    pub fn differences(&self, other: &Self) -> Result<Vec<Difference>, ProvenanceError> {
        differences("inputs", self, other)
    }
}

impl SessionInputs {
    /// The first difference from the inputs of a repetition; first one of the machine, since nothing else can
    /// be helped then.
    ///
    /// # Errors
    ///
    /// The inputs have no JSON, which does not happen.
    pub fn difference(&self, other: &Self) -> Result<Option<OtherInputs>, ProvenanceError> {
        let mut all = differences("inputs", self, other)?;
        let of_machine =
            |one: &Difference| OF_MACHINE.iter().any(|part| one.what.starts_with(part));
        let first = all.iter().position(of_machine);
        if all.is_empty() {
            return Ok(None);
        }
        let difference = all.swap_remove(first.unwrap_or(0));
        Ok(Some(OtherInputs { difference, is_of_machine: first.is_some() }))
    }
}

fn differences<T: Serialize + PartialEq>(
    whole: &str,
    one: &T,
    other: &T,
) -> Result<Vec<Difference>, ProvenanceError> {
    let value = |part: &T| serde_json::to_value(part).map_err(ProvenanceError::Unserialisable);
    let mut found = Vec::new();
    walk("", &value(one)?, &value(other)?, &mut found);
    if found.is_empty() && one != other {
        found.push(Difference { what: whole.to_owned(), recorded: None, found: None });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::provenance::document::DocumentStatus;
    use crate::provenance::session::cell::{CellEnding, DisplayDigest, LogDigest};
    use wardian_vocabulary::ids::Digest;

    fn ending() -> CellEnding {
        CellEnding {
            status: DocumentStatus::Completed,
            output: None,
            output_truncated: false,
            error: None,
            log: LogDigest::of(&[], 0, "").unwrap(),
            display: DisplayDigest { count: 0, sha256: Digest::of(b"[]") },
            output_blobs: Vec::new(),
            files: Vec::new(),
            files_total: None,
            fuel: 5,
            memory_bytes: 65_536,
            state_digest: Digest::of(b"state"),
            parts: Vec::new(),
        }
    }

    #[test]
    fn unequal_cells_differ_by_the_name_of_what_is_unequal() {
        assert_eq!(ending().differences(&ending()).unwrap(), []);
        let other = CellEnding { fuel: 6, state_digest: Digest::of(b"other"), ..ending() };
        let found = ending().differences(&other).unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(names, ["fuel", "state_digest"]);
        assert_eq!(
            (found[0].recorded.as_deref(), found[0].found.as_deref()),
            (Some("5"), Some("6"))
        );
    }
}
