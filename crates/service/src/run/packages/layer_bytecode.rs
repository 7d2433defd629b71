//! Compiles the modules of layers once, so that runs load bytecode instead of compiling.
//!
//! A run that sees nothing but the layer compiles it, a part at a time. The result is kept on the
//! disk next to the layer, for later processes. Bytecode that a wheel brings along is never used.
//!
//! INVARIANT(own-layer-bytecode): the bytecode of a layer is used for the layer that it was made
//! from, and for modules that the layer has. So a hostile package can at most make its bytecode
//! differ from its source.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::host::OutputRoom;
use crate::run::packages::bytecode::{COMPILE_TIMEOUT, NoBlobs, Packed, read_packed};
use crate::run::packages::compiler::Compiler;
use crate::run::packages::locked::{PackageAccess, UsedLayer};
use crate::run::packages::packages_error::PackagesError;
use crate::run::prepare::mounted_skill::is_python;
use crate::run::prepare::purpose::RunPurpose;
use crate::run::result::log_line::RunLog;
use wardian_dispatch::{DispatchError, FinishedRun, GuestSpec, Job};
use wardian_formats::job::attachment::PackedFile;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::outcome::RunFailure;
use wardian_formats::job::{LayerMount, Program, Setup, Turn};
use wardian_vocabulary::clock::backoff::Backoff;
use wardian_vocabulary::error::CauseChain;

/// The program that compiles.
const COMPILER: &str = "from _wardian import bytecode\n\n\ndef main(root, paths):\n    \
    return bytecode.compile_modules(root, paths)\n";

/// Python that one run compiles, in bytes: about a second of work.
const PART: u64 = 512 << 10;

/// Modules that one run compiles.
const MODULES: usize = 300;

/// Longest module that is compiled. Longer ones are tables that import as fast from their source.
const MAX_MODULE: u64 = 4 << 20;

/// The pauses before a part is offered again to a pool that was busy or lost its worker. Other layers
/// wait meanwhile.
fn part_pauses() -> impl Iterator<Item = Duration> + Send {
    Backoff::constant(Duration::from_secs(1)).take(3)
}

/// The pauses before a layer is begun again after one of its parts did not end: four minutes
/// together. Other layers have their turn meanwhile.
fn layer_pauses() -> impl Iterator<Item = Duration> + Send {
    Backoff::doubling(Duration::from_secs(1), Duration::MAX).take(8)
}

/// The compiler's arguments.
#[derive(Serialize)]
struct Arguments<'a> {
    root: &'a str,
    paths: &'a [String],
}

impl Compiler {
    /// Compiles layers in the background that were not compiled before, one at a time.
    pub(crate) fn compile_beside(&self, layers: &[Arc<UsedLayer>]) {
        for layer in layers {
            if layer.is_compiled.swap(true, Ordering::AcqRel) {
                continue;
            }
            let (compiler, layer) = (self.clone(), Arc::clone(layer));
            tokio::spawn(async move {
                let turns = Some(&compiler.packages.compiling);
                if let Err(error) = compiler.compile_patiently(&layer, 1, turns).await {
                    warn!("packages were not compiled: {}", CauseChain(&error));
                }
            });
        }
    }

    /// Compiles a layer with all workers, unless it was compiled before.
    ///
    /// # Errors
    ///
    /// No worker can run the compiler, or the disk is full.
    pub(crate) async fn compile_now(&self, layer: &Arc<UsedLayer>) -> Result<(), ServiceError> {
        if layer.is_compiled.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.compile_patiently(layer, self.pool.size(), None).await
    }

    /// Compiles a layer, again if the pool was too busy or lost a worker. Layers that share `turns` are compiled one
    /// at a time, and none has its turn while it pauses.
    async fn compile_patiently(
        &self,
        layer: &UsedLayer,
        at_once: usize,
        turns: Option<&tokio::sync::Mutex<()>>,
    ) -> Result<(), ServiceError> {
        let mut pauses = layer_pauses();
        loop {
            let turn = match turns {
                Some(turns) => Some(turns.lock().await),
                None => None,
            };
            let compiled = self.compile_layer(layer, at_once).await;
            drop(turn);
            match compiled {
                Err(error) if is_passing(&error) && paused(&mut pauses).await => {}
                Err(error) => {
                    // The next run with the layer tries again.
                    layer.is_compiled.store(!is_passing(&error), Ordering::Release);
                    return Err(error);
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Compiles a layer with `at_once` runs at a time, and keeps the result.
    async fn compile_layer(&self, layer: &UsedLayer, at_once: usize) -> Result<(), ServiceError> {
        let content = &layer.layer.content;
        let places = content.places().map_err(ServiceError::Unreadable)?;
        let mount = LayerMount { digest: content.digest, bytecode: None, place: layer.place };
        let mut parts = parts_of(&places).into_iter();
        let (mut running, mut compiled) = (JoinSet::new(), BTreeMap::new());
        loop {
            while running.len() < at_once.max(1) {
                let Some(part) = parts.next() else { break };
                let (compiler, mount, content) = (self.clone(), mount.clone(), content.clone());
                running.spawn(async move { compiler.compile_part(mount, content, part).await });
            }
            let Some(ended) = running.join_next().await else { break };
            let packed = ended.map_err(ServiceError::Interrupted)??;
            for file in packed.files {
                let start = usize::try_from(file.offset).unwrap_or(usize::MAX);
                let size = usize::try_from(file.size).unwrap_or(usize::MAX);
                let code = packed.pack.get(start..start.saturating_add(size));
                if let Some(path) = cache_path(&file.path, self.packages.guest.python_version()) {
                    compiled.insert(path, code.unwrap_or_default().to_vec());
                }
            }
        }
        let files: Vec<(String, &[u8])> =
            compiled.iter().map(|(path, code)| (path.clone(), code.as_slice())).collect();
        let PackageAccess { store, engine, .. } = &*self.packages;
        let kept = store.keep_bytecode(content.digest, *engine, &files);
        kept.map_err(PackagesError::Store)?;
        debug!("{} modules of packages were compiled", files.len());
        let opened = store.open_bytecode(content.digest, *engine).map_err(PackagesError::Store)?;
        *layer.bytecode.lock() = opened;
        Ok(())
    }

    /// Compiles some modules. Those that do not compile are left out: importing them raises the
    /// error.
    async fn compile_part(
        &self,
        mount: LayerMount,
        content: wardian_formats::job::layer::LayerContent,
        paths: Vec<String>,
    ) -> Result<Packed, ServiceError> {
        let caller = Caller::local("packages");
        let (image, default) = (self.images.shared.base(), self.limits.default);
        let root = mount.path();
        let arguments = Arguments { root: &root, paths: &paths };
        let limits = RunLimits {
            wall_time: COMPILE_TIMEOUT.max(Duration::from_secs(60)),
            fuel: None,
            ..default
        };
        let (limits, turn_limits) = limits.split();
        let setup = Setup {
            tenant: caller.tenant.clone(),
            image: image.digest(),
            skills: Vec::new(),
            layers: vec![mount],
            blobs: Vec::new(),
            hides_modules: false,
            environment: BTreeMap::new(),
            reproducible: None,
            counts_fuel: false,
            limits,
        };
        let (source, file_name) = (COMPILER.to_owned(), "compiler.py".to_owned());
        let args = serde_json::value::to_raw_value(&arguments).unwrap_or_default();
        let turn = Turn {
            entrypoint: Some("main".to_owned()),
            strict_output: true,
            ..Turn::new(Program::Code { source, file_name }, args, turn_limits)
        };
        let (setup, layers) = (Box::new(setup), vec![content]);
        let guest = GuestSpec { setup, image, skills: Vec::new(), layers, blobs: Vec::new() };
        let job = Job { guest, turn: Box::new(turn) };
        let mut log = RunLog::open(&job.turn.id, &caller.tenant, RunPurpose::Compilation);
        let mut host = NoBlobs(OutputRoom::of_call(caller.memory.clone()));
        let mut pauses = part_pauses();
        let finished = loop {
            let ended = self.pool.run_own(&job, &mut host).await.and_then(unless_lost);
            match ended.map_err(ServiceError::from) {
                Err(error) if is_passing(&error) && paused(&mut pauses).await => {}
                other => break other?,
            }
        };
        log.note(&finished);
        let output = finished.output.filter(|_| finished.outcome.end.is_ok());
        let Some(output) = output else { return Ok(Packed::default()) };
        let read = move || {
            let known: HashSet<&str> = paths.iter().map(String::as_str).collect();
            read_packed(known, &output.into_bytes().unwrap_or_default()).unwrap_or_default()
        };
        caller.memory.on_thread(read).await.map_err(ServiceError::Interrupted)
    }
}

/// Takes a lost worker for one that never began: the end of its run does not say anything about the
/// modules.
fn unless_lost(finished: FinishedRun) -> Result<FinishedRun, DispatchError> {
    match &finished.outcome.end {
        Err(RunFailure::Cancelled) => Err(DispatchError::NoWorker),
        Err(RunFailure::SandboxCrash { .. }) if finished.is_worker_lost => {
            Err(DispatchError::NoWorker)
        }
        _ => Ok(finished),
    }
}

/// True for an end that the machine or other runs are the reason of, so that a later attempt may have
/// another one. Runs of callers go first.
const fn is_passing(error: &ServiceError) -> bool {
    matches!(
        error,
        ServiceError::Dispatch(
            DispatchError::Overloaded { .. }
                | DispatchError::NoneStarted { .. }
                | DispatchError::TenantBusy { .. }
                | DispatchError::NoWorker
                | DispatchError::Share(_)
        )
    )
}

/// Waits for the next of some pauses; false if there is none.
async fn paused(pauses: &mut impl Iterator<Item = Duration>) -> bool {
    match pauses.next() {
        Some(pause) => {
            tokio::time::sleep(pause).await;
            true
        }
        None => false,
    }
}

/// Divides the modules of a layer into parts that one run compiles.
fn parts_of(places: &[PackedFile]) -> Vec<Vec<String>> {
    let mut parts: Vec<Vec<String>> = Vec::new();
    let mut size = PART;
    for place in places.iter().filter(|place| is_python(&place.path) && place.size <= MAX_MODULE) {
        let is_full = parts.last().is_none_or(|part| part.len() >= MODULES);
        if is_full || size.saturating_add(place.size) > PART {
            parts.push(Vec::new());
            size = 0;
        }
        size = size.saturating_add(place.size);
        if let Some(part) = parts.last_mut() {
            part.push(place.path.clone());
        }
    }
    parts
}

/// The path at which Python looks for the bytecode of a module.
fn cache_path(path: &str, python: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.strip_suffix(".py")?;
    let tag = python.replace('.', "");
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    Some(format!("{folder}__pycache__/{stem}.cpython-{tag}.pyc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_layer_bytecode_lies_where_python_looks_for_it() {
        assert_eq!(cache_path("a.py", "3.15").unwrap(), "__pycache__/a.cpython-315.pyc");
        let path = cache_path("a/b/__init__.py", "3.15").unwrap();
        assert_eq!(path, "a/b/__pycache__/__init__.cpython-315.pyc");
        assert_eq!(cache_path("a/b.txt", "3.15"), None);
    }

    #[test]
    fn a_busy_pool_is_asked_a_bounded_number_of_times() {
        let pauses: Vec<u64> = layer_pauses().map(|pause| pause.as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128]);
        assert_eq!(part_pauses().map(|pause| pause.as_secs()).collect::<Vec<_>>(), [1, 1, 1]);
        let retry_after = Duration::from_secs(1);
        for passing in [
            DispatchError::TenantBusy { retry_after },
            DispatchError::Overloaded { retry_after },
            DispatchError::NoWorker,
        ] {
            assert!(is_passing(&passing.into()));
        }
        for other in [DispatchError::ShuttingDown, DispatchError::TooMuchMemory] {
            assert!(!is_passing(&other.into()));
        }
    }

    #[test]
    fn a_layer_is_compiled_in_parts() {
        let place = |path: &str, size| PackedFile { path: path.to_owned(), offset: 0, size };
        let places = [
            place("a.py", PART - 1),
            place("b.py", 2),
            place("c.txt", 1),
            place("d.py", MAX_MODULE),
            place("e.py", MAX_MODULE + 1),
            place("f.py", 0),
        ];
        let parts = parts_of(&places);
        assert_eq!(parts, [vec!["a.py"], vec!["b.py"], vec!["d.py"], vec!["f.py"]]);
        let many: Vec<PackedFile> = (0..1_000).map(|n| place(&format!("{n}.py"), 1)).collect();
        assert_eq!(parts_of(&many).len(), 4);
        assert!(parts_of(&[]).is_empty());
    }
}
