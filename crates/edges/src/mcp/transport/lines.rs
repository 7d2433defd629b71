//! Messages on the standard input: one on each line, bounded and charged as it arrives.

use std::io::{self, BufRead};
use std::sync::Arc;

use crate::net::body::READ_FACTOR;
use wardian_vocabulary::budget::{BudgetExhausted, Charge, MemoryBudget};
use wardian_vocabulary::units::ByteCount;

/// A line, charged until it is dropped.
#[derive(Debug)]
pub(crate) struct Line {
    pub bytes: Vec<u8>,
    pub(crate) charge: Charge,
}

/// The reasons why there is no line.
#[derive(Debug, thiserror::Error)]
pub enum LineFault {
    /// The line is too long. It was skipped.
    #[error("a message may have at most {largest}")]
    TooLong {
        /// The most that a line may have.
        largest: ByteCount,
    },
    /// The memory budget has no room for it. It was skipped.
    #[error(transparent)]
    NoRoom(#[from] BudgetExhausted),
    /// The input failed.
    #[error("the input cannot be read")]
    Broken(#[source] io::Error),
}

/// Reads the next line that is not empty; `None` at the end of the input.
///
/// # Errors
///
/// The line is refused, and the next one can be read; or the input failed.
pub(crate) fn next_line(
    input: &mut impl BufRead,
    budget: &Arc<MemoryBudget>,
    largest: ByteCount,
) -> Result<Option<Line>, LineFault> {
    let mut line = Line { bytes: Vec::new(), charge: Charge::none(budget) };
    let mut refused = None;
    loop {
        let part = input.fill_buf().map_err(LineFault::Broken)?;
        if part.is_empty() {
            return match refused {
                Some(fault) => Err(fault),
                None => Ok(Some(line).filter(|line| !line.bytes.trim_ascii().is_empty())),
            };
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let taken = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
        if refused.is_none() {
            refused = line.extend(taken, largest).err();
        }
        if refused.is_some() {
            // Nothing of it is kept.
            line = Line { bytes: Vec::new(), charge: Charge::none(budget) };
        }
        let used = taken.len().saturating_add(usize::from(end.is_some()));
        input.consume(used);
        if end.is_none() {
            continue;
        }
        match refused.take() {
            Some(fault) => return Err(fault),
            None if line.bytes.trim_ascii().is_empty() => line.bytes.clear(),
            None => return Ok(Some(line)),
        }
    }
}

impl Line {
    fn extend(&mut self, part: &[u8], largest: ByteCount) -> Result<(), LineFault> {
        let size = self.bytes.len().saturating_add(part.len());
        if size > largest.as_usize() {
            return Err(LineFault::TooLong { largest });
        }
        self.charge.grow_to(size.saturating_mul(READ_FACTOR))?;
        if self.bytes.capacity() < size {
            let room = size.saturating_mul(2).min(largest.as_usize());
            self.bytes.reserve_exact(room.saturating_sub(self.bytes.len()));
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_are_read_up_to_the_limit_and_not_a_byte_more() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(1));
        let text = format!("{{}}\n\n \r\n{}\n{}\n[1]", "x".repeat(100), "y".repeat(101));
        for buffer in [1, 7, 4_096] {
            let mut input = BufReader::with_capacity(buffer, text.as_bytes());
            let mut next = || next_line(&mut input, &budget, ByteCount::bytes(100));
            assert_eq!(next().unwrap().unwrap().bytes, b"{}");
            assert_eq!(next().unwrap().unwrap().bytes.len(), 100);
            assert!(matches!(next(), Err(LineFault::TooLong { .. })));
            assert_eq!(next().unwrap().unwrap().bytes, b"[1]");
            assert!(next().unwrap().is_none());
        }
        assert_eq!(budget.used(), ByteCount::bytes(0));
    }

    #[test]
    fn a_line_is_charged_before_it_is_kept() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(1));
        let text = format!("{}\nok\n", "x".repeat(1 << 20));
        let mut input = BufReader::new(text.as_bytes());
        let mut next = || next_line(&mut input, &budget, ByteCount::mebibytes(16));
        assert!(matches!(next(), Err(LineFault::NoRoom(_))));
        let line = next().unwrap().unwrap();
        assert_eq!((line.bytes.as_slice(), budget.used().as_usize()), (&b"ok"[..], 8));
    }
}
