//! Finds what a native module imports, and gives its own functions and globals their numbers.

use std::ops::Range;

use wasmparser::{
    ExternalKind, GlobalType, Import, MemoryType, Operator, TableType, TagType, TypeRef, ValType,
};

use crate::native::code::numbers::{SideGlobal, SideNumbers};
use crate::native::engine_module::index_of;
use crate::native::error::SideFault;
use crate::native::merging::{Merging, SidePlace};
use crate::native::side::side_module::SideModule;

/// A pointer that a module imports, in the table of offsets that a dynamic linker would fill.
const POINTERS: [&str; 2] = ["GOT.mem", "GOT.func"];

/// The numbers of everything but the imported pointers, which are zero.
pub(super) fn numbers(
    merging: &mut Merging<'_, '_>,
    side: &SideModule<'_>,
    place: SidePlace,
) -> Result<SideNumbers, SideFault> {
    let stack_pointer = merging.engine.stack_pointer;
    let mut numbers = SideNumbers { stack_pointer, ..SideNumbers::default() };
    for of in &side.types {
        numbers.types.push(merging.engine.types.index_of(of)?);
    }
    for import in &side.imports {
        match import.ty {
            TypeRef::Func(of) => {
                let function = function(merging, side, import, of)?;
                numbers.functions.push(function);
            }
            TypeRef::Global(of) => numbers.globals.push(global(import, of, place)?),
            TypeRef::Tag(of) if numbers.tag.is_none() => {
                numbers.tag = Some(tag(merging, side, import, of)?);
            }
            TypeRef::Tag(_) => return Err(SideFault::import(import.name, "a second tag")),
            TypeRef::Memory(of) => ensure_memory(import, of)?,
            TypeRef::Table(of) => ensure_table(import, of)?,
            TypeRef::FuncExact(_) => {
                return Err(SideFault::import(import.name, "a function of an exact type"));
            }
        }
    }
    for of in &side.functions {
        let of = usize::try_from(*of).ok().and_then(|of| numbers.types.get(of)).copied();
        let of = of.ok_or(SideFault::Unsupported("a type that is not there"))?;
        numbers.functions.push(index_of(merging.engine.functions.len()));
        merging.engine.functions.push(of);
        merging.functions.push(&of);
    }
    for value in &side.globals {
        let value = numbers.constant(*value)?;
        numbers.globals.push(SideGlobal::Value(value));
    }
    Ok(numbers)
}

/// The engine's function that is imported.
fn function(
    merging: &Merging<'_, '_>,
    side: &SideModule<'_>,
    import: &Import<'_>,
    of: u32,
) -> Result<u32, SideFault> {
    let engine = &merging.engine;
    let found = match (import.module, engine.by_name.get(import.name)) {
        ("env", Some(Some(function))) => *function,
        ("env", Some(None)) => {
            return Err(SideFault::import(import.name, "a name of several functions"));
        }
        (module, _) => match engine.imports.get(&(module, import.name)) {
            Some(function) => *function,
            None => return Err(SideFault::import(import.name, "which the engine lacks")),
        },
    };
    let wanted = usize::try_from(of).ok().and_then(|of| side.types.get(of));
    if wanted.is_some() && engine.type_of(found) == wanted {
        Ok(found)
    } else {
        Err(SideFault::import(import.name, "which has another type in the engine"))
    }
}

/// The engine's tag that is imported.
fn tag(
    merging: &Merging<'_, '_>,
    side: &SideModule<'_>,
    import: &Import<'_>,
    of: TagType,
) -> Result<u32, SideFault> {
    if (import.module, import.name) != ("env", "__cpp_exception") {
        return Err(SideFault::import(import.name, "an unknown tag"));
    }
    let of = usize::try_from(of.func_type_idx).ok().and_then(|of| side.types.get(of));
    match &merging.engine.tag {
        Some((tag, known)) if of == Some(known) => Ok(*tag),
        Some(_) => Err(SideFault::import(import.name, "whose values differ")),
        None => Err(SideFault::import(import.name, "which the engine lacks")),
    }
}

fn ensure_memory(import: &Import<'_>, of: MemoryType) -> Result<(), SideFault> {
    let is_usual =
        !of.memory64 && !of.shared && of.page_size_log2.is_none() && of.maximum.is_none();
    if is_usual && (import.module, import.name) == ("env", "memory") {
        Ok(())
    } else {
        Err(SideFault::import(import.name, "an unknown memory"))
    }
}

fn ensure_table(import: &Import<'_>, of: TableType) -> Result<(), SideFault> {
    let is_usual = of.element_type.is_func_ref() && !of.table64 && !of.shared;
    if is_usual && (import.module, import.name) == ("env", "__indirect_function_table") {
        Ok(())
    } else {
        Err(SideFault::import(import.name, "an unknown table"))
    }
}

/// The value of an imported global. All of them are addresses, or numbers of slots.
fn global(import: &Import<'_>, of: GlobalType, place: SidePlace) -> Result<SideGlobal, SideFault> {
    if of.content_type != ValType::I32 {
        return Err(SideFault::import(import.name, "a global that is not an address"));
    }
    match (import.module, import.name) {
        ("env", "__stack_pointer") => Ok(SideGlobal::StackPointer),
        ("env", "__memory_base") => Ok(SideGlobal::Value(place.memory.cast_signed())),
        ("env", "__table_base") => Ok(SideGlobal::Value(place.table.cast_signed())),
        (module, _) if POINTERS.contains(&module) => Ok(SideGlobal::Value(0)),
        (_, name) => Err(SideFault::import(name, "an unknown global")),
    }
}

/// Gives the imported pointers their values, once all functions have their slots.
pub(super) fn resolve_pointers(
    merging: &mut Merging<'_, '_>,
    side: &SideModule<'_>,
    numbers: &mut SideNumbers,
    place: SidePlace,
) -> Result<(), SideFault> {
    let globals = side.imports.iter().filter(|import| matches!(import.ty, TypeRef::Global(_)));
    for (index, import) in globals.enumerate() {
        let value = match import.module {
            "GOT.mem" => {
                match own_data(side, import.name) {
                    Some(offset) => {
                        let offset = numbers.value(offset)?.cast_unsigned();
                        place.memory.checked_add(offset).filter(|at| *at < place.memory_end).ok_or(
                            SideFault::export(import.name, "lies outside the module's memory"),
                        )?
                    }
                    None => merging.placement.data_of(import.name)?,
                }
            }
            "GOT.func" => {
                let function = match side.exported(import.name) {
                    Some(own) => numbers.function(own)?,
                    None => match merging.engine.by_name.get(import.name) {
                        Some(Some(function)) => *function,
                        Some(None) => {
                            return Err(SideFault::import(
                                import.name,
                                "a name of several functions",
                            ));
                        }
                        None => {
                            return Err(SideFault::import(import.name, "which the engine lacks"));
                        }
                    },
                };
                merging.placement.slot_of(function)?
            }
            _ => continue,
        };
        if let Some(global) = numbers.globals.get_mut(index) {
            *global = SideGlobal::Value(value.cast_signed());
        }
    }
    Ok(())
}

/// The global with the offset of exported data.
fn own_data(side: &SideModule<'_>, name: &str) -> Option<u32> {
    let is_it = |export: &&wasmparser::Export<'_>| {
        export.name == name && matches!(export.kind, ExternalKind::Global)
    };
    side.exports.iter().find(is_it).map(|export| export.index)
}

/// Checks that a start function only fills parts of the module's memory with zeros. They are zero already,
/// so it is never called.
pub(super) fn ensure_start_clears(
    side: &SideModule<'_>,
    numbers: &SideNumbers,
    place: SidePlace,
) -> Result<(), SideFault> {
    let Some(start) = side.start else { return Ok(()) };
    let does_more = || SideFault::Unsupported("a start function that does more than clear memory");
    let imported = numbers.functions.len().saturating_sub(side.functions.len());
    let body = usize::try_from(start).ok().and_then(|start| start.checked_sub(imported));
    let body = body.and_then(|index| side.bodies.get(index)).ok_or_else(does_more)?;
    let operators = body.get_operators_reader()?.into_iter().collect::<Result<Vec<_>, _>>()?;
    let Some((Operator::End, fills)) = operators.split_last() else { return Err(does_more()) };
    for fill in fills.chunks(6) {
        let (offset, global, length) = cleared(fill).ok_or_else(does_more)?;
        let at = numbers.value(global)?.cast_unsigned().checked_add(offset);
        let end = at.and_then(|at| at.checked_add(length));
        let (Some(at), Some(end)) = (at, end) else { return Err(does_more()) };
        if at < place.memory || end > place.memory_end {
            return Err(does_more());
        }
        ensure_empty(side, numbers, at..end)?;
    }
    Ok(())
}

/// What a fill with zeros clears: offset, global and length. Linkers add in either order.
const fn cleared(fill: &[Operator<'_>]) -> Option<(u32, u32, u32)> {
    let [
        first,
        second,
        Operator::I32Add,
        Operator::I32Const { value: 0 },
        Operator::I32Const { value: length },
        Operator::MemoryFill { .. },
    ] = fill
    else {
        return None;
    };
    match (first, second) {
        (Operator::GlobalGet { global_index }, Operator::I32Const { value: offset })
        | (Operator::I32Const { value: offset }, Operator::GlobalGet { global_index }) => {
            Some((offset.cast_unsigned(), *global_index, length.cast_unsigned()))
        }
        _ => None,
    }
}

/// Checks that no data lies where the start function clears.
fn ensure_empty(
    side: &SideModule<'_>,
    numbers: &SideNumbers,
    cleared: Range<u32>,
) -> Result<(), SideFault> {
    for (offset, bytes) in &side.data {
        let at = numbers.constant(*offset)?.cast_unsigned();
        let end = at.saturating_add(index_of(bytes.len()));
        if at < cleared.end && cleared.start < end {
            return Err(SideFault::Unsupported("a start function that clears its data"));
        }
    }
    Ok(())
}
