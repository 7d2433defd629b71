//! Messages between the gateway and its workers: plain values, with descriptors next to them.
//! Descriptors cannot leave a machine, so a worker is always on the same machine as its gateway.
//!
//! Knows nothing of JSON-RPC, processes or wasm: values, their checks and their bytes. Only
//! [`socket`] touches the operating system, because both ends move frames in the same way.

pub mod attachment;
mod few;
pub mod frame;
pub mod host;
pub mod image;
pub mod layer;
pub mod limits;
pub mod message;
pub mod network;
pub mod outcome;
pub mod profile;
mod program;
pub mod session;
mod setup;
pub mod socket;
pub mod template;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use crate::job::limits::{KeepBounds, KeepFiles, SetupLimits, TurnLimits};
use crate::job::profile::ProfileOrder;
pub use crate::job::program::{Program, ScriptCall};
use crate::job::session::cell::CellOrder;
use crate::job::session::files::FilesOrder;
pub use crate::job::setup::Setup;
pub use crate::job::setup::mounts::{BlobMount, Entrypoint, LayerMount, LayerPlace, SkillMount};
pub use crate::job::setup::placed::{
    PlacedBlob, PlacementError, WORKSPACE_ENTRY_COST, can_be_imported, check_placement,
    cost_of_placed,
};
pub use crate::job::setup::reproducible::{FuelRules, Reproducible};
use wardian_vocabulary::ids::RunId;

/// The passing half of an order: one program for a guest that was made by a [`Setup`].
///
/// Time, fuel, the log and host calls are limited here because each turn has its own; they begin
/// anew with the next one.
#[derive(Serialize, Deserialize)]
pub struct Turn {
    /// Identifies the turn in logs, results and `runtime.run.id`.
    pub id: RunId,
    /// The program.
    pub program: Program,
    /// Function to call with `args`. Without it, `main` is called if the program defines it.
    pub entrypoint: Option<String>,
    /// The arguments, as the text of a JSON object.
    pub args: Box<RawValue>,
    /// Files of the workspace to be stored as blobs after the turn.
    pub keep_files: KeepFiles,
    /// True if the program must return JSON data; otherwise values of other types are converted.
    pub strict_output: bool,
    /// True if the worker sends the program's output while it is printed. The outcome holds the
    /// output in either case.
    pub stream_logs: bool,
    /// Whether and how the turn is profiled. It must have a limit on fuel then.
    pub profile: Option<ProfileOrder>,
    /// Makes the turn a cell, which continues the program of the turns before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellOrder>,
    /// Makes the turn one without a program: the host does this with the files of the guest, and nothing
    /// else of the turn has a meaning but its limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Box<FilesOrder>>,
    /// Ceilings on this turn.
    pub limits: TurnLimits,
}

impl Turn {
    /// A turn with nothing beside its program, under a new id.
    #[must_use]
    pub fn new(program: Program, args: Box<RawValue>, limits: TurnLimits) -> Self {
        Self {
            id: RunId::generate(),
            program,
            entrypoint: None,
            args,
            keep_files: KeepFiles::Nothing,
            strict_output: false,
            stream_logs: false,
            profile: None,
            cell: None,
            files: None,
            limits,
        }
    }

    /// A turn without a program, which does this with the files of the guest.
    #[must_use]
    pub fn of_files(files: FilesOrder, limits: TurnLimits) -> Self {
        let program = Program::Code { source: String::new(), file_name: String::new() };
        let files = Some(Box::new(files));
        Self { files, ..Self::new(program, RawValue::NULL.to_owned(), limits) }
    }

    /// True if the state of the guest is saved after the turn: a cell, or a change of its files.
    #[must_use]
    pub fn saves_state(&self) -> bool {
        self.cell.is_some() || self.files.as_deref().is_some_and(FilesOrder::changes)
    }
}

/// Prints identifiers only: source and arguments never reach a log.
impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("id", &self.id)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
