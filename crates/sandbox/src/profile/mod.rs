//! Profiles a run: at each sample, reads the stack of Python calls from the guest's memory.
//!
//! External profilers of CPython do the same: the interpreter describes its own structures in a table
//! at the start of its state. The guest is not changed and does not notice.
//!
//! INVARIANT(hostile-stacks): whatever is in the memory, a sample ends after a bounded number of
//! steps, reads nothing outside of the memory, and keeps a bounded number of bytes.

mod layout;
mod names;
mod sampler;
mod stack;
#[cfg(test)]
mod testing;
mod tree;

pub(crate) use crate::profile::sampler::Sampler;
