//! Compares the pinned places of signals with the code of the interpreter that writes them.
//!
//! The code is not run. Its instructions are followed in their order, with values that are known as far
//! as an address needs it: a constant, a multiple of the first parameter, or a pointer that was read from
//! a constant address. What it stores says where the words are. A value that is anything else is unknown,
//! and a store of it or to it says nothing; so code that was compiled in another way is refused for what
//! is missing, and never understood wrongly.

use std::collections::HashMap;

use wasmparser::{FunctionBody, KnownCustom, Name, NameMap, Operator, Parser, Payload, TypeRef};

use crate::abi::SignalPlaces;

/// The reason why the pinned places cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    /// The bytes are not a module.
    #[error("the module cannot be read")]
    Malformed(#[from] wasmparser::Error),
    /// A function that writes the words is missing.
    #[error("the function `{0}` is not in the module")]
    NoFunction(&'static str),
    /// A function does not write what it should, as far as its code is understood.
    #[error("the code does not say where {0} is")]
    NoStore(&'static str),
    /// The code uses another place than the pinned one.
    #[error("{what} is {found} in the code, and {pinned} in `wasm/engine.toml`")]
    Other {
        /// What was compared.
        what: &'static str,
        /// The pinned number.
        pinned: u32,
        /// The number in the code.
        found: u32,
    },
}

/// The function that notes a signal whose number is its parameter, the one that it may call for that, and
/// the one that lets the main thread look. The compiler may have put the second into the first.
const NOTES: &str = "PyErr_SetInterruptEx";
const TRIPS: &str = "trip_signal";
const LETS_LOOK: &str = "_PyEval_SignalReceived";

/// Checks that the code of `module` writes signals to the pinned places.
///
/// # Errors
///
/// It writes them elsewhere, or cannot be understood.
pub(crate) fn ensure_same(module: &[u8], pinned: SignalPlaces) -> Result<(), SignalError> {
    let bodies = bodies(module, &[NOTES, TRIPS, LETS_LOOK])?;
    let mut stores = Vec::new();
    for (name, is_needed) in [(NOTES, true), (TRIPS, false), (LETS_LOOK, true)] {
        match bodies.get(name) {
            Some(body) => Trace::follow(body, &mut stores)?,
            None if is_needed => return Err(SignalError::NoFunction(name)),
            None => {}
        }
    }
    let found = places_of(&stores, pinned)?;
    let pairs = [
        ("`Handlers[0].tripped`", pinned.handlers, found.handlers),
        ("the size of a handler", pinned.handler_size, found.handler_size),
        ("`is_tripped`", pinned.any_tripped, found.any_tripped),
        ("the main thread's state", pinned.main_thread, found.main_thread),
        ("the offset of `eval_breaker`", pinned.breaker_offset, found.breaker_offset),
        ("the bit of signals", pinned.breaker_bit, found.breaker_bit),
    ];
    match pairs.into_iter().find(|(_, pinned, found)| pinned != found) {
        Some((what, pinned, found)) => Err(SignalError::Other { what, pinned, found }),
        None => Ok(()),
    }
}

/// The bodies of the functions of these names, by name.
pub(super) fn bodies<'a>(
    module: &'a [u8],
    wanted: &[&str],
) -> Result<HashMap<&'a str, FunctionBody<'a>>, wasmparser::Error> {
    let mut imported: usize = 0;
    let mut defined = Vec::new();
    let mut names = HashMap::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    if matches!(import?.ty, TypeRef::Func(_)) {
                        imported = imported.saturating_add(1);
                    }
                }
            }
            Payload::CodeSectionEntry(body) => defined.push(body),
            Payload::CustomSection(custom) => {
                let KnownCustom::Name(parts) = custom.as_known() else { continue };
                for part in parts {
                    if let Name::Function(functions) = part? {
                        note_indices(functions, wanted, &mut names)?;
                    }
                }
            }
            _ => {}
        }
    }
    let body = |index: u32| defined.get(usize::try_from(index).ok()?.checked_sub(imported)?);
    Ok(names.into_iter().filter_map(|(name, index)| Some((name, body(index)?.clone()))).collect())
}

/// Notes where these functions are among all functions.
fn note_indices<'a>(
    functions: NameMap<'a>,
    wanted: &[&str],
    indices: &mut HashMap<&'a str, u32>,
) -> Result<(), wasmparser::Error> {
    for function in functions {
        let function = function?;
        if wanted.contains(&function.name) {
            indices.insert(function.name, function.index);
        }
    }
    Ok(())
}

/// The places that these stores write to. Other words may be set to 1 as well, so the one that is pinned
/// is looked for among them, and any of them is named if it is not there.
fn places_of(stores: &[Store], pinned: SignalPlaces) -> Result<SignalPlaces, SignalError> {
    let one = Value::Number { base: 1, step: 0 };
    let handler = stores.iter().find_map(|store| match store.address {
        Value::Number { base, step } if step != 0 && store.value == one => Some((base, step)),
        _ => None,
    });
    let (handlers, handler_size) = handler.ok_or(SignalError::NoStore("`Handlers[0].tripped`"))?;
    let flags = stores.iter().filter_map(|store| match store.address {
        Value::Number { base, step: 0 } if store.value == one => Some(base),
        _ => None,
    });
    let nearest = flags.min_by_key(|flag| flag.abs_diff(pinned.any_tripped));
    let any_tripped = nearest.ok_or(SignalError::NoStore("`is_tripped`"))?;
    let breaker = stores.iter().find_map(|store| match (store.address, store.value) {
        (Value::Pointer { from, plus }, Value::Member { from: read, plus: at, bits })
            if (from, plus) == (read, at) && bits != 0 =>
        {
            Some((from, plus, bits))
        }
        _ => None,
    });
    let breaker = breaker.ok_or(SignalError::NoStore("`eval_breaker`"))?;
    let (main_thread, breaker_offset, breaker_bit) = breaker;
    Ok(SignalPlaces {
        handlers,
        handler_size,
        any_tripped,
        main_thread,
        breaker_offset,
        breaker_bit,
    })
}

/// What is known of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    /// `base`, and the first parameter `step` times.
    Number {
        base: u32,
        step: u32,
    },
    /// The word at the address `from`, and `plus`.
    Pointer {
        from: u32,
        plus: u32,
    },
    /// The word at the address that such a pointer has, with these bits set.
    Member {
        from: u32,
        plus: u32,
        bits: u32,
    },
    Unknown,
}

impl Value {
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number { base: a, step: s }, Self::Number { base: b, step: t }) => {
                Self::Number { base: a.wrapping_add(b), step: s.wrapping_add(t) }
            }
            (Self::Pointer { from, plus }, Self::Number { base, step: 0 })
            | (Self::Number { base, step: 0 }, Self::Pointer { from, plus }) => {
                Self::Pointer { from, plus: plus.wrapping_add(base) }
            }
            _ => Self::Unknown,
        }
    }

    fn times(self, factor: u32) -> Self {
        match self {
            Self::Number { base, step } => {
                Self::Number { base: base.wrapping_mul(factor), step: step.wrapping_mul(factor) }
            }
            _ => Self::Unknown,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Member { from, plus, bits }, Self::Number { base, step: 0 })
            | (Self::Number { base, step: 0 }, Self::Member { from, plus, bits }) => {
                Self::Member { from, plus, bits: bits | base }
            }
            _ => Self::Unknown,
        }
    }

    /// The word at this address.
    const fn word(self) -> Self {
        match self {
            Self::Number { base, step: 0 } => Self::Pointer { from: base, plus: 0 },
            Self::Pointer { from, plus } => Self::Member { from, plus, bits: 0 },
            _ => Self::Unknown,
        }
    }

    const fn number(self) -> Option<u32> {
        match self {
            Self::Number { base, step: 0 } => Some(base),
            _ => None,
        }
    }
}

/// A word that a function stores.
#[derive(Debug, Clone, Copy)]
struct Store {
    address: Value,
    value: Value,
}

/// What is known while the code of a function is followed.
#[derive(Debug, Default)]
struct Trace {
    locals: HashMap<u32, Value>,
    stack: Vec<Value>,
}

impl Trace {
    fn follow(body: &FunctionBody<'_>, stores: &mut Vec<Store>) -> Result<(), SignalError> {
        let mut trace = Self::default();
        trace.locals.insert(0, Value::Number { base: 0, step: 1 });
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            stores.extend(trace.step(&operators.read()?));
        }
        Ok(())
    }

    /// The value on top; an unknown one below what is known.
    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::Unknown)
    }

    fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    /// Follows one instruction. Returns what it stores as a word of the first memory.
    fn step(&mut self, operator: &Operator<'_>) -> Option<Store> {
        let offset = |offset: u64| match u32::try_from(offset) {
            Ok(base) => Value::Number { base, step: 0 },
            Err(_) => Value::Unknown,
        };
        match operator {
            Operator::I32Const { value } => {
                self.push(Value::Number { base: value.cast_unsigned(), step: 0 });
            }
            Operator::LocalGet { local_index } => {
                self.push(self.locals.get(local_index).copied().unwrap_or(Value::Unknown));
            }
            Operator::LocalSet { local_index } => {
                let value = self.pop();
                self.locals.insert(*local_index, value);
            }
            Operator::LocalTee { local_index } => {
                let value = self.pop();
                self.locals.insert(*local_index, value);
                self.push(value);
            }
            Operator::I32Add => {
                let (right, left) = (self.pop(), self.pop());
                self.push(left.plus(right));
            }
            Operator::I32Or => {
                let (right, left) = (self.pop(), self.pop());
                self.push(left.or(right));
            }
            Operator::I32Shl => {
                let (right, left) = (self.pop(), self.pop());
                let factor = right.number().and_then(|by| 1_u32.checked_shl(by));
                self.push(factor.map_or(Value::Unknown, |factor| left.times(factor)));
            }
            Operator::I32Mul => {
                let (right, left) = (self.pop(), self.pop());
                self.push(match (left.number(), right.number()) {
                    (_, Some(factor)) => left.times(factor),
                    (Some(factor), None) => right.times(factor),
                    (None, None) => Value::Unknown,
                });
            }
            Operator::I32Load { memarg } if memarg.memory == 0 => {
                let address = self.pop().plus(offset(memarg.offset));
                self.push(address.word());
            }
            Operator::I32Store { memarg } if memarg.memory == 0 => {
                let (value, address) = (self.pop(), self.pop());
                return Some(Store { address: address.plus(offset(memarg.offset)), value });
            }
            // Whatever else there is may take and leave any values. Of those in locals, none changes.
            _ => self.stack.clear(),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: SignalPlaces = SignalPlaces {
        handlers: 1_180,
        handler_size: 8,
        any_tripped: 1_708,
        main_thread: 948,
        breaker_offset: 12,
        breaker_bit: 2,
    };

    /// As a compiler writes it.
    const NOTED: &str = "(local i32)
        (if (i32.gt_u (i32.sub (local.get 0) (i32.const 1)) (i32.const 63))
            (then (return (i32.const -1))))
        (local.set 1 (i32.shl (local.get 0) (i32.const 3)))
        (i32.store offset=1100 (i32.const 4) (i32.const 1))
        (i32.store offset=1180 (local.get 1) (i32.const 1))
        (i32.store (i32.const 1708) (i32.const 1))
        (call $_PyEval_SignalReceived)
        (i32.const 0)";

    const LOOKED: &str = "(local i32)
        (i32.store offset=12 (local.tee 0 (i32.load offset=948 (i32.const 0)))
            (i32.or (i32.load offset=12 (local.get 0)) (i32.const 2)))";

    fn check(noted: &str, looked: &str) -> String {
        let text = format!(
            "(module (import \"a\" \"b\" (func)) (memory 1)
                (func $PyErr_SetInterruptEx (param i32) (result i32) {noted})
                (func $_PyEval_SignalReceived {looked}))"
        );
        let module = wat::parse_str(text).unwrap();
        ensure_same(&module, PLACES).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn code_that_writes_to_the_pinned_places_passes() {
        assert_eq!(check(NOTED, LOOKED), "");
        // The same in other words.
        let noted = NOTED
            .replace(
                "(i32.shl (local.get 0) (i32.const 3))",
                "(i32.mul (i32.const 8) (local.get 0))",
            )
            .replace("offset=1180 (local.get 1)", "(i32.add (local.get 1) (i32.const 1180))")
            .replace("(i32.store (i32.const 1708)", "(i32.store offset=1700 (i32.const 8)");
        assert_eq!(check(&noted, LOOKED), "");
    }

    #[test]
    fn code_that_writes_elsewhere_is_refused_with_what_differs() {
        for (old, new, expected) in [
            (
                "offset=1180",
                "offset=1184",
                "`Handlers[0].tripped` is 1184 in the code, and 1180 in `wasm/engine.toml`",
            ),
            ("(i32.const 3))", "(i32.const 4))", "the size of a handler is 16 in the code, and 8"),
            ("(i32.const 1708)", "(i32.const 1712)", "`is_tripped` is 1712 in the code"),
            (
                "(i32.store offset=1180 (local.get 1) (i32.const 1))",
                "",
                "where `Handlers[0].tripped`",
            ),
            (
                "(i32.store offset=1180 (local.get 1) (i32.const 1))",
                "(i32.store offset=1180 (local.get 1) (i32.const 3))",
                "where `Handlers[0].tripped`",
            ),
        ] {
            assert!(NOTED.contains(old));
            let error = check(&NOTED.replace(old, new), LOOKED);
            assert!(error.contains(expected), "{old}: {error}");
        }
        for (old, new, expected) in [
            ("offset=948", "offset=952", "the main thread's state is 952 in the code, and 948"),
            ("offset=12", "offset=16", "the offset of `eval_breaker` is 16 in the code, and 12"),
            ("(i32.const 2)", "(i32.const 4)", "the bit of signals is 4 in the code, and 2"),
            ("i32.or", "i32.xor", "where `eval_breaker` is"),
        ] {
            assert!(LOOKED.contains(old));
            let error = check(NOTED, &LOOKED.replace(old, new));
            assert!(error.contains(expected), "{old}: {error}");
        }
    }

    #[test]
    fn a_module_without_the_functions_is_refused() {
        let module = wat::parse_str("(module (func $PyErr_SetInterruptEx))").unwrap();
        let error = ensure_same(&module, PLACES).unwrap_err();
        assert!(matches!(error, SignalError::NoFunction("_PyEval_SignalReceived")), "{error}");
        assert!(matches!(ensure_same(b"no module", PLACES), Err(SignalError::Malformed(_))));
    }
}
