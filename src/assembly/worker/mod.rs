//! The entry point of worker processes, and the memory that they may use.

pub(super) mod memory;

use crate::assembly::error::AssemblyError;
use crate::worker::python::{PythonRunner, WorkerSetup};
use crate::worker::{LockdownPlan, MissingWalls};

/// Serves as a worker until the gateway closes the socket on standard input.
///
/// # Errors
///
/// The setup cannot be read, or the worker failed.
pub fn work(setup: &str) -> Result<(), AssemblyError> {
    let setup: WorkerSetup = serde_json::from_str(setup).map_err(AssemblyError::Setup)?;
    let socket = crate::worker::socket_from_standard_input()
        .map_err(|cause| AssemblyError::System { what: "give the worker its socket", cause })?;
    let walls = if setup.requires_lockdown { MissingWalls::Refuse } else { MissingWalls::Report };
    let plan = LockdownPlan {
        uid: setup.uid,
        gid: setup.gid,
        memory: Some(setup.memory),
        addresses: Some(setup.addresses),
        file_size: setup.file_size,
        missing_walls: walls,
    };
    Ok(crate::worker::serve(socket, &plan, || PythonRunner::load(&setup))?)
}
