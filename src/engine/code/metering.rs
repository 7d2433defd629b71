//! Metering: the module counts its own fuel.
//!
//! The counter is a global of the module that starts with the budget and becomes less. A guest's
//! code has no instruction that names it, and it is not in the guest's memory. The code subtracts
//! its instructions [in few places](crate::engine::code::charges). A bulk operation also costs one
//! unit for each [`BYTES_PER_UNIT`] bytes or elements, which are subtracted before it begins.
//!
//! The counter is checked at the places of the polls. Most loops trap when the counter is below zero.
//! Their check compares with a number in the poll page, which is zero as long as the page is open, so
//! it is the poll too. Loops with calls, and functions before calls that may
//! [lead back](crate::engine::code::call_graph), ask the host when the counter is below a second
//! global, the *mark*. The host ends the run there, or sets the next mark.
//!
//! wasmtime's own fuel does the same at each block, and keeps the counter in a register that every
//! call saves and restores.
//!
//! The module also makes [NaNs canonical](crate::engine::code::canonical_nan) by itself.
//!
//! INVARIANT(metered-everywhere): every cycle in the control flow of a module has a check. Loops
//! begin with one. Recursion needs an indirect call, a call of the host, or a direct call that
//! leads back, and a function that makes one has had a check since its entry, and since the last
//! repetition of the loop around it.
//!
//! INVARIANT(no-wrap): the counter cannot wrap. From a check on, a function executes less than 2²³
//! instructions and less than 2⁵³ units for the lengths of bulk operations before it meets the
//! next check or returns, and without a check it calls functions with at most 2²⁴ instructions.
//! Only a bulk operation costs more than its time, and only one that traps. So a counter below
//! zero stays far from the end of its range, as long as less than 2⁶² units take a century. A
//! budget is at most [`MOST_FUEL`].

use std::borrow::Cow;

use wasm_encoder::{
    BranchHints, CodeSection, ConstExpr, Encode as _, ExportKind, GlobalType, Instruction, Module,
    RawSection, SectionId, ValType,
};
use wasmparser::{
    FuncType, FunctionBody, Import, Parser, Payload, SubType, TypeRef, ValType as ParsedType,
};

use crate::engine::code::body_writer::{BodyWriter, Indices, LENGTH_SHIFT, leading_count};
use crate::engine::code::call_graph::CallGraph;
use crate::engine::code::canonical_nan::{Signatures, uncanonical};
use crate::engine::code::charges::{AddedCode, Addition, additions, in_order};
use crate::engine::code::flow_graph::FlowGraph;
use crate::engine::code::polls::Interruption;
use crate::engine::code::split_data::SplitError;

/// The name under which a metered module exports its counter, a mutable `i64`.
pub const FUEL_EXPORT: &str = "wardian.fuel";

/// The name under which a metered module exports its mark, a mutable `i64`.
pub const MARK_EXPORT: &str = "wardian.fuel_mark";

/// The length of the frame in a call of `host.call` by which metered code says that its counter is
/// below its mark. No frame of a guest has this length.
pub const MARK_PASSED: i32 = -1;

/// Bytes of memory, or elements of a table, that a bulk operation handles for one unit of fuel.
///
/// Copying so many from main memory takes about as long as an instruction.
pub const BYTES_PER_UNIT: u32 = 1 << LENGTH_SHIFT;

/// The largest budget. Larger ones are limited to it: at a billion units in a second it lasts for
/// 146 years.
pub const MOST_FUEL: u64 = 1 << 62;

/// The function that the mark's passing is told to, and its type.
const HOST_CALL: (&str, &str) = ("host", "call");

/// Adds the counter, the charges and the checks to `module`, which imports `host.call`.
///
/// # Errors
///
/// The module cannot be read, has control flow of an unknown kind, or has a function with more
/// loops than the poll page has addresses.
pub fn with_metering(module: &[u8], interruption: Interruption) -> Result<Vec<u8>, SplitError> {
    let original = Original::read(module)?;
    let added = Added::to(&original)?;
    let calls = CallGraph::read(module, original.imported)?;
    let mut bodies = Bodies::new(&original, added, calls, interruption);
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
    fuel: u32,
    mark: u32,
}

impl Added {
    fn to(original: &Original<'_>) -> Result<Self, SplitError> {
        let host_call = original.host_call.filter(|index| {
            original.type_of(*index).is_some_and(|of| {
                of.params() == [ParsedType::I32; 4] && of.results() == [ParsedType::I32]
            })
        });
        let missing = SplitError::Unsupported("no import of `host.call`");
        let index = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        Ok(Self {
            host_call: host_call.ok_or(missing)?,
            nothing: index(original.signatures.types.len()),
            tell: index(original.signatures.functions.len()),
            fuel: original.globals,
            mark: original.globals.saturating_add(1),
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
    fn entries(self) -> [(u8, Vec<Vec<u8>>); 4] {
        // A function type with no parameters and no results.
        let of_nothing = vec![0x60, 0, 0];
        let mut tell = Vec::new();
        self.nothing.encode(&mut tell);
        let mut counter = Vec::new();
        GlobalType { val_type: ValType::I64, mutable: true, shared: false }.encode(&mut counter);
        // Without a budget there is no fuel.
        ConstExpr::i64_const(0).encode(&mut counter);
        let exported = |name: &str, index: u32| {
            let mut export = Vec::new();
            name.encode(&mut export);
            ExportKind::Global.encode(&mut export);
            index.encode(&mut export);
            export
        };
        let exports = vec![exported(FUEL_EXPORT, self.fuel), exported(MARK_EXPORT, self.mark)];
        [
            (SectionId::Type.into(), vec![of_nothing]),
            (SectionId::Function.into(), vec![tell]),
            (SectionId::Global.into(), vec![counter.clone(), counter]),
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
    interruption: Interruption,
    code: CodeSection,
    hints: BranchHints,
    /// The index of the next body's function.
    next: u32,
}

impl<'a> Bodies<'a> {
    fn new(
        original: &'a Original<'a>,
        added: Added,
        calls: CallGraph,
        interruption: Interruption,
    ) -> Self {
        let (code, hints) = (CodeSection::new(), BranchHints::new());
        Self { original, added, calls, interruption, code, hints, next: original.imported }
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
        let Added { tell, fuel, mark, .. } = self.added;
        let globals = Indices { tell, fuel, mark };
        let mut writer = BodyWriter::new(globals, self.interruption, locals);
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
#[path = "metering_tests.rs"]
mod tests;
