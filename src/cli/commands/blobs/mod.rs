//! `wardian blobs`: blobs of the store on this machine, or of a running server.

mod catalogue;
mod hashed;
pub(crate) mod local;
mod proposed_name;
mod reconcile;
mod remote;
mod scrub;
mod transfer;
mod transfer_progress;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::cli::args::BlobsCommand;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::server_option::ServerOption;
use wardian_config::Config;
use wardian_stores::blobs::{PlaceOwner, Reconciling};

pub(crate) use crate::cli::commands::blobs::remote::Remote;
pub(crate) use crate::cli::commands::blobs::transfer::{put_file, write_answer};
pub(crate) use crate::cli::commands::blobs::transfer_progress::{
    RowProgress, TransferProgress, readable,
};

pub(crate) use crate::cli::commands::blobs::local::{
    copy_blob, open_blob, read_blob, read_text_blob, store_file,
};

/// Longest file with a key that is read, in bytes.
const MAX_KEY_FILE: u64 = 16 << 10;

/// Reads the key in a file. White space around it, such as the end of its line, is left out.
pub(crate) fn read_key(path: &Path) -> Result<Zeroizing<String>, Failed> {
    let unreadable = |fault: io::Error| Failed::named(path.display(), &fault);
    let mut text = Zeroizing::new(String::new());
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_KEY_FILE).read_to_string(&mut text).map_err(unreadable)?;
    let key = text.trim();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failed::usage(format!("{} must contain one key", path.display())));
    }
    Ok(Zeroizing::new(key.to_owned()))
}

/// The server that a command names, if it names one.
pub(crate) fn remote_of(
    at: &ServerOption,
    api_key: Option<&str>,
) -> Result<Option<Remote>, Failed> {
    let Some(url) = at.server.as_deref() else { return Ok(None) };
    remote_at(url, at.key_file.as_deref(), api_key).map(Some)
}

/// The server at an address. A key in a file goes before `api_key`.
pub(crate) fn remote_at(
    url: &str,
    key_file: Option<&Path>,
    api_key: Option<&str>,
) -> Result<Remote, Failed> {
    let of_file = key_file.map(read_key).transpose()?;
    let key = of_file.as_ref().map(|key| key.as_str()).or(api_key);
    Remote::at(url, key)
}

/// Executes a command on blobs. `api_key` is for a server.
pub(crate) fn blobs(
    config: &Config,
    command: &BlobsCommand,
    api_key: Option<&str>,
) -> Result<Exit, Failed> {
    let remote = |at: &ServerOption| remote_of(at, api_key);
    match command {
        BlobsCommand::Put { file, kind, name, json, at } => {
            let described = transfer::Described { kind: kind.as_deref(), name: name.as_ref() };
            transfer::put(config, remote(at)?.as_ref(), file, described, *json)
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
        BlobsCommand::Reconcile { dry_run, forget_lost, take_over, json } => {
            let order = Reconciling { restores: !dry_run, forgets: *forget_lost };
            let owner = if *take_over { PlaceOwner::This } else { PlaceOwner::First };
            reconcile::reconcile(config, (order, owner), *json)
        }
    }
}
