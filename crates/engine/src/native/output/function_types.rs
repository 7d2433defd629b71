//! The function types of the merged module: the engine's, and those that native modules add.

use std::collections::HashMap;

use wasm_encoder::TypeSection;
use wasm_encoder::reencode::{Reencode as _, RoundtripReencoder};
use wasmparser::FuncType;

use crate::native::error::SideFault;
use crate::native::output::sections::Entries;

/// Function types by index, and the index of each.
#[derive(Debug, Default)]
pub(crate) struct FunctionTypes {
    all: Vec<FuncType>,
    by_type: HashMap<FuncType, u32>,
    /// Those that were added, as entries of the type section.
    pub(crate) added: Entries,
}

impl FunctionTypes {
    /// Takes a type of the engine, in the order of its section.
    pub(crate) fn take(&mut self, of: FuncType) {
        let index = self.next();
        self.by_type.entry(of.clone()).or_insert(index);
        self.all.push(of);
    }

    /// The type with this index.
    pub(crate) fn get(&self, index: u32) -> Option<&FuncType> {
        self.all.get(usize::try_from(index).ok()?)
    }

    /// The index of this type, which is added if it is not there.
    pub(crate) fn index_of(&mut self, of: &FuncType) -> Result<u32, SideFault> {
        if let Some(index) = self.by_type.get(of) {
            return Ok(*index);
        }
        let mut section = TypeSection::new();
        section.ty().func_type(
            &RoundtripReencoder
                .func_type(of.clone())
                .map_err(|error| SideFault::Instruction(error.to_string()))?,
        );
        self.added.append(&section)?;
        let index = self.next();
        self.by_type.insert(of.clone(), index);
        self.all.push(of.clone());
        Ok(index)
    }

    fn next(&self) -> u32 {
        u32::try_from(self.all.len()).unwrap_or(u32::MAX)
    }
}
