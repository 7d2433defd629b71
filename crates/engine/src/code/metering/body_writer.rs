//! Writes the body of a function with all that metering adds to it.

use wasm_encoder::{
    BlockType, BranchHint, Encode as _, Ieee32, Ieee64, Instruction, MemArg, ValType,
};
use wasmparser::{BinaryReader, FunctionBody};

use crate::code::metering::charges::{AddedCode, Addition};
use crate::code::nan::float_operators::{CANONICAL_F32, CANONICAL_F64, Lanes};
use crate::code::split_data::SplitError;

/// The binary logarithm of the bytes or elements that a bulk operation handles for a unit of fuel.
pub(crate) const LENGTH_SHIFT: u32 = 2;

/// The parts of the counter, whose sum is the fuel that is left.
///
/// A charge has to wait until the processor has forwarded the result of the last one to the same
/// place. That took longer than the code in between, so charges take turns.
pub(crate) const COUNTERS: u32 = 4;

/// Splits a section or the declarations of locals into their count and the rest.
pub(crate) fn leading_count(bytes: &[u8]) -> (u32, &[u8]) {
    let mut reader = BinaryReader::new(bytes, 0);
    let count = reader.read_var_u32().unwrap_or(0);
    (count, bytes.get(reader.original_position()..).unwrap_or_default())
}

/// What metered code uses of its module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeteredIndices {
    /// The index of the function that tells the host.
    pub(crate) tell: u32,
    /// The index of the global that is the mark.
    pub(crate) mark: u32,
    /// The index of the memory that begins with the parts of the counter.
    pub(crate) counter: u32,
}

/// Writes one body.
pub(crate) struct BodyWriter {
    indices: MeteredIndices,
    /// The part of the counter for the next charge.
    next: u32,
    /// The local that holds the length of a bulk operation.
    length: u32,
    /// The body so far.
    pub(crate) code: Vec<u8>,
    /// Its branches that are hardly ever taken.
    pub(crate) hints: Vec<BranchHint>,
}

impl BodyWriter {
    /// A writer for a body with so many locals, parameters included.
    pub(crate) const fn new(indices: MeteredIndices, locals: u32) -> Self {
        Self { indices, next: 0, length: locals, code: Vec::new(), hints: Vec::new() }
    }

    /// Writes `body` with its additions, which are in their order.
    pub(crate) fn write(
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
        let mut locals = vec![ValType::I32];
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
            self.add(edit.kind);
        }
        self.code.extend_from_slice(bytes.get(copied..).unwrap_or_default());
        Ok(())
    }

    fn put(&mut self, instructions: &[Instruction<'_>]) {
        instructions.iter().for_each(|instruction| instruction.encode(&mut self.code));
    }

    fn add(&mut self, kind: AddedCode) {
        match kind {
            AddedCode::Charge { cost: 0 } => {}
            AddedCode::Charge { cost } => self.charge(cost),
            AddedCode::ChargeTaken { cost, depth, .. } => {
                self.put(&[Instruction::If(BlockType::Empty)]);
                self.charge(cost);
                self.put(&[Instruction::Br(depth.saturating_add(1)), Instruction::End]);
            }
            AddedCode::ChargeElse { cost } => {
                self.put(&[Instruction::Else]);
                self.charge(cost);
            }
            AddedCode::ChargeLength => {
                self.put(&[Instruction::LocalSet(self.length)]);
                self.subtract(&[
                    Instruction::LocalGet(self.length),
                    Instruction::I64ExtendI32U,
                    Instruction::I64Const(i64::from(LENGTH_SHIFT)),
                    Instruction::I64ShrU,
                ]);
                self.put(&[Instruction::LocalGet(self.length)]);
            }
            AddedCode::Canonical(lanes) => self.canonical(lanes),
            AddedCode::CheckMark => self.check_mark(),
        }
    }

    /// Tells the host if the sum of the counter's parts is below the mark, which it hardly ever is.
    fn check_mark(&mut self) {
        let MeteredIndices { tell, mark, counter } = self.indices;
        self.put(&[Instruction::I32Const(0), Instruction::I64Load(number_in(counter, 0))]);
        for number in 1..COUNTERS {
            let part = Instruction::I64Load(number_in(counter, number));
            self.put(&[Instruction::I32Const(0), part, Instruction::I64Add]);
        }
        self.put(&[Instruction::GlobalGet(mark), Instruction::I64LtS]);
        let branch_func_offset = u32::try_from(self.code.len()).unwrap_or(u32::MAX);
        self.hints.push(BranchHint { branch_func_offset, branch_hint_value: 0 });
        self.put(&[Instruction::If(BlockType::Empty), Instruction::Call(tell), Instruction::End]);
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

    fn charge(&mut self, cost: i64) {
        self.subtract(&[Instruction::I64Const(cost)]);
    }

    /// Subtracts a value from a part of the counter.
    fn subtract(&mut self, value: &[Instruction<'_>]) {
        let counter = number_in(self.indices.counter, self.next);
        self.next = self.next.saturating_add(1) % COUNTERS;
        self.put(&[Instruction::I32Const(0), Instruction::I32Const(0)]);
        self.put(&[Instruction::I64Load(counter)]);
        self.put(value);
        self.put(&[Instruction::I64Sub, Instruction::I64Store(counter)]);
    }
}

/// One of the first numbers of eight bytes in a memory, for instructions whose address is zero.
fn number_in(memory_index: u32, number: u32) -> MemArg {
    MemArg { offset: u64::from(number).saturating_mul(8), align: 3, memory_index }
}
