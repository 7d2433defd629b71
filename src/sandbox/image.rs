//! An image with the code that runs on it, ready to be instantiated.

use std::fmt;
use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::sync::Arc;

use wasmtime::{Engine, InstancePre};

use crate::engine::compile::{self, Variant};
use crate::sandbox::guest::{self, Guest};
use crate::sandbox::memory::{
    DirtyPages, MemoryImage, SlotConfig, SlotMemories, SlotPool, WASM_PAGE,
};
use crate::sandbox::vfs::ImageDescriptors;
use crate::sandbox::{SandboxConfig, SandboxError};

/// What an image is loaded from.
#[derive(Debug)]
pub struct ImageSpec {
    /// Name that runs ask for, such as `base`.
    pub name: String,
    /// Which checks the code has.
    pub variant: Variant,
    /// Native code whose digest was checked.
    pub native: File,
    /// Sealed memory file.
    pub memory: OwnedFd,
    /// Files that the interpreter has open in the image.
    pub descriptors: ImageDescriptors,
    /// Pages of 64 KiB that the module declares.
    pub declared_pages: usize,
}

/// An image in use. It has an engine of its own, so that which image a guest starts from cannot
/// depend on anything but the engine that instantiates it.
pub(super) struct LoadedImage {
    name: String,
    variant: Variant,
    engine: Engine,
    template: InstancePre<Guest>,
    pool: Arc<SlotPool>,
    descriptors: ImageDescriptors,
    descriptor: RawFd,
    length: usize,
}

impl fmt::Debug for LoadedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedImage").field("name", &self.name).finish_non_exhaustive()
    }
}

impl LoadedImage {
    pub(super) fn load(
        spec: ImageSpec,
        config: &SandboxConfig,
        dirty: &Arc<DirtyPages>,
    ) -> Result<Self, SandboxError> {
        let image = MemoryImage::open(spec.memory)?;
        let length = image.length();
        let descriptor = image.as_fd().as_raw_fd();
        let slots = SlotConfig {
            declared: spec.declared_pages.saturating_mul(WASM_PAGE),
            keep: config.keep.as_usize(),
            verify: config.verify,
        };
        let pool = SlotPool::new(image, slots, Arc::clone(dirty));
        let mut settings = compile::config(spec.variant);
        settings.with_host_memory(Arc::new(SlotMemories(Arc::clone(&pool))));
        let engine = Engine::new(&settings).map_err(SandboxError::Engine)?;
        let module = compile::load(&engine, spec.native)?;
        let template = guest::linker(&engine)
            .and_then(|linker| linker.instantiate_pre(&module))
            .map_err(SandboxError::Engine)?;
        let (name, variant, descriptors) = (spec.name, spec.variant, spec.descriptors);
        Ok(Self { name, variant, engine, template, pool, descriptors, descriptor, length })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn variant(&self) -> Variant {
        self.variant
    }

    pub(super) const fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) const fn template(&self) -> &InstancePre<Guest> {
        &self.template
    }

    pub(super) const fn pool(&self) -> &Arc<SlotPool> {
        &self.pool
    }

    pub(super) const fn descriptors(&self) -> &ImageDescriptors {
        &self.descriptors
    }

    /// The memory file's descriptor, needed for every new slot.
    pub(super) const fn descriptor(&self) -> RawFd {
        self.descriptor
    }

    /// Bytes of memory that a guest has from the start.
    pub(super) const fn length(&self) -> usize {
        self.length
    }
}
