//! The files that a run leaves in its workspace: the parameter `keep_files` and the members `files`
//! and `files_total` of a result.

use std::collections::HashSet;

use crate::ids::BlobId;
use crate::job::KeepFiles;
use crate::job::outcome::LeftFiles;
use crate::protocol::methods::execution::{FileResult, KeepFilesParam};

/// Translates a call's `keep_files`.
pub(crate) fn kept(asked: Option<KeepFilesParam>) -> KeepFiles {
    match asked {
        None => KeepFiles::Figures,
        Some(KeepFilesParam::Flag(true)) => KeepFiles::All,
        Some(KeepFilesParam::Flag(false)) => KeepFiles::Nothing,
        Some(KeepFilesParam::Patterns(patterns)) => KeepFiles::Matching(patterns),
    }
}

/// The `files` member of a result, and `files_total` if not all of them are listed.
///
/// The list comes from a worker that may be compromised, so a blob is shown only if this run wrote
/// it.
pub(crate) fn shown(left: LeftFiles, written: &[BlobId]) -> (Vec<FileResult>, Option<u64>) {
    let written: HashSet<&BlobId> = written.iter().collect();
    let files: Vec<FileResult> = left
        .listed
        .into_iter()
        .map(|file| {
            let kept = file.kept.filter(|kept| written.contains(&kept.id));
            let (blob_id, kind) = kept.map(|kept| (kept.id, kept.kind)).unzip();
            let size_bytes = file.size.as_u64();
            FileResult { path: file.path, size_bytes, blob_id, kind, not_kept: file.problem }
        })
        .collect();
    let listed = u64::try_from(files.len()).unwrap_or(u64::MAX);
    (files, Some(left.total).filter(|total| *total > listed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Digest;
    use crate::job::outcome::{KeptFile, LeftFile};
    use crate::units::ByteCount;

    #[test]
    fn a_blob_that_the_run_did_not_write_is_not_shown() {
        let own = BlobId::of_digest(&Digest::of(b"own"));
        let foreign = BlobId::of_digest(&Digest::of(b"foreign"));
        let file = |id: &BlobId| LeftFile {
            path: "a".into(),
            size: ByteCount::bytes(3),
            kept: Some(KeptFile { id: id.clone(), kind: "text/plain".into() }),
            problem: None,
        };
        let left = LeftFiles { listed: vec![file(&own), file(&foreign)], total: 5 };
        let (files, total) = shown(left, std::slice::from_ref(&own));
        assert_eq!(files[0].blob_id.as_ref(), Some(&own));
        assert_eq!((&files[1].blob_id, &files[1].kind), (&None, &None));
        assert_eq!(total, Some(5));
    }

    #[test]
    fn a_flag_keeps_all_or_nothing() {
        let flag = |keep| kept(Some(KeepFilesParam::Flag(keep)));
        assert_eq!((flag(true), flag(false)), (KeepFiles::All, KeepFiles::Nothing));
        assert_eq!(kept(None), KeepFiles::Figures);
    }
}
