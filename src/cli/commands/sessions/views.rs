//! Sessions as a server describes them, and as rows of tables.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cli::terminal::readable::{age, readable, span};
use wardian_vocabulary::clock::calendar::{SECONDS_OF_A_DAY, days_since_epoch};
use wardian_vocabulary::ids::{CheckpointId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Letters of a label or of a line of source in a table.
const WIDEST_TEXT: usize = 48;

/// The path of a session on a server.
pub(crate) fn path(id: &SessionId) -> String {
    format!("/v1/sessions/{id}")
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionView {
    pub(crate) id: SessionId,
    pub(crate) label: Option<String>,
    pub(crate) created_at: String,
    pub(crate) used_at: String,
    pub(crate) expires_at: String,
    /// The number of its cells.
    pub(crate) cells: u64,
    /// The state that it is at.
    pub(crate) checkpoint: Option<CheckpointId>,
    /// True if a worker has its state in memory.
    pub(crate) is_warm: bool,
}

/// A page of the sessions of a tenant.
#[derive(Debug, Deserialize)]
pub(super) struct ListedSessions {
    pub(super) sessions: Vec<SessionView>,
    pub(super) next: Option<String>,
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
    pub(super) checkpoints: Vec<CheckpointView>,
}

/// A checkpoint.
#[derive(Debug, Deserialize)]
pub(super) struct CheckpointView {
    pub(super) id: CheckpointId,
    pub(super) cell: u64,
    pub(super) name: Option<String>,
    created_at: String,
    bytes: ByteCount,
}

/// A page of the cells of a session.
#[derive(Debug, Deserialize)]
pub(super) struct CellPage {
    pub(super) cells: Vec<CellView>,
}

/// A cell.
#[derive(Debug, Deserialize)]
pub(super) struct CellView {
    number: u64,
    source: Option<String>,
    state: String,
    began_at: String,
    result: Option<CellResultView>,
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

impl SessionView {
    /// The columns of a table of sessions.
    pub(super) const COLUMNS: [&str; 6] =
        ["session", "used", "expires", "cells", "checkpoint", "label"];

    pub(super) fn row(&self, now: Duration) -> Vec<String> {
        vec![
            self.id.to_string(),
            ago(&self.used_at, now),
            until(&self.expires_at, now),
            self.cells.to_string(),
            self.checkpoint.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            self.label.as_deref().map_or_else(|| "-".to_owned(), short),
        ]
    }

    /// All of a session, each member with its name.
    pub(super) fn lines(&self, now: Duration) -> Vec<(&'static str, String)> {
        let checkpoint = self.checkpoint.as_ref().map(ToString::to_string);
        let warm = if self.is_warm { "in memory" } else { "on disk" };
        let lines = [
            ("session", Some(self.id.to_string())),
            ("label", self.label.clone()),
            ("created", Some(ago(&self.created_at, now))),
            ("used", Some(ago(&self.used_at, now))),
            ("expires", Some(until(&self.expires_at, now))),
            ("cells", Some(self.cells.to_string())),
            ("checkpoint", checkpoint),
            ("state", Some(warm.to_owned())),
        ];
        lines.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

impl CheckpointView {
    /// The columns of a table of checkpoints.
    pub(super) const COLUMNS: [&str; 5] = ["checkpoint", "cell", "created", "size", "name"];

    pub(super) fn row(&self, now: Duration) -> Vec<String> {
        vec![
            self.id.to_string(),
            self.cell.to_string(),
            ago(&self.created_at, now),
            readable(self.bytes),
            self.name.as_deref().map_or_else(|| "-".to_owned(), short),
        ]
    }
}

impl CellView {
    /// The columns of a table of cells.
    pub(super) const COLUMNS: [&str; 5] = ["cell", "began", "state", "result", "source"];

    pub(super) fn row(&self, now: Duration) -> Vec<String> {
        let result = match &self.result {
            Some(CellResultView { error: Some(error), .. }) => error.error_type.clone(),
            Some(result) => result.status.clone(),
            None => "-".to_owned(),
        };
        let source = self.source.as_deref().map(str::trim).unwrap_or_default();
        vec![
            self.number.to_string(),
            ago(&self.began_at, now),
            self.state.clone(),
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

/// How long ago a time was; the time as the server wrote it if it has another form.
fn ago(time: &str, now: Duration) -> String {
    since_epoch(time).map_or_else(|| time.to_owned(), |time| age(now.saturating_sub(time)))
}

/// The time left until a time.
fn until(time: &str, now: Duration) -> String {
    since_epoch(time)
        .map_or_else(|| time.to_owned(), |time| format!("in {}", span(time.saturating_sub(now))))
}

/// The time since the Unix epoch of a time in UTC such as `2026-09-21T14:13:20.042Z`. Fractions of a
/// second are ignored.
fn since_epoch(text: &str) -> Option<Duration> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_since_epoch(year, month, day)?;
    let seconds = days * SECONDS_OF_A_DAY + hour * 3_600 + minute * 60 + second;
    Some(Duration::from_secs(seconds))
}

/// Three numbers of digits alone.
fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let number = |part: &str| {
        let is_number = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        part.parse().ok().filter(|_| is_number)
    };
    let parts: Option<Vec<u64>> = text.split(between).map(number).collect();
    parts?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wardian_vocabulary::clock::calendar::rfc3339;

    const NOW: Duration = Duration::from_secs(1_790_000_000);

    fn session() -> SessionView {
        serde_json::from_str(
            r#"{"id": "ses_mrxhgylqovzxi4tfmqqgk3tdn4", "label": "a report\nof two lines",
                "created_at": "2026-09-21T13:13:20Z", "used_at": "2026-09-21T14:13:18.042Z",
                "expires_at": "2026-09-22T14:13:20Z", "cells": 3,
                "checkpoint": "c3-9f2a61b0c4d5e6f7", "is_warm": true, "later": 1}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_session_is_a_row_and_lines() {
        let row = session().row(NOW);
        let expected = [
            "ses_mrxhgylqovzxi4tfmqqgk3tdn4",
            "2 s ago",
            "in 1 d",
            "3",
            "c3-9f2a61b0c4d5e6f7",
            "a report…",
        ];
        assert_eq!(row, expected);
        assert_eq!(row.len(), SessionView::COLUMNS.len());
        let fresh = SessionView { label: None, checkpoint: None, is_warm: false, ..session() };
        assert_eq!(fresh.row(NOW)[4..], ["-", "-"]);
        let lines = fresh.lines(NOW);
        assert!(lines.contains(&("created", "1 h ago".to_owned())), "{lines:?}");
        assert!(lines.contains(&("state", "on disk".to_owned())));
        assert!(lines.iter().all(|(name, _)| !["label", "checkpoint"].contains(name)));
    }

    #[test]
    fn a_cell_is_a_row() {
        let row = |json: &str| serde_json::from_str::<CellView>(json).unwrap().row(NOW);
        let failed =
            row(r#"{"number": 2, "source": "\n1 / 0\n", "state": "kept", "checkpoint": null,
                "began_at": "2026-09-21T14:13:20Z",
                "result": {"status": "failed", "error": {"type": "ZeroDivisionError"}}}"#);
        assert_eq!(failed, ["2", "0 s ago", "kept", "ZeroDivisionError", "1 / 0"]);
        let running = row(
            r#"{"number": 3, "source": null, "state": "running", "began_at": "?", "result": null}"#,
        );
        assert_eq!(running, ["3", "?", "running", "-", "-"]);
    }

    #[test]
    fn times_that_are_none_are_shown_as_they_are() {
        for wrong in [
            "",
            "2026-09-21",
            "2026-09-21T14:13:20",
            "2026-09-21T14:13:20+02:00",
            "2026-02-30T00:00:00Z",
            "2026-09-21T24:00:00Z",
            "+026-09-21T14:13:20Z",
            "2026-09-21T14:13:20:00Z",
        ] {
            assert_eq!(since_epoch(wrong), None, "{wrong}");
            assert_eq!(ago(wrong, NOW), wrong);
        }
    }

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(seconds in 0..253_402_300_799_u64, millis in 0..1_000_u64) {
            let time = Duration::from_millis(seconds * 1_000 + millis);
            prop_assert_eq!(since_epoch(&rfc3339(time)), Some(Duration::from_secs(seconds)));
        }
    }
}
