//! Guests of the real engine that are parked and resumed, next to guests that are not.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic; that is how it fails"
)]

#[path = "../it/support/cache.rs"]
#[expect(dead_code, reason = "these tests start no commands")]
mod cache;
mod chains;
mod clocks;
mod files;
mod heap;
mod random;
mod states;
mod workshop;
