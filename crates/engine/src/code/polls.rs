//! Polls: the places at which a guest that computes can be stopped.
//!
//! A poll is a load from the *poll page* whose value is not used. The page has addresses that no
//! memory ever grows to, so the guest's own code never uses it. It is readable as long as the guest
//! may continue. To stop the guest, any thread makes the page inaccessible: the next poll faults,
//! which is a trap like every access out of bounds. Garbage collectors stop threads in this way, at
//! safepoints.
//!
//! wasmtime's own mechanism is epochs: two loads, a comparison and a branch at each of these
//! places, and a deadline that every function keeps in a local variable. Epochs took a sixth of the
//! interpreter's time; the cost of polls is within the noise.
//!
//! INVARIANT(polls-everywhere): every cycle in the control flow of a module has a poll. A jump back
//! goes to the head of a loop, and each loop begins with a poll. Recursion needs a function with
//! calls, and each such function begins with a poll. The code between two polls is at most a
//! function without loops and the calls of such functions: microseconds, except for the bulk
//! operations on memory.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wasm_encoder::{CodeSection, Encode as _, Instruction, MemArg, Module, RawSection};
use wasmparser::{FunctionBody, Operator, Parser, Payload};

use crate::code::split_data::SplitError;

/// The place of the poll page in a linear memory.
///
/// The first host page of the last wasm page of the 32-bit address space. The rest of that wasm
/// page stays inaccessible, because C code that overflows its stack writes just below address zero,
/// which wraps to the end.
pub const POLL_PAGE: Range<u32> = 0xffff_0000..0xffff_1000;

/// The way in which guests that compute are stopped.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Interruption {
    /// By [polls](crate::code::polls).
    #[default]
    Polls,
    /// By wasmtime's epochs.
    Epochs,
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Interruption {
    /// The name in messages, settings and keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Polls => "polls",
            Self::Epochs => "epochs",
        }
    }
}

/// Adds polls to every function of `module`, which has one memory.
///
/// # Errors
///
/// The module cannot be read, or a function has more loops than the page has addresses.
pub fn with_polls(module: &[u8]) -> Result<Vec<u8>, SplitError> {
    let mut polled = Module::new();
    let mut bodies = Bodies::default();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::CodeSectionStart { count, .. } => bodies.left = count,
            Payload::CodeSectionEntry(body) => {
                bodies.add(&body)?;
                if bodies.left == 0 {
                    polled.section(&bodies.section);
                }
            }
            payload => {
                if let Some((id, range)) = payload.as_section() {
                    let data = module.get(range).unwrap_or_default();
                    polled.section(&RawSection { id, data });
                }
            }
        }
    }
    Ok(polled.finish())
}

/// The new code section.
#[derive(Default)]
struct Bodies {
    section: CodeSection,
    left: u32,
    /// The places of polls in the present body, from its beginning.
    places: Vec<usize>,
    polled: Vec<u8>,
}

impl Bodies {
    fn add(&mut self, body: &FunctionBody<'_>) -> Result<(), SplitError> {
        self.find_places(body)?;
        self.polled.clear();
        let bytes = body.as_bytes();
        let mut copied = 0;
        // Each poll of a function has its own address. With a shared address, the compiler
        // could reuse the value of an earlier poll and remove the later one.
        let mut addresses = POLL_PAGE;
        for place in &self.places {
            self.polled.extend_from_slice(bytes.get(copied..*place).unwrap_or_default());
            copied = *place;
            let address = addresses.next();
            poll(address.ok_or(SplitError::TOO_MANY_LOOPS)?, &mut self.polled);
        }
        self.polled.extend_from_slice(bytes.get(copied..).unwrap_or_default());
        self.section.raw(&self.polled);
        self.left = self.left.saturating_sub(1);
        Ok(())
    }

    fn find_places(&mut self, body: &FunctionBody<'_>) -> Result<(), SplitError> {
        let start = body.range().start;
        let mut operators = body.get_operators_reader()?;
        let entry = operators.original_position().saturating_sub(start);
        self.places.clear();
        self.places.push(entry);
        let mut calls = false;
        while !operators.eof() {
            match operators.read()? {
                Operator::Loop { .. } => {
                    self.places.push(operators.original_position().saturating_sub(start));
                }
                operator => calls |= is_call(&operator),
            }
        }
        if !calls {
            self.places.remove(0);
        }
        Ok(())
    }
}

/// True for every operator that enters a function. The compiler's configuration refuses some of
/// them; they are listed so that this function does not depend on it.
const fn is_call(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Call { .. }
            | Operator::CallIndirect { .. }
            | Operator::CallRef { .. }
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. }
    )
}

/// Writes a poll.
pub(super) fn poll(address: u32, code: &mut Vec<u8>) {
    Instruction::I32Const(address.cast_signed()).encode(code);
    Instruction::I32Load8U(MemArg { offset: 0, align: 0, memory_index: 0 }).encode(code);
    Instruction::Drop.encode(code);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Loops in loops, without one access to memory; calls without loops; and neither.
    const MODULE: &str = r#"(module
        (memory 1)
        (type $nothing (func))
        (table 2 funcref)
        (func $nested (param i32)
            (loop $outer
                (loop $inner (br_if $inner (local.get 0)))
                (loop $second (br_if $outer (local.get 0)))))
        (func $calls (call $tree) (call_indirect (type $nothing) (i32.const 0)))
        (func $tree (call $calls) (call $calls))
        (func $leaf (param i32) (result i32)
            (block (result i32) (i32.add (local.get 0) (i32.const -65536))))
        (elem (i32.const 0) $calls $tree))"#;

    /// The addresses of the polls of each function; panics at a loop without one.
    fn polls(module: &[u8]) -> Vec<Vec<u32>> {
        let mut found = Vec::new();
        for payload in Parser::new(0).parse_all(module) {
            let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
            let reader = body.get_operators_reader().unwrap();
            let operators: Vec<_> = reader.into_iter().collect::<Result<_, _>>().unwrap();
            let polls: Vec<_> = (0..operators.len())
                .filter_map(|at| {
                    let address = address_of_poll(&operators[at..]);
                    let follows_loop = at > 0 && matches!(operators[at - 1], Operator::Loop { .. });
                    assert!(address.is_some() || !follows_loop, "a loop without a poll");
                    address
                })
                .collect();
            found.push(polls);
        }
        found
    }

    fn address_of_poll(operators: &[Operator<'_>]) -> Option<u32> {
        match operators {
            [Operator::I32Const { value }, Operator::I32Load8U { memarg }, Operator::Drop, ..] => {
                assert_eq!((memarg.offset, memarg.memory), (0, 0));
                Some(value.cast_unsigned())
            }
            _ => None,
        }
    }

    #[test]
    fn polls_everywhere_each_with_an_address_of_its_own() {
        let polled = with_polls(&wat::parse_str(MODULE).unwrap()).unwrap();
        wasmparser::validate(&polled).unwrap();
        let found = polls(&polled);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1, 1, 0]);
        for addresses in found {
            assert!(addresses.iter().all(|address| POLL_PAGE.contains(address)));
            assert_eq!(addresses.iter().collect::<BTreeSet<_>>().len(), addresses.len());
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let original = wat::parse_str(MODULE).unwrap();
        let polled = with_polls(&original).unwrap();
        let sections = |module: &[u8]| {
            let payloads = Parser::new(0).parse_all(module).map(Result::unwrap);
            let kept = payloads.filter_map(|payload| payload.as_section());
            kept.filter(|(id, _)| *id != 10)
                .map(|(id, range)| (id, module[range].to_vec()))
                .collect::<Vec<_>>()
        };
        assert_eq!(sections(&original), sections(&polled));
        let leaf = |module: &[u8]| {
            let bodies = Parser::new(0).parse_all(module).filter_map(|payload| match payload {
                Ok(Payload::CodeSectionEntry(body)) => Some(body.as_bytes().to_vec()),
                _ => None,
            });
            bodies.last().unwrap()
        };
        assert_eq!(leaf(&original), leaf(&polled));
    }

    #[test]
    fn a_function_with_more_loops_than_addresses_is_refused() {
        let loops = |count: usize| {
            let text = format!("(module (memory 1) (func {}))", "(loop)".repeat(count));
            with_polls(&wat::parse_str(text).unwrap())
        };
        assert_eq!(polls(&loops(4096).unwrap())[0].len(), 4096);
        let error = loops(4097).unwrap_err().to_string();
        assert!(error.contains("too many loops"), "{error}");
        assert!(with_polls(b"\0asm").is_err());
    }
}
