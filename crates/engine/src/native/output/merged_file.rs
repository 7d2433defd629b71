//! Writes the merged module: the engine's sections, each with what is added at its end.

use wasm_encoder::{
    Encode as _, MemorySection, MemoryType, Module, NameMap, RawSection, RefType, TableSection,
    TableType,
};
use wasmparser::BinaryReader;

use crate::native::engine_module::SectionKind;
use crate::native::error::MergeError;
use crate::native::merging::Merging;
use crate::native::output::sections::Entries;

/// The number of the subsection of function names.
const FUNCTION_NAMES: u8 = 1;

pub(crate) fn write(engine: &[u8], merging: &Merging<'_, '_>) -> Result<Vec<u8>, MergeError> {
    let (pages, table) = merging.placement.extent();
    let mut module = Module::new();
    for (kind, id, range) in &merging.engine.sections {
        let section = engine.get(range.clone()).unwrap_or_default();
        let grown = match kind {
            SectionKind::Types => merging.engine.types.added.after(section)?,
            SectionKind::Functions => merging.functions.after(section)?,
            SectionKind::Elements => merging.placement.elements.after(section)?,
            SectionKind::Code => merging.code.after(section)?,
            SectionKind::Data => merging.placement.data.after(section)?,
            SectionKind::Names => with_names(section, &merging.names)?,
            SectionKind::Table => {
                let mut tables = TableSection::new();
                tables.table(table_type(table));
                module.section(&tables);
                continue;
            }
            SectionKind::Memory => {
                let mut memories = MemorySection::new();
                memories.memory(memory_type(pages));
                module.section(&memories);
                continue;
            }
            SectionKind::Other => {
                module.section(&RawSection { id: *id, data: section });
                continue;
            }
        };
        module.section(&RawSection { id: *id, data: &grown });
    }
    Ok(module.finish())
}

fn table_type(elements: u32) -> TableType {
    let elements = u64::from(elements);
    TableType {
        element_type: RefType::FUNCREF,
        table64: false,
        minimum: elements,
        maximum: Some(elements),
        shared: false,
    }
}

fn memory_type(pages: u32) -> MemoryType {
    MemoryType {
        minimum: u64::from(pages),
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    }
}

/// The content of the section of names, with the names of more functions.
fn with_names(section: &[u8], added: &[(u32, String)]) -> Result<Vec<u8>, MergeError> {
    let mut map = NameMap::new();
    for (index, name) in added {
        map.append(*index, name);
    }
    let mut names = Entries::default();
    let mut encoded = Vec::new();
    map.encode(&mut encoded);
    names.append_counted(&encoded)?;

    let mut reader = BinaryReader::new(section, 0);
    let _name_of_section = reader.read_string()?;
    let mut grown = section.get(..reader.original_position()).unwrap_or_default().to_vec();
    while !reader.eof() {
        let (kind, length) = (reader.read_u8()?, reader.read_var_u32()?);
        let part = reader.read_bytes(usize::try_from(length).unwrap_or(usize::MAX))?;
        grown.push(kind);
        if kind == FUNCTION_NAMES {
            names.after(part)?.as_slice().encode(&mut grown);
        } else {
            part.encode(&mut grown);
        }
    }
    Ok(grown)
}
