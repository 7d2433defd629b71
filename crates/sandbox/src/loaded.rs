//! Loaded code and attached images, ready to run one guest at a time.

use std::os::fd::RawFd;
use std::sync::Arc;

use crate::attached::contents::AttachedContents;
use crate::attached::image::{ImageSpec, LoadedImage};
use crate::attached::images::AttachedImages;
use crate::attached::library::Library;
use crate::config::SandboxConfig;
use crate::error::SandboxError;
use crate::memory::{DirtyPages, SlotRules};
use crate::run::code::{CodeSpec, LoadedCode};
use crate::run::deadline::watchdog::Watchdog;
use wardian_engine::code::instrumentation::Variant;
use wardian_formats::job::attachment::{AttachmentKey, PackedFile};
use wardian_formats::job::message::Payload;

/// Loaded code and attached images, ready to run one guest at a time. Others that are open keep their slots
/// meanwhile.
#[derive(Debug)]
pub struct Sandbox {
    pub(crate) config: SandboxConfig,
    pub(crate) library: Library,
    pub(crate) codes: Vec<LoadedCode>,
    pub(crate) images: AttachedImages,
    pub(crate) attachments: AttachedContents,
    pub(crate) slots: Arc<SlotRules>,
    pub(crate) watchdog: Option<Watchdog>,
}

impl Sandbox {
    /// A sandbox without code and images. Opens the files of `/proc` that it needs.
    #[must_use]
    pub fn new(library: Library, config: SandboxConfig) -> Self {
        let slots = SlotRules::new(config.keep.as_usize(), config.verify, DirtyPages::best());
        Self {
            config,
            library,
            codes: Vec::new(),
            images: AttachedImages::default(),
            attachments: AttachedContents::default(),
            slots,
            watchdog: None,
        }
    }

    /// Opens the page table of this process, which was forked from the one that made the sandbox.
    /// Without it, a reset would look at the pages of that process. Call it before an image is
    /// attached.
    pub fn enter_process(&mut self) {
        self.images = AttachedImages::default();
        let (keep, verify) = (self.slots.keep, self.slots.verify);
        self.slots = SlotRules::new(keep, verify, DirtyPages::best());
    }

    /// Loads code; takes some 10 ms. Must happen before the process locks itself down.
    ///
    /// # Errors
    ///
    /// The code is not for this engine.
    pub fn add_code(&mut self, spec: CodeSpec) -> Result<(), SandboxError> {
        self.codes.push(LoadedCode::load(spec)?);
        Ok(())
    }

    /// Starts the watchdog's thread. Nothing runs before.
    ///
    /// # Errors
    ///
    /// The operating system refuses the thread.
    pub fn start(&mut self) -> Result<(), SandboxError> {
        let refused = |cause| SandboxError::System { what: "start the watchdog", cause };
        self.watchdog = Some(Watchdog::spawn().map_err(refused)?);
        Ok(())
    }

    /// The variants of the loaded code.
    pub fn variants(&self) -> impl Iterator<Item = Variant> {
        self.codes.iter().map(LoadedCode::variant)
    }

    /// The way in which private pages are found, for reports.
    #[must_use]
    pub fn reset_method(&self) -> &'static str {
        self.slots.dirty().name()
    }

    /// Descriptors that must stay open for the life of the sandbox, as far as they are open now.
    #[must_use]
    pub fn kept_descriptors(&self) -> Vec<RawFd> {
        let mut kept = self.library.descriptors();
        kept.extend(self.slots.dirty().file().map(std::os::fd::AsRawFd::as_raw_fd));
        kept
    }

    /// Keeps an image that runs can begin as until it is detached. Costs a mapping, no memory.
    ///
    /// # Errors
    ///
    /// The memory is not sealed or is not an image.
    pub fn attach_image(
        &mut self,
        key: AttachmentKey,
        spec: ImageSpec,
    ) -> Result<(), SandboxError> {
        self.images.add(key, LoadedImage::load(spec, &self.slots)?);
        Ok(())
    }

    /// Keeps a skill's files until they are detached.
    ///
    /// # Errors
    ///
    /// A file lies outside of the payload, or the paths make no folder.
    pub fn attach_skill(
        &mut self,
        key: AttachmentKey,
        files: Vec<PackedFile>,
        payload: Payload,
    ) -> Result<(), SandboxError> {
        self.attachments.attach_skill(key, files, payload)
    }

    /// Keeps a blob's content until it is detached.
    ///
    /// # Errors
    ///
    /// The payload is shorter than its stated size.
    pub fn attach_blob(
        &mut self,
        key: AttachmentKey,
        payload: Payload,
    ) -> Result<(), SandboxError> {
        self.attachments.attach_blob(key, payload)
    }

    /// Keeps a layer of packages until it is detached. It is read when a run first looks into it.
    ///
    /// # Errors
    ///
    /// The payload is not a file.
    pub fn attach_layer(
        &mut self,
        key: AttachmentKey,
        payload: Payload,
    ) -> Result<(), SandboxError> {
        self.attachments.attach_layer(key, payload)
    }

    /// Drops an attachment. Does nothing if it is unknown.
    pub fn detach(&mut self, key: &AttachmentKey) {
        self.images.remove(key);
        self.attachments.detach(key);
    }

    /// The code of this variant.
    pub fn code(&self, variant: Variant) -> Option<&LoadedCode> {
        self.codes.iter().find(|code| code.variant() == variant)
    }

    /// Checks that the memory of the runs so far has returned to its images. [`Self::close`] does it,
    /// and so does [`Self::open`]. Costs no system call.
    ///
    /// # Errors
    ///
    /// A slot could not be reset: no further guest may run in this process.
    pub fn check(&self) -> Result<(), SandboxError> {
        self.slots.fault().map_or(Ok(()), |fault| Err(fault.into()))
    }
}
