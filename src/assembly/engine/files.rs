//! The engine's files, open in this process and inherited by its workers.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd as _, RawFd};
use std::sync::{Arc, OnceLock};

use rustix::io::{FdFlags, fcntl_setfd};

use crate::assembly::engine::image_store::image_store;
use crate::assembly::engine::{MeteredCode, open_engine};
use crate::assembly::error::AssemblyError;
use crate::assembly::worker::memory::WorkerMemory;
use wardian_config::Config;
use wardian_dispatch::WorkerCommand;
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::progress::Progress;
use wardian_engine::{EngineArtifacts, EngineStore};
use wardian_images::{Image, PackageSet};
use wardian_vocabulary::units::ByteCount;
use wardian_worker::python::{CodeSetup, WorkerSetup};

/// Private memory that a worker's slot may keep between runs: twice the memory that drawing a chart
/// with matplotlib touches.
const KEEP: ByteCount = ByteCount::mebibytes(32);

/// Private memory that a worker may keep for images that are not in use.
const KEEP_IDLE: ByteCount = ByteCount::mebibytes(32);

/// The engine's files.
#[derive(Debug)]
pub(in crate::assembly) struct EngineFiles {
    pub(in crate::assembly) engine: EngineStore,
    pub(in crate::assembly) timed: Arc<EngineArtifacts>,
    /// The metered code, once it is compiled.
    metered: OnceLock<EngineArtifacts>,
}

impl EngineFiles {
    /// Opens the files and the base image. Missing ones are made now.
    pub(in crate::assembly) fn prepare(
        config: &Config,
        metered: MeteredCode,
        progress: &dyn Progress,
    ) -> Result<(Self, Image), AssemblyError> {
        let engine = open_engine(config)?;
        let timed = Arc::new(engine.ensure(Variant::Timed, progress)?);
        let base = image_store(config, &engine, &timed)?.ensure(PackageSet::NONE, progress)?;
        let files = Self { engine, timed, metered: OnceLock::new() };
        if metered == MeteredCode::Wanted || files.engine.is_ready(Variant::Metered)? {
            files.add_metered(progress)?;
        }
        Ok((files, base))
    }

    /// Opens the metered code, which is compiled now if it is missing.
    pub(in crate::assembly) fn add_metered(
        &self,
        progress: &dyn Progress,
    ) -> Result<(), AssemblyError> {
        let artifacts = self.engine.ensure(Variant::Metered, progress)?;
        // If it is set already, a concurrent caller has opened the same file.
        self.metered.set(artifacts).ok();
        Ok(())
    }

    pub(in crate::assembly) fn has_metered(&self) -> bool {
        self.metered.get().is_some()
    }

    /// The command that starts a worker with the current files.
    pub(in crate::assembly) fn command(
        &self,
        config: &Config,
    ) -> Result<WorkerCommand, AssemblyError> {
        let setup = serde_json::to_string(&self.setup(config)?).map_err(AssemblyError::Setup)?;
        let arguments = ["worker", "--setup", &setup].map(OsString::from).to_vec();
        let command = WorkerCommand::same_program(arguments.clone());
        if !config.forks_workers() {
            return Ok(command);
        }
        let template = [arguments, vec![OsString::from("--template")]].concat();
        Ok(command.with_template(template))
    }

    /// The setup of workers. Makes the descriptors inheritable.
    fn setup(&self, config: &Config) -> Result<WorkerSetup, AssemblyError> {
        let code = [Some(&*self.timed), self.metered.get()].into_iter().flatten();
        let code = code.map(|artifacts| -> Result<CodeSetup, AssemblyError> {
            let native = inheritable(&artifacts.native.file)?;
            Ok(CodeSetup { options: artifacts.key.options(), native })
        });
        let most = WorkerMemory::of(config);
        let pages = self.timed.facts.memory_min_pages;
        Ok(WorkerSetup {
            library: inheritable(&self.timed.library.file)?,
            code: code.collect::<Result<_, _>>()?,
            declared_pages: usize::try_from(pages).unwrap_or(usize::MAX),
            c_stack: self.timed.c_stack,
            signals: self.timed.signals,
            heap: self.timed.heap,
            sqlite: self.timed.sqlite,
            keep: KEEP,
            keep_idle: KEEP_IDLE,
            is_paranoid: config.workers.paranoid,
            uid: config.workers.uid,
            gid: config.workers.gid,
            memory: most.private,
            addresses: most.addresses,
            file_size: most.file,
            requires_lockdown: config.requires_lockdown(),
        })
    }
}

/// Makes a descriptor inheritable under its number.
fn inheritable(file: &impl AsFd) -> Result<RawFd, AssemblyError> {
    let descriptor = file.as_fd();
    fcntl_setfd(descriptor, FdFlags::empty()).map_err(|errno| AssemblyError::System {
        what: "pass a file to the workers",
        cause: errno.into(),
    })?;
    Ok(descriptor.as_raw_fd())
}
