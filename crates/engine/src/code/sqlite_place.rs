//! Compares the pinned place of SQLite's random state with the code that uses it.
//!
//! `sqlite3_randomness` makes the first word of its state 0 if it is called with no bytes to fill, and begins a
//! new state if it finds 0 there. The code is not run: it holds the address of the word as a constant.

use wasmparser::{FunctionBody, Operator};

use crate::abi::RandomPlace;
use crate::code::signal_places::bodies;

/// The reason why the pinned place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RandomPlaceError {
    /// The bytes are not a module.
    #[error("the module cannot be read")]
    Malformed(#[from] wasmparser::Error),
    /// The function that draws random numbers is missing.
    #[error("the function `sqlite3_randomness` is not in the module")]
    NoFunction,
    /// The code does not reset a state at the pinned place.
    #[error(
        "the code of `sqlite3_randomness` has no state at {pinned}, as `wasm/engine.toml` says"
    )]
    Other {
        /// The pinned address.
        pinned: u32,
    },
}

/// The function that draws random numbers.
const DRAWS: &str = "sqlite3_randomness";

/// Checks that the code of `module` has its random state at the pinned place.
///
/// # Errors
///
/// It has it elsewhere, or cannot be understood.
pub(crate) fn ensure_same(module: &[u8], pinned: RandomPlace) -> Result<(), RandomPlaceError> {
    let bodies = bodies(module, &[DRAWS])?;
    let body = bodies.get(DRAWS).ok_or(RandomPlaceError::NoFunction)?;
    let RandomPlace { random_state } = pinned;
    if begins_anew_at(body, random_state)? {
        Ok(())
    } else {
        Err(RandomPlaceError::Other { pinned: random_state })
    }
}

/// True if the first word that the function stores is this one, with 0, and the next one that it reads, too.
fn begins_anew_at(body: &FunctionBody<'_>, address: u32) -> Result<bool, wasmparser::Error> {
    let is_here = |offset: u64| u32::try_from(offset) == Ok(address);
    let (mut zeros, mut is_reset) = (0_usize, false);
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        match operators.read()? {
            Operator::I32Const { value: 0 } => zeros = zeros.saturating_add(1),
            Operator::I32Store { memarg } if !is_reset => {
                if zeros < 2 || !is_here(memarg.offset) {
                    return Ok(false);
                }
                is_reset = true;
            }
            Operator::I32Load { memarg } if is_reset => return Ok(is_here(memarg.offset)),
            _ => zeros = 0,
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, random_state: u32) -> Result<(), RandomPlaceError> {
        let text = format!("(module (memory 1) (func) (func $sqlite3_randomness {body}))");
        ensure_same(&wat::parse_str(text).unwrap(), RandomPlace { random_state })
    }

    const RESET: &str = "(i32.store offset=64 (i32.const 0) (i32.const 0))";
    const READ: &str = "(drop (i32.load offset=64 (i32.const 0)))";

    #[test]
    fn a_state_is_where_it_is_reset_and_read() {
        check(&format!("{RESET}{READ}"), 64).unwrap();
        let before = "(drop (i32.load offset=8 (i32.const 0)))";
        check(&format!("{before}{RESET}{READ}"), 64).unwrap();
        let other = "(i32.store offset=64 (i32.const 0) (i32.const 1))";
        let elsewhere = "(drop (i32.load offset=68 (i32.const 0)))";
        for (body, at) in [
            (format!("{RESET}{READ}"), 68),
            (RESET.to_owned(), 64),
            (READ.to_owned(), 64),
            (format!("{other}{READ}"), 64),
            (format!("{RESET}{elsewhere}"), 64),
            (format!("{elsewhere}{RESET}"), 64),
            (String::new(), 64),
        ] {
            let refused = check(&body, at).unwrap_err();
            assert!(
                matches!(refused, RandomPlaceError::Other { pinned } if pinned == at),
                "{body}"
            );
        }
    }

    #[test]
    fn a_module_without_the_function_is_refused() {
        let none = wat::parse_str("(module (func))").unwrap();
        let pinned = RandomPlace { random_state: 8 };
        assert!(matches!(ensure_same(&none, pinned), Err(RandomPlaceError::NoFunction)));
        assert!(matches!(ensure_same(b"no module", pinned), Err(RandomPlaceError::Malformed(_))));
    }
}
