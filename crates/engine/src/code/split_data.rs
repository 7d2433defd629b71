//! Splits a module into a module without data and a *cold image*.
//!
//! The module without data is compiled once. Its memory is supplied from outside: the cold image
//! holds the content of the data segments, and every later state of the interpreter is an image of
//! the same kind. So a new interpreter state never needs a new compilation.
//!
//! Function bodies are copied as they are, never decoded: 74 MB of code pass in milliseconds, and
//! nothing of the module's behaviour can change on the way.
//!
//! INVARIANT(same-memory): an instance of the module without data whose memory starts as the cold
//! image computes what an instance of the original computes. Every kind of data that would break
//! this (passive segments, computed offsets, imported memories, a start function) is refused.

use wasm_encoder::{ExportKind, ExportSection, Module, RawSection};
use wasmparser::{
    DataKind, Export, ExportSectionReader, ExternalKind, FuncType, KnownCustom, MemoryType, Name,
    Operator, Parser, Payload, SectionLimited, TypeRef,
};

use crate::abi::{AbiMismatch, ModuleAbi, signature};
use wardian_vocabulary::units::ByteCount;

/// Part of every key that names something made by this transform, or by the polls and the metering
/// that follow.
///
/// The digest of the patched module is another part. Raise this number with each change of their
/// output, so that output of an older version is never run.
pub(crate) const TRANSFORM_VERSION: u32 = 10;

/// Size of a wasm page in bytes.
pub(crate) const WASM_PAGE: u64 = 65_536;

/// The export section's number in the binary format.
const EXPORT_SECTION: u8 = 7;

/// The reason why a module cannot be split.
#[derive(Debug, thiserror::Error)]
pub enum SplitError {
    /// The bytes are not a module.
    #[error("the module cannot be read")]
    Malformed(#[from] wasmparser::Error),
    /// The module has something that does not survive the separation of code and data.
    #[error("the module has {0}, which cannot be separated from its code")]
    Unsupported(&'static str),
    /// A data segment that would trap at instantiation.
    #[error("data segment {index} ends at {end}, beyond the memory of {memory}")]
    OutOfRange {
        /// Its position.
        index: usize,
        /// The end of the segment.
        end: ByteCount,
        /// Size of the memory.
        memory: ByteCount,
    },
    /// A function to be exported is missing, ambiguous or of the wrong type.
    #[error("the function `{symbol}` {problem}")]
    Function {
        /// Its name in the name section.
        symbol: String,
        /// The problem.
        problem: &'static str,
    },
    /// The interface is not the pinned one.
    #[error("the module's interface is not the pinned one: {0}")]
    Abi(#[from] AbiMismatch),
}

impl SplitError {
    pub(super) const TOO_MANY_LOOPS: Self = Self::Unsupported("a function with too many loops");
}

/// A function without an export that the module without data is to export.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddedExport<'a> {
    /// Name of the new export.
    pub name: &'a str,
    /// The function's name in the name section.
    pub symbol: &'a str,
    /// The function's type as a text such as `(i32) -> i32`.
    pub signature: &'a str,
}

/// A module, split into code and data.
#[derive(Debug)]
pub(crate) struct SplitModule<'a> {
    /// The module without its data.
    pub module: Vec<u8>,
    /// Its data.
    pub cold: ColdImage<'a>,
    /// The interface of the original.
    #[cfg(test)]
    pub abi: ModuleAbi,
}

/// A memory before the first instruction: zeros, and the data segments in their order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ColdImage<'a> {
    size: ByteCount,
    segments: Vec<(u64, &'a [u8])>,
}

impl ColdImage<'_> {
    /// The whole memory.
    #[must_use]
    pub(crate) fn to_memory(&self) -> Vec<u8> {
        let mut memory = vec![0; self.size.as_usize()];
        for (offset, bytes) in &self.segments {
            let start = ByteCount::bytes(*offset).as_usize();
            let place = memory.get_mut(start..).and_then(|rest| rest.get_mut(..bytes.len()));
            // Every segment was checked to lie inside.
            if let Some(place) = place {
                place.copy_from_slice(bytes);
            }
        }
        memory
    }
}

/// The interface of `module`.
///
/// # Errors
///
/// It cannot be read, or not be split.
pub(crate) fn abi_of(module: &[u8]) -> Result<ModuleAbi, SplitError> {
    Ok(Parsed::read(module)?.abi)
}

/// Splits `module`, checks that its interface is `pinned`, and adds exports.
///
/// Needs memory for the result, about as much as the module has code.
///
/// # Errors
///
/// A module that cannot be read, whose interface differs, or whose data cannot be separated.
pub(crate) fn split_data<'a>(
    module: &'a [u8],
    pinned: &ModuleAbi,
    added: &[AddedExport<'_>],
) -> Result<SplitModule<'a>, SplitError> {
    let parsed = Parsed::read(module)?;
    pinned.ensure_same(&parsed.abi)?;
    let cold = parsed.cold_image()?;
    let module = parsed.without_data(added)?;
    Ok(SplitModule {
        module,
        cold,
        #[cfg(test)]
        abi: parsed.abi,
    })
}

/// True for the sections that go into the module without data. Names and producers are only
/// descriptions. A count of data segments must not stay without the segments.
fn is_kept(payload: &Payload<'_>) -> bool {
    match payload {
        Payload::DataSection(_) | Payload::DataCountSection { .. } => false,
        Payload::CustomSection(custom) => !matches!(custom.name(), "name" | "producers"),
        _ => true,
    }
}

/// The sections of a module, with the parts that the transform reads.
#[derive(Default)]
struct Parsed<'a> {
    /// All sections that the module without data keeps, in their order.
    kept: Vec<RawSection<'a>>,
    types: Vec<FuncType>,
    /// Type index of each function, imported ones first.
    functions: Vec<u32>,
    memories: Vec<MemoryType>,
    exports: Option<ExportSectionReader<'a>>,
    segments: Vec<(u64, &'a [u8])>,
    /// Contents of the name section.
    names: Option<wasmparser::NameSectionReader<'a>>,
    abi: ModuleAbi,
}

impl<'a> Parsed<'a> {
    fn read(module: &'a [u8]) -> Result<Self, SplitError> {
        let mut parsed = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload?;
            if let Some((id, range)) = payload.as_section().filter(|_| is_kept(&payload)) {
                let data = module.get(range).unwrap_or_default();
                parsed.kept.push(RawSection { id, data });
            }
            parsed.take(payload)?;
        }
        let [memory] = parsed.memories.as_slice() else {
            return Err(SplitError::Unsupported("no memory or several memories"));
        };
        if memory.memory64 || memory.shared || memory.page_size_log2.is_some() {
            return Err(SplitError::Unsupported("a memory of an unusual kind"));
        }
        parsed.abi.memory_min_pages = memory.initial;
        if let Some(exports) = parsed.exports.clone() {
            for export in exports {
                let export = export?;
                let text = parsed.text_of(&export)?;
                parsed.abi.exports.insert(export.name.to_owned(), text);
            }
        }
        Ok(parsed)
    }

    /// Reads one section.
    fn take(&mut self, payload: Payload<'a>) -> Result<(), SplitError> {
        match payload {
            Payload::TypeSection(types) => {
                for function_type in types.into_iter_err_on_gc_types() {
                    self.types.push(function_type?);
                }
            }
            Payload::ImportSection(imports) => self.take_imports(imports)?,
            Payload::FunctionSection(functions) => {
                for type_index in functions {
                    self.functions.push(type_index?);
                }
            }
            Payload::TableSection(tables) => {
                for table in tables {
                    let elements = &mut self.abi.table_elements;
                    *elements = elements.saturating_add(table?.ty.initial);
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    self.memories.push(memory?);
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let count = &mut self.abi.mutable_globals;
                    *count = count.saturating_add(u64::from(global?.ty.mutable));
                }
            }
            Payload::ExportSection(exports) => self.exports = Some(exports),
            Payload::StartSection { .. } => {
                return Err(SplitError::Unsupported("a start function"));
            }
            Payload::DataSection(segments) => self.take_data(segments)?,
            Payload::CustomSection(custom) => {
                if let KnownCustom::Name(names) = custom.as_known() {
                    self.names = Some(names);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_imports(
        &mut self,
        imports: wasmparser::ImportSectionReader<'a>,
    ) -> Result<(), SplitError> {
        for import in imports.into_imports() {
            let import = import?;
            let TypeRef::Func(type_index) = import.ty else {
                return Err(SplitError::Unsupported("an import that is no function"));
            };
            self.functions.push(type_index);
            let text = self.signature_of(type_index);
            let names = self.abi.imports.entry(import.module.to_owned()).or_default();
            if names.insert(import.name.to_owned(), text).is_some() {
                return Err(SplitError::Unsupported("two imports of the same name"));
            }
        }
        Ok(())
    }

    fn take_data(
        &mut self,
        segments: SectionLimited<'a, wasmparser::Data<'a>>,
    ) -> Result<(), SplitError> {
        for segment in segments {
            let segment = segment?;
            let DataKind::Active { memory_index: 0, offset_expr } = segment.kind else {
                return Err(SplitError::Unsupported("a passive data segment"));
            };
            let mut operators = offset_expr.get_operators_reader();
            let offset = match (operators.read()?, operators.read()?) {
                // An offset is unsigned, its encoding is not.
                (Operator::I32Const { value }, Operator::End) => value.cast_unsigned(),
                _ => return Err(SplitError::Unsupported("a data segment at a computed offset")),
            };
            self.segments.push((u64::from(offset), segment.data));
            self.abi.data_segments = self.abi.data_segments.saturating_add(1);
        }
        Ok(())
    }

    fn signature_of(&self, type_index: u32) -> String {
        self.type_at(type_index).map_or_else(|| "an unknown type".to_owned(), signature)
    }

    fn type_at(&self, type_index: u32) -> Option<&FuncType> {
        usize::try_from(type_index).ok().and_then(|index| self.types.get(index))
    }

    fn type_of(&self, function_index: u32) -> Option<&FuncType> {
        let index = usize::try_from(function_index).ok()?;
        self.type_at(*self.functions.get(index)?)
    }

    fn text_of(&self, export: &Export<'_>) -> Result<String, SplitError> {
        match export.kind {
            ExternalKind::Func | ExternalKind::FuncExact => Ok(self
                .type_of(export.index)
                .map_or_else(|| "an unknown type".to_owned(), signature)),
            ExternalKind::Memory => Ok("memory".to_owned()),
            ExternalKind::Table => Ok("table".to_owned()),
            ExternalKind::Global | ExternalKind::Tag => {
                Err(SplitError::Unsupported("an exported global or tag"))
            }
        }
    }

    fn cold_image(&self) -> Result<ColdImage<'a>, SplitError> {
        let size = ByteCount::bytes(self.abi.memory_min_pages.saturating_mul(WASM_PAGE));
        for (index, (offset, bytes)) in self.segments.iter().enumerate() {
            let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let end = ByteCount::bytes(offset.saturating_add(length));
            if end > size {
                return Err(SplitError::OutOfRange { index, end, memory: size });
            }
        }
        Ok(ColdImage { size, segments: self.segments.clone() })
    }

    fn without_data(&self, added: &[AddedExport<'_>]) -> Result<Vec<u8>, SplitError> {
        let exports = self.all_exports(added)?;
        let mut kept = Module::new();
        for section in &self.kept {
            let _: &mut Module = match section.id {
                EXPORT_SECTION => kept.section(&exports),
                _ => kept.section(section),
            };
        }
        Ok(kept.finish())
    }

    fn all_exports(&self, added: &[AddedExport<'_>]) -> Result<ExportSection, SplitError> {
        let mut section = ExportSection::new();
        let Some(exports) = self.exports.clone() else {
            return Err(SplitError::Unsupported("no exports"));
        };
        for export in exports {
            let export = export?;
            let kind = match export.kind {
                ExternalKind::Memory => ExportKind::Memory,
                ExternalKind::Table => ExportKind::Table,
                ExternalKind::Func | ExternalKind::FuncExact => ExportKind::Func,
                ExternalKind::Global | ExternalKind::Tag => {
                    return Err(SplitError::Unsupported("an exported global or tag"));
                }
            };
            section.export(export.name, kind, export.index);
        }
        for wanted in added {
            if self.abi.exports.contains_key(wanted.name) {
                let symbol = wanted.name.to_owned();
                return Err(SplitError::Function { symbol, problem: "is exported already" });
            }
            section.export(wanted.name, ExportKind::Func, self.find_function(wanted)?);
        }
        Ok(section)
    }

    /// Finds the one function that the name section calls `wanted.symbol`, and checks its type.
    fn find_function(&self, wanted: &AddedExport<'_>) -> Result<u32, SplitError> {
        let symbol = wanted.symbol;
        let failed = |problem| SplitError::Function { symbol: symbol.to_owned(), problem };
        let mut found = None;
        for part in self.names.clone().into_iter().flatten() {
            let Name::Function(functions) = part? else { continue };
            for function in functions {
                let function = function?;
                if function.name == symbol && found.replace(function.index).is_some() {
                    return Err(failed("is there more than once"));
                }
            }
        }
        let index = found.ok_or_else(|| failed("is not in the name section"))?;
        match self.type_of(index) {
            Some(of) if signature(of) == wanted.signature => Ok(index),
            Some(_) => Err(failed("has another type than the pinned one")),
            None => Err(failed("has an index without a function")),
        }
    }
}

#[cfg(test)]
#[path = "split_data_tests.rs"]
mod tests;
