//! Metering: the module counts its own fuel.
//!
//! The counter is in a separate memory, which no code of the guest names. It starts with the
//! budget and becomes less: the code subtracts its instructions
//! [in few places](crate::code::metering::charges). A bulk operation also costs one unit for each
//! 2^[`LENGTH_SHIFT`](crate::code::metering::body_writer::LENGTH_SHIFT) bytes or elements, which are subtracted before it begins.
//!
//! Unlike a global, a memory can be read by another thread, and can be protected: each charge of a
//! page that is not writable traps.
//!
//! Who ends a run without fuel:
//!
//! - Functions look at the counter before calls that may
//!   [lead back](crate::code::metering::call_graph). They ask the host when it is below a global, the
//!   *mark*. The host ends the run there, or sets the next mark.
//! - The host looks at the counter itself in each call that the guest makes. So a program without
//!   fuel has no effect any more, at the same place in every repetition.
//! - Code without such calls never looks. The host's watchdog reads the counter now and then. It
//!   protects the page when the counter is far below zero. Each charge then traps, so charges are
//!   also the [polls](crate::code::polls) of metered code.
//!
//! wasmtime's own fuel compares at each loop and function, and keeps the counter in a register that
//! every call saves and restores.
//!
//! The module also makes [NaNs canonical](crate::code::nan::canonical_nan) by itself.
//!
//! INVARIANT(counter-in-bounds): the memory of the counter is named by added instructions alone, which
//! load and store eight bytes at constant places within its first numbers. The sandbox gives that
//! memory no guard because of this.
//! INVARIANT(no-wrap): the counter cannot wrap. A counter below zero becomes less only by code
//! that takes its time: as long as less than 2⁶² units take a century, it stays far from the end of
//! its range. Only one operation costs more than its time, a bulk operation that traps. A budget
//! is at most [`MOST_FUEL`].
//!
//! INVARIANT(bounded-advance): a function that was called with the counter at the true rest of the
//! fuel has paid for less than [`MOST_ADVANCE`] units that it may give back.

use std::borrow::Cow;

use wasm_encoder::{
    BranchHints, CodeSection, ConstExpr, Encode as _, ExportKind, GlobalType, Instruction,
    MemoryType, Module, RawSection, SectionId, ValType,
};
use wasmparser::{
    FuncType, FunctionBody, Import, Parser, Payload, SubType, TypeRef, ValType as ParsedType,
};

use crate::code::metering::body_writer::{self, BodyWriter, MeteredIndices, leading_count};
use crate::code::metering::call_graph::CallGraph;
use crate::code::metering::charges::{AddedCode, Addition, additions, in_order};
use crate::code::metering::flow_graph::FlowGraph;
use crate::code::nan::canonical_nan::{Signatures, uncanonical};
use crate::code::split_data::SplitError;

/// The name under which a metered module exports its mark, a mutable `i64`.
pub const MARK_EXPORT: &str = "wardian.fuel_mark";

/// The length of the frame in a call of `host.call` by which metered code says that its counter is
/// below its mark. No frame of a guest has this length.
pub const MARK_PASSED: i32 = -1;

/// The name under which a metered module exports the memory that begins with its counter: several
/// `i64`, of which the sum counts.
pub(crate) const COUNTER_EXPORT: &str = "wardian.fuel";

/// Pages of 64 KiB that the memory of the counter has, not more and not less.
pub(crate) const COUNTER_PAGES: u64 = 1;

/// The numbers at the beginning of that memory whose sum is the counter.
pub const COUNTERS: usize = body_writer::COUNTERS as usize;

/// More units than a function pays in advance: it has fewer instructions, because wasmtime refuses
/// functions of more than 7,654,321 bytes, and a metered one is longer than what it was made of.
pub const MOST_ADVANCE: u64 = 1 << 23;

/// The largest budget. Larger ones are limited to it: at a billion units in a second it lasts for
/// 146 years.
pub const MOST_FUEL: u64 = 1 << 62;

/// The function that the mark's passing is told to, and its type.
const HOST_CALL: (&str, &str) = ("host", "call");

/// Adds the charges and the checks to `module`, which imports `host.call`.
///
/// # Errors
///
/// The module cannot be read, has no memory or several, or has control flow of an unknown kind.
pub(crate) fn with_metering(module: &[u8]) -> Result<Vec<u8>, SplitError> {
    let original = Original::read(module)?;
    let added = Added::to(&original)?;
    let calls = CallGraph::read(module, original.imported)?;
    let mut bodies = Bodies::new(&original, added, calls);
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CodeSectionEntry(body) = payload? {
            bodies.add(&body)?;
        }
    }
    Ok(bodies.finish())
}

/// The parts of a module that decide the indices of what is added.
#[derive(Default)]
struct Original<'a> {
    sections: Vec<(u8, &'a [u8])>,
    signatures: Signatures,
    imported: u32,
    globals: u32,
    memories: u32,
    host_call: Option<u32>,
}

impl<'a> Original<'a> {
    fn add_import(&mut self, import: &Import<'_>) -> Result<(), SplitError> {
        let TypeRef::Func(of) = import.ty else {
            return Err(SplitError::Unsupported("an import that is no function"));
        };
        if (import.module, import.name) == HOST_CALL {
            self.host_call = Some(self.imported);
        }
        self.signatures.functions.push(of);
        self.imported = self.imported.saturating_add(1);
        Ok(())
    }

    fn read(module: &'a [u8]) -> Result<Self, SplitError> {
        let mut original = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload?;
            if let Some((id, range)) = payload.as_section() {
                original.sections.push((id, module.get(range).unwrap_or_default()));
            }
            match payload {
                Payload::TypeSection(types) => {
                    for of in types.into_iter_err_on_gc_types() {
                        original.signatures.types.push(SubType::func(of?, false));
                    }
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        original.add_import(&import?)?;
                    }
                }
                Payload::FunctionSection(functions) => {
                    for of in functions {
                        original.signatures.functions.push(of?);
                    }
                }
                Payload::TagSection(tags) => {
                    for of in tags {
                        original.signatures.tags.push(of?.func_type_idx);
                    }
                }
                Payload::MemorySection(memories) => original.memories = memories.count(),
                Payload::GlobalSection(globals) => original.globals = globals.count(),
                _ => {}
            }
        }
        Ok(original)
    }

    fn type_of(&self, function: u32) -> Option<&FuncType> {
        self.signatures.of_function(function)
    }
}

/// The indices of what is added. Each comes after those of its kind, so no other index changes.
#[derive(Debug, Clone, Copy)]
struct Added {
    host_call: u32,
    /// The type of a function without parameters and results.
    nothing: u32,
    /// The function that tells the host.
    tell: u32,
    mark: u32,
    /// The memory of the counter.
    counter: u32,
}

impl Added {
    fn to(original: &Original<'_>) -> Result<Self, SplitError> {
        let host_call = original.host_call.filter(|index| {
            original.type_of(*index).is_some_and(|of| {
                of.params() == [ParsedType::I32; 4] && of.results() == [ParsedType::I32]
            })
        });
        let missing = SplitError::Unsupported("no import of `host.call`");
        let host_call = host_call.ok_or(missing)?;
        if original.memories != 1 {
            return Err(SplitError::Unsupported("not one memory"));
        }
        let index = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        Ok(Self {
            host_call,
            nothing: index(original.signatures.types.len()),
            tell: index(original.signatures.functions.len()),
            mark: original.globals,
            counter: original.memories,
        })
    }

    /// The sections of the metered module in their order, with the code section as it was.
    fn sections<'a>(self, original: &[(u8, &'a [u8])]) -> Vec<(u8, Cow<'a, [u8]>)> {
        let mut sections: Vec<_> =
            original.iter().map(|(id, data)| (*id, Cow::Borrowed(*data))).collect();
        for (id, more) in self.entries() {
            if let Some((_, data)) = sections.iter_mut().find(|(other, _)| *other == id) {
                *data = extended(data, &more).into();
            } else {
                let later = sections.iter().position(|(other, _)| rank(*other) > rank(id));
                let place = later.unwrap_or(sections.len());
                sections.insert(place, (id, extended(&[0], &more).into()));
            }
        }
        sections
    }

    /// The entries to be added to each section.
    fn entries(self) -> [(u8, Vec<Vec<u8>>); 5] {
        // A function type with no parameters and no results.
        let of_nothing = vec![0x60, 0, 0];
        let mut tell = Vec::new();
        self.nothing.encode(&mut tell);
        let mut mark = Vec::new();
        GlobalType { val_type: ValType::I64, mutable: true, shared: false }.encode(&mut mark);
        // The host is asked when the fuel is used up.
        ConstExpr::i64_const(0).encode(&mut mark);
        let mut counter = Vec::new();
        MemoryType {
            minimum: COUNTER_PAGES,
            maximum: Some(COUNTER_PAGES),
            memory64: false,
            shared: false,
            page_size_log2: None,
        }
        .encode(&mut counter);
        let exported = |name: &str, kind: ExportKind, index: u32| {
            let mut export = Vec::new();
            name.encode(&mut export);
            kind.encode(&mut export);
            index.encode(&mut export);
            export
        };
        let exports = vec![
            exported(COUNTER_EXPORT, ExportKind::Memory, self.counter),
            exported(MARK_EXPORT, ExportKind::Global, self.mark),
        ];
        [
            (SectionId::Type.into(), vec![of_nothing]),
            (SectionId::Function.into(), vec![tell]),
            (SectionId::Memory.into(), vec![counter]),
            (SectionId::Global.into(), vec![mark]),
            (SectionId::Export.into(), exports),
        ]
    }
}

/// The place of a section in a module. Custom sections have none.
const fn rank(id: u8) -> u8 {
    match id {
        // Tags come between memories and globals, the count of data before the code.
        13 => 55,
        12 => 95,
        id => id.saturating_mul(10),
    }
}

/// The content of a section with more entries.
fn extended(section: &[u8], more: &[Vec<u8>]) -> Vec<u8> {
    let (count, entries) = leading_count(section);
    let mut all = Vec::with_capacity(section.len());
    count.saturating_add(u32::try_from(more.len()).unwrap_or(u32::MAX)).encode(&mut all);
    all.extend_from_slice(entries);
    more.iter().for_each(|entry| all.extend_from_slice(entry));
    all
}

/// The new code section, and the hints that no check is expected to fail.
struct Bodies<'a> {
    original: &'a Original<'a>,
    added: Added,
    calls: CallGraph,
    code: CodeSection,
    hints: BranchHints,
    /// The index of the next body's function.
    next: u32,
}

impl<'a> Bodies<'a> {
    fn new(original: &'a Original<'a>, added: Added, calls: CallGraph) -> Self {
        let (code, hints) = (CodeSection::new(), BranchHints::new());
        Self { original, added, calls, code, hints, next: original.imported }
    }

    fn add(&mut self, body: &FunctionBody<'_>) -> Result<(), SplitError> {
        let needs_check = |callee| self.calls.needs_check(self.next, callee);
        let mut edits = additions(&FlowGraph::read(body, &needs_check)?);
        let places = uncanonical(body, self.next, &self.original.signatures)?;
        let canonical = |(at, lanes)| Addition { at, kind: AddedCode::Canonical(lanes) };
        edits.extend(places.into_iter().map(canonical));
        in_order(&mut edits);
        self.add_edited(body, &edits)
    }

    fn add_edited(
        &mut self,
        body: &FunctionBody<'_>,
        edits: &[Addition],
    ) -> Result<(), SplitError> {
        let params = self.original.type_of(self.next).map_or(0, |of| of.params().len());
        let mut locals = u32::try_from(params).unwrap_or(u32::MAX);
        for declared in body.get_locals_reader()? {
            locals = locals.saturating_add(declared?.0);
        }
        let Added { tell, mark, counter, .. } = self.added;
        let indices = MeteredIndices { tell, mark, counter };
        let mut writer = BodyWriter::new(indices, locals);
        writer.write(body, edits)?;
        self.code.raw(&writer.code);
        if !writer.hints.is_empty() {
            self.hints.function_hints(self.next, writer.hints);
        }
        self.next = self.next.saturating_add(1);
        Ok(())
    }

    /// Adds the function that tells the host. Returns the module.
    fn finish(mut self) -> Vec<u8> {
        let mut tell = vec![0];
        for argument in [0, MARK_PASSED, 0, 0] {
            Instruction::I32Const(argument).encode(&mut tell);
        }
        Instruction::Call(self.added.host_call).encode(&mut tell);
        Instruction::Drop.encode(&mut tell);
        Instruction::End.encode(&mut tell);
        self.code.raw(&tell);
        let mut metered = Module::new();
        for (id, data) in self.added.sections(&self.original.sections) {
            if id == u8::from(SectionId::Code) {
                metered.section(&self.hints);
                metered.section(&self.code);
            } else {
                metered.section(&RawSection { id, data: &data });
            }
        }
        metered.finish()
    }
}

#[cfg(test)]
#[path = "transform_tests.rs"]
mod tests;
