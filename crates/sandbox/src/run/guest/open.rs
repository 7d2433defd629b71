//! The life of a guest: it is opened on a slot of its image, has turns, and is closed, which returns
//! the slot's memory to the image.

use std::fmt;
use std::sync::Arc;

use wasmtime::Store;

use crate::attached::contents::blob_path;
use crate::attached::image::LoadedImage;
use crate::clock_and_random::{ClockAndRandom, ClockAndRandomMode, ParkedClocks};
use crate::error::SandboxError;
use crate::loaded::Sandbox;
use crate::memory::{release_native_stack, trim_heap};
use crate::preview1::GuestProcess;
use crate::run::code::MadeGuest;
use crate::run::guest::calls;
use crate::run::guest::state::Guest;
use crate::session::Parking;
use crate::vfs::{Errno, FileSystem, Mount, NameInWorkspace, timestamp};
use wardian_engine::C_STACK_END;
use wardian_engine::code::instrumentation::Variant;
use wardian_formats::job::{BlobMount, FuelRules, Setup, SetupLimits, can_be_imported};
use wardian_vocabulary::ids::BlobName;
use wardian_vocabulary::units::ByteCount;

/// A guest between its opening and its closing. It can have one turn after another, as long as
/// [each leaves it whole](crate::TurnEnd::can_go_on).
///
/// [`Sandbox::close`] ends it. A guest that is dropped instead is closed all the same, so that no
/// slot is lost; only [`Sandbox::check`] knows then whether its reset failed.
pub struct OpenGuest {
    pub(in crate::run) setup: Arc<Setup>,
    pub(crate) image: Arc<LoadedImage>,
    /// `None` once it is closed.
    store: Option<Store<Guest>>,
    /// The guest; `None` if it could not be made.
    pub(crate) made: Option<MadeGuest>,
    /// The reason why it could not be made, which is the end of its first turn.
    pub(crate) unmade: Option<wasmtime::Error>,
    /// Bytes of the longest piece that came with a host call of any turn.
    pub(in crate::run) largest: usize,
    /// False from the end of a turn on that did not leave the guest whole.
    pub(crate) can_go_on: bool,
    /// The clocks as they stand until its next turn; `None` if time passes between its turns.
    pub(in crate::run) standing: Option<ParkedClocks>,
    /// What is known of its last checkpoint.
    pub(crate) parking: Parking,
}

impl fmt::Debug for OpenGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenGuest").field("setup", &self.setup).finish_non_exhaustive()
    }
}

/// If the host held more bytes than this for a guest, the free heap is released to the system. Files
/// of the guest and payloads of host calls count.
const LARGE: u64 = 4 << 20;

impl OpenGuest {
    /// The order that the guest was made by.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The guest's whole memory between two turns, for proofs that two guests are in the same state.
    #[must_use]
    pub fn memory(&self) -> &[u8] {
        self.store.as_ref().map_or(&[], calls::memory_of)
    }

    /// Lets the next checkpoint be a whole one, because the packs so far are of no use any more.
    pub fn begin_chain(&mut self) {
        self.parking.chain = None;
    }

    pub(crate) fn store(&mut self) -> Result<&mut Store<Guest>, SandboxError> {
        self.store.as_mut().ok_or(SandboxError::Over)
    }

    /// Zeroes what earlier calls left on the guest's stack, so that a copy of its memory is smaller.
    pub(in crate::run) fn clear_stack(&mut self) -> Result<(), SandboxError> {
        let pool = Arc::clone(self.image.pool());
        let memory = calls::memory_mut(self.store()?);
        let end = usize::try_from(C_STACK_END).unwrap_or(0).min(memory.len());
        let (stack, _) = memory.split_at_mut(end);
        pool.zero_private(stack).map_err(SandboxError::Memory)
    }

    /// Drops everything of the guest and resets its slot. On the thread of the guest, it also
    /// releases the touched native stack to the system.
    fn reset(&mut self) {
        let Some(store) = self.store.take() else { return };
        let sent = ByteCount::from(self.largest).as_u64();
        let files = &store.data().lasting.process.files;
        let held = files.workspace_peak().saturating_add(sent);
        drop(store);
        self.image.pool().reset();
        release_native_stack();
        if held > LARGE {
            trim_heap();
        }
    }
}

impl Drop for OpenGuest {
    fn drop(&mut self) {
        self.reset();
    }
}

impl Sandbox {
    /// Makes a guest that begins as its image.
    ///
    /// A guest that cannot be made within its limits, for instance because it may have less memory
    /// than its image, is no error: its first turn ends with the reason.
    ///
    /// # Errors
    ///
    /// Only faults of the sandbox.
    pub fn open(&mut self, setup: Arc<Setup>) -> Result<OpenGuest, SandboxError> {
        self.check()?;
        let keep_idle = self.config.keep_idle.as_usize();
        let image = self.images.for_run(&setup.tenant, setup.image, keep_idle);
        let image = image.ok_or(SandboxError::NotAttached)?;
        let variant = if setup.counts_fuel { Variant::Metered } else { Variant::Timed };
        let code = self.code(variant).ok_or(SandboxError::NotAttached)?;
        let mut mounts = self.library.mounts().to_vec();
        mounts.extend(self.attachments.mounts(&setup)?);
        let mode = setup.reproducible.map(ClockAndRandomMode::of_reproducible);
        let mode = mode.unwrap_or(self.config.clock_and_random);
        let clock_and_random = ClockAndRandom::new(mode, self.config.clock);
        let mut process = process_for(&setup.limits, &mounts, clock_and_random)?;
        show_blobs(&mut process, &setup).map_err(SandboxError::Descriptors)?;
        let descriptors = process.files.restore_descriptors(image.descriptors());
        descriptors.map_err(SandboxError::Descriptors)?;
        let mut guest = Guest::new(process, &setup.limits, image.length());
        let rules = setup.reproducible.map_or(FuelRules::PRESENT, |run| run.fuel_rules);
        guest.lasting.charges_bytes = rules >= FuelRules::BYTES;

        let mut store = Store::new(code.engine(), guest);
        store.limiter(|guest| &mut guest.lasting.ceiling);
        let made = code.instantiate(&mut store, &image).and_then(|made| {
            calls::attach(&mut store, &made.instance, &made.pages)?;
            Ok(made)
        });
        let store = Some(store);
        let (made, unmade) = match made {
            Ok(made) => (Some(made), None),
            Err(error) => (None, Some(error)),
        };
        let (largest, can_go_on, standing, parking) = (0, true, None, Parking::default());
        Ok(OpenGuest { setup, image, store, made, unmade, largest, can_go_on, standing, parking })
    }

    /// Ends a guest: drops all that it had, and gives the memory of its slot the bytes of its image
    /// again.
    ///
    /// # Errors
    ///
    /// The slot could not be reset: no further guest may run in this process.
    pub fn close(&self, mut guest: OpenGuest) -> Result<(), SandboxError> {
        guest.reset();
        drop(guest);
        self.check()
    }
}

/// The lasting half of a guest's WASI state.
pub(crate) fn process_for(
    limits: &SetupLimits,
    mounts: &[Mount],
    mut clock_and_random: ClockAndRandom,
) -> Result<GuestProcess, SandboxError> {
    let now = timestamp(clock_and_random.realtime());
    let files = FileSystem::for_run(limits, mounts, now)?;
    Ok(GuestProcess::new(files, clock_and_random))
}

/// Puts blobs at their paths in the workspace, and lets the program open the others by their names.
///
/// Python finds modules in the workspace, so names of modules can be left out there: see
/// [`Setup::hides_modules`]. The gateway refuses such paths.
fn show_blobs(process: &mut GuestProcess, setup: &Setup) -> Result<(), Errno> {
    let now = timestamp(process.clock_and_random.realtime());
    // A path is as the caller says, so names yield to it.
    for blob in &setup.blobs {
        for path in &blob.paths {
            process.files.place_blob(&blob_path(&blob.id), path, now)?;
        }
    }
    let mut add = |blob: &BlobMount, name: &BlobName, shown| {
        let name = name.as_str();
        let is_module = setup.hides_modules && can_be_imported(name);
        let is_absent = is_module || !blob.paths.is_empty();
        let shown = if is_absent { NameInWorkspace::Absent } else { shown };
        process.files.name_blob(&blob_path(&blob.id), name, shown, now)
    };
    for blob in &setup.blobs {
        blob.name.iter().try_for_each(|name| add(blob, name, NameInWorkspace::Listed))?;
    }
    // What is shown has precedence where there is little room.
    for blob in &setup.blobs {
        blob.other_names.iter().try_for_each(|name| add(blob, name, NameInWorkspace::Unlisted))?;
    }
    Ok(())
}
