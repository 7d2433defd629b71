//! `wardian sessions import`: makes a session of a notebook.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cli::commands::blobs::Remote;
use crate::cli::commands::sessions::views::ListedSession;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_line, shown};

/// Largest notebook, in bytes. The server may take less.
const MAX_NOTEBOOK: u64 = 64 << 20;

/// How a notebook is imported.
pub(super) struct ImportOrder<'a> {
    pub(super) allow_errors: bool,
    pub(super) label: Option<&'a str>,
    pub(super) seed: Option<u64>,
}

/// The answer to an import.
#[derive(Serialize, Deserialize)]
struct Imported {
    session: ListedSession,
    cells: Vec<ListedImport>,
    stopped: Option<String>,
}

/// A cell that was executed.
#[derive(Serialize, Deserialize)]
struct ListedImport {
    place: u64,
    cell: Option<u32>,
    state: Option<String>,
    status: String,
    run_id: String,
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ImportFailure>,
}

/// Why a cell failed.
#[derive(Serialize, Deserialize)]
struct ImportFailure {
    #[serde(rename = "type")]
    error_type: String,
    message: String,
}

/// Imports a notebook, and prints the id of its session.
pub(super) fn import(
    server: &Remote,
    file: &Path,
    order: &ImportOrder<'_>,
    is_reproducible: bool,
    as_json: bool,
) -> Result<Exit, Failed> {
    let notebook = read(file)?;
    let imported: Imported = server.post_json(&path(order, is_reproducible), &notebook)?;
    if as_json {
        print_json(&imported);
    } else {
        print_line(imported.session.id.as_str());
    }
    for cell in &imported.cells {
        if let Some(error) = &cell.error {
            let ImportFailure { error_type, message } = error;
            let told = format!("cell {}: {error_type}: {message}", cell.place);
            note(&shown(&told));
        }
    }
    if let Some(why) = &imported.stopped {
        note(&format!("error: {}: the cells behind it were not executed", shown(why)));
        return Ok(Exit::GuestFailed);
    }
    Ok(Exit::Done)
}

/// The text of a notebook, which is JSON.
fn read(file: &Path) -> Result<Box<RawValue>, Failed> {
    let named = |fault: &std::io::Error| Failed::named(file.display(), fault);
    let mut text = String::new();
    let opened = File::open(file).map_err(|fault| named(&fault))?;
    let most = MAX_NOTEBOOK.saturating_add(1);
    opened.take(most).read_to_string(&mut text).map_err(|fault| named(&fault))?;
    RawValue::from_string(text)
        .map_err(|_other| Failed::usage(format!("{}: is not a notebook", file.display())))
}

/// The path of the request.
fn path(order: &ImportOrder<'_>, is_reproducible: bool) -> String {
    let mut path = format!("/v1/sessions?from=notebook&allow_errors={}", order.allow_errors);
    if let Some(label) = order.label {
        let escaped: String = label.bytes().map(|byte| format!("%{byte:02X}")).collect();
        path.push_str(&format!("&label={escaped}"));
    }
    if let Some(seed) = order.seed {
        path.push_str(&format!("&seed={seed}"));
    }
    if is_reproducible {
        path.push_str("&reproducible=true");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_in_the_path() {
        let order = ImportOrder { allow_errors: true, label: Some("a &"), seed: Some(3) };
        let expected = "/v1/sessions?from=notebook&allow_errors=true&label=%61%20%26&seed=3";
        assert_eq!(path(&order, false), expected);
        let order = ImportOrder { allow_errors: false, label: None, seed: None };
        let expected = "/v1/sessions?from=notebook&allow_errors=false&reproducible=true";
        assert_eq!(path(&order, true), expected);
    }
}
