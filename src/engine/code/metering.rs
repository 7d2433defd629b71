//! Metering: the module counts its own fuel.
//!
//! The counter is a global of the module that starts with the budget and becomes less. A guest's
//! code has no instruction that names it, and it is not in the guest's memory. Each
//! [region](crate::engine::code::regions) subtracts its instructions once, at its beginning. A bulk
//! operation also costs one unit for each [`BYTES_PER_UNIT`] bytes or elements, which are
//! subtracted before it begins.
//!
//! The counter is checked at the places of the polls. A loop traps when the counter is below zero.
//! Its check compares with a number in the poll page, which is zero as long as the page is open, so
//! it is the poll too. A function with calls asks the host at its entry when the counter is below a
//! second global, the *mark*. The host ends the run there, or sets the next mark.
//!
//! wasmtime's own fuel does the same at each block, and keeps the counter in a register that every
//! call saves and restores.
//!
//! INVARIANT(metered-everywhere): every cycle in the control flow of a module has a check. Loops
//! begin with one. Recursion needs a function with calls, and each of those begins with one.
//!
//! INVARIANT(no-wrap): the counter cannot wrap. Between two checks is at most one function without
//! the repetition of its loops, and the calls of functions without calls, loops and bulk
//! operations. A function has less than 2²³ instructions, so that is less than 2⁴⁶ units, and less
//! than 2⁵³ units for the lengths of bulk operations. A budget is at most [`MOST_FUEL`].

use std::borrow::Cow;
use std::ops::Range;

use wasm_encoder::{
    BlockType, BranchHint, BranchHints, CodeSection, ConstExpr, Encode as _, ExportKind,
    GlobalType, Instruction, MemArg, Module, RawSection, SectionId, ValType,
};
use wasmparser::{
    BinaryReader, FuncType, FunctionBody, Import, Parser, Payload, TypeRef, ValType as ParsedType,
};

use crate::engine::code::polls::{Interruption, POLL_PAGE, poll};
use crate::engine::code::regions::{AddedCode, Addition, Counter, edits};
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

const LENGTH_SHIFT: u32 = 2;

/// The largest budget. Larger ones are limited to it: at a billion units in a second it lasts for
/// 146 years.
pub const MOST_FUEL: u64 = 1 << 62;

/// The function that the mark's passing is told to, and its type.
const HOST_CALL: (&str, &str) = ("host", "call");

/// Bytes that the check of a loop reads from the poll page.
const READ: u32 = 8;

/// Adds the counter, the charges and the checks to `module`, which imports `host.call`.
///
/// # Errors
///
/// The module cannot be read, has control flow of an unknown kind, or has a function with more
/// loops than the poll page has addresses.
pub fn with_metering(module: &[u8], interruption: Interruption) -> Result<Vec<u8>, SplitError> {
    let original = Original::read(module)?;
    let added = Added::to(&original)?;
    let mut bodies = Bodies::new(&original, added, interruption);
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
    types: Vec<FuncType>,
    /// Type index of each function, imported ones first.
    functions: Vec<u32>,
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
        self.functions.push(of);
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
                        original.types.push(of?);
                    }
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        original.add_import(&import?)?;
                    }
                }
                Payload::FunctionSection(functions) => {
                    for of in functions {
                        original.functions.push(of?);
                    }
                }
                Payload::GlobalSection(globals) => original.globals = globals.count(),
                _ => {}
            }
        }
        Ok(original)
    }

    fn type_of(&self, function: u32) -> Option<&FuncType> {
        let of = self.functions.get(usize::try_from(function).ok()?)?;
        self.types.get(usize::try_from(*of).ok()?)
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
            nothing: index(original.types.len()),
            tell: index(original.functions.len()),
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

/// Splits a section or the declarations of locals into their count and the rest.
fn leading_count(bytes: &[u8]) -> (u32, &[u8]) {
    let mut reader = BinaryReader::new(bytes, 0);
    let count = reader.read_var_u32().unwrap_or(0);
    (count, bytes.get(reader.original_position()..).unwrap_or_default())
}

/// The new code section, and the hints that no check is expected to fail.
struct Bodies<'a> {
    original: &'a Original<'a>,
    added: Added,
    interruption: Interruption,
    code: CodeSection,
    hints: BranchHints,
    /// The index of the next body's function.
    next: u32,
}

impl<'a> Bodies<'a> {
    fn new(original: &'a Original<'a>, added: Added, interruption: Interruption) -> Self {
        let (code, hints) = (CodeSection::new(), BranchHints::new());
        Self { original, added, interruption, code, hints, next: original.imported }
    }

    fn add(&mut self, body: &FunctionBody<'_>) -> Result<(), SplitError> {
        self.add_edited(body, &edits(body)?)
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
        let mut writer = Writer {
            added: self.added,
            interruption: self.interruption,
            counter: locals,
            length: locals.saturating_add(1),
            addresses: POLL_PAGE.start..POLL_PAGE.end.saturating_sub(READ - 1),
            code: Vec::with_capacity(body.as_bytes().len().saturating_mul(2)),
            hints: Vec::new(),
        };
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

/// Writes one body.
struct Writer {
    added: Added,
    interruption: Interruption,
    /// The local that holds the counter in loops that make no calls.
    counter: u32,
    /// The local that holds the length of a bulk operation.
    length: u32,
    /// Each check of a function has an address of its own, for the reason that polls have.
    addresses: Range<u32>,
    code: Vec<u8>,
    hints: Vec<BranchHint>,
}

impl Writer {
    fn write(&mut self, body: &FunctionBody<'_>, edits: &[Addition]) -> Result<(), SplitError> {
        let bytes = body.as_bytes();
        let (groups, declared) = leading_count(bytes);
        let entry = body.get_operators_reader()?.original_position();
        let mut copied = entry.saturating_sub(body.range().start);
        let groups_end = bytes.len().saturating_sub(declared.len());
        groups.saturating_add(2).encode(&mut self.code);
        self.code.extend_from_slice(bytes.get(groups_end..copied).unwrap_or_default());
        for of in [ValType::I64, ValType::I32] {
            1_u32.encode(&mut self.code);
            of.encode(&mut self.code);
        }
        for edit in edits {
            self.code.extend_from_slice(bytes.get(copied..edit.at).unwrap_or_default());
            copied = edit.at;
            self.add(edit.kind)?;
        }
        self.code.extend_from_slice(bytes.get(copied..).unwrap_or_default());
        Ok(())
    }

    fn put(&mut self, instructions: &[Instruction<'_>]) {
        instructions.iter().for_each(|instruction| instruction.encode(&mut self.code));
    }

    fn add(&mut self, kind: AddedCode) -> Result<(), SplitError> {
        match kind {
            AddedCode::Charge { cost: 0, .. } => {}
            AddedCode::Charge { cost, counter } => {
                self.read(counter);
                self.put(&[Instruction::I64Const(cost), Instruction::I64Sub]);
                self.store(counter);
            }
            AddedCode::ChargeLength(counter) => {
                self.put(&[Instruction::LocalTee(self.length)]);
                self.read(counter);
                self.put(&[
                    Instruction::LocalGet(self.length),
                    Instruction::I64ExtendI32U,
                    Instruction::I64Const(i64::from(LENGTH_SHIFT)),
                    Instruction::I64ShrU,
                    Instruction::I64Sub,
                ]);
                self.store(counter);
            }
            AddedCode::EnterLoop => {
                self.read(Counter::Global);
                self.put(&[Instruction::LocalSet(self.counter)]);
            }
            AddedCode::CheckEntry => {
                self.read(Counter::Global);
                self.put(&[Instruction::GlobalGet(self.added.mark), Instruction::I64LtS]);
                self.unlikely(&Instruction::Call(self.added.tell));
                if self.interruption == Interruption::Polls {
                    let address = self.addresses.next();
                    poll(address.ok_or(SplitError::TOO_MANY_LOOPS)?, &mut self.code);
                }
            }
            AddedCode::CheckLoop(counter) => {
                self.read(counter);
                self.bound()?;
                self.put(&[Instruction::I64LtS]);
                self.unlikely(&Instruction::Unreachable);
            }
        }
        Ok(())
    }

    /// Puts zero on the stack. Traps if the guest has to stop.
    fn bound(&mut self) -> Result<(), SplitError> {
        match self.interruption {
            Interruption::Polls => {
                let address = self.addresses.next().ok_or(SplitError::TOO_MANY_LOOPS)?;
                let place = MemArg { offset: 0, align: 0, memory_index: 0 };
                self.put(&[
                    Instruction::I32Const(address.cast_signed()),
                    Instruction::I64Load(place),
                ]);
            }
            Interruption::Epochs => self.put(&[Instruction::I64Const(0)]),
        }
        Ok(())
    }

    fn read(&mut self, counter: Counter) {
        match counter {
            Counter::Global => self.put(&[Instruction::GlobalGet(self.added.fuel)]),
            Counter::Local => self.put(&[Instruction::LocalGet(self.counter)]),
        }
    }

    fn store(&mut self, counter: Counter) {
        if counter == Counter::Local {
            self.put(&[Instruction::LocalTee(self.counter)]);
        }
        self.put(&[Instruction::GlobalSet(self.added.fuel)]);
    }

    /// Does something if the condition on the stack is true, which it hardly ever is.
    fn unlikely(&mut self, what: &Instruction<'_>) {
        let branch_func_offset = u32::try_from(self.code.len()).unwrap_or(u32::MAX);
        self.hints.push(BranchHint { branch_func_offset, branch_hint_value: 0 });
        Instruction::If(BlockType::Empty).encode(&mut self.code);
        what.encode(&mut self.code);
        Instruction::End.encode(&mut self.code);
    }
}

#[cfg(test)]
#[path = "metering_tests.rs"]
mod tests;
