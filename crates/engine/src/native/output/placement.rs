//! Free memory and free slots of the table, above those of the engine.

use std::collections::HashMap;

use wasm_encoder::{ConstExpr, DataSection, ElementSection, Elements};

use crate::native::addresses::{DataAddresses, DataSymbol};
use crate::native::engine_module::EngineModule;
use crate::native::error::SideFault;
use crate::native::output::sections::Entries;

/// Size of a wasm page in bytes.
const PAGE: u32 = 65_536;

/// Most memory of the merged module at its start, in bytes.
const MAX_END: u32 = 512 << 20;

/// Most elements of its table.
const MAX_TABLE: u32 = 1 << 20;

/// The least alignment of what is placed, as a binary logarithm: that of `malloc`.
const LEAST_ALIGNMENT: u32 = 4;

/// The next free places, and what was put there.
#[derive(Debug)]
pub(crate) struct Placement<'t> {
    addresses: &'t DataAddresses,
    /// Addresses of the words that were made.
    words: HashMap<String, u32>,
    /// The first slot of each function.
    slots: HashMap<u32, u32>,
    end: u32,
    table: u32,
    pub(crate) data: Entries,
    pub(crate) elements: Entries,
}

impl<'t> Placement<'t> {
    /// Everything that the engine does not have is free.
    pub(crate) fn new(engine: &EngineModule<'_>, addresses: &'t DataAddresses) -> Self {
        Self {
            addresses,
            words: HashMap::new(),
            slots: engine.slots.clone(),
            end: engine.pages.saturating_mul(PAGE),
            table: engine.table,
            data: Entries::default(),
            elements: Entries::default(),
        }
    }

    /// The number of pages and of table elements that are needed now.
    pub(crate) const fn extent(&self) -> (u32, u32) {
        (self.end.div_ceil(PAGE), self.table)
    }

    /// Takes memory. `alignment` is a binary logarithm.
    pub(crate) fn reserve(&mut self, size: u32, alignment: u32) -> Result<u32, SideFault> {
        let alignment = 1_u32 << alignment.clamp(LEAST_ALIGNMENT, 16);
        let at = self.end.checked_next_multiple_of(alignment);
        let placed = at.and_then(|at| Some((at, at.checked_add(size)?)));
        let placed = placed.filter(|(_, end)| *end <= MAX_END);
        let (at, end) = placed.ok_or(SideFault::Unsupported("more data than there is room"))?;
        self.end = end;
        Ok(at)
    }

    /// Takes slots of the table.
    pub(crate) fn reserve_slots(&mut self, count: u32) -> Result<u32, SideFault> {
        let first = self.table;
        let end = first.checked_add(count).filter(|end| *end <= MAX_TABLE);
        self.table = end.ok_or(SideFault::Unsupported("more functions than the table may have"))?;
        Ok(first)
    }

    /// Puts bytes at an address that was reserved.
    pub(crate) fn put(&mut self, at: u32, bytes: &[u8]) -> Result<(), SideFault> {
        let mut section = DataSection::new();
        section.active(0, &ConstExpr::i32_const(at.cast_signed()), bytes.iter().copied());
        Ok(self.data.append(&section)?)
    }

    /// Puts functions into slots that were reserved.
    pub(crate) fn put_functions(&mut self, first: u32, functions: &[u32]) -> Result<(), SideFault> {
        for (slot, function) in (first..).zip(functions) {
            self.slots.entry(*function).or_insert(slot);
        }
        let mut section = ElementSection::new();
        let at = ConstExpr::i32_const(first.cast_signed());
        section.active(None, &at, Elements::Functions(functions.into()));
        Ok(self.elements.append(&section)?)
    }

    /// The slot of a function. A pointer to a function is its slot, and pointers are compared: a function
    /// that has a slot gets no second one.
    pub(crate) fn slot_of(&mut self, function: u32) -> Result<u32, SideFault> {
        if let Some(slot) = self.slots.get(&function) {
            return Ok(*slot);
        }
        let slot = self.reserve_slots(1)?;
        self.put_functions(slot, &[function])?;
        Ok(slot)
    }

    /// The address of the engine's data with this name.
    pub(crate) fn data_of(&mut self, name: &str) -> Result<u32, SideFault> {
        let symbol = self.addresses.get(name);
        let symbol = symbol.ok_or_else(|| SideFault::import(name, "whose address is unknown"))?;
        let value = match symbol {
            DataSymbol::At(address) => return Ok(address),
            DataSymbol::Word(value) => value,
        };
        if let Some(address) = self.words.get(name) {
            return Ok(*address);
        }
        let at = self.reserve(4, 2)?;
        self.put(at, &value.to_le_bytes())?;
        self.words.insert(name.to_owned(), at);
        Ok(at)
    }
}
