//! The results that are kept of cells, for the list of cells and the notebook. That of a cell with several
//! parts has what all of them have shown, while each call is answered with its own; that of a cell that left
//! no trace says why.

use std::collections::BTreeSet;
use std::mem::take;

use serde::Deserialize;

use crate::sessions::kept_cells::long_result::{NotKept, kept_text};
use crate::sessions::reproducible::cell_record::{KeptRun, with_record};
use wardian_formats::protocol::methods::cells::{CellFate, DisplayedObject, SessionResult};
use wardian_formats::protocol::methods::execution::{
    FileResult, MAX_LOGS_PREVIEW, RunError, RunResult, RunStatus,
};
use wardian_sessions::{CellEnd, CellEnds};
use wardian_vocabulary::ids::{CheckpointId, SessionId};

/// Maximum number of objects that are kept of all parts.
const MAX_DISPLAYED: usize = 256;

/// What the summary says of a call that has displayed more than its result can have.
const NOT_SHOWN: &str = " Only the first 256 objects that it has displayed are in the result.";

/// What earlier parts of a cell have shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EarlierParts {
    logs_preview: String,
    logs_truncated: bool,
    display: Vec<DisplayedObject>,
    left_out: NotKept,
}

impl EarlierParts {
    /// Those whose result was kept so. Nothing is known of others.
    pub(crate) fn of(result: Option<&str>) -> Self {
        result.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Those of a part that this result tells of.
    fn in_result(result: RunResult) -> Self {
        let RunResult { logs_preview, logs_truncated, display, .. } = result;
        Self { logs_preview, logs_truncated, display, left_out: NotKept::default() }
    }

    /// The result of these parts and the one that has ended, as it is kept: with what these lack, and without
    /// texts for which there is no room beside `reserved` bytes.
    pub(crate) fn followed_by(self, last: &RunResult, reserved: usize) -> Option<String> {
        if self.logs_preview.is_empty() && self.display.is_empty() {
            return kept_text(last, self.left_out, reserved);
        }
        let (whole, left_out) = self.before(last.clone());
        kept_text(&whole, left_out, reserved)
    }

    /// The result of these parts and the one that has ended, and what it lacks.
    fn before(self, mut whole: RunResult) -> (RunResult, NotKept) {
        let Self { logs_preview, logs_truncated, display, mut left_out } = self;
        whole.logs_preview = [logs_preview.as_str(), &whole.logs_preview].concat();
        whole.logs_truncated |= logs_truncated;
        // Many parts have no longer preview than a run, but for its last line.
        if whole.logs_preview.len() > 2 * MAX_LOGS_PREVIEW {
            let end = whole.logs_preview.floor_char_boundary(2 * MAX_LOGS_PREVIEW);
            whole.logs_preview.truncate(end);
            whole.logs_truncated = true;
        }
        whole.display = display.into_iter().chain(whole.display).collect();
        let beyond = whole.display.get(MAX_DISPLAYED..).unwrap_or_default();
        if !beyond.is_empty() {
            let bytes = serde_json::to_string(beyond).map_or(0, |text| text.len());
            left_out.add(beyond.len(), bytes);
            whole.display.truncate(MAX_DISPLAYED);
        }
        (whole, left_out)
    }
}

/// The result of a call in which two parts of a cell ran, one after the other. The files of a whole program
/// are all in its last part; other cells list those that each part has changed.
pub(crate) fn of_one_call(
    mut first: RunResult,
    mut second: RunResult,
    is_program: bool,
) -> RunResult {
    if !is_program {
        add_earlier_files(&mut first, &mut second);
    }
    second.duration_ms = first.duration_ms.saturating_add(second.duration_ms);
    second.memory_peak_bytes = first.memory_peak_bytes.max(second.memory_peak_bytes);
    second.fuel = match (first.fuel, second.fuel) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    let mut blobs = take(&mut first.output_blobs);
    blobs.append(&mut second.output_blobs);
    second.output_blobs = blobs;
    let lacks_some = first.summary.ends_with(NOT_SHOWN);
    let (mut whole, left_out) = EarlierParts::in_result(first).before(second);
    if lacks_some || !left_out.is_empty() {
        whole.summary.push_str(NOT_SHOWN);
    }
    whole
}

/// Lists the files of the first part too that the second one has not changed.
fn add_earlier_files(first: &mut RunResult, second: &mut RunResult) {
    if first.files_total.or(second.files_total).is_some() {
        // Those that both have changed are counted twice.
        second.files_total = Some(all_files(first).saturating_add(all_files(second)));
    }
    let changed: BTreeSet<&str> = second.files.iter().map(|file| file.path.as_str()).collect();
    let earlier = take(&mut first.files).into_iter();
    let mut files: Vec<FileResult> =
        earlier.filter(|file| !changed.contains(file.path.as_str())).collect();
    files.append(&mut second.files);
    second.files = files;
}

/// The number of all files, also of those that are not listed.
fn all_files(RunResult { files, files_total, .. }: &RunResult) -> u64 {
    files_total.unwrap_or_else(|| u64::try_from(files.len()).unwrap_or(u64::MAX))
}

/// A cell that has left its worker, and the results that are kept of it.
#[derive(Debug, Clone)]
pub(crate) struct LeftCell {
    pub(crate) place: (SessionId, u32),
    /// The checkpoint that its session is at.
    pub(crate) head: Option<CheckpointId>,
    /// True if it would wait.
    pub(crate) waits: bool,
    /// The result of its earlier parts, if it has waited.
    pub(crate) earlier: Option<String>,
}

impl LeftCell {
    /// The answer of the cell if it is rolled back for this reason.
    pub(crate) fn rolled_back(&self, mut result: RunResult, reason: &str) -> RunResult {
        if self.waits {
            give_up(&mut result, reason);
        }
        let (place, head) = (self.place.clone(), self.head.clone());
        result.session = Some(rolled_back(place, head, reason.to_owned()));
        result
    }

    /// The end of the cell with this answer.
    pub(crate) fn end(&self, result: &RunResult) -> CellEnd {
        CellEnd { result: self.kept(result, 0), fuel: result.fuel }
    }

    /// What is kept of all parts, if this is the answer of the last one, beside so many bytes.
    fn kept(&self, result: &RunResult, reserved: usize) -> Option<String> {
        EarlierParts::of(self.earlier.as_deref()).followed_by(result, reserved)
    }

    /// The end of the cell with this answer and what is `noted` of it, and the end if its state cannot be
    /// kept.
    pub(crate) fn ends(self, result: RunResult, noted: Option<&KeptRun>) -> CellEnds {
        let mut end = self.end(&result);
        if let Some(run) = noted {
            // A result is of use without its record, too.
            end.result = with_record(|record| self.kept(&result, record), run).or(end.result);
        }
        CellEnds::new(end, move |cause| self.end(&self.rolled_back(result, &cause.to_string())))
    }
}

/// Lets a run fail that would wait, and cannot go on.
fn give_up(result: &mut RunResult, reason: &str) {
    result.status = RunStatus::Failed;
    reason.clone_into(&mut result.summary);
    result.requests.clear();
    let error_type = "SandboxCrash".to_owned();
    result.error = Some(RunError { error_type, message: reason.to_owned(), traceback: None });
}

/// What an answer says of a cell that left no trace.
pub(crate) fn rolled_back(
    (id, cell): (SessionId, u32),
    checkpoint: Option<CheckpointId>,
    reason: String,
) -> SessionResult {
    let (state, reason) = (CellFate::RolledBack, Some(reason));
    SessionResult { id, cell, checkpoint, state, reason, state_digest: None }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::run::result::answered::Answered;
    use crate::runs::active::StopReason;
    use crate::sessions::kept_cells::long_result::unknown_result;
    use wardian_formats::protocol::methods::cells::DisplayedForm;
    use wardian_sessions::MAX_RESULT;
    use wardian_vocabulary::ids::RunId;

    fn part(log: &str, shown: &str) -> RunResult {
        let stopped = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
        let form = ("text/plain".to_owned(), DisplayedForm::Text(shown.to_owned()));
        let display = vec![DisplayedObject(vec![form])];
        RunResult { logs_preview: log.to_owned(), display, ..stopped }
    }

    #[test]
    fn the_parts_follow_each_other() {
        let first = EarlierParts::of(None).followed_by(&part("one\n", "1"), 0).unwrap();
        let last = part("two\n", "2");
        let whole = EarlierParts::of(Some(&first)).followed_by(&last, 0).unwrap();
        let whole: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(
            (&whole["logs_preview"], &whole["run_id"]),
            (&json!("one\ntwo\n"), &json!(last.run_id))
        );
        let shown = json!([{"text/plain": {"text": "1"}}, {"text/plain": {"text": "2"}}]);
        assert_eq!((&whole["display"], &whole["left_out"]), (&shown, &Value::Null));
    }

    #[test]
    fn the_result_of_a_call_has_all_of_its_parts() {
        let first = RunResult { duration_ms: 3, fuel: Some(5), ..part("one\n", "1") };
        let last = RunResult { duration_ms: 4, fuel: Some(6), ..part("two\n", "2") };
        let run = last.run_id.clone();
        let whole = of_one_call(first, last, true);
        assert_eq!((whole.run_id, whole.logs_preview.as_str()), (run, "one\ntwo\n"));
        assert_eq!((whole.duration_ms, whole.fuel, whole.display.len()), (7, Some(11), 2));
    }

    #[test]
    fn the_result_of_a_call_lists_what_each_part_of_a_cell_has_changed() {
        let file = |path: &str, size_bytes| FileResult {
            path: path.to_owned(),
            size_bytes,
            blob_id: None,
            kind: None,
            not_kept: None,
        };
        let parts = || {
            let first = RunResult { files: vec![file("a", 1), file("b", 1)], ..part("", "") };
            (first, RunResult { files: vec![file("b", 2)], ..part("", "") })
        };
        let (first, second) = parts();
        let whole = of_one_call(first, second, false);
        assert_eq!((whole.files, whole.files_total), (vec![file("a", 1), file("b", 2)], None));
        let (first, second) = parts();
        let first = RunResult { files_total: Some(9), ..first };
        assert_eq!(of_one_call(first, second, false).files_total, Some(10));
        let (first, second) = parts();
        assert_eq!(of_one_call(first, second, true).files, [file("b", 2)]);
    }

    #[test]
    fn the_result_of_a_call_says_what_it_lacks() {
        let shows = |count: usize| {
            let one = part("", "x");
            RunResult { display: vec![one.display[0].clone(); count], ..one }
        };
        let all = of_one_call(shows(MAX_DISPLAYED), shows(0), true);
        assert!(!all.summary.ends_with(NOT_SHOWN), "{}", all.summary);
        let some = of_one_call(shows(MAX_DISPLAYED), shows(1), true);
        let some = of_one_call(some, shows(0), true);
        assert!(some.summary.ends_with(NOT_SHOWN), "{}", some.summary);
        assert_eq!(some.display.len(), MAX_DISPLAYED);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut kept = None;
        for _ in 0..2 * MAX_DISPLAYED {
            let last = part("12345678\u{e9}", "x");
            kept = EarlierParts::of(kept.as_deref()).followed_by(&last, 0);
        }
        let parts = EarlierParts::of(kept.as_deref());
        assert!(parts.logs_preview.len() <= 2 * MAX_LOGS_PREVIEW && parts.logs_truncated);
        assert_eq!(parts.display.len(), MAX_DISPLAYED);
        let mut beyond = NotKept::default();
        beyond.add(MAX_DISPLAYED, MAX_DISPLAYED * r#"[{"text/plain":{"text":"x"}}]"#.len());
        assert_eq!(parts.left_out, beyond, "the others are counted");
        assert!(EarlierParts::of(Some("[]")).display.is_empty());
        // So are long texts: each result is the earlier one of the next.
        let (long, mut kept) = ("x".repeat(MAX_RESULT / 2), None);
        for _ in 0..9 {
            kept = EarlierParts::of(kept.as_deref()).followed_by(&part("", &long), 0);
            assert!(kept.as_ref().unwrap().len() <= MAX_RESULT);
        }
        let parts = EarlierParts::of(kept.as_deref());
        assert_eq!(parts.display.len(), 9, "each is shown, or says what it was");
        let mut gone = NotKept::default();
        gone.add(8, 8 * long.len());
        assert_eq!(parts.left_out, gone);
    }

    #[test]
    fn what_a_part_lacks_the_whole_lacks_too() {
        let long = "x".repeat(60_000);
        let mut first = part("one\n", &long);
        first.display = vec![first.display[0].clone(); 5];
        let first = EarlierParts::of(None).followed_by(&first, 0).unwrap();
        let whole = EarlierParts::of(Some(&first)).followed_by(&part("two\n", "2"), 0).unwrap();
        let whole: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(whole["left_out"], json!({"items": 1, "bytes": 60_000}));
        assert_eq!(whole["logs_preview"], "one\ntwo\n");
        let unknown = EarlierParts::of(Some(&unknown_result()));
        let whole = unknown.followed_by(&part("two\n", "2"), 0).unwrap();
        let whole: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(whole["left_out"]["earlier_part"], true, "{whole:#}");
    }
}
