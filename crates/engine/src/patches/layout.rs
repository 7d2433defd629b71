//! The layout of a module: the functions, types and data that patches refer to.

use std::collections::HashMap;
use std::ops::Range;

use wasm_encoder::{Encode as _, Module, RawSection};
use wasmparser::{
    DataSectionReader, ImportSectionReader, KnownCustom, Name, NameSectionReader, Parser, Payload,
    TypeRef, TypeSectionReader,
};

use crate::abi::signature;
use crate::patches::error::PatchError;

/// The numbers of two sections in the binary format.
const FUNCTION_SECTION: u8 = 3;
const CODE_SECTION: u8 = 10;

/// Functions, types and data of a module.
#[derive(Debug, Default)]
pub(super) struct Layout<'a> {
    /// How many functions there are, imported ones included.
    pub(super) functions: u32,
    /// Index of each function by its name; `None` for a name that several functions have.
    pub(super) by_name: HashMap<&'a str, Option<u32>>,
    /// Index of each function type by its text.
    pub(super) types: HashMap<String, u32>,
    pub(super) sections: Sections,
    /// Body and name of each function that is not imported, in the order of the file.
    bodies: Vec<(Range<usize>, &'a str)>,
    /// Contents of the data segments, in the order of the file.
    data: Vec<Range<usize>>,
}

impl<'a> Layout<'a> {
    pub(super) fn read(module: &'a [u8]) -> Result<Self, PatchError> {
        let mut layout = Self::default();
        let mut names = HashMap::new();
        let mut imported = 0;
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload?;
            if let Some(section) = payload.as_section() {
                layout.sections.0.push(section);
            }
            match payload {
                Payload::TypeSection(types) => layout.take_types(types)?,
                Payload::ImportSection(imports) => imported = functions_in(imports)?,
                Payload::CodeSectionEntry(body) => layout.bodies.push((body.range(), "")),
                Payload::DataSection(segments) => layout.take_data(segments)?,
                Payload::CustomSection(custom) => {
                    if let KnownCustom::Name(parts) = custom.as_known() {
                        layout.take_names(parts, &mut names)?;
                    }
                }
                _ => {}
            }
        }
        let too_many = |_| PatchError::Layout("has too many functions");
        let defined = u32::try_from(layout.bodies.len()).map_err(too_many)?;
        layout.functions = imported.saturating_add(defined);
        for (index, (_, name)) in (imported..).zip(&mut layout.bodies) {
            *name = names.get(&index).copied().unwrap_or_default();
        }
        Ok(layout)
    }

    fn take_types(&mut self, types: TypeSectionReader<'_>) -> Result<(), PatchError> {
        for (index, of) in (0_u32..).zip(types.into_iter_err_on_gc_types()) {
            self.types.entry(signature(&of?)).or_insert(index);
        }
        Ok(())
    }

    fn take_data(&mut self, segments: DataSectionReader<'_>) -> Result<(), PatchError> {
        for segment in segments {
            let segment = segment?;
            let end = segment.range.end;
            self.data.push(end.saturating_sub(segment.data.len())..end);
        }
        Ok(())
    }

    fn take_names(
        &mut self,
        parts: NameSectionReader<'a>,
        names: &mut HashMap<u32, &'a str>,
    ) -> Result<(), PatchError> {
        for part in parts {
            let Name::Function(functions) = part? else { continue };
            for function in functions {
                let function = function?;
                names.insert(function.index, function.name);
                self.by_name
                    .entry(function.name)
                    .and_modify(|index| *index = None)
                    .or_insert(Some(function.index));
            }
        }
        Ok(())
    }

    /// The name of the function whose body has all of `range`.
    pub(super) fn function_at(&self, range: &Range<usize>) -> Option<&'a str> {
        let after = self.bodies.partition_point(|(body, _)| body.start <= range.start);
        let (body, name) = self.bodies.get(after.checked_sub(1)?)?;
        (range.end <= body.end).then_some(*name)
    }

    /// The names of all functions that are not imported, in the order of the file.
    #[cfg(test)]
    pub(super) fn bodies_names(&self) -> impl Iterator<Item = String> {
        self.bodies.iter().map(|(_, name)| (*name).to_owned())
    }

    /// True if one data segment has all of `range`.
    pub(super) fn is_data(&self, range: &Range<usize>) -> bool {
        let contains = |data: &Range<usize>| data.start <= range.start && range.end <= data.end;
        self.data.iter().any(contains)
    }
}

/// How many functions are imported.
fn functions_in(imports: ImportSectionReader<'_>) -> Result<u32, PatchError> {
    let mut count: u32 = 0;
    for import in imports.into_imports() {
        if matches!(import?.ty, TypeRef::Func(_)) {
            count = count.saturating_add(1);
        }
    }
    Ok(count)
}

/// Number and content of each section, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Sections(Vec<(u8, Range<usize>)>);

impl Sections {
    /// Copies `module`, which has these sections, and appends functions: type index and body.
    pub(super) fn with_functions(
        &self,
        module: &[u8],
        appended: &[(u32, Vec<u8>)],
    ) -> Result<Vec<u8>, PatchError> {
        let mut longer = Module::new();
        for (id, range) in &self.0 {
            let data = module.get(range.clone()).unwrap_or_default();
            let mut extended = Vec::new();
            match *id {
                FUNCTION_SECTION => extend(data, appended, &mut extended, |(of, _), out| {
                    of.encode(out);
                })?,
                CODE_SECTION => extend(data, appended, &mut extended, |(_, body), out| {
                    body.encode(out);
                })?,
                _ => {
                    longer.section(&RawSection { id: *id, data });
                    continue;
                }
            }
            longer.section(&RawSection { id: *id, data: &extended });
        }
        Ok(longer.finish())
    }

    /// Writes `number` as five bytes, so that every number takes the same space.
    pub(super) fn padded(number: u32, out: &mut Vec<u8>) {
        let mut rest = number;
        for _ in 0..4 {
            out.push(rest.to_le_bytes()[0] | 0x80);
            rest >>= 7;
        }
        out.push(rest.to_le_bytes()[0]);
    }
}

/// Copies a section that begins with the number of its items, and adds items.
fn extend<T>(
    section: &[u8],
    items: &[T],
    out: &mut Vec<u8>,
    encode: impl Fn(&T, &mut Vec<u8>),
) -> Result<(), PatchError> {
    let mut reader = wasmparser::BinaryReader::new(section, 0);
    let count = reader.read_var_u32()?;
    let too_many = || PatchError::Layout("has too many functions");
    let added = u32::try_from(items.len()).map_err(|_large| too_many())?;
    count.checked_add(added).ok_or_else(too_many)?.encode(out);
    out.extend_from_slice(section.get(reader.original_position()..).unwrap_or_default());
    for item in items {
        encode(item, out);
    }
    Ok(())
}
