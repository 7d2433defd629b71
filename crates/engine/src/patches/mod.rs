//! Applies checked patches to the engine's module before its code and data are taken apart.
//!
//! A patch replaces bytes of one function, or of the data, by the same number of other bytes. A
//! table may also append functions that the new bytes call. The tables are in `wasm/patches` and
//! are built into the program. Every row names the function, the offset in the file and the
//! expected bytes, so a table fits one module only. A row that does not fit is refused.
//!
//! INVARIANT(exact-patches): the patched module is the pinned one with exactly the listed changes.
//! The digest of the input, the function at each offset, the expected bytes and the digest of the
//! result are checked; two rows never overlap.

mod apply;
mod error;
mod layout;
mod linker;
mod table;
#[cfg(test)]
mod tests;

pub use crate::patches::apply::Patches;
pub use crate::patches::error::PatchError;
