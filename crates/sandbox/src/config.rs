//! The settings of a sandbox: its memory, and the time and randomness of its guests.

use crate::clock_and_random::ClockAndRandomMode;
use crate::memory::Verify;
use wardian_engine::{CStack, HeapPlace, RandomPlace};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::units::ByteCount;

/// The settings of a sandbox: its memory, and the time and randomness of its guests.
#[derive(Debug, Clone, Copy)]
pub struct SandboxConfig {
    /// Private memory that a slot may keep between runs.
    pub keep: ByteCount,
    /// Private memory that the slots of all idle images together may keep.
    pub keep_idle: ByteCount,
    /// The check of memory after each reset.
    pub verify: Verify,
    /// The source of time and randomness.
    pub clock_and_random: ClockAndRandomMode,
    /// The time of day of live runs.
    pub clock: Clock,
    /// The place of the engine's C stack. Between two turns nothing of it is in use, so with it
    /// checkpoints leave out what turns have left there. Of no other use.
    pub c_stack: Option<CStack>,
    /// Where the engine's C library notes its free memory. With it checkpoints leave out what programs have
    /// left there. Of no other use.
    pub heap: Option<HeapPlace>,
    /// Where SQLite notes the state of its random numbers. With it a guest that is to draw other random numbers
    /// draws others from SQLite, too.
    pub sqlite: Option<RandomPlace>,
}

impl Default for SandboxConfig {
    /// Keeps as much memory as drawing a chart touches, and does not verify resets.
    fn default() -> Self {
        Self {
            keep: ByteCount::mebibytes(32),
            keep_idle: ByteCount::mebibytes(32),
            verify: Verify::Never,
            clock_and_random: ClockAndRandomMode::Live,
            clock: Clock::System,
            c_stack: None,
            heap: None,
            sqlite: None,
        }
    }
}
