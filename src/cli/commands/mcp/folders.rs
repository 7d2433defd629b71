//! The folders that `--files` and `--out` name.

use std::fs;
use std::path::Path;

use crate::cli::commands::mcp::args::McpArgs;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use wardian_edges::mcp::{LocalFolders, SameName};

/// Maximum number of files that are warned of one by one.
const TOLD_NAMES: usize = 5;

/// Opens the folders, and warns of files that have one name.
pub(super) fn local_folders(args: &McpArgs) -> Result<LocalFolders, Failed> {
    if let Some(out) = &args.out {
        ensure_out(out)?;
    }
    let local = LocalFolders::open(&args.files, args.out.as_deref()).map_err(|(path, fault)| {
        Failed::usage(format!("the folder `{}` cannot be opened: {fault}", path.display()))
    })?;
    warn_of_same_names(&local);
    Ok(local)
}

/// Says which files have to be named with their folder.
fn warn_of_same_names(local: &LocalFolders) {
    let same = local.same_names();
    for SameName { name, other } in same.iter().take(TOLD_NAMES) {
        note(&format!(
            "warning: two folders of `--files` have a file `{name}`: `file:{name}` is the first \
            one, `file:{other}` the other"
        ));
    }
    if same.len() > TOLD_NAMES {
        let more = same.len().saturating_sub(TOLD_NAMES);
        note(&format!(
            "warning: {more} more files have names that also exist in an earlier \
            folder"
        ));
    }
}

/// Makes the folder for what runs keep, as `--out` of `run` does: a client that starts this program
/// shows its user little of why it ended.
fn ensure_out(folder: &Path) -> Result<(), Failed> {
    if fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Err(Failed::usage(format!(
            "`--out` must be a folder, and `{}` is not one",
            folder.display()
        )));
    }
    fs::create_dir_all(folder).map_err(|fault| {
        Failed::usage(format!("the folder `{}` cannot be created: {fault}", folder.display()))
    })
}
