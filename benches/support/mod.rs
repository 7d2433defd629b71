//! What the benchmarks at the level of the engine share: a sandbox as a worker has it.

mod order;

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::progress::Lines;
use wardian_engine::source::fetch::EngineOrigin;
use wardian_engine::{EngineArtifacts, EngineStore};
use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::message::Refusal;
use wardian_formats::job::{Setup, Turn};
use wardian_image_builder::ImageStore;
use wardian_images::PackageSet;
use wardian_sandbox::{CodeSpec, ImageSpec, Library, Sandbox, SandboxConfig};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, Digest};

/// A host that keeps nothing.
#[derive(Debug)]
pub(crate) struct Forgetful;

impl Host for Forgetful {
    fn write_blob(&mut self, _kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        Ok(BlobId::of_digest(&Digest::of(content)))
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }
}

/// A sandbox and where its images come from. Prepares the engine and images where they are not in
/// the user's cache yet.
pub(crate) struct Workshop {
    pub(crate) sandbox: Sandbox,
    store: EngineStore,
    engine: Arc<EngineArtifacts>,
    attached: HashMap<PackageSet, Digest>,
}

impl Workshop {
    pub(crate) fn open() -> Result<Self> {
        let folder = dirs::cache_dir().context("there is no cache folder")?.join("wardian");
        let origin = EngineOrigin::Registry { python: "python3".into() };
        let store = EngineStore::open(&folder, origin, Clock::System)?;
        let engine = Arc::new(store.ensure(Variant::Timed, &Lines::new(std::io::stderr()))?);
        let library = Library::new(copy(&engine.library.file)?.into(), engine.mpl_data()?)?;
        let config = SandboxConfig {
            c_stack: Some(engine.c_stack),
            heap: Some(engine.heap),
            ..SandboxConfig::default()
        };
        let mut sandbox = Sandbox::new(library, config);
        let native = copy(&engine.native.file)?.into();
        let declared_pages = usize::try_from(engine.facts.memory_min_pages)?;
        let (options, signals) = (Variant::Timed.into(), engine.signals);
        sandbox.add_code(CodeSpec { options, native, declared_pages, signals })?;
        sandbox.start()?;
        Ok(Self { sandbox, store, engine, attached: HashMap::new() })
    }

    /// The order to run `main` of `source` on the image with what it imports.
    pub(crate) fn order(&mut self, source: &str) -> Result<(Arc<Setup>, Turn)> {
        let packages = PackageSet::of_source(source);
        let digest = match self.attached.get(&packages) {
            Some(digest) => *digest,
            None => self.attach(packages)?,
        };
        order::order(source, digest)
    }

    fn attach(&mut self, packages: PackageSet) -> Result<Digest> {
        let images = ImageStore::new(&self.store, &self.engine);
        let content = images.ensure(packages, &Lines::new(std::io::stderr()))?.content;
        let memory = copy(&content.memory())?;
        let descriptors = serde_json::from_str(content.open_files().get())?;
        self.sandbox.attach_image(content.key(), ImageSpec { memory, descriptors })?;
        self.attached.insert(packages, content.digest());
        Ok(content.digest())
    }
}

fn copy(file: &impl AsFd) -> Result<OwnedFd> {
    Ok(file.as_fd().try_clone_to_owned()?)
}

/// Does `work` on a thread with room for a guest's stack, as a worker's.
pub(crate) fn on_guest_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(wardian_worker::GUEST_STACK);
        let running = thread.spawn_scoped(scope, work)?;
        running.join().map_err(|_panic| anyhow::anyhow!("the guest's thread panicked"))?
    })
}
