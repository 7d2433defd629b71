//! `wardian sessions`: the sessions of a running server.

pub(crate) mod args;
mod examples;
mod files;
mod import;
mod listed;
mod server;
mod views;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cli::commands::blobs::Remote;
use crate::cli::commands::sessions::args::SessionsCommand;
use crate::cli::commands::sessions::files::{FilePlace, get_file, list_files, put_file};
use crate::cli::commands::sessions::import::{ImportOrder, import};
use crate::cli::commands::sessions::listed::{list, show};
use crate::cli::commands::whole_file::write_whole;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_bytes, print_json, print_line, shown};
use wardian_config::Config;
use wardian_vocabulary::ids::SessionId;

pub(crate) use crate::cli::commands::sessions::views::{ListedSession, path};

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
        SessionsCommand::Fork { id, checkpoint, count, seed, json, .. } => {
            let id = SessionId::parse(id)?;
            let (checkpoint, count) = (checkpoint.as_deref(), Some(*count));
            return fork(server, &id, &CheckpointChoice { checkpoint, count, seed: *seed }, *json);
        }
        SessionsCommand::Restore { id, checkpoint, .. } => {
            let id = SessionId::parse(id)?;
            let checkpoint = Some(checkpoint.as_str());
            let body = CheckpointChoice { checkpoint, count: None, seed: None };
            let restored: ListedSession =
                server.post_json(&format!("{}/restore", path(&id)), &body)?;
            let now = restored.checkpoint.map(|now| now.to_string()).unwrap_or_default();
            print_line(&format!("session `{id}` is at checkpoint `{now}`"));
        }
        SessionsCommand::Close { ids, .. } => return close(server, ids),
        SessionsCommand::Import { file, allow_errors, label, reproducible, seed, json, .. } => {
            let label = label.as_deref();
            let order = ImportOrder { allow_errors: *allow_errors, label, seed: *seed };
            return import(server, file, &order, *reproducible, *json);
        }
        SessionsCommand::Files { id, folder, json, .. } => {
            list_files(server, &SessionId::parse(id)?, folder.as_deref(), *json)?;
        }
        SessionsCommand::Get { id, path, output, .. } => {
            get_file(server, &SessionId::parse(id)?, path, output.as_deref())?;
        }
        SessionsCommand::Put { id, file, path, if_checkpoint, json, .. } => {
            let place =
                FilePlace { path: path.as_deref(), if_checkpoint: if_checkpoint.as_deref() };
            put_file(server, &SessionId::parse(id)?, file, place, *json)?;
        }
        SessionsCommand::Record { id, output, .. } => {
            let id = SessionId::parse(id)?;
            let record = server.find_text(&format!("{}/record", path(&id)))?;
            // The digest of the file is the digest of the record.
            match output {
                Some(path) => write_whole(path, record.as_bytes())?,
                None => print_bytes(record.as_bytes()),
            }
        }
        SessionsCommand::Notebook { id, output, .. } => {
            let id = SessionId::parse(id)?;
            let notebook = server.find_text(&format!("{}/notebook", path(&id)))?;
            write(&notebook, output.as_deref())?;
        }
    }
    Ok(Exit::Done)
}

/// A checkpoint to begin with or to go back to, by its id or its name.
#[derive(Serialize)]
struct CheckpointChoice<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

/// The answer to a fork.
#[derive(Deserialize)]
struct Forks {
    forks: Vec<ListedFork>,
}

/// A fork, or why it was not made.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ListedFork {
    Made(Box<ListedSession>),
    Refused { error: String },
}

/// Prints the forks that were made, and says which were not.
fn fork(
    server: &Remote,
    id: &SessionId,
    body: &CheckpointChoice<'_>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let Forks { forks } = server.post_json(&format!("{}/fork", path(id)), body)?;
    if as_json {
        print_json(&forks);
    }
    let mut exit = Exit::Done;
    for fork in &forks {
        match fork {
            ListedFork::Made(fork) if !as_json => print_line(fork.id.as_str()),
            ListedFork::Made(_) => {}
            ListedFork::Refused { error } => {
                note(&format!("error: a fork was not made: {}", shown(error)));
                exit = Exit::WrongUsage;
            }
        }
    }
    Ok(exit)
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
