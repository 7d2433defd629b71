//! From the numbers of a native module to those of the merged module.

use wasm_encoder::Instruction;
use wasm_encoder::reencode::{Error, Reencode, utils};
use wasmparser::Operator;

use crate::native::error::SideFault;
use crate::native::side::side_module::SideConstant;

/// What a global of a native module becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SideGlobal {
    /// The engine's stack pointer.
    StackPointer,
    /// A constant in the code: nobody sets it, and an image needs no globals.
    Value(i32),
}

/// The numbers of the merged module, by those of a native module.
#[derive(Debug, Default)]
pub(crate) struct SideNumbers {
    pub(crate) types: Vec<u32>,
    pub(crate) functions: Vec<u32>,
    pub(crate) globals: Vec<SideGlobal>,
    pub(crate) stack_pointer: u32,
    /// Its only tag.
    pub(crate) tag: Option<u32>,
}

impl SideNumbers {
    /// The new number of a function.
    pub(crate) fn function(&self, index: u32) -> Result<u32, SideFault> {
        at(&self.functions, index).ok_or(SideFault::Unsupported("a function that is not there"))
    }

    /// The value of a constant.
    pub(crate) fn constant(&self, constant: SideConstant) -> Result<i32, SideFault> {
        match constant {
            SideConstant::Number(value) => Ok(value),
            SideConstant::Global(index) => self.value(index),
            SideConstant::Sum(index, value) => Ok(self.value(index)?.wrapping_add(value)),
        }
    }

    /// The value of a constant global.
    pub(crate) fn value(&self, index: u32) -> Result<i32, SideFault> {
        match at(&self.globals, index) {
            Some(SideGlobal::Value(value)) => Ok(value),
            _ => Err(SideFault::Unsupported("a constant that is a variable")),
        }
    }
}

fn at<T: Copy>(all: &[T], index: u32) -> Option<T> {
    all.get(usize::try_from(index).ok()?).copied()
}

/// True for instructions that would need what a merged module does not have: passive segments, a table or
/// a memory that grows under the engine.
const fn is_refused(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::MemoryGrow { .. }
            | Operator::MemoryInit { .. }
            | Operator::DataDrop { .. }
            | Operator::TableInit { .. }
            | Operator::ElemDrop { .. }
            | Operator::TableCopy { .. }
            | Operator::TableGet { .. }
            | Operator::TableSet { .. }
            | Operator::TableGrow { .. }
            | Operator::TableFill { .. }
            | Operator::TableSize { .. }
            | Operator::RefFunc { .. }
    )
}

impl Reencode for SideNumbers {
    type Error = SideFault;

    fn type_index(&mut self, index: u32) -> Result<u32, Error<SideFault>> {
        let missing = Error::UserError(SideFault::Unsupported("a type that is not there"));
        at(&self.types, index).ok_or(missing)
    }

    fn function_index(&mut self, index: u32) -> Result<u32, Error<SideFault>> {
        self.function(index).map_err(Error::UserError)
    }

    fn tag_index(&mut self, _index: u32) -> Result<u32, Error<SideFault>> {
        self.tag.ok_or(Error::UserError(SideFault::Unsupported("a tag that is not there")))
    }

    fn instruction<'a>(
        &mut self,
        operator: Operator<'a>,
    ) -> Result<Instruction<'a>, Error<SideFault>> {
        let refused = |what| Err(Error::UserError(SideFault::Unsupported(what)));
        match operator {
            Operator::GlobalGet { global_index } => match at(&self.globals, global_index) {
                Some(SideGlobal::StackPointer) => Ok(Instruction::GlobalGet(self.stack_pointer)),
                Some(SideGlobal::Value(value)) => Ok(Instruction::I32Const(value)),
                None => refused("a global that is not there"),
            },
            Operator::GlobalSet { global_index } => match at(&self.globals, global_index) {
                Some(SideGlobal::StackPointer) => Ok(Instruction::GlobalSet(self.stack_pointer)),
                _ => refused("an instruction that sets a global other than the stack pointer"),
            },
            other if is_refused(&other) => refused(
                "an instruction that changes its table, grows its memory or copies segments",
            ),
            other => utils::instruction(self, other),
        }
    }
}
