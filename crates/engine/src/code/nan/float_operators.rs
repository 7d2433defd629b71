//! The instructions that calculate with floating-point numbers, by what they do with NaNs.

use wasmparser::Operator;

/// A type of floating-point numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lanes {
    F32,
    F64,
    F32x4,
    F64x2,
}

/// The bits of the canonical NaN of 32 bits.
pub(crate) const CANONICAL_F32: u32 = 0x7fc0_0000;

/// The bits of the canonical NaN of 64 bits.
pub(crate) const CANONICAL_F64: u64 = 0x7ff8_0000_0000_0000;

/// The number of operands, their type and that of the result, of operations that may return a NaN
/// of any form.
pub(crate) const fn arithmetic(operator: &Operator<'_>) -> Option<(u32, Lanes, Lanes)> {
    use Lanes::{F32, F32x4, F64, F64x2};
    Some(match operator {
        Operator::F32Ceil
        | Operator::F32Floor
        | Operator::F32Trunc
        | Operator::F32Nearest
        | Operator::F32Sqrt => (1, F32, F32),
        Operator::F32Add
        | Operator::F32Sub
        | Operator::F32Mul
        | Operator::F32Div
        | Operator::F32Min
        | Operator::F32Max => (2, F32, F32),
        Operator::F64Ceil
        | Operator::F64Floor
        | Operator::F64Trunc
        | Operator::F64Nearest
        | Operator::F64Sqrt => (1, F64, F64),
        Operator::F64Add
        | Operator::F64Sub
        | Operator::F64Mul
        | Operator::F64Div
        | Operator::F64Min
        | Operator::F64Max => (2, F64, F64),
        Operator::F32DemoteF64 => (1, F64, F32),
        Operator::F64PromoteF32 => (1, F32, F64),
        Operator::F32x4Ceil
        | Operator::F32x4Floor
        | Operator::F32x4Trunc
        | Operator::F32x4Nearest
        | Operator::F32x4Sqrt => (1, F32x4, F32x4),
        Operator::F32x4Add
        | Operator::F32x4Sub
        | Operator::F32x4Mul
        | Operator::F32x4Div
        | Operator::F32x4Min
        | Operator::F32x4Max => (2, F32x4, F32x4),
        Operator::F64x2Ceil
        | Operator::F64x2Floor
        | Operator::F64x2Trunc
        | Operator::F64x2Nearest
        | Operator::F64x2Sqrt => (1, F64x2, F64x2),
        Operator::F64x2Add
        | Operator::F64x2Sub
        | Operator::F64x2Mul
        | Operator::F64x2Div
        | Operator::F64x2Min
        | Operator::F64x2Max => (2, F64x2, F64x2),
        Operator::F32x4DemoteF64x2Zero => (1, F64x2, F32x4),
        Operator::F64x2PromoteLowF32x4 => (1, F32x4, F64x2),
        _ => return None,
    })
}

/// The number of operands and their type, of operations for which all NaNs are the same and whose
/// result is none.
pub(crate) const fn comparison(operator: &Operator<'_>) -> Option<(u32, Lanes)> {
    Some(match operator {
        Operator::F32Eq
        | Operator::F32Ne
        | Operator::F32Lt
        | Operator::F32Gt
        | Operator::F32Le
        | Operator::F32Ge => (2, Lanes::F32),
        Operator::F64Eq
        | Operator::F64Ne
        | Operator::F64Lt
        | Operator::F64Gt
        | Operator::F64Le
        | Operator::F64Ge => (2, Lanes::F64),
        Operator::I32TruncF32S
        | Operator::I32TruncF32U
        | Operator::I64TruncF32S
        | Operator::I64TruncF32U
        | Operator::I32TruncSatF32S
        | Operator::I32TruncSatF32U
        | Operator::I64TruncSatF32S
        | Operator::I64TruncSatF32U => (1, Lanes::F32),
        Operator::I32TruncF64S
        | Operator::I32TruncF64U
        | Operator::I64TruncF64S
        | Operator::I64TruncF64U
        | Operator::I32TruncSatF64S
        | Operator::I32TruncSatF64U
        | Operator::I64TruncSatF64S
        | Operator::I64TruncSatF64U => (1, Lanes::F64),
        _ => return None,
    })
}

/// The number of operands, their types and that of the result, of operations whose result consists
/// of operands.
pub(crate) const fn movement(operator: &Operator<'_>) -> Option<(u32, [Lanes; 2], Lanes)> {
    use Lanes::{F32, F32x4, F64, F64x2};
    Some(match operator {
        // A canonical NaN is positive, so it stays what it is.
        Operator::F32Abs => (1, [F32; 2], F32),
        Operator::F64Abs => (1, [F64; 2], F64),
        Operator::F32x4Abs => (1, [F32x4; 2], F32x4),
        Operator::F64x2Abs => (1, [F64x2; 2], F64x2),
        Operator::F32x4PMin | Operator::F32x4PMax => (2, [F32x4; 2], F32x4),
        Operator::F64x2PMin | Operator::F64x2PMax => (2, [F64x2; 2], F64x2),
        Operator::F32x4Splat => (1, [F32; 2], F32x4),
        Operator::F64x2Splat => (1, [F64; 2], F64x2),
        Operator::F32x4ExtractLane { .. } => (1, [F32x4; 2], F32),
        Operator::F64x2ExtractLane { .. } => (1, [F64x2; 2], F64),
        Operator::F32x4ReplaceLane { .. } => (2, [F32x4, F32], F32x4),
        Operator::F64x2ReplaceLane { .. } => (2, [F64x2, F64], F64x2),
        _ => return None,
    })
}

/// True for instructions with one result that is a number or a canonical NaN, whatever its type.
pub(crate) fn is_harmless(operator: &Operator<'_>) -> bool {
    match operator {
        Operator::F32Const { value } => {
            let bits = value.bits();
            bits & 0x7fff_ffff <= 0x7f80_0000 || bits == CANONICAL_F32
        }
        Operator::F64Const { value } => {
            let bits = value.bits();
            bits & (u64::MAX >> 1) <= 0x7ff0_0000_0000_0000 || bits == CANONICAL_F64
        }
        Operator::V128Const { value } => value.i128() == 0,
        _ => matches!(
            operator,
            Operator::F32ConvertI32S
                | Operator::F32ConvertI32U
                | Operator::F32ConvertI64S
                | Operator::F32ConvertI64U
                | Operator::F64ConvertI32S
                | Operator::F64ConvertI32U
                | Operator::F64ConvertI64S
                | Operator::F64ConvertI64U
        ),
    }
}
