//! Gives wasmtime its linear memories: slots of images, which are reused.
#![expect(unsafe_code, reason = "wasmtime's traits for memories are unsafe to implement")]

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use crate::memory::changed::{self, VisitChanged};
use crate::memory::control_pages::{COUNTER_LENGTH, ControlPages, CounterMemory};
use crate::memory::dirty::DirtyPages;
use crate::memory::image::{self, MemoryImage};
use crate::memory::mapping;
use crate::memory::plain::PlainMemories;
use crate::memory::slot::Slot;
use crate::memory::unused;
use crate::memory::{MemoryError, PAGE};

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

/// Slots of an image that wait for the next guest at most. One serves all runs, and each keeps some private
/// memory. Guests that are kept between their turns have one each until they end.
const MOST_FREE: usize = 1;

/// The slots of one image.
///
/// A memory that is dropped by its store leaves its slot as it is. [`Self::reset`] makes it free for
/// the next guest. A slot that cannot be reset is unmapped instead, and the fault is kept for
/// [`SlotRules::fault`].
///
/// INVARIANT(reset-before-reuse): only [`Self::reset`] makes a slot free, and a guest gets a free one
/// or a new one.
pub(crate) struct SlotPool {
    image: Arc<MemoryImage>,
    rules: Arc<SlotRules>,
    /// Slots whose memory is that of the image.
    free: Mutex<Vec<Slot>>,
    /// Slots that guests have left.
    used: Mutex<Vec<Slot>>,
}

impl SlotPool {
    /// A pool without slots. The first guest makes the first slot.
    #[must_use]
    pub(crate) fn new(image: MemoryImage, rules: Arc<SlotRules>) -> Arc<Self> {
        let (free, used) = (Mutex::default(), Mutex::default());
        Arc::new(Self { image: Arc::new(image), rules, free, used })
    }

    /// Bytes of private memory that slots keep for the next guest.
    #[must_use]
    pub(crate) fn kept(&self) -> usize {
        self.free.lock().iter().map(Slot::kept).sum()
    }

    /// Releases the memory of unused slots to the operating system.
    pub(crate) fn release(&self) {
        let released = std::mem::take(&mut *self.free.lock());
        drop(released);
    }

    /// Gives the slots that guests have left the bytes of the image again.
    pub(crate) fn reset(&self) {
        let SlotRules { keep, verify, dirty, fault } = &*self.rules;
        while let Some(mut slot) = self.next_used() {
            let reset = slot.reset(dirty, *keep).and_then(|_| match verify {
                Verify::Never => Ok(()),
                Verify::Always => slot.verify(),
            });
            match reset {
                Ok(()) => self.keep(slot),
                Err(found) => {
                    fault.lock().get_or_insert(found);
                }
            }
        }
    }

    /// Calls `visit` with each page of a guest's memory that can differ from the image, in order. `memory` is the
    /// whole memory of a guest in a slot of this pool. Pages that are `unused` get the bytes of the image again,
    /// and are not visited. The ranges are numbers of pages; they ascend and do not overlap. `visit` tells whether
    /// a page differs: many that do not are private no more afterwards.
    ///
    /// # Errors
    ///
    /// The page table cannot be read.
    pub(crate) fn visit_changed(
        &self,
        memory: &mut [u8],
        unused: &[Range<usize>],
        visit: VisitChanged<'_>,
    ) -> Result<(), MemoryError> {
        let needless =
            changed::visit_changed(&self.image, &self.rules.dirty, memory, unused, visit)?;
        for pages in needless {
            let bytes = pages.start.saturating_mul(PAGE)..pages.end.saturating_mul(PAGE);
            mapping::drop_same(memory.get_mut(bytes).unwrap_or_default())?;
        }
        Ok(())
    }

    /// Zeroes the private pages in a part of a guest's memory. The part begins and ends with a page,
    /// and is zero in the image.
    ///
    /// # Errors
    ///
    /// The page table cannot be read.
    pub(crate) fn zero_private(&self, part: &mut [u8]) -> Result<(), MemoryError> {
        unused::zero_private(&self.rules.dirty, part)
    }

    /// Keeps a slot whose memory is that of the image, unless there are enough of them.
    fn keep(&self, slot: Slot) {
        let mut free = self.free.lock();
        if free.len() < MOST_FREE {
            free.push(slot);
            return;
        }
        drop(free);
        drop(slot);
    }

    fn next_used(&self) -> Option<Slot> {
        self.used.lock().pop()
    }

    /// Leaves a slot behind whose last guest has written to one page.
    #[cfg(test)]
    pub(crate) fn dirty_a_slot(&self) {
        let slot = self.take(1 << 20, PAGE).unwrap();
        slot.write_a_byte();
        self.leave(slot);
        self.reset();
    }

    fn take(&self, reservation: usize, guard: usize) -> Result<Slot, MemoryError> {
        // A store that was dropped without a reset must not cost its addresses and its memory.
        self.reset();
        let free = self.free.lock().pop();
        match free.filter(|slot| slot.is_like(reservation, guard)) {
            Some(slot) => Ok(slot),
            None => Slot::new(&self.image, reservation, guard),
        }
    }

    /// Takes a slot back as its guest has left it.
    fn leave(&self, slot: Slot) {
        self.used.lock().push(slot);
    }
}

impl fmt::Debug for SlotPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotPool").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// The memories that wasmtime asks for to make a guest, told apart by their declared types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemoryKind {
    /// The memory that the engine's module declares: a slot.
    Guest,
    /// The memory that metered code counts in: a page of the guest's slot.
    Counter,
    /// The heap of wasmtime's collector, in which exceptions of C code live.
    Heap,
}

impl MemoryKind {
    /// The kind of a memory of `minimum` and `maximum` bytes. The engine's own declares `declared`
    /// bytes. The counter is the only one whose size is fixed to its length.
    fn of(minimum: usize, maximum: Option<usize>, declared: usize) -> Self {
        if (minimum, maximum) == (COUNTER_LENGTH, Some(COUNTER_LENGTH)) {
            Self::Counter
        } else if minimum == declared {
            Self::Guest
        } else {
            Self::Heap
        }
    }
}

/// How far the instantiation of a guest is.
#[derive(Debug, Default)]
enum Making {
    /// No guest is being made.
    #[default]
    Nothing,
    /// The next guest begins as the image of this pool.
    Assigned(Arc<SlotPool>),
    /// The guest has its memory. These pages control it.
    HasMemory(Arc<ControlPages>),
}

/// Gives an engine its memories. Give it to the engine with `Config::with_host_memory`.
///
/// INVARIANT(image-assigned): a guest begins as the image that was assigned for it, or is not made.
/// An assignment is taken by one instantiation and withdrawn at its end, so the image of one guest
/// cannot reach another.
#[derive(Debug)]
pub(crate) struct SlotMemories {
    /// Length of the memory that the engine's module declares.
    declared: usize,
    making: Mutex<Making>,
    plain: Arc<PlainMemories>,
}

impl SlotMemories {
    /// Memories for a module that declares `declared` bytes.
    #[must_use]
    pub(crate) fn new(declared: usize) -> Arc<Self> {
        Arc::new(Self { declared, making: Mutex::default(), plain: Arc::default() })
    }

    /// Lets the guest that `instantiate` makes begin as the image of `pool`. Returns the control
    /// pages of the guest, or `None` if it did not take the image.
    pub(crate) fn assign_image<T>(
        &self,
        pool: &Arc<SlotPool>,
        instantiate: impl FnOnce() -> T,
    ) -> (T, Option<Arc<ControlPages>>) {
        *self.making.lock() = Making::Assigned(Arc::clone(pool));
        let made = instantiate();
        match std::mem::take(&mut *self.making.lock()) {
            Making::HasMemory(pages) => (made, Some(pages)),
            Making::Nothing | Making::Assigned(_) => (made, None),
        }
    }

    /// The memory of a guest that begins as the assigned image.
    fn guest_memory(&self, reserved: usize, guard: usize) -> Result<GuestMemory, String> {
        let mut making = self.making.lock();
        let Making::Assigned(pool) = std::mem::take(&mut *making) else {
            return Err("no image was assigned for this guest".to_owned());
        };
        let slot = pool.take(reserved, guard).map_err(|error| error.to_string())?;
        *making = Making::HasMemory(Arc::clone(slot.control_pages()));
        Ok(GuestMemory { slot: Some(slot), pool })
    }

    /// The counter of the guest that is being made.
    fn counter(&self) -> Result<CounterMemory, String> {
        match &*self.making.lock() {
            Making::HasMemory(pages) => Ok(CounterMemory(Arc::clone(pages))),
            Making::Nothing | Making::Assigned(_) => Err("a counter without a guest".to_owned()),
        }
    }
}

/// A handle that wasmtime's configuration can own.
#[derive(Debug)]
pub(crate) struct MemoryHandle(pub Arc<SlotMemories>);

// SAFETY: each memory owns its addresses alone and does not move. Compiled code checks no bounds: it
// relies on the reservation and the guard that were asked for. By kind:
// - `Guest`: a slot reserves both, inaccessible on both sides. It begins as the image that stands for
//   the module's data segments (of which it has none of its own), with zeros after it.
// - `Heap`: reserves both as well, and begins as zeros.
// - `Counter`: has 64 KiB of zeros and NEITHER reservation nor guard behind them. It is sound because
//   no code can reach past its first bytes: a module that declares a second memory is not metered, so
//   that no instruction of the engine's names this one, and the instructions that metering adds
//   have a constant address, INVARIANT(counter-in-bounds) of the engine's `metering::transform`.
unsafe impl MemoryCreator for MemoryHandle {
    fn new_memory(
        &self,
        _type: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let Self(memories) = self;
        let reserved = reserved.unwrap_or(minimum);
        match MemoryKind::of(minimum, maximum, memories.declared) {
            MemoryKind::Guest => Ok(Box::new(memories.guest_memory(reserved, guard)?)),
            MemoryKind::Counter => Ok(Box::new(memories.counter()?)),
            MemoryKind::Heap => {
                let lent = memories.plain.lend(minimum, reserved, guard);
                Ok(Box::new(lent.map_err(|error| error.to_string())?))
            }
        }
    }
}

/// The linear memory of one guest.
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
            self.pool.leave(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Config, Engine, Instance, Module, Store};

    use super::*;
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
    fn reset_before_reuse_a_guest_begins_as_the_image_and_leaves_nothing() {
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
            drop(store);
            // The next guest finds a slot that nobody has reset, and resets it first.
            if round % 3 > 0 {
                assert_eq!(fixture.pool.free.lock().len(), 0, "a drop is no reset");
                fixture.pool.reset();
                assert_eq!(fixture.pool.free.lock().len(), 1);
            }
        }
        fixture.pool.reset();
        assert!(fixture.rules.fault().is_none());
        assert_eq!(fixture.pool.free.lock().len(), 1, "one slot served every run");
    }

    #[test]
    fn pages_that_a_guest_has_written_back_are_let_go_and_no_byte_changes() {
        let fixture = Fixture::new(Verify::Always);
        let (mut store, instance) = fixture.guest(&module(&fixture.engine));
        let call = |store: &mut Store<()>, name: &str, given: (i32, i32)| {
            let put = instance.get_typed_func::<(i32, i32), ()>(&mut *store, name).unwrap();
            put.call(store, given).unwrap();
        };
        let grow = instance.get_typed_func::<i32, i32>(&mut store, "grow").unwrap();
        grow.call(&mut store, 4).unwrap();
        let page = i32::try_from(PAGE).unwrap();
        // 48 pages of the image, and 64 behind it.
        for number in 0..112 {
            let at = number * page;
            let before = get(&mut store, &instance, at).unwrap();
            call(&mut store, "put", (at, before + 1));
            call(&mut store, "put", (at, before));
        }
        call(&mut store, "put", (5, 99));
        call(&mut store, "put", (100 * page, 99));
        let memory = instance.get_memory(&mut store, "m").unwrap();
        let before = memory.data(&store).to_vec();
        let mut visited = Vec::new();
        for _ in 0..2 {
            let mut found = Vec::new();
            fixture
                .pool
                .visit_changed(memory.data_mut(&mut store), &[], &mut |page, now, then| {
                    found.push(page);
                    *now != *then.unwrap_or(&[0; PAGE])
                })
                .unwrap();
            visited.push(found);
        }
        assert_eq!(visited[0].len(), 112);
        if matches!(fixture.rules.dirty(), DirtyPages::Scan(_) | DirtyPages::Read(_)) {
            assert_eq!(visited[1], [0, 100], "the others are not private any more");
        }
        assert!(memory.data(&store) == before.as_slice());
    }

    #[test]
    fn memories_are_told_apart_by_their_declared_types() {
        let (declared, other) = (640 * WASM_PAGE, 3 * WASM_PAGE);
        for (minimum, maximum, kind) in [
            (declared, None, MemoryKind::Guest),
            (declared, Some(declared), MemoryKind::Guest),
            (COUNTER_LENGTH, Some(COUNTER_LENGTH), MemoryKind::Counter),
            (COUNTER_LENGTH, None, MemoryKind::Heap),
            (COUNTER_LENGTH, Some(other), MemoryKind::Heap),
            (0, None, MemoryKind::Heap),
            (other, Some(declared), MemoryKind::Heap),
        ] {
            assert_eq!(MemoryKind::of(minimum, maximum, declared), kind, "{minimum} {maximum:?}");
        }
        // Small modules in tests declare a page, and no maximum.
        assert_eq!(MemoryKind::of(WASM_PAGE, None, WASM_PAGE), MemoryKind::Guest);
    }

    #[test]
    fn a_counter_is_that_of_the_guest_that_is_being_made() {
        let memories = SlotMemories::new(2 * WASM_PAGE);
        assert!(memories.counter().is_err(), "no guest is being made");
        let rules = SlotRules::new(1 << 20, Verify::Never, DirtyPages::best());
        let (counters, pages) = memories.assign_image(&pool(&rules, 7), || {
            let early = memories.counter().is_err();
            let memory = memories.guest_memory(1 << 20, PAGE).unwrap();
            let counter = memories.counter().unwrap();
            (early, counter.as_ptr(), memory)
        });
        let (early, base, _memory) = counters;
        assert!(early, "the guest has no memory yet");
        assert_eq!(base, pages.unwrap().counter_base());
        assert!(memories.counter().is_err(), "the guest was made");
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
        fixture.pool.reset();
        assert_eq!(fixture.pool.free.lock().len(), MOST_FREE);
    }

    #[test]
    fn guests_that_end_leave_few_slots_and_those_that_are_kept_are_whole() {
        let fixture = Fixture::new(Verify::Always);
        let module = module(&fixture.engine);
        let mut guests: Vec<_> = (0..12).map(|_| fixture.guest(&module)).collect();
        for (number, (store, instance)) in guests.iter_mut().enumerate() {
            let put = instance.get_typed_func::<(i32, i32), ()>(&mut *store, "put").unwrap();
            put.call(store, (70_000, 100 + i32::try_from(number).unwrap())).unwrap();
        }
        for kept in (0..12).rev() {
            drop(guests.pop());
            fixture.pool.reset();
            for (number, (store, instance)) in guests.iter_mut().enumerate() {
                let found = get(store, instance, 70_000).unwrap();
                assert_eq!(found, 100 + i32::try_from(number).unwrap(), "{kept} are left");
            }
            assert!(fixture.pool.free.lock().len() <= MOST_FREE);
        }
        assert!(fixture.rules.fault().is_none());
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
            assert!(fixture.rules.fault().is_none());
            fixture.pool.reset();
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
        fixture.pool.reset();
        assert_eq!(fixture.pool.kept(), PAGE);
        fixture.pool.release();
        assert_eq!(fixture.pool.kept(), 0);
        let (mut store, instance) = fixture.guest(&module);
        assert_eq!(get(&mut store, &instance, 150_000).unwrap(), 150_000 % 7);
    }
}
