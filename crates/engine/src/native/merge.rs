//! Merges native modules into the engine's module.

use wasmparser::FuncType;

use crate::native::addresses::DataAddresses;
use crate::native::code::exceptions::BodyTranslator;
use crate::native::code::numbers::SideNumbers;
use crate::native::engine_module::{EngineModule, index_of};
use crate::native::error::{MergeError, SideFault};
use crate::native::linking;
use crate::native::merging::{Merging, SidePlace};
use crate::native::output::merged_file;
use crate::native::output::placement::Placement;
use crate::native::output::preparation::NativePreparation;
use crate::native::output::sections::Entries;
use crate::native::side::side_module::{SideConstant, SideModule};

/// A module to be merged.
#[derive(Debug, Clone, Copy)]
pub struct NativeModule<'a> {
    /// The name under which Python imports it, such as `pydantic_core._pydantic_core`.
    pub name: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// What it is for.
    pub role: NativeRole,
}

/// What a native module is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NativeRole {
    /// A module of Python. It exports `PyInit_` and the last part of its name.
    Extension,
    /// Functions for the modules after it, by the names of its exports.
    Shims,
}

/// Merges `modules` into `engine`, in their order. Every input gives the same output anywhere.
///
/// The result has one function more, `wardian_prepare_native`. It has to be called once, after
/// `_initialize` and before the interpreter starts: it fills the modules' data with addresses, runs their
/// constructors and makes them importable. It returns zero, or something else if memory is exhausted.
///
/// # Errors
///
/// A module is invalid or has something that the merge does not know, or the engine's module is not laid
/// out as expected.
pub fn merge(
    engine: &[u8],
    modules: &[NativeModule<'_>],
    addresses: &DataAddresses,
) -> Result<Vec<u8>, MergeError> {
    let read = EngineModule::read(engine)?;
    let placement = Placement::new(&read, addresses);
    let mut merging = Merging {
        engine: read,
        placement,
        functions: Entries::default(),
        code: Entries::default(),
        names: Vec::new(),
        preparation: NativePreparation::default(),
    };
    for module in modules {
        merging.add(module).map_err(|fault| fault.of(module.name))?;
    }
    merging.add_preparation()?;
    merged_file::write(engine, &merging)
}

impl<'a> Merging<'a, '_> {
    fn add(&mut self, module: &NativeModule<'a>) -> Result<(), SideFault> {
        let side = SideModule::read(module.bytes)?;
        let sizes = side.sizes;
        let memory = self.placement.reserve(sizes.memory, sizes.alignment)?;
        let table = self.placement.reserve_slots(sizes.slots)?;
        let place = SidePlace {
            memory,
            memory_end: memory.saturating_add(sizes.memory),
            table,
            table_end: table.saturating_add(sizes.slots),
        };
        let mut numbers = linking::numbers(self, &side, place)?;
        self.put_data(&side, &numbers, place)?;
        self.put_elements(&side, &numbers, place)?;
        linking::resolve_pointers(self, &side, &mut numbers, place)?;
        linking::ensure_start_clears(&side, &numbers, place)?;
        self.put_code(&side, &mut numbers)?;
        self.name_functions(module.name, &side, &numbers)?;
        match module.role {
            NativeRole::Extension => self.offer(module.name, &side, &numbers),
            NativeRole::Shims => self.provide(&side, &numbers),
        }
    }

    fn put_data(
        &mut self,
        side: &SideModule<'_>,
        numbers: &SideNumbers,
        place: SidePlace,
    ) -> Result<(), SideFault> {
        for (offset, bytes) in &side.data {
            let start = resolved(*offset, numbers)?;
            let end = start.checked_add(index_of(bytes.len()));
            if start < place.memory || end.is_none_or(|end| end > place.memory_end) {
                return Err(SideFault::Unsupported("data outside its memory"));
            }
            self.placement.put(start, bytes)?;
        }
        Ok(())
    }

    fn put_elements(
        &mut self,
        side: &SideModule<'_>,
        numbers: &SideNumbers,
        place: SidePlace,
    ) -> Result<(), SideFault> {
        for elements in &side.elements {
            let start = resolved(elements.offset, numbers)?;
            let end = start.checked_add(index_of(elements.functions.len()));
            if start < place.table || end.is_none_or(|end| end > place.table_end) {
                return Err(SideFault::Unsupported("elements outside its part of the table"));
            }
            let functions = elements.functions.iter().map(|index| numbers.function(*index));
            let functions = functions.collect::<Result<Vec<_>, _>>()?;
            self.placement.put_functions(start, &functions)?;
        }
        Ok(())
    }

    fn put_code(
        &mut self,
        side: &SideModule<'_>,
        numbers: &mut SideNumbers,
    ) -> Result<(), SideFault> {
        let tag = self.engine.tag.clone().map(|(_, of)| of);
        let mut translator = BodyTranslator {
            numbers,
            types: &mut self.engine.types,
            own_types: &side.types,
            tag: tag.as_ref(),
        };
        for (of, body) in side.functions.iter().zip(&side.bodies) {
            let of = usize::try_from(*of).ok().and_then(|of| side.types.get(of));
            let of = of.ok_or(SideFault::Unsupported("a type that is not there"))?;
            self.code.push(&translator.body(of, body)?.as_slice());
        }
        Ok(())
    }

    fn name_functions(
        &mut self,
        module: &str,
        side: &SideModule<'_>,
        numbers: &SideNumbers,
    ) -> Result<(), SideFault> {
        let imported = numbers.functions.len().saturating_sub(side.functions.len());
        for own in 0..side.functions.len() {
            let index = index_of(imported.saturating_add(own));
            let mut known = side.names.iter().filter(|(named, _)| *named == index);
            let name = match known.next() {
                Some((_, name)) => format!("{module}:{name}"),
                None => format!("{module}:{index}"),
            };
            self.names.push((numbers.function(index)?, name));
        }
        Ok(())
    }

    /// Makes a module importable.
    fn offer(
        &mut self,
        name: &str,
        side: &SideModule<'_>,
        numbers: &SideNumbers,
    ) -> Result<(), SideFault> {
        let last = name.rsplit('.').next().unwrap_or(name);
        let export = format!("PyInit_{last}");
        let missing = || SideFault::export(&export, "is missing");
        let init = side.exported(&export).ok_or_else(missing)?;
        let of = self.engine.type_of(numbers.function(init)?);
        if of != Some(&FuncType::new([], [wasmparser::ValType::I32])) {
            return Err(SideFault::export(&export, "has another type than `() -> i32`"));
        }
        let slot = self.placement.slot_of(numbers.function(init)?)?;
        for step in ["__wasm_apply_data_relocs", "__wasm_call_ctors"] {
            let Some(function) = side.exported(step) else { continue };
            let function = numbers.function(function)?;
            if self.engine.type_of(function) != Some(&FuncType::new([], [])) {
                return Err(SideFault::export(step, "has another type than `() -> ()`"));
            }
            self.preparation.call(function);
        }
        let mut text = name.as_bytes().to_vec();
        text.push(0);
        let at = self.placement.reserve(index_of(text.len()), 0)?;
        self.placement.put(at, &text)?;
        self.preparation.offer(at, slot);
        Ok(())
    }

    /// Gives the exported functions to the modules that follow.
    fn provide(&mut self, side: &SideModule<'a>, numbers: &SideNumbers) -> Result<(), SideFault> {
        if side.start.is_some() {
            return Err(SideFault::Unsupported("a start function"));
        }
        for export in &side.exports {
            if !matches!(export.kind, wasmparser::ExternalKind::Func) {
                return Err(SideFault::export(export.name, "is no function"));
            }
            let function = numbers.function(export.index)?;
            if self.engine.by_name.insert(export.name, Some(function)).is_some() {
                return Err(SideFault::export(export.name, "is a function of the engine"));
            }
        }
        Ok(())
    }

    /// Adds the function that is called once.
    fn add_preparation(&mut self) -> Result<(), MergeError> {
        let append = self.preparation.append_function(&self.engine)?;
        let of = FuncType::new([], [wasmparser::ValType::I32]);
        let of = self.engine.types.index_of(&of);
        let of = of.map_err(|fault| fault.of(NativePreparation::NAME))?;
        let index = index_of(self.engine.functions.len());
        self.engine.functions.push(of);
        self.functions.push(&of);
        self.code.push(&self.preparation.body(append).as_slice());
        self.names.push((index, NativePreparation::NAME.to_owned()));
        if self.engine.by_name.contains_key(NativePreparation::NAME) {
            return Err(MergeError::Engine("was merged before"));
        }
        Ok(())
    }
}

fn resolved(constant: SideConstant, numbers: &SideNumbers) -> Result<u32, SideFault> {
    Ok(numbers.constant(constant)?.cast_unsigned())
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "exception_tests.rs"]
mod exception_tests;
