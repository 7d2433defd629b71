//! `wardian blobs`: blobs of the store on this machine, or of a running server.

mod catalogue;
mod hashed;
pub(crate) mod local;
mod remote;
mod scrub;
mod transfer;
mod transfer_progress;

use crate::cli::args::{BlobsCommand, ServerOption};
use crate::cli::commands::blobs::remote::Remote;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::config::Config;

pub(crate) use crate::cli::commands::blobs::local::{
    read_blob, read_text_blob, save_all, store_file,
};

/// Executes a command on blobs. `api_key` is for a server.
pub(crate) fn blobs(
    config: &Config,
    command: &BlobsCommand,
    api_key: Option<&str>,
) -> Result<Exit, Failed> {
    let remote = |at: &ServerOption| {
        let url = at.server.as_deref();
        url.map(|url| Remote::at(url, api_key)).transpose()
    };
    match command {
        BlobsCommand::Put { file, kind, json, at } => {
            transfer::put(config, remote(at)?.as_ref(), file, kind.as_deref(), *json)
        }
        BlobsCommand::Get { id, output, at } => {
            transfer::fetch(config, remote(at)?.as_ref(), id, output.as_deref())
        }
        BlobsCommand::List { json, at } => catalogue::list(config, remote(at)?.as_ref(), *json),
        BlobsCommand::Delete { ids, at } => catalogue::delete(config, remote(at)?.as_ref(), ids),
        BlobsCommand::Scrub { delete, quarantine, json, at } => {
            let damaged = match (delete, quarantine) {
                (true, _) => scrub::Treatment::Delete,
                (_, true) => scrub::Treatment::Quarantine,
                _ => scrub::Treatment::Keep,
            };
            scrub::scrub(config, remote(at)?.as_ref(), damaged, *json)
        }
    }
}
