//! The engine's native code, ready to be instantiated on any image.

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use wasmtime::{Engine, Instance, InstancePre, Store};

use crate::SandboxError;
use crate::attached::image::LoadedImage;
use crate::memory::{ControlPages, MemoryHandle, SlotMemories, WASM_PAGE};
use crate::run::guest::{Guest, calls};
use crate::run::interrupter::Interrupter;
use wardian_engine::SignalPlaces;
use wardian_engine::code::compile::{self, CodeOptions};
use wardian_engine::code::instrumentation::{Instrumentation, Variant};
use wardian_engine::code::polls::Interruption;

/// The parts that code is loaded from.
#[derive(Debug)]
pub struct CodeSpec {
    /// The choices that the code was compiled with.
    pub options: CodeOptions,
    /// Native code whose digest was checked.
    pub native: File,
    /// Pages of 64 KiB that the module declares.
    pub declared_pages: usize,
    /// The words by which its interpreter is told of signals.
    pub signals: SignalPlaces,
}

/// Code in use, with its own engine.
///
/// All images share it, because an image is only memory. So images can be attached after the
/// lock-down, when no code can be loaded any more.
pub struct LoadedCode {
    checks: Instrumentation,
    engine: Engine,
    template: InstancePre<Guest>,
    memories: Arc<SlotMemories>,
    signals: SignalPlaces,
}

/// A guest that was made.
#[derive(Clone)]
pub(crate) struct MadeGuest {
    pub(crate) instance: Instance,
    /// The pages that control it.
    pub pages: Arc<ControlPages>,
    /// The way to interrupt it.
    pub(crate) interrupter: Interrupter,
    /// The words by which its interpreter is told of signals.
    pub(crate) signals: SignalPlaces,
}

impl fmt::Debug for LoadedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedCode").field("checks", &self.checks).finish_non_exhaustive()
    }
}

impl LoadedCode {
    pub(crate) fn load(spec: CodeSpec) -> Result<Self, SandboxError> {
        let memories = SlotMemories::new(spec.declared_pages.saturating_mul(WASM_PAGE));
        let mut settings = compile::config(spec.options);
        settings.with_host_memory(Arc::new(MemoryHandle(Arc::clone(&memories))));
        let engine = Engine::new(&settings).map_err(SandboxError::Engine)?;
        let module = compile::load(&engine, spec.native)?;
        let template = calls::linker(&engine)
            .and_then(|linker| linker.instantiate_pre(&module))
            .map_err(SandboxError::Engine)?;
        Ok(Self { checks: spec.options.checks, engine, template, memories, signals: spec.signals })
    }

    pub(crate) const fn variant(&self) -> Variant {
        self.checks.variant
    }

    pub(crate) const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// A guest in `store` whose memory begins as `image`.
    pub(crate) fn instantiate(
        &self,
        store: &mut Store<Guest>,
        image: &LoadedImage,
    ) -> wasmtime::Result<MadeGuest> {
        if self.checks.interruption == Interruption::Epochs {
            // The guest is stopped when the next epoch begins.
            store.set_epoch_deadline(1);
        }
        let (made, pages) =
            self.memories.assign_image(image.pool(), || self.template.instantiate(store));
        let instance = made?;
        let pages = pages
            .ok_or_else(|| wasmtime::Error::msg("the guest's memory is not that of its image"))?;
        let interrupter = match self.checks.interruption {
            Interruption::Polls => Interrupter::Pages(Arc::clone(&pages)),
            Interruption::Epochs => Interrupter::Epoch(self.engine.clone()),
        };
        Ok(MadeGuest { instance, pages, interrupter, signals: self.signals })
    }
}
