//! Compares the pinned place of the heap's state with the code of `dlmalloc`.
//!
//! The code is not run. It reads and writes the words of the state at addresses that it holds as constants,
//! so the addresses that it uses say where each word of the state is.

use std::collections::BTreeSet;

use wasmparser::{FunctionBody, Operator};

use crate::abi::HeapPlace;
use crate::code::signal_places::bodies;

/// The reason why the pinned place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HeapError {
    /// The bytes are not a module.
    #[error("the module cannot be read")]
    Malformed(#[from] wasmparser::Error),
    /// The function that allocates is missing.
    #[error("the function `dlmalloc` is not in the module")]
    NoFunction,
    /// The code does not use the words of a state at the pinned place.
    #[error("the code of `dlmalloc` has no state at {pinned}, as `wasm/engine.toml` says")]
    Other {
        /// The pinned address.
        pinned: u32,
    },
}

/// The function that allocates.
const ALLOCATES: &str = "dlmalloc";

/// Offsets of words of the state that the function uses: all of its beginning up to the bins, the roots of
/// the trees of large chunks, and the first segment.
const WORDS: [u32; 12] = [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 304, 448];

/// Bytes before the state in which the function uses nothing.
const BEFORE: u32 = 512;

/// Checks that the code of `module` has the state of its heap at the pinned place.
///
/// # Errors
///
/// It has it elsewhere, or has another form of state.
pub(crate) fn ensure_same(module: &[u8], pinned: HeapPlace) -> Result<(), HeapError> {
    let bodies = bodies(module, &[ALLOCATES])?;
    let used = addresses(bodies.get(ALLOCATES).ok_or(HeapError::NoFunction)?)?;
    let HeapPlace { state } = pinned;
    let has_words = WORDS.iter().all(|offset| used.contains(&state.saturating_add(*offset)));
    let is_first = used.range(state.saturating_sub(BEFORE)..state).next().is_none();
    if has_words && is_first { Ok(()) } else { Err(HeapError::Other { pinned: state }) }
}

/// The constant addresses of words that a function reads and writes.
fn addresses(body: &FunctionBody<'_>) -> Result<BTreeSet<u32>, wasmparser::Error> {
    let mut used = BTreeSet::new();
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        let address = match operators.read()? {
            Operator::I32Load { memarg } | Operator::I32Store { memarg } => {
                u32::try_from(memarg.offset).ok()
            }
            _ => None,
        };
        used.extend(address);
    }
    Ok(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(words: &[u32]) -> Vec<u8> {
        let loads = words.iter().map(|at| format!("(drop (i32.load offset={at} (i32.const 0)))"));
        let loads: String = loads.collect();
        wat::parse_str(format!("(module (memory 1) (func) (func $dlmalloc {loads}))")).unwrap()
    }

    #[test]
    fn a_state_is_at_its_place_alone() {
        let words = WORDS.map(|offset| 6_000 + offset);
        let check = |words: &[u32], state| ensure_same(&module(words), HeapPlace { state });
        check(&words, 6_000).unwrap();
        for elsewhere in [0, 5_996, 6_004, 6_300, 5_000] {
            let refused = check(&words, elsewhere).unwrap_err().to_string();
            assert!(refused.contains(&elsewhere.to_string()), "{refused}");
        }
        for left_out in words {
            let fewer: Vec<u32> = words.into_iter().filter(|word| *word != left_out).collect();
            assert!(check(&fewer, 6_000).is_err(), "without the word at {left_out}");
        }
        let with_more = |more| [&words[..], &[more]].concat();
        assert!(check(&with_more(5_900), 6_000).is_err(), "a word before it");
        check(&with_more(2_000), 6_000).unwrap();
    }

    #[test]
    fn a_module_without_the_function_is_refused() {
        let none = wat::parse_str("(module (func))").unwrap();
        let pinned = HeapPlace { state: 8 };
        assert!(matches!(ensure_same(&none, pinned), Err(HeapError::NoFunction)));
        assert!(matches!(ensure_same(b"no module", pinned), Err(HeapError::Malformed(_))));
    }
}
