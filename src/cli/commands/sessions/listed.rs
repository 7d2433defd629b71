//! `wardian sessions list` and `show`.

use serde_json::Value;

use crate::cli::commands::blobs::Remote;
use crate::cli::commands::sessions::views::{
    CheckpointsView, ListedCell, ListedCells, ListedCheckpoint, ListedSession, ListedSessions,
    UsageView, path,
};
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_line, print_table, shown};
use crate::cli::terminal::readable::readable;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::SessionId;

/// Maximum number of sessions of one page.
const PAGE: usize = 100;

/// Cells that `show` lists.
const LAST_CELLS: u64 = 20;

/// Width of the names in front of values.
const NAMES: usize = 11;

/// Reads pages until there are enough sessions, or no more.
pub(super) fn list(server: &Remote, limit: usize, as_json: bool) -> Result<(), Failed> {
    let mut sessions: Vec<ListedSession> = Vec::new();
    let (mut after, mut usage) = (String::new(), None);
    while sessions.len() < limit {
        let count = limit.saturating_sub(sessions.len()).min(PAGE);
        let page: ListedSessions =
            server.find_json(&format!("/v1/sessions?limit={count}{after}"))?;
        usage = Some(page.usage);
        sessions.extend(page.sessions);
        let Some(next) = page.next_cursor else { break };
        // A cursor is the server's own text.
        let escaped: String = next.bytes().map(|byte| format!("%{byte:02X}")).collect();
        after = format!("&cursor={escaped}");
    }
    sessions.truncate(limit);
    if as_json {
        print_json(&sessions);
        return Ok(());
    }
    if sessions.is_empty() {
        print_line("there are no sessions");
        return Ok(());
    }
    let now = Clock::System.now();
    print_table(&ListedSession::COLUMNS, sessions.iter().map(|one| one.row(now)).collect());
    if let Some(UsageView { sessions: all, bytes }) = usage
        && usize::try_from(all).is_ok_and(|all| all > sessions.len())
    {
        note(&format!(
            "{} of {all} sessions, which take {}; `--limit` shows more",
            sessions.len(),
            readable(bytes)
        ));
    }
    Ok(())
}

/// Prints a session with its last cells and its checkpoints.
pub(super) fn show(server: &Remote, id: &SessionId, as_json: bool) -> Result<(), Failed> {
    let malformed = |fault: serde_json::Error| Failed::at("read the session", &fault);
    let text = server.find_text(&path(id))?;
    let session: ListedSession = serde_json::from_str(&text).map_err(malformed)?;
    let after = session.cells.saturating_sub(LAST_CELLS);
    let cells =
        server.find_text(&format!("{}/cells?after={after}&limit={LAST_CELLS}", path(id)))?;
    if as_json {
        let session: Value = serde_json::from_str(&text).map_err(malformed)?;
        let mut cells: Value = serde_json::from_str(&cells).map_err(malformed)?;
        let cells = cells.get_mut("cells").map(Value::take);
        print_json(&serde_json::json!({ "session": session, "cells": cells }));
        return Ok(());
    }
    let cells: ListedCells = serde_json::from_str(&cells).map_err(malformed)?;
    let CheckpointsView { checkpoints, left_out_from_cell } =
        serde_json::from_str(&text).map_err(malformed)?;
    let now = Clock::System.now();
    for (name, value) in session.lines(now) {
        print_line(&format!("{name:<NAMES$} {}", shown(&value)));
    }
    if !cells.cells.is_empty() {
        print_line("");
        print_table(&ListedCell::COLUMNS, cells.cells.iter().map(|cell| cell.row(now)).collect());
    }
    if !checkpoints.is_empty() {
        print_line("");
        let rows = checkpoints.iter().map(|checkpoint| checkpoint.row(now));
        print_table(&ListedCheckpoint::COLUMNS, rows.collect());
    }
    if let Some(cell) = left_out_from_cell {
        note(&format!("there are more checkpoints: those from cell {cell} on are not listed"));
    }
    Ok(())
}
