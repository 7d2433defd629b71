//! What the merge reads of the engine's module: names, types, table, memory. No function body is decoded
//! but one.

use std::collections::HashMap;
use std::ops::Range;

use wasmparser::{
    CustomSectionReader, ElementItems, ElementKind, FuncType, FunctionBody, ImportSectionReader,
    KnownCustom, Name, Operator, Parser, Payload, TableSectionReader, TypeRef,
};

use crate::native::error::MergeError;
use crate::native::output::function_types::FunctionTypes;

/// The function whose `throw` shows which tag is that of C++ and of Rust's panics.
const THROWS: &str = "_Unwind_RaiseException";

/// The name of the global that is the pointer of the C stack, which native modules share.
const STACK_POINTER: &str = "__stack_pointer";

/// The engine's module, as far as native modules refer to it.
#[derive(Debug, Default)]
pub(super) struct EngineModule<'a> {
    pub(super) types: FunctionTypes,
    /// Type index of each function, imported ones first.
    pub(super) functions: Vec<u32>,
    /// Index of each function by its name; `None` for a name that several functions have.
    pub(super) by_name: HashMap<&'a str, Option<u32>>,
    /// Imported functions by module and name.
    pub(super) imports: HashMap<(&'a str, &'a str), u32>,
    /// The first slot of each function in the table.
    pub(super) slots: HashMap<u32, u32>,
    /// Elements of the table.
    pub(super) table: u32,
    /// Pages of memory.
    pub(super) pages: u32,
    /// The index of the stack pointer.
    pub(super) stack_pointer: u32,
    /// The tag of C++ exceptions and its type.
    pub(super) tag: Option<(u32, FuncType)>,
    /// Number and content of each section, in the order of the file.
    pub(super) sections: Vec<(SectionKind, u8, Range<usize>)>,
    bodies: Vec<FunctionBody<'a>>,
    tags: Vec<u32>,
    globals: Vec<wasmparser::GlobalType>,
    stack_pointers: Vec<u32>,
}

/// The sections that the merge changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    Types,
    Functions,
    Table,
    Memory,
    Elements,
    Code,
    Data,
    Names,
    /// Copied as it is.
    Other,
}

impl SectionKind {
    /// The sections that the engine has to have.
    const NEEDED: [(Self, &'static str); 8] = [
        (Self::Types, "has no types"),
        (Self::Functions, "has no functions"),
        (Self::Table, "has no table"),
        (Self::Memory, "has no memory"),
        (Self::Elements, "has no elements"),
        (Self::Code, "has no code"),
        (Self::Data, "has no data"),
        (Self::Names, "has no names"),
    ];

    const fn of(payload: &Payload<'_>, names: bool) -> Self {
        match payload {
            Payload::TypeSection(_) => Self::Types,
            Payload::FunctionSection(_) => Self::Functions,
            Payload::TableSection(_) => Self::Table,
            Payload::MemorySection(_) => Self::Memory,
            Payload::ElementSection(_) => Self::Elements,
            Payload::CodeSectionStart { .. } => Self::Code,
            Payload::DataSection(_) => Self::Data,
            Payload::CustomSection(_) if names => Self::Names,
            _ => Self::Other,
        }
    }
}

impl<'a> EngineModule<'a> {
    pub(super) fn read(module: &'a [u8]) -> Result<Self, MergeError> {
        let mut engine = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload?;
            if let Some((id, range)) = payload.as_section() {
                let is_names = matches!(&payload, Payload::CustomSection(custom)
                    if matches!(custom.as_known(), KnownCustom::Name(_)));
                engine.sections.push((SectionKind::of(&payload, is_names), id, range));
            }
            engine.take(payload)?;
        }
        engine.ensure_complete()?;
        Ok(engine)
    }

    fn take(&mut self, payload: Payload<'a>) -> Result<(), MergeError> {
        match payload {
            Payload::TypeSection(types) => {
                for of in types.into_iter_err_on_gc_types() {
                    self.types.take(of?);
                }
            }
            Payload::ImportSection(imports) => self.take_imports(imports)?,
            Payload::FunctionSection(functions) => {
                for of in functions {
                    self.functions.push(of?);
                }
            }
            Payload::TableSection(tables) => self.take_tables(tables)?,
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let memory = memory?;
                    let is_usual = !memory.memory64
                        && !memory.shared
                        && memory.page_size_log2.is_none()
                        && memory.maximum.is_none();
                    if !is_usual || self.pages > 0 {
                        return Err(MergeError::Engine("has a memory of an unusual kind"));
                    }
                    let pages = u32::try_from(memory.initial).ok().filter(|pages| *pages < 65_536);
                    self.pages = pages.ok_or(MergeError::Engine("has too large a memory"))?;
                }
            }
            Payload::TagSection(tags) => {
                for tag in tags {
                    self.tags.push(tag?.func_type_idx);
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    self.globals.push(global?.ty);
                }
            }
            Payload::ElementSection(elements) => {
                for element in elements {
                    self.take_element(element?)?;
                }
            }
            Payload::DataCountSection { .. } => {
                return Err(MergeError::Engine("counts its data segments"));
            }
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::CustomSection(custom) => self.take_names(&custom)?,
            _ => {}
        }
        Ok(())
    }

    fn take_imports(&mut self, imports: ImportSectionReader<'a>) -> Result<(), MergeError> {
        for import in imports.into_imports() {
            let import = import?;
            let TypeRef::Func(of) = import.ty else {
                return Err(MergeError::Engine("imports something else than functions"));
            };
            self.imports.insert((import.module, import.name), index_of(self.functions.len()));
            self.functions.push(of);
        }
        Ok(())
    }

    fn take_tables(&mut self, tables: TableSectionReader<'a>) -> Result<(), MergeError> {
        let unusual = || MergeError::Engine("has a table of an unusual kind");
        let mut tables = tables.into_iter();
        let (Some(table), None) = (tables.next().transpose()?, tables.next()) else {
            return Err(unusual());
        };
        let of = table.ty;
        let is_usual = of.element_type.is_func_ref()
            && !of.table64
            && !of.shared
            && of.maximum == Some(of.initial)
            && matches!(table.init, wasmparser::TableInit::RefNull);
        self.table = u32::try_from(of.initial).ok().filter(|_| is_usual).ok_or_else(unusual)?;
        Ok(())
    }

    fn take_element(&mut self, element: wasmparser::Element<'a>) -> Result<(), MergeError> {
        let unusual = || MergeError::Engine("has elements of an unusual kind");
        let ElementKind::Active { table_index: None | Some(0), offset_expr } = element.kind else {
            return Err(unusual());
        };
        let mut operators = offset_expr.get_operators_reader();
        let (Operator::I32Const { value }, Operator::End) = (operators.read()?, operators.read()?)
        else {
            return Err(unusual());
        };
        let ElementItems::Functions(functions) = element.items else { return Err(unusual()) };
        let mut slot = value.cast_unsigned();
        for function in functions {
            self.slots.entry(function?).or_insert(slot);
            slot = slot.checked_add(1).ok_or_else(unusual)?;
        }
        Ok(())
    }

    fn take_names(&mut self, custom: &CustomSectionReader<'a>) -> Result<(), MergeError> {
        let KnownCustom::Name(parts) = custom.as_known() else { return Ok(()) };
        for part in parts {
            match part? {
                Name::Function(functions) => {
                    for function in functions {
                        let function = function?;
                        let entry = self.by_name.entry(function.name);
                        entry.and_modify(|index| *index = None).or_insert(Some(function.index));
                    }
                }
                Name::Global(globals) => {
                    for global in globals {
                        let global = global?;
                        let is_pointer = global.name == STACK_POINTER;
                        self.stack_pointers.extend(is_pointer.then_some(global.index));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn ensure_complete(&mut self) -> Result<(), MergeError> {
        for (kind, missing) in SectionKind::NEEDED {
            let mut of_kind = self.sections.iter().filter(|(found, ..)| *found == kind);
            if of_kind.next().is_none() || of_kind.next().is_some() {
                return Err(MergeError::Engine(missing));
            }
        }
        let [pointer] = self.stack_pointers.as_slice() else {
            return Err(MergeError::Engine("does not name exactly one stack pointer"));
        };
        let of = usize::try_from(*pointer).ok().and_then(|index| self.globals.get(index));
        let is_pointer =
            of.is_some_and(|of| of.mutable && of.content_type == wasmparser::ValType::I32);
        if !is_pointer {
            return Err(MergeError::Engine("has a stack pointer that is no variable of 32 bits"));
        }
        self.stack_pointer = *pointer;
        self.tag = self.thrown_tag()?;
        self.bodies = Vec::new();
        Ok(())
    }

    /// The tag that the C++ runtime throws. Without this runtime there is none.
    fn thrown_tag(&self) -> Result<Option<(u32, FuncType)>, MergeError> {
        let Some(Some(index)) = self.by_name.get(THROWS) else { return Ok(None) };
        let body = usize::try_from(*index).ok();
        let body = body.and_then(|index| index.checked_sub(self.imports.len()));
        let Some(body) = body.and_then(|index| self.bodies.get(index)) else { return Ok(None) };
        let mut thrown = None;
        for operator in body.get_operators_reader()? {
            if let Operator::Throw { tag_index } = operator?
                && thrown.replace(tag_index).is_some_and(|other| other != tag_index)
            {
                return Err(MergeError::Engine("throws several tags"));
            }
        }
        let Some(tag) = thrown else { return Ok(None) };
        let of = usize::try_from(tag).ok().and_then(|tag| self.tags.get(tag));
        let of = of.and_then(|of| self.types.get(*of));
        let of = of.ok_or(MergeError::Engine("throws a tag that is not there"))?;
        Ok(Some((tag, of.clone())))
    }

    /// The type of a function.
    pub(super) fn type_of(&self, function: u32) -> Option<&FuncType> {
        let of = self.functions.get(usize::try_from(function).ok()?)?;
        self.types.get(*of)
    }
}

/// A length as the index of what comes next.
pub(super) fn index_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
