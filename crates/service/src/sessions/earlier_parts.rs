//! The results that are kept of cells, for the list of cells and the notebook. That of a cell with several
//! parts has what all of them have shown, while each call is answered with its own; that of a cell that left
//! no trace says why.

use serde::Deserialize;

use crate::sessions::reproducible::cell_record::{KeptRun, with_record};
use wardian_formats::protocol::methods::cells::{CellFate, DisplayedObject, SessionResult};
use wardian_formats::protocol::methods::execution::{
    MAX_LOGS_PREVIEW, RunError, RunResult, RunStatus,
};
use wardian_sessions::{CellEnd, CellEnds};
use wardian_vocabulary::ids::{CheckpointId, SessionId};

/// Maximum number of objects that are kept of all parts.
const MAX_DISPLAYED: usize = 256;

/// What earlier parts of a cell have shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EarlierParts {
    logs_preview: String,
    logs_truncated: bool,
    display: Vec<DisplayedObject>,
}

impl EarlierParts {
    /// Those whose result was kept so. Nothing is known of others.
    pub(crate) fn of(result: Option<&str>) -> Self {
        result.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Those of a part that this result tells of.
    fn in_result(result: RunResult) -> Self {
        let RunResult { logs_preview, logs_truncated, display, .. } = result;
        Self { logs_preview, logs_truncated, display }
    }

    /// The result of these parts and the one that has ended, as it is kept.
    pub(crate) fn followed_by(self, last: &RunResult) -> Option<String> {
        if self.logs_preview.is_empty() && self.display.is_empty() {
            return serde_json::to_string(last).ok();
        }
        serde_json::to_string(&self.before(last.clone())).ok()
    }

    fn before(self, mut whole: RunResult) -> RunResult {
        let Self { logs_preview, logs_truncated, display } = self;
        whole.logs_preview = [logs_preview.as_str(), &whole.logs_preview].concat();
        whole.logs_truncated |= logs_truncated;
        // Many parts have no longer preview than a run, but for its last line.
        if whole.logs_preview.len() > 2 * MAX_LOGS_PREVIEW {
            let end = whole.logs_preview.floor_char_boundary(2 * MAX_LOGS_PREVIEW);
            whole.logs_preview.truncate(end);
            whole.logs_truncated = true;
        }
        whole.display = display.into_iter().chain(whole.display).take(MAX_DISPLAYED).collect();
        whole
    }
}

/// The result of a call in which two parts of a cell ran, one after the other.
pub(crate) fn of_one_call(mut first: RunResult, mut second: RunResult) -> RunResult {
    second.duration_ms = first.duration_ms.saturating_add(second.duration_ms);
    second.memory_peak_bytes = first.memory_peak_bytes.max(second.memory_peak_bytes);
    second.fuel = match (first.fuel, second.fuel) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    let mut blobs = std::mem::take(&mut first.output_blobs);
    blobs.append(&mut second.output_blobs);
    second.output_blobs = blobs;
    EarlierParts::in_result(first).before(second)
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
        let fuel = result.fuel;
        let result = EarlierParts::of(self.earlier.as_deref()).followed_by(result);
        CellEnd { result, fuel }
    }

    /// The end of the cell with this answer and what is `noted` of it, and the end if its state cannot be
    /// kept.
    pub(crate) fn ends(self, result: RunResult, noted: Option<&KeptRun>) -> CellEnds {
        let mut end = self.end(&result);
        if let Some(run) = noted {
            end.result = with_record(&result, end.result.as_deref(), run);
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
    use wardian_formats::protocol::methods::cells::DisplayedForm;
    use wardian_vocabulary::ids::RunId;

    fn part(log: &str, shown: &str) -> RunResult {
        let stopped = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
        let form = ("text/plain".to_owned(), DisplayedForm::Text(shown.to_owned()));
        let display = vec![DisplayedObject(vec![form])];
        RunResult { logs_preview: log.to_owned(), display, ..stopped }
    }

    #[test]
    fn the_parts_follow_each_other() {
        let first = EarlierParts::of(None).followed_by(&part("one\n", "1")).unwrap();
        let last = part("two\n", "2");
        let whole = EarlierParts::of(Some(&first)).followed_by(&last).unwrap();
        let whole: Value = serde_json::from_str(&whole).unwrap();
        assert_eq!(
            (&whole["logs_preview"], &whole["run_id"]),
            (&json!("one\ntwo\n"), &json!(last.run_id))
        );
        let shown = json!([{"text/plain": {"text": "1"}}, {"text/plain": {"text": "2"}}]);
        assert_eq!(whole["display"], shown);
    }

    #[test]
    fn the_result_of_a_call_has_all_of_its_parts() {
        let first = RunResult { duration_ms: 3, fuel: Some(5), ..part("one\n", "1") };
        let last = RunResult { duration_ms: 4, fuel: Some(6), ..part("two\n", "2") };
        let run = last.run_id.clone();
        let whole = of_one_call(first, last);
        assert_eq!((whole.run_id, whole.logs_preview.as_str()), (run, "one\ntwo\n"));
        assert_eq!((whole.duration_ms, whole.fuel, whole.display.len()), (7, Some(11), 2));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut kept = None;
        for _ in 0..2 * MAX_DISPLAYED {
            kept = EarlierParts::of(kept.as_deref()).followed_by(&part("12345678\u{e9}", "x"));
        }
        let parts = EarlierParts::of(kept.as_deref());
        assert!(parts.logs_preview.len() <= 2 * MAX_LOGS_PREVIEW && parts.logs_truncated);
        assert_eq!(parts.display.len(), MAX_DISPLAYED);
        assert!(EarlierParts::of(Some("[]")).display.is_empty());
    }
}
