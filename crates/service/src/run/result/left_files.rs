//! The files that a run leaves in its workspace: the parameter `keep_files`, the members `files` and
//! `files_total` of a result, and the names of the blobs.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use tracing::warn;

use crate::caller::Caller;
use wardian_formats::job::outcome::{HIDDEN_NOT_KEPT, LeftFiles};
use wardian_formats::job::{KeepBounds, KeepFiles};
use wardian_formats::protocol::methods::execution::{FileResult, KeepFilesParam};
use wardian_stores::blobs::BlobStore;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

/// Maximum number of files that a summary names.
const MAX_NAMED: usize = 3;

/// Translates a call's `keep_files`. `bounds` are those of files that nobody asked for.
pub(crate) fn kept(asked: Option<KeepFilesParam>, bounds: KeepBounds) -> KeepFiles {
    match asked {
        None => KeepFiles::Usual(bounds),
        Some(KeepFilesParam::Flag(true)) => KeepFiles::All,
        Some(KeepFilesParam::Flag(false)) => KeepFiles::Nothing,
        Some(KeepFilesParam::Patterns(patterns)) => KeepFiles::Matching(patterns),
    }
}

/// The sentence about files that should have been kept and were not; none if there are none.
/// `unlisted` counts further files of a run that keeps all that it can.
pub(crate) fn lost(files: &[FileResult], unlisted: u64) -> Option<String> {
    let is_lost = |file: &&FileResult| {
        file.blob_id.is_none() && file.not_kept.as_deref().is_some_and(|why| why != HIDDEN_NOT_KEPT)
    };
    let lost: Vec<&FileResult> = files.iter().filter(is_lost).collect();
    let first = lost.first()?;
    let names = lost.iter().take(MAX_NAMED).map(|file| {
        // A program chooses the path.
        let path = file.path.replace(char::is_control, " ");
        format!("{path} ({})", readable(file.size_bytes))
    });
    let mut text = names.collect::<Vec<_>>().join(", ");
    let others = ByteCount::from(lost.len().saturating_sub(MAX_NAMED)).as_u64();
    let others = others.saturating_add(unlisted);
    if others > 0 {
        // Writing to a string never fails.
        write!(text, " and {others} others").ok();
    }
    let was = if lost.len() == 1 && others == 0 { "was" } else { "were" };
    let why = first.not_kept.as_deref().unwrap_or_default();
    Some(format!("{text} {was} not kept: {why}."))
}

/// A size in the unit in which people read it, rounded down: `79.9 MiB`.
fn readable(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let Some((size, name)) = units.iter().find(|(size, _)| bytes >= *size) else {
        return ByteCount::bytes(bytes).to_string();
    };
    let tenths = u128::from(bytes).saturating_mul(10) / u128::from(*size);
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        tenth => format!("{}.{tenth} {name}", tenths / 10),
    }
}

/// The blobs of a run that get names.
pub(crate) struct NamedBlobs<'a> {
    /// The files that it left.
    pub files: &'a [FileResult],
    /// The names that the program chose for blobs that it stored itself.
    pub chosen: Vec<(BlobId, BlobName)>,
    /// The blobs that it stored.
    pub written: &'a [BlobId],
}

/// Names the blobs of a run: kept files by their paths, others as the program wanted. A copy of
/// a mounted blob gives it one more name, and its owner can continue to use the others.
///
/// Like the files, the names come from a worker that may be compromised, so only blobs that this
/// run wrote get one.
pub(crate) async fn name_blobs(blobs: &Arc<dyn BlobStore>, caller: &Caller, named: NamedBlobs<'_>) {
    let NamedBlobs { files, chosen, written } = named;
    let of_file = |file: &FileResult| Some((file.blob_id.clone()?, BlobName::of_path(&file.path)?));
    let mut names: Vec<_> = files.iter().filter_map(of_file).collect();
    names.extend(chosen);
    let written: HashSet<&BlobId> = written.iter().collect();
    names.retain(|(id, _)| written.contains(id));
    if names.is_empty() {
        return;
    }
    let (blobs, tenant) = (Arc::clone(blobs), caller.tenant.clone());
    let naming = async move { blobs.set_names(&tenant, &names).await };
    let named = caller.memory.on_task(naming).await;
    // The content is kept; a run does not fail for a name.
    if let Ok(Err(error)) = named {
        warn!("the blobs of a run were not named: {}", CauseChain(&error));
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
    use wardian_formats::job::outcome::{KeptFile, LeftFile};
    use wardian_vocabulary::ids::Digest;
    use wardian_vocabulary::units::ByteCount;

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
        let bounds = KeepBounds::DEFAULT;
        let flag = |keep| kept(Some(KeepFilesParam::Flag(keep)), bounds);
        assert_eq!((flag(true), flag(false)), (KeepFiles::All, KeepFiles::Nothing));
        assert_eq!(kept(None, bounds), KeepFiles::Usual(bounds));
    }

    #[test]
    fn a_summary_names_what_is_lost_and_why() {
        let file = |path: &str, mebibytes: u64, not_kept: Option<&str>| FileResult {
            path: path.to_owned(),
            size_bytes: mebibytes << 20,
            blob_id: None,
            kind: None,
            not_kept: not_kept.map(str::to_owned),
        };
        let kept = FileResult {
            blob_id: Some(BlobId::of_digest(&Digest::of(b"x"))),
            ..file("a", 1, None)
        };
        let (unasked, hidden) = (file("b", 1, None), file(".c", 1, Some(HIDDEN_NOT_KEPT)));
        assert_eq!(lost(&[kept.clone(), unasked, hidden], 0), None);
        let large = file("report.xlsx", 80, Some("too large"));
        assert_eq!(
            lost(&[kept, large.clone()], 0).unwrap(),
            "report.xlsx (80 MiB) was not kept: too large."
        );
        let many = vec![large.clone(); 5];
        let text = lost(&many, 7).unwrap();
        assert!(text.ends_with(" and 9 others were not kept: too large."), "{text}");
        let hostile = file("a\nb", 1, Some("too large"));
        assert!(!lost(&[hostile], 0).unwrap().contains('\n'));
    }
}
