//! Gives wasmtime its linear memories: slots of one image, used again and again.
#![expect(unsafe_code, reason = "wasmtime's traits for memories are unsafe to implement")]

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use crate::sandbox::memory::dirty::DirtyPages;
use crate::sandbox::memory::image::MemoryImage;
use crate::sandbox::memory::mapping::Mapping;
use crate::sandbox::memory::slot::Slot;
use crate::sandbox::memory::{MemoryError, PAGE};

/// How a pool treats its slots.
#[derive(Debug)]
pub struct SlotConfig {
    /// Length of the memory that the module declares: what tells the guest's memory from others.
    pub declared: usize,
    /// Bytes of private pages that a slot may keep between runs.
    pub keep: usize,
    /// Compare the whole memory with the image after every reset.
    pub verify: Verify,
}

/// Whether resets are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Trust the tests.
    Never,
    /// Compare every byte; costs milliseconds a run.
    Always,
}

/// The slots of one image. Give it to one engine with `Config::with_host_memory`.
///
/// A memory that is dropped by its store is reset at once; a slot that cannot be reset is
/// released to the operating system instead, and the fault is kept for [`SlotPool::fault`].
pub struct SlotPool {
    image: Arc<MemoryImage>,
    config: SlotConfig,
    dirty: Arc<DirtyPages>,
    free: Mutex<Vec<Slot>>,
    fault: Mutex<Option<MemoryError>>,
}

impl SlotPool {
    /// A pool without slots; the first run makes the first one.
    #[must_use]
    pub fn new(image: MemoryImage, config: SlotConfig, dirty: Arc<DirtyPages>) -> Arc<Self> {
        Arc::new(Self {
            image: Arc::new(image),
            config,
            dirty,
            free: Mutex::default(),
            fault: Mutex::default(),
        })
    }

    /// The first fault of a reset, if there was one: the process must not run further guests.
    #[must_use]
    pub fn fault(&self) -> Option<MemoryError> {
        self.fault.lock().take()
    }

    fn take(&self, reservation: usize, guard: usize) -> Result<Slot, MemoryError> {
        let free = self.free.lock().pop();
        free.map_or_else(|| Slot::new(&self.image, reservation, guard), Ok)
    }

    fn give_back(&self, mut slot: Slot) {
        let verify = self.config.verify;
        let reset = slot.reset(&self.dirty, self.config.keep).and_then(|_| match verify {
            Verify::Never => Ok(()),
            Verify::Always => slot.verify(),
        });
        match reset {
            Ok(()) => self.free.lock().push(slot),
            Err(fault) => {
                self.fault.lock().get_or_insert(fault);
            }
        }
    }
}

impl fmt::Debug for SlotPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotPool").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A handle that wasmtime's configuration can own.
#[derive(Debug)]
pub struct SlotMemories(pub Arc<SlotPool>);

// SAFETY: each memory owns its addresses alone, has the reservation and the guard that it was
// asked for, does not move, and begins as the image that stands for the module's data segments
// (of which it has none of its own) with zeros after it. The guard is inaccessible on both sides.
unsafe impl MemoryCreator for SlotMemories {
    fn new_memory(
        &self,
        _type: MemoryType,
        minimum: usize,
        _maximum: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let reserved = reserved.unwrap_or(minimum);
        if minimum != self.0.config.declared {
            // The collector's heap, which exceptions need, comes through here too.
            return OtherMemory::new(minimum, reserved, guard)
                .map(|memory| Box::new(memory) as Box<dyn LinearMemory>)
                .map_err(|error| error.to_string());
        }
        let slot = self.0.take(reserved, guard).map_err(|error| error.to_string())?;
        Ok(Box::new(GuestMemory { slot: Some(slot), pool: Arc::clone(&self.0) }))
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
        self.slot.as_ref().map_or(0, Slot::reservation)
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

/// Most bytes that the collector's heap of one run may have.
///
/// Only in-flight exceptions of C code live there, a few bytes each; a guest that throws in a
/// loop must not grow the worker.
const OTHER_LARGEST: usize = 16 << 20;

/// A plain memory of zeros.
#[derive(Debug)]
struct OtherMemory {
    mapping: Mapping,
    guard: usize,
    size: usize,
    reserved: usize,
}

impl OtherMemory {
    fn new(minimum: usize, reserved: usize, guard: usize) -> Result<Self, MemoryError> {
        let reserved = reserved.max(minimum).next_multiple_of(PAGE);
        let mapping = Mapping::reserve(reserved.saturating_add(guard.saturating_mul(2)))?;
        let mut memory = Self { mapping, guard, size: 0, reserved };
        memory.open_to(minimum)?;
        Ok(memory)
    }

    fn open_to(&mut self, size: usize) -> Result<(), MemoryError> {
        if size > self.reserved.min(OTHER_LARGEST) {
            return Err(MemoryError::Image { problem: "cannot grow past its reservation" });
        }
        if let Some(more) = size.checked_sub(self.size).filter(|more| *more > 0) {
            self.mapping.open(self.guard.saturating_add(self.size), more)?;
            self.size = size;
        }
        Ok(())
    }
}

// SAFETY: as for `GuestMemory`.
unsafe impl LinearMemory for OtherMemory {
    fn byte_size(&self) -> usize {
        self.size
    }

    fn byte_capacity(&self) -> usize {
        self.reserved
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        self.open_to(size).map_err(wasmtime::Error::new)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.mapping.base().wrapping_add(self.guard)
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Config, Engine, Instance, Module, Store};

    use super::*;
    use crate::sandbox::memory::image::WASM_PAGE;

    /// An engine whose guests of two declared pages begin as an image of three.
    fn engine(verify: Verify) -> (Engine, Arc<SlotPool>) {
        let bytes: Vec<u8> = (0..3 * WASM_PAGE).map(|at| u8::try_from(at % 7).unwrap()).collect();
        let image = MemoryImage::open(MemoryImage::seal(bytes.as_slice()).unwrap()).unwrap();
        let config = SlotConfig { declared: 2 * WASM_PAGE, keep: 1 << 20, verify };
        let pool = SlotPool::new(image, config, Arc::new(DirtyPages::best()));
        let mut config = Config::new();
        config.with_host_memory(Arc::new(SlotMemories(Arc::clone(&pool))));
        (Engine::new(&config).unwrap(), pool)
    }

    const GUEST: &str = r#"(module (memory (export "m") 2)
        (func (export "put") (param i32 i32) (i32.store8 (local.get 0) (local.get 1)))
        (func (export "get") (param i32) (result i32) (i32.load8_u (local.get 0)))
        (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
        (func (export "fall") (i32.store (i32.const 5) (i32.const -1)) unreachable))"#;

    fn module(engine: &Engine) -> Module {
        Module::new(engine, wat::parse_str(GUEST).unwrap()).unwrap()
    }

    fn guest(engine: &Engine, module: &Module) -> (Store<()>, Instance) {
        let mut store = Store::new(engine, ());
        let instance = Instance::new(&mut store, module, &[]).unwrap();
        (store, instance)
    }

    fn get(store: &mut Store<()>, instance: &Instance, at: i32) -> wasmtime::Result<i32> {
        instance.get_typed_func::<i32, i32>(&mut *store, "get")?.call(&mut *store, at)
    }

    #[test]
    fn a_guest_begins_as_the_image_and_leaves_nothing() {
        let (engine, pool) = engine(Verify::Always);
        let module = module(&engine);
        for round in 0..20 {
            let (mut store, instance) = guest(&engine, &module);
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
        assert!(pool.fault().is_none());
        assert_eq!(pool.free.lock().len(), 1, "one slot served every run");
    }

    #[test]
    fn access_past_the_end_traps() {
        let (engine, _pool) = engine(Verify::Never);
        let module = module(&engine);
        let (mut store, instance) = guest(&engine, &module);
        for at in [3 * 65_536, i32::MAX, -1] {
            assert!(get(&mut store, &instance, at).is_err(), "read at {at}");
        }
    }

    #[test]
    fn two_guests_at_once_have_two_slots() {
        let (engine, pool) = engine(Verify::Always);
        let module = module(&engine);
        let (mut one, first) = guest(&engine, &module);
        let (mut two, second) = guest(&engine, &module);
        let put = first.get_typed_func::<(i32, i32), ()>(&mut one, "put").unwrap();
        put.call(&mut one, (70_000, 200)).unwrap();
        assert_eq!(get(&mut two, &second, 70_000).unwrap(), 70_000 % 7);
        drop((one, two));
        assert_eq!(pool.free.lock().len(), 2);
    }

    #[test]
    fn other_memories_are_plain_and_bounded() {
        let mut other = OtherMemory::new(WASM_PAGE, 64 << 20, PAGE).unwrap();
        assert_eq!(LinearMemory::byte_size(&other), WASM_PAGE);
        assert!(LinearMemory::grow_to(&mut other, OTHER_LARGEST + PAGE).is_err());
        assert!(LinearMemory::grow_to(&mut other, 2 * WASM_PAGE).is_ok());
    }
}
