//! `wardian sessions`: the sessions of a running server.

pub(crate) mod args;
mod views;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::commands::blobs::Remote;
use crate::cli::commands::sessions::args::SessionsCommand;
use crate::cli::commands::sessions::views::{
    CellPage, CellView, CheckpointView, SessionCheckpoints, SessionPage, UsageView,
};
use crate::cli::commands::whole_file::write_whole;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_bytes, print_json, print_line, print_table, shown};
use crate::cli::terminal::readable::readable;
use wardian_config::Config;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{CheckpointId, SessionId};

pub(crate) use crate::cli::commands::sessions::views::SessionView;

/// Maximum number of sessions of one page.
const PAGE: usize = 100;

/// Cells that `show` lists.
const LAST_CELLS: u64 = 20;

/// Width of the names in front of values.
const NAMES: usize = 11;

/// Executes a command on sessions. `api_key` is for the server.
pub(crate) fn sessions(
    config: &Config,
    command: &SessionsCommand,
    api_key: Option<&str>,
) -> Result<Exit, Failed> {
    let at = command.at();
    let server = at.remote(config, api_key)?;
    perform(&server, command).map_err(|failed| at.with_hint(failed))
}

fn perform(server: &Remote, command: &SessionsCommand) -> Result<Exit, Failed> {
    match command {
        SessionsCommand::List { limit, json, .. } => list(server, *limit, *json)?,
        SessionsCommand::Show { id, json, .. } => show(server, &SessionId::parse(id)?, *json)?,
        SessionsCommand::Fork { id, checkpoint, count, json, .. } => {
            let id = SessionId::parse(id)?;
            let named = checkpoint.as_deref();
            let checkpoint = named.map(|named| checkpoint_of(server, &id, named)).transpose()?;
            let forks = fork(server, &id, checkpoint.as_ref(), *count)?;
            if *json {
                print_json(&forks);
            } else {
                forks.iter().for_each(|fork| print_line(fork.id.as_str()));
            }
        }
        SessionsCommand::Restore { id, checkpoint, .. } => {
            let id = SessionId::parse(id)?;
            let checkpoint = checkpoint_of(server, &id, checkpoint)?;
            let body = CheckpointChoice { checkpoint: Some(&checkpoint), count: None };
            let restored: SessionView =
                server.post_json(&format!("{}/restore", path(&id)), &body)?;
            let now = restored.checkpoint.unwrap_or(checkpoint);
            print_line(&format!("session `{id}` is at checkpoint `{now}`"));
        }
        SessionsCommand::Close { ids, .. } => return close(server, ids),
        SessionsCommand::Notebook { id, output, .. } => {
            let id = SessionId::parse(id)?;
            let notebook = server.find_text(&format!("{}/notebook", path(&id)))?;
            write(&notebook, output.as_deref())?;
        }
    }
    Ok(Exit::Done)
}

/// The path of a session on a server.
pub(crate) fn path(id: &SessionId) -> String {
    format!("/v1/sessions/{id}")
}

/// A checkpoint to begin with or to go back to.
#[derive(Serialize)]
struct CheckpointChoice<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<&'a CheckpointId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
}

/// The answer to a fork.
#[derive(Deserialize)]
struct Forks {
    forks: Vec<SessionView>,
}

/// Reads pages until there are enough sessions, or no more.
fn list(server: &Remote, limit: usize, as_json: bool) -> Result<(), Failed> {
    let mut sessions: Vec<SessionView> = Vec::new();
    let (mut after, mut usage) = (String::new(), None);
    while sessions.len() < limit {
        let count = limit.saturating_sub(sessions.len()).min(PAGE);
        let page: SessionPage = server.find_json(&format!("/v1/sessions?limit={count}{after}"))?;
        usage = Some(page.usage);
        sessions.extend(page.sessions);
        let Some(next) = page.next else { break };
        // A cursor is the server's own text.
        let escaped: String = next.bytes().map(|byte| format!("%{byte:02X}")).collect();
        after = format!("&after={escaped}");
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
    print_table(&SessionView::COLUMNS, sessions.iter().map(|one| one.row(now)).collect());
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
fn show(server: &Remote, id: &SessionId, as_json: bool) -> Result<(), Failed> {
    let malformed = |fault: serde_json::Error| Failed::at("read the session", &fault);
    let text = server.find_text(&path(id))?;
    let session: SessionView = serde_json::from_str(&text).map_err(malformed)?;
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
    let cells: CellPage = serde_json::from_str(&cells).map_err(malformed)?;
    let SessionCheckpoints { checkpoints } = serde_json::from_str(&text).map_err(malformed)?;
    let now = Clock::System.now();
    for (name, value) in session.lines(now) {
        print_line(&format!("{name:<NAMES$} {}", shown(&value)));
    }
    if !cells.cells.is_empty() {
        print_line("");
        print_table(&CellView::COLUMNS, cells.cells.iter().map(|cell| cell.row(now)).collect());
    }
    if !checkpoints.is_empty() {
        print_line("");
        let rows = checkpoints.iter().map(|checkpoint| checkpoint.row(now));
        print_table(&CheckpointView::COLUMNS, rows.collect());
    }
    Ok(())
}

/// The checkpoint with this id or name.
fn checkpoint_of(server: &Remote, id: &SessionId, named: &str) -> Result<CheckpointId, Failed> {
    if let Ok(checkpoint) = CheckpointId::parse(named) {
        return Ok(checkpoint);
    }
    let of_session: SessionCheckpoints = server.find_json(&path(id))?;
    let found = of_session.checkpoints.into_iter().find(|one| one.name.as_deref() == Some(named));
    found.map(|one| one.id).ok_or_else(|| {
        Failed::usage(format!(
            "session `{id}` has no checkpoint with the id or name `{}`; `wardian sessions show \
             {id}` lists its checkpoints",
            shown(named)
        ))
    })
}

fn fork(
    server: &Remote,
    id: &SessionId,
    checkpoint: Option<&CheckpointId>,
    count: u64,
) -> Result<Vec<SessionView>, Failed> {
    let body = CheckpointChoice { checkpoint, count: Some(count) };
    let Forks { forks } = server.post_json(&format!("{}/fork", path(id)), &body)?;
    Ok(forks)
}

/// Closes all of the sessions that can be closed. Ids that are none close nothing.
fn close(server: &Remote, ids: &[String]) -> Result<Exit, Failed> {
    let ids = ids.iter().map(|id| SessionId::parse(id)).collect::<Result<Vec<_>, _>>()?;
    let mut exit = Exit::Done;
    for id in &ids {
        match server.delete_at(&path(id)) {
            Ok(()) => print_line(&format!("session `{id}` is closed")),
            Err(failed) if failed.exit == Exit::OurFault => return Err(failed),
            Err(failed) => {
                note(&format!("error: {failed}"));
                exit = failed.exit;
            }
        }
    }
    Ok(exit)
}

fn write(text: &str, output: Option<&Path>) -> Result<(), Failed> {
    match output {
        Some(path) => write_whole(path, text.as_bytes()),
        None => {
            print_bytes(text.as_bytes());
            if !text.ends_with('\n') {
                print_line("");
            }
            Ok(())
        }
    }
}
