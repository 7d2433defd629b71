//! The entry point of worker processes, and the memory that they may use.

pub(super) mod memory;

pub use crate::assembly::worker::memory::WorkerBounds;

use crate::assembly::error::AssemblyError;
use wardian_worker::python::{PythonRunner, WorkerSetup};
use wardian_worker::{LockdownPlan, MissingWalls};

/// What a process of the gateway's pool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolProcess {
    /// A worker.
    Worker,
    /// The template that workers are forked from.
    Template,
}

/// Serves as a worker, or as a template of workers, until the gateway closes the socket on standard
/// input.
///
/// # Errors
///
/// The setup cannot be read, or the worker failed.
pub fn work(setup: &str, process: PoolProcess) -> Result<(), AssemblyError> {
    let setup: WorkerSetup = serde_json::from_str(setup).map_err(AssemblyError::Setup)?;
    let socket = wardian_worker::socket_from_standard_input()
        .map_err(|cause| AssemblyError::System { what: "pass the worker its socket", cause })?;
    let walls = if setup.requires_lockdown { MissingWalls::Refuse } else { MissingWalls::Report };
    let plan = LockdownPlan {
        uid: setup.uid,
        gid: setup.gid,
        memory: Some(setup.memory),
        addresses: Some(setup.addresses),
        file_size: setup.file_size,
        missing_walls: walls,
    };
    let load = || PythonRunner::load(&setup);
    match process {
        PoolProcess::Worker => wardian_worker::serve(socket, &plan, load)?,
        PoolProcess::Template => wardian_worker::serve_forks(socket, &plan, load)?,
    }
    Ok(())
}
