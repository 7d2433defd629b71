//! The function that prepares all native modules, once, before the interpreter starts.

use wasm_encoder::{Encode as _, Instruction};
use wasmparser::{FuncType, ValType};

use crate::native::engine_module::EngineModule;
use crate::native::error::MergeError;

/// The function that makes a module importable: address of its name, slot of its `PyInit`.
const APPEND: &str = "PyImport_AppendInittab";

/// What is to be called.
#[derive(Debug, Default)]
pub(crate) struct NativePreparation {
    calls: Vec<u32>,
    /// Address of the name and slot of the function of each module.
    modules: Vec<(u32, u32)>,
}

impl NativePreparation {
    /// Its name in the name section.
    pub(crate) const NAME: &str = "wardian_prepare_native";

    /// A function to be called, in the order of these calls.
    pub(crate) fn call(&mut self, function: u32) {
        self.calls.push(function);
    }

    /// A module to be made importable.
    pub(crate) fn offer(&mut self, name: u32, slot: u32) {
        self.modules.push((name, slot));
    }

    /// The engine's function that makes modules importable; it is needed if there are any.
    pub(crate) fn append_function(
        &self,
        engine: &EngineModule<'_>,
    ) -> Result<Option<u32>, MergeError> {
        if self.modules.is_empty() {
            return Ok(None);
        }
        let missing = MergeError::Engine("has no `PyImport_AppendInittab` of the known type");
        let Some(Some(function)) = engine.by_name.get(APPEND) else { return Err(missing) };
        let wanted = FuncType::new([ValType::I32, ValType::I32], [ValType::I32]);
        if engine.type_of(*function) == Some(&wanted) { Ok(Some(*function)) } else { Err(missing) }
    }

    /// The body of the function.
    pub(crate) fn body(&self, append: Option<u32>) -> Vec<u8> {
        let mut body = Vec::new();
        // No locals.
        0_u32.encode(&mut body);
        for function in &self.calls {
            Instruction::Call(*function).encode(&mut body);
        }
        Instruction::I32Const(0).encode(&mut body);
        for ((name, slot), append) in self.modules.iter().zip(std::iter::repeat(append)) {
            let Some(append) = append else { continue };
            Instruction::I32Const(name.cast_signed()).encode(&mut body);
            Instruction::I32Const(slot.cast_signed()).encode(&mut body);
            Instruction::Call(append).encode(&mut body);
            Instruction::I32Or.encode(&mut body);
        }
        Instruction::End.encode(&mut body);
        body
    }
}
