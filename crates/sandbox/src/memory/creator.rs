//! Gives wasmtime its linear memories: slots of images, which are reused.
#![expect(unsafe_code, reason = "wasmtime's traits for memories are unsafe to implement")]

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use crate::memory::MemoryError;
use crate::memory::control_pages::{COUNTER_LENGTH, ControlPages, CounterMemory};
use crate::memory::dirty::DirtyPages;
use crate::memory::image::{self, MemoryImage};
use crate::memory::plain::PlainMemories;
use crate::memory::slot::Slot;

/// The settings that the slots of all images of a sandbox share.
#[derive(Debug)]
pub(crate) struct SlotRules {
    /// Bytes of private pages that a slot may keep between runs.
    pub keep: usize,
    /// Compare the whole memory with the image after every reset.
    pub verify: Verify,
    dirty: DirtyPages,
    fault: Mutex<Option<MemoryError>>,
}

/// The check of memory after each reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// No check.
    Never,
    /// Compare every byte; costs milliseconds a run.
    Always,
}

impl SlotRules {
    /// Rules for slots that find their private pages through `dirty`.
    #[must_use]
    pub(crate) fn new(keep: usize, verify: Verify, dirty: DirtyPages) -> Arc<Self> {
        image::ask_page_size();
        Arc::new(Self { keep, verify, dirty, fault: Mutex::default() })
    }

    /// The way in which private pages are found.
    #[must_use]
    pub(crate) const fn dirty(&self) -> &DirtyPages {
        &self.dirty
    }

    /// The first fault of a reset, if there was one: the process must not run further guests.
    #[must_use]
    pub(crate) fn fault(&self) -> Option<MemoryError> {
        self.fault.lock().take()
    }
}

/// The slots of one image.
///
/// A memory that is dropped by its store is reset at once. A slot that cannot be reset is unmapped
/// instead, and the fault is kept for [`SlotRules::fault`].
pub(crate) struct SlotPool {
    image: Arc<MemoryImage>,
    rules: Arc<SlotRules>,
    free: Mutex<Vec<Slot>>,
}

impl SlotPool {
    /// A pool without slots. The first run makes the first slot.
    #[must_use]
    pub(crate) fn new(image: MemoryImage, rules: Arc<SlotRules>) -> Arc<Self> {
        Arc::new(Self { image: Arc::new(image), rules, free: Mutex::default() })
    }

    /// Bytes of private memory that slots keep for the next run.
    #[must_use]
    pub(crate) fn kept(&self) -> usize {
        self.free.lock().iter().map(Slot::kept).sum()
    }

    /// Releases the memory of unused slots to the operating system.
    pub(crate) fn release(&self) {
        let released = std::mem::take(&mut *self.free.lock());
        drop(released);
    }

    /// Leaves a slot behind whose last run has written to one page.
    #[cfg(test)]
    pub(crate) fn dirty_a_slot(&self) {
        let slot = self.take(1 << 20, crate::memory::PAGE).unwrap();
        slot.write_a_byte();
        self.give_back(slot);
    }

    fn take(&self, reservation: usize, guard: usize) -> Result<Slot, MemoryError> {
        let free = self.free.lock().pop();
        match free.filter(|slot| slot.is_like(reservation, guard)) {
            Some(slot) => Ok(slot),
            None => Slot::new(&self.image, reservation, guard),
        }
    }

    fn give_back(&self, mut slot: Slot) {
        let SlotRules { keep, verify, dirty, fault } = &*self.rules;
        let reset = slot.reset(dirty, *keep).and_then(|_| match verify {
            Verify::Never => Ok(()),
            Verify::Always => slot.verify(),
        });
        match reset {
            Ok(()) => self.free.lock().push(slot),
            Err(found) => {
                fault.lock().get_or_insert(found);
            }
        }
    }
}

impl fmt::Debug for SlotPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotPool").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// Gives an engine its memories. Give it to the engine with `Config::with_host_memory`.
///
/// INVARIANT(image-assigned): a guest begins as the image that was assigned for it, or is not made.
/// An assignment is taken by one instantiation and withdrawn at its end, so the image of one guest
/// cannot reach another.
#[derive(Debug)]
pub(crate) struct SlotMemories {
    /// Length of the memory that the module declares. It distinguishes the guest's memory from
    /// others.
    declared: usize,
    assigned: Mutex<Option<Arc<SlotPool>>>,
    /// The control pages of the guest that took the last assigned image.
    taken: Mutex<Option<Arc<ControlPages>>>,
    plain: Arc<PlainMemories>,
}

impl SlotMemories {
    /// Memories for a module that declares `declared` bytes.
    #[must_use]
    pub(crate) fn new(declared: usize) -> Arc<Self> {
        let (assigned, taken, plain) = (Mutex::default(), Mutex::default(), Arc::default());
        Arc::new(Self { declared, assigned, taken, plain })
    }

    /// Lets the guest that `instantiate` makes begin as the image of `pool`. Returns the control
    /// pages of the guest, or `None` if it did not take the image.
    pub(crate) fn assign_image<T>(
        &self,
        pool: &Arc<SlotPool>,
        instantiate: impl FnOnce() -> T,
    ) -> (T, Option<Arc<ControlPages>>) {
        *self.assigned.lock() = Some(Arc::clone(pool));
        let made = instantiate();
        self.assigned.lock().take();
        (made, self.taken.lock().take())
    }
}

/// A handle that wasmtime's configuration can own.
#[derive(Debug)]
pub(crate) struct MemoryHandle(pub Arc<SlotMemories>);

// SAFETY: each memory owns its addresses alone, has the reservation and the guard that it was
// asked for, does not move, and begins as the image that stands for the module's data segments
// (of which it has none of its own) with zeros after it. The guard is inaccessible on both sides.
unsafe impl MemoryCreator for MemoryHandle {
    fn new_memory(
        &self,
        _type: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let reserved = reserved.unwrap_or(minimum);
        if (minimum, maximum) == (COUNTER_LENGTH, Some(COUNTER_LENGTH))
            && let Some(pages) = &*self.0.taken.lock()
        {
            // Of the memories of a module, the guest's own comes first.
            return Ok(Box::new(CounterMemory(Arc::clone(pages))));
        }
        if minimum != self.0.declared {
            // wasmtime also requests the collector's heap for exceptions here.
            let memory = self.0.plain.lend(minimum, reserved, guard);
            return memory
                .map(|memory| Box::new(memory) as Box<dyn LinearMemory>)
                .map_err(|error| error.to_string());
        }
        let pool = self.0.assigned.lock().take();
        let pool = pool.ok_or_else(|| "no image was assigned for this guest".to_owned())?;
        let slot = pool.take(reserved, guard).map_err(|error| error.to_string())?;
        *self.0.taken.lock() = Some(Arc::clone(slot.control_pages()));
        Ok(Box::new(GuestMemory { slot: Some(slot), pool }))
    }
}

/// The linear memory of one run.
#[derive(Debug)]
struct GuestMemory {
    slot: Option<Slot>,
    pool: Arc<SlotPool>,
}

// SAFETY: the base stays the same for the life of the value, `byte_size` bytes from it are
// accessible, and growth makes more of the reservation accessible without moving it.
unsafe impl LinearMemory for GuestMemory {
    fn byte_size(&self) -> usize {
        self.slot.as_ref().map_or(0, Slot::accessible)
    }

    fn byte_capacity(&self) -> usize {
        self.slot.as_ref().map_or(0, Slot::room)
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        match &mut self.slot {
            Some(slot) => slot.grow_to(size).map_err(wasmtime::Error::new),
            None => Err(wasmtime::Error::msg("the memory is gone")),
        }
    }

    fn as_ptr(&self) -> *mut u8 {
        self.slot.as_ref().map_or(std::ptr::null_mut(), Slot::base)
    }
}

impl Drop for GuestMemory {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.pool.give_back(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Config, Engine, Instance, Module, Store};

    use super::*;
    use crate::memory::PAGE;
    use crate::memory::image::WASM_PAGE;

    /// An engine whose guests of two declared pages begin as an image of three.
    struct Fixture {
        engine: Engine,
        memories: Arc<SlotMemories>,
        rules: Arc<SlotRules>,
        pool: Arc<SlotPool>,
    }

    impl Fixture {
        fn new(verify: Verify) -> Self {
            Self::with(SlotRules::new(1 << 20, verify, DirtyPages::best()))
        }

        fn with(rules: Arc<SlotRules>) -> Self {
            let memories = SlotMemories::new(2 * WASM_PAGE);
            let mut config = Config::new();
            config.with_host_memory(Arc::new(MemoryHandle(Arc::clone(&memories))));
            let pool = pool(&rules, 7);
            Self { engine: Engine::new(&config).unwrap(), memories, rules, pool }
        }

        fn guest(&self, module: &Module) -> (Store<()>, Instance) {
            self.guest_of(&self.pool, module)
        }

        fn guest_of(&self, pool: &Arc<SlotPool>, module: &Module) -> (Store<()>, Instance) {
            let mut store = Store::new(&self.engine, ());
            let (instance, _) =
                self.memories.assign_image(pool, || Instance::new(&mut store, module, &[]));
            (store, instance.unwrap())
        }
    }

    /// Slots of an image that counts from zero to below `period` again and again.
    fn pool(rules: &Arc<SlotRules>, period: usize) -> Arc<SlotPool> {
        let bytes: Vec<u8> =
            (0..3 * WASM_PAGE).map(|at| u8::try_from(at % period).unwrap()).collect();
        let image = MemoryImage::open(MemoryImage::seal(bytes.as_slice()).unwrap()).unwrap();
        SlotPool::new(image, Arc::clone(rules))
    }

    const GUEST: &str = r#"(module (memory (export "m") 2)
        (func (export "put") (param i32 i32) (i32.store8 (local.get 0) (local.get 1)))
        (func (export "get") (param i32) (result i32) (i32.load8_u (local.get 0)))
        (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
        (func (export "fall") (i32.store (i32.const 5) (i32.const -1)) unreachable))"#;

    fn module(engine: &Engine) -> Module {
        Module::new(engine, wat::parse_str(GUEST).unwrap()).unwrap()
    }

    fn get(store: &mut Store<()>, instance: &Instance, at: i32) -> wasmtime::Result<i32> {
        instance.get_typed_func::<i32, i32>(&mut *store, "get")?.call(&mut *store, at)
    }

    #[test]
    fn a_guest_begins_as_the_image_and_leaves_nothing() {
        let fixture = Fixture::new(Verify::Always);
        let module = module(&fixture.engine);
        for round in 0..20 {
            let (mut store, instance) = fixture.guest(&module);
            assert_eq!(get(&mut store, &instance, 150_000).unwrap(), 150_000 % 7);
            let grow = instance.get_typed_func::<i32, i32>(&mut store, "grow").unwrap();
            assert_eq!(grow.call(&mut store, 1).unwrap(), 3, "memory begins at the image's size");
            assert_eq!(get(&mut store, &instance, 200_000).unwrap(), 0, "grown memory is zero");
            let put = instance.get_typed_func::<(i32, i32), ()>(&mut store, "put").unwrap();
            put.call(&mut store, (150_000, 99)).unwrap();
            put.call(&mut store, (200_000, 99)).unwrap();
            if round % 2 == 0 {
                let fall = instance.get_typed_func::<(), ()>(&mut store, "fall").unwrap();
                assert!(fall.call(&mut store, ()).is_err());
            }
        }
        assert!(fixture.rules.fault().is_none());
        assert_eq!(fixture.pool.free.lock().len(), 1, "one slot served every run");
    }

    #[test]
    fn access_past_the_end_traps() {
        let fixture = Fixture::new(Verify::Never);
        let module = module(&fixture.engine);
        let (mut store, instance) = fixture.guest(&module);
        for at in [3 * 65_536, i32::MAX, -1] {
            assert!(get(&mut store, &instance, at).is_err(), "read at {at}");
        }
    }

    #[test]
    fn two_guests_at_once_have_two_slots() {
        let fixture = Fixture::new(Verify::Always);
        let module = module(&fixture.engine);
        let (mut one, first) = fixture.guest(&module);
        let (mut two, second) = fixture.guest(&module);
        let put = first.get_typed_func::<(i32, i32), ()>(&mut one, "put").unwrap();
        put.call(&mut one, (70_000, 200)).unwrap();
        assert_eq!(get(&mut two, &second, 70_000).unwrap(), 70_000 % 7);
        drop((one, two));
        assert_eq!(fixture.pool.free.lock().len(), 2);
    }

    #[test]
    fn image_assigned_is_taken_by_its_guest_and_by_no_other() {
        let fixture = Fixture::new(Verify::Always);
        let module = module(&fixture.engine);
        let other = pool(&fixture.rules, 11);
        for _ in 0..3 {
            let (mut one, first) = fixture.guest(&module);
            let (mut two, second) = fixture.guest_of(&other, &module);
            assert_eq!(get(&mut one, &first, 150_000).unwrap(), 150_000 % 7);
            assert_eq!(get(&mut two, &second, 150_000).unwrap(), 150_000 % 11);
        }
        let mut store = Store::new(&fixture.engine, ());
        assert!(Instance::new(&mut store, &module, &[]).is_err(), "no image was assigned");
        fixture.memories.assign_image(&other, || ());
        assert!(
            Instance::new(&mut store, &module, &[]).is_err(),
            "the image was assigned for another"
        );
    }

    #[test]
    fn a_slot_that_cannot_be_reset_is_never_used_again_and_the_fault_is_reported() {
        // A file that is not a page table refuses to be scanned, as the real one would for want of
        // memory.
        let broken = || std::fs::File::open("/dev/null").unwrap();
        for dirty in [DirtyPages::Scan(broken()), DirtyPages::Read(broken())] {
            let fixture = Fixture::with(SlotRules::new(1 << 20, Verify::Never, dirty));
            let module = module(&fixture.engine);
            assert!(fixture.rules.fault().is_none());
            let (mut store, instance) = fixture.guest(&module);
            let put = instance.get_typed_func::<(i32, i32), ()>(&mut store, "put").unwrap();
            put.call(&mut store, (150_000, 99)).unwrap();
            drop(store);
            assert!(fixture.pool.free.lock().is_empty(), "the slot was kept");
            let fault = fixture.rules.fault().expect("the fault was not kept");
            assert!(matches!(fault, MemoryError::System { .. }), "{fault}");
        }
    }

    #[test]
    fn kept_memory_of_slots_is_counted_and_can_be_released() {
        let fixture = Fixture::new(Verify::Always);
        let module = module(&fixture.engine);
        assert_eq!(fixture.pool.kept(), 0);
        let (mut store, instance) = fixture.guest(&module);
        let put = instance.get_typed_func::<(i32, i32), ()>(&mut store, "put").unwrap();
        put.call(&mut store, (150_000, 99)).unwrap();
        drop(store);
        assert_eq!(fixture.pool.kept(), PAGE);
        fixture.pool.release();
        assert_eq!(fixture.pool.kept(), 0);
        let (mut store, instance) = fixture.guest(&module);
        assert_eq!(get(&mut store, &instance, 150_000).unwrap(), 150_000 % 7);
    }
}
