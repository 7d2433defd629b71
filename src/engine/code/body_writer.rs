//! Writes the body of a function with all that metering adds to it.

use std::ops::Range;

use wasm_encoder::{
    BlockType, BranchHint, Encode as _, Ieee32, Ieee64, Instruction, MemArg, ValType,
};
use wasmparser::{BinaryReader, FunctionBody};

use crate::engine::code::charges::{AddedCode, Addition, Counter};
use crate::engine::code::float_operators::{CANONICAL_F32, CANONICAL_F64, Lanes};
use crate::engine::code::polls::{Interruption, POLL_PAGE, poll};
use crate::engine::code::split_data::SplitError;

/// The binary logarithm of the bytes or elements that a bulk operation handles for a unit of fuel.
pub(super) const LENGTH_SHIFT: u32 = 2;

/// Bytes that the check of a loop reads from the poll page.
const READ: u32 = 8;

/// Splits a section or the declarations of locals into their count and the rest.
pub(super) fn leading_count(bytes: &[u8]) -> (u32, &[u8]) {
    let mut reader = BinaryReader::new(bytes, 0);
    let count = reader.read_var_u32().unwrap_or(0);
    (count, bytes.get(reader.original_position()..).unwrap_or_default())
}

/// The indices of what metered code uses in its module.
#[derive(Debug, Clone, Copy)]
pub(super) struct Indices {
    /// The function that tells the host.
    pub(super) tell: u32,
    /// The global that is the counter.
    pub(super) fuel: u32,
    /// The global that is the mark.
    pub(super) mark: u32,
}

/// Writes one body.
pub(super) struct BodyWriter {
    indices: Indices,
    interruption: Interruption,
    /// The local that holds the counter in loops that make no calls.
    counter: u32,
    /// The local that holds the length of a bulk operation.
    length: u32,
    /// Each check of a function has an address of its own, for the reason that polls have.
    addresses: Range<u32>,
    /// The body so far.
    pub(super) code: Vec<u8>,
    /// Its branches that are hardly ever taken.
    pub(super) hints: Vec<BranchHint>,
}

impl BodyWriter {
    /// A writer for a body with so many locals, parameters included.
    pub(super) fn new(indices: Indices, interruption: Interruption, locals: u32) -> Self {
        Self {
            indices,
            interruption,
            counter: locals,
            length: locals.saturating_add(1),
            addresses: POLL_PAGE.start..POLL_PAGE.end.saturating_sub(READ - 1),
            code: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Writes `body` with its additions, which are in their order.
    pub(super) fn write(
        &mut self,
        body: &FunctionBody<'_>,
        edits: &[Addition],
    ) -> Result<(), SplitError> {
        let bytes = body.as_bytes();
        let (groups, declared) = leading_count(bytes);
        let entry = body.get_operators_reader()?.original_position();
        let mut copied = entry.saturating_sub(body.range().start);
        let groups_end = bytes.len().saturating_sub(declared.len());
        let has_floats = edits.iter().any(|edit| matches!(edit.kind, AddedCode::Canonical(_)));
        let mut locals = vec![ValType::I64, ValType::I32];
        if has_floats {
            locals.extend([ValType::F32, ValType::F64, ValType::V128]);
        }
        let more = u32::try_from(locals.len()).unwrap_or(u32::MAX);
        groups.saturating_add(more).encode(&mut self.code);
        self.code.extend_from_slice(bytes.get(groups_end..copied).unwrap_or_default());
        for of in locals {
            1_u32.encode(&mut self.code);
            of.encode(&mut self.code);
        }
        for edit in edits {
            self.code.extend_from_slice(bytes.get(copied..edit.at).unwrap_or_default());
            copied = match edit.kind {
                AddedCode::ChargeTaken { until, .. } => until,
                _ => edit.at,
            };
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
            AddedCode::Charge { cost, counter } => self.charge(cost, counter),
            AddedCode::ChargeTaken { cost, counter, depth, .. } => {
                self.put(&[Instruction::If(BlockType::Empty)]);
                self.charge(cost, counter);
                self.put(&[Instruction::Br(depth.saturating_add(1)), Instruction::End]);
            }
            AddedCode::ChargeElse { cost, counter } => {
                self.put(&[Instruction::Else]);
                self.charge(cost, counter);
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
            AddedCode::Canonical(lanes) => self.canonical(lanes),
            AddedCode::EnterLoop => {
                self.read(Counter::Global);
                self.put(&[Instruction::LocalSet(self.counter)]);
            }
            AddedCode::CheckMark => {
                self.read(Counter::Global);
                self.put(&[Instruction::GlobalGet(self.indices.mark), Instruction::I64LtS]);
                self.unlikely(&Instruction::Call(self.indices.tell));
                if self.interruption == Interruption::Polls {
                    let address = self.addresses.next();
                    poll(address.ok_or(SplitError::TOO_MANY_LOOPS)?, &mut self.code);
                }
            }
            AddedCode::CheckLoop { counter, excess } => {
                self.read(counter);
                if excess > 0 {
                    self.put(&[Instruction::I64Const(excess), Instruction::I64Add]);
                }
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

    /// Replaces each NaN on top of the stack by the canonical one.
    fn canonical(&mut self, lanes: Lanes) {
        let doubled = u128::from(CANONICAL_F64) << 64 | u128::from(CANONICAL_F64);
        let quadrupled = u128::from(CANONICAL_F32) * 0x1_0000_0001_0000_0001_0000_0001;
        let (more, nan, equal) = match lanes {
            Lanes::F32 => {
                (1, Instruction::F32Const(Ieee32::new(CANONICAL_F32)), Instruction::F32Ge)
            }
            Lanes::F64 => {
                (2, Instruction::F64Const(Ieee64::new(CANONICAL_F64)), Instruction::F64Ge)
            }
            Lanes::F32x4 => {
                (3, Instruction::V128Const(quadrupled.cast_signed()), Instruction::F32x4Eq)
            }
            Lanes::F64x2 => {
                (3, Instruction::V128Const(doubled.cast_signed()), Instruction::F64x2Eq)
            }
        };
        let local = self.length.saturating_add(more);
        let get = Instruction::LocalGet(local);
        self.put(&[Instruction::LocalTee(local), nan, get.clone(), get, equal]);
        self.put(&[match lanes {
            Lanes::F32 | Lanes::F64 => Instruction::Select,
            Lanes::F32x4 | Lanes::F64x2 => Instruction::V128Bitselect,
        }]);
    }

    /// Marks the branch that follows as one that is hardly ever taken.
    fn hint(&mut self) {
        let branch_func_offset = u32::try_from(self.code.len()).unwrap_or(u32::MAX);
        self.hints.push(BranchHint { branch_func_offset, branch_hint_value: 0 });
    }

    fn charge(&mut self, cost: i64, counter: Counter) {
        self.read(counter);
        self.put(&[Instruction::I64Const(cost), Instruction::I64Sub]);
        self.store(counter);
    }

    fn read(&mut self, counter: Counter) {
        match counter {
            Counter::Global => self.put(&[Instruction::GlobalGet(self.indices.fuel)]),
            Counter::Local => self.put(&[Instruction::LocalGet(self.counter)]),
        }
    }

    fn store(&mut self, counter: Counter) {
        if counter == Counter::Local {
            self.put(&[Instruction::LocalTee(self.counter)]);
        }
        self.put(&[Instruction::GlobalSet(self.indices.fuel)]);
    }

    /// Does something if the condition on the stack is true, which it hardly ever is.
    fn unlikely(&mut self, what: &Instruction<'_>) {
        self.hint();
        Instruction::If(BlockType::Empty).encode(&mut self.code);
        what.encode(&mut self.code);
        Instruction::End.encode(&mut self.code);
    }
}
