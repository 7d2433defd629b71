//! Arguments, environment, clocks and randomness.

use std::fmt;
use std::time::Duration;

use crate::preview1::WasiCall;
use crate::preview1::layout::clockid;
use crate::preview1::memory::Span;
use crate::vfs::{Errno, timestamp};

/// Most random bytes of one call, 1 MiB: beyond it `EINVAL`. The C library requests 256 at a time.
pub(crate) const MAX_RANDOM: u32 = 1 << 20;

/// Fuel for each random byte.
pub(crate) const RANDOM_FUEL: u64 = 16;

/// A text with a zero byte, which would end it early in C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an argument or environment variable contains a zero byte")]
pub(crate) struct NulInText;

/// Texts in the layout of `argv` and `environ` in C: one after the other, each ended by a zero.
#[derive(Clone, Default)]
pub(crate) struct StringTable {
    bytes: Vec<u8>,
    starts: Vec<u32>,
}

impl StringTable {
    /// A table of these texts.
    ///
    /// # Errors
    ///
    /// One contains a zero byte.
    pub(crate) fn new<T: AsRef<[u8]>>(
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Self, NulInText> {
        let mut table = Self::default();
        for text in texts {
            let text = text.as_ref();
            if text.contains(&0) {
                return Err(NulInText);
            }
            table.starts.push(u32::try_from(table.bytes.len()).unwrap_or(u32::MAX));
            table.bytes.extend_from_slice(text);
            table.bytes.push(0);
        }
        Ok(table)
    }
}

/// Prints the number of texts only: they may be secrets.
impl fmt::Debug for StringTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StringTable").field("texts", &self.starts.len()).finish_non_exhaustive()
    }
}

/// The two tables of texts.
#[derive(Clone, Copy)]
pub(crate) enum Texts {
    Arguments,
    Environment,
}

impl WasiCall<'_> {
    pub(crate) fn text_sizes(
        &mut self,
        texts: Texts,
        count_out: u32,
        size_out: u32,
    ) -> Result<(), Errno> {
        let table = match texts {
            Texts::Arguments => &self.process.arguments,
            Texts::Environment => &self.process.environment,
        };
        let (count, size) = (table.starts.len(), table.bytes.len());
        self.memory.put_count(count_out, count)?;
        self.memory.put_count(size_out, size)
    }

    pub(crate) fn texts(&mut self, texts: Texts, pointers: u32, buffer: u32) -> Result<(), Errno> {
        let table = match texts {
            Texts::Arguments => &self.process.arguments,
            Texts::Environment => &self.process.environment,
        };
        let size = u32::try_from(table.bytes.len()).ok().ok_or(Errno::Overflow)?;
        self.memory.bytes_mut(Span::new(buffer, size))?.copy_from_slice(&table.bytes);
        for (index, start) in (0_u32..).zip(&table.starts) {
            let slot = index.checked_mul(4).and_then(|offset| pointers.checked_add(offset));
            let text = buffer.checked_add(*start).ok_or(Errno::Fault)?;
            self.memory.put_u32(slot.ok_or(Errno::Fault)?, text)?;
        }
        Ok(())
    }

    pub(crate) fn clock_res_get(&mut self, clock: u32, out: u32) -> Result<(), Errno> {
        if clock > clockid::THREAD_CPUTIME {
            return Err(Errno::Invalid);
        }
        self.memory.put_u64(out, timestamp(self.process.clock_and_random.resolution()))
    }

    /// A guest is alone on its thread, so its processor time is the time since its start.
    pub(crate) fn clock_time_get(&mut self, clock: u32, out: u32) -> Result<(), Errno> {
        let time: Duration = match clock {
            clockid::REALTIME => self.process.clock_and_random.read_realtime(),
            clockid::MONOTONIC => self.process.clock_and_random.read_monotonic(),
            clockid::PROCESS_CPUTIME | clockid::THREAD_CPUTIME => {
                self.process.clock_and_random.read_elapsed()
            }
            _ => return Err(Errno::Invalid),
        };
        self.memory.put_u64(out, timestamp(time))
    }

    pub(crate) fn random_get(&mut self, into: Span) -> Result<(), Errno> {
        let bytes = self.memory.bytes_mut(into)?;
        if into.len > MAX_RANDOM {
            return Err(Errno::Invalid);
        }
        self.process.clock_and_random.fill(bytes).ok().ok_or(Errno::InputOutput)?;
        self.charge(into.len.into(), RANDOM_FUEL);
        Ok(())
    }
}
