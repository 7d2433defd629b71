//! Sessions as a server describes them, and as rows of tables.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cli::terminal::readable::{age, readable, span};
use wardian_vocabulary::ids::{CheckpointId, RunId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Letters of a label or of a line of source in a table.
const WIDEST_TEXT: usize = 48;

/// The path of a session on a server.
pub(crate) fn path(id: &SessionId) -> String {
    format!("/v1/sessions/{id}")
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListedSession {
    pub(crate) id: SessionId,
    pub(crate) label: Option<String>,
    pub(crate) created_ms: u64,
    pub(crate) used_ms: u64,
    pub(crate) expires_ms: u64,
    /// The number of its cells.
    pub(crate) cells: u64,
    /// The state that it is at.
    pub(crate) checkpoint: Option<CheckpointId>,
    /// True if a worker has its state in memory.
    pub(crate) is_warm: bool,
    /// The size of that memory, if it is known.
    guest_memory_bytes: Option<ByteCount>,
    /// What its states take on the disk that it alone needs.
    parked_own_bytes: ByteCount,
    /// What its states take that other sessions need too.
    parked_shared_bytes: ByteCount,
    /// The state that it was forked from.
    forked_from: Option<ForkOrigin>,
    /// The run of its cell that is running.
    run_id: Option<RunId>,
}

/// The state that a session was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ForkOrigin {
    session: SessionId,
    checkpoint: CheckpointId,
}

/// A page of the sessions of a tenant.
#[derive(Debug, Deserialize)]
pub(super) struct ListedSessions {
    pub(super) sessions: Vec<ListedSession>,
    pub(super) next_cursor: Option<String>,
    pub(super) usage: UsageView,
}

/// What all sessions of a tenant take.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct UsageView {
    pub(super) sessions: u64,
    pub(super) bytes: ByteCount,
}

/// The checkpoints in the description of one session.
#[derive(Debug, Deserialize)]
pub(super) struct CheckpointsView {
    pub(super) checkpoints: Vec<ListedCheckpoint>,
    /// The cell of the first one that is not listed.
    #[serde(default)]
    pub(super) left_out_from_cell: Option<u64>,
}

/// A checkpoint.
#[derive(Debug, Deserialize)]
pub(super) struct ListedCheckpoint {
    pub(super) id: CheckpointId,
    pub(super) cell: u64,
    pub(super) name: Option<String>,
    created_ms: u64,
    bytes: ByteCount,
}

/// A page of the cells of a session.
#[derive(Debug, Deserialize)]
pub(super) struct ListedCells {
    pub(super) cells: Vec<ListedCell>,
}

/// A cell.
#[derive(Debug, Deserialize)]
pub(super) struct ListedCell {
    number: u64,
    source: Option<String>,
    state: String,
    began_ms: u64,
    result: Option<CellResultView>,
    /// Why it is rolled back, if its result does not say so.
    reason: Option<String>,
    /// True if it was kept, and the session has gone back to a checkpoint before it.
    #[serde(default)]
    left: bool,
}

/// The end of a cell.
#[derive(Debug, Deserialize)]
struct CellResultView {
    status: String,
    error: Option<CellErrorView>,
}

#[derive(Debug, Deserialize)]
struct CellErrorView {
    #[serde(rename = "type")]
    error_type: String,
}

impl ListedSession {
    /// The columns of a table of sessions.
    pub(super) const COLUMNS: [&str; 7] =
        ["session", "used", "expires", "cells", "checkpoint", "size", "label"];

    pub(super) fn row(&self, now: Duration) -> Vec<String> {
        vec![
            self.id.to_string(),
            ago(self.used_ms, now),
            until(self.expires_ms, now),
            self.cells.to_string(),
            self.checkpoint.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            readable(self.parked()),
            self.label.as_deref().map_or_else(|| "-".to_owned(), short),
        ]
    }

    /// What all of its states take.
    fn parked(&self) -> ByteCount {
        let (own, shared) = (self.parked_own_bytes.as_u64(), self.parked_shared_bytes.as_u64());
        ByteCount::bytes(own.saturating_add(shared))
    }

    /// All of a session, each member with its name.
    pub(super) fn lines(&self, now: Duration) -> Vec<(&'static str, String)> {
        let checkpoint = self.checkpoint.as_ref().map(ToString::to_string);
        let warm = match self.guest_memory_bytes {
            Some(memory) if self.is_warm => format!("in memory, {}", readable(memory)),
            _ if self.is_warm => "in memory".to_owned(),
            _ => "on disk".to_owned(),
        };
        let size = match self.parked_shared_bytes.as_u64() {
            0 => readable(self.parked_own_bytes),
            _ => format!(
                "{}, {} of it shared with other sessions",
                readable(self.parked()),
                readable(self.parked_shared_bytes)
            ),
        };
        let forked_from = self.forked_from.as_ref();
        let forked_from =
            forked_from.map(|from| format!("{} of {}", from.checkpoint, from.session));
        let lines = [
            ("session", Some(self.id.to_string())),
            ("label", self.label.clone()),
            ("created", Some(ago(self.created_ms, now))),
            ("used", Some(ago(self.used_ms, now))),
            ("expires", Some(until(self.expires_ms, now))),
            ("cells", Some(self.cells.to_string())),
            ("checkpoint", checkpoint),
            ("forked from", forked_from),
            ("state", Some(warm)),
            ("size", Some(size)),
            ("running", self.run_id.as_ref().map(ToString::to_string)),
        ];
        lines.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

impl ListedCheckpoint {
    /// The columns of a table of checkpoints.
    pub(super) const COLUMNS: [&str; 5] = ["checkpoint", "cell", "created", "size", "name"];

    pub(super) fn row(&self, now: Duration) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.cell.to_string(),
            ago(self.created_ms, now),
            readable(self.bytes),
            self.name.as_deref().map_or_else(|| "-".to_owned(), short),
        ]
    }
}

impl ListedCell {
    /// The columns of a table of cells.
    pub(super) const COLUMNS: [&str; 5] = ["cell", "began", "state", "result", "source"];

    pub(super) fn row(&self, now: Duration) -> Vec<String> {
        let result = match &self.result {
            Some(CellResultView { error: Some(error), .. }) => error.error_type.clone(),
            Some(result) => result.status.clone(),
            None => self.reason.clone().unwrap_or_else(|| "-".to_owned()),
        };
        let source = self.source.as_deref().map(str::trim).unwrap_or_default();
        vec![
            self.number.to_string(),
            ago(self.began_ms, now),
            if self.left { "left".to_owned() } else { self.state.clone() },
            result,
            if source.is_empty() { "-".to_owned() } else { short(source) },
        ]
    }
}

/// The first line of a text, as far as a table has room for it.
fn short(text: &str) -> String {
    let mut lines = text.lines();
    let line = lines.next().unwrap_or_default();
    let mut letters = line.chars();
    let begin: String = letters.by_ref().take(WIDEST_TEXT).collect();
    let is_whole = letters.next().is_none() && lines.next().is_none();
    if is_whole { begin } else { format!("{begin}…") }
}

/// How long ago a time was, in milliseconds since the Unix epoch.
fn ago(time_ms: u64, now: Duration) -> String {
    age(now.saturating_sub(Duration::from_millis(time_ms)))
}

/// The time left until a time, in milliseconds since the Unix epoch.
fn until(time_ms: u64, now: Duration) -> String {
    format!("in {}", span(Duration::from_millis(time_ms).saturating_sub(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_790_000_000);

    fn session() -> ListedSession {
        serde_json::from_str(
            r#"{"id": "ses_mrxhgylqovzxi4tfmqqgk3tdn4", "label": "a report\nof two lines",
                "created_ms": 1789996400000, "used_ms": 1789999998042,
                "expires_ms": 1790086400000, "cells": 3,
                "checkpoint": "c3-9f2a61b0c4d5e6f7", "is_warm": true, "later": 1,
                "guest_memory_bytes": 41943040, "parked_own_bytes": 1048576,
                "parked_shared_bytes": 2097152, "run_id": null,
                "forked_from": {"session": "ses_mrxhgylqovzxi4tfmqqgk3tdn4",
                                "checkpoint": "c3-9f2a61b0c4d5e6f7"}}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_session_is_a_row_and_lines() {
        let row = session().row(NOW);
        let expected = [
            "ses_mrxhgylqovzxi4tfmqqgk3tdn4",
            "1 s ago",
            "in 1 d",
            "3",
            "c3-9f2a61b0c4d5e6f7",
            "3.0 MiB",
            "a report…",
        ];
        assert_eq!(row, expected);
        assert_eq!(row.len(), ListedSession::COLUMNS.len());
        let value = |name| {
            let lines = session().lines(NOW);
            lines.into_iter().find(|line| line.0 == name).unwrap().1
        };
        assert_eq!(value("state"), "in memory, 40 MiB");
        assert_eq!(value("size"), "3.0 MiB, 2.0 MiB of it shared with other sessions");
        let origin = "c3-9f2a61b0c4d5e6f7 of ses_mrxhgylqovzxi4tfmqqgk3tdn4";
        assert_eq!(value("forked from"), origin);
        let fresh = ListedSession {
            label: None,
            checkpoint: None,
            is_warm: false,
            parked_own_bytes: ByteCount::default(),
            parked_shared_bytes: ByteCount::default(),
            forked_from: None,
            ..session()
        };
        assert_eq!(fresh.row(NOW)[4..], ["-", "0 B", "-"]);
        let lines = fresh.lines(NOW);
        assert!(lines.contains(&("created", "1 h ago".to_owned())), "{lines:?}");
        assert!(lines.contains(&("state", "on disk".to_owned())));
        assert!(lines.iter().all(|(name, _)| !["label", "checkpoint"].contains(name)));
    }

    #[test]
    fn a_cell_is_a_row() {
        let row = |json: &str| serde_json::from_str::<ListedCell>(json).unwrap().row(NOW);
        let failed =
            row(r#"{"number": 2, "source": "\n1 / 0\n", "state": "kept", "checkpoint": null,
                "began_ms": 1790000000000,
                "result": {"status": "failed", "error": {"type": "ZeroDivisionError"}}}"#);
        assert_eq!(failed, ["2", "0 s ago", "kept", "ZeroDivisionError", "1 / 0"]);
        let running = row(
            r#"{"number": 3, "source": null, "state": "running", "began_ms": 0, "result": null}"#,
        );
        let lost = row(
            r#"{"number": 4, "source": "x", "state": "rolled_back", "began_ms": 0, "result": null,
                "reason": "the server stopped"}"#,
        );
        assert_eq!(lost[2..4], ["rolled_back", "the server stopped"]);
        let left = row(r#"{"number": 4, "source": "x", "state": "kept", "began_ms": 0,
                "result": {"status": "completed"}, "left": true}"#);
        assert_eq!(left[2..4], ["left", "completed"]);
        assert_eq!(
            (&running[0], &running[2..]),
            (&"3".to_owned(), &["running", "-", "-"].map(str::to_owned)[..])
        );
    }
}
