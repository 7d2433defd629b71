//! The bytes of an answer, charged to the memory budget until the client has taken them.

use std::io;

use axum::body::Bytes;
use serde::Serialize;

use wardian_vocabulary::budget::{BudgetExhausted, Charge};

/// Answers up to this size, in bytes, are not charged: `CONNECTION_MEMORY` counts one for each
/// connection.
pub(crate) const UNCHARGED: usize = 16 << 10;

/// The first capacity of an answer, in bytes: enough for most results of runs.
const FIRST_CAPACITY: usize = 1 << 10;

/// The reason why an answer cannot be written.
#[derive(Debug)]
pub enum AnswerFault {
    /// The budget has no room for it.
    NoRoom,
    /// A value cannot be written as JSON.
    Unwritable(serde_json::Error),
}

/// An answer that is being written.
#[derive(Debug)]
pub struct Answer {
    bytes: Vec<u8>,
    charge: Charge,
    is_exhausted: bool,
}

impl Answer {
    pub(crate) fn charged_to(charge: Charge) -> Self {
        Self { bytes: Vec::with_capacity(FIRST_CAPACITY), charge, is_exhausted: false }
    }

    pub(crate) const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Writes a value as JSON. On an error nothing of the value is written.
    pub(crate) fn write_json(&mut self, value: &impl Serialize) -> Result<(), AnswerFault> {
        let before = self.bytes.len();
        self.is_exhausted = false;
        serde_json::to_writer(&mut *self, value).map_err(|fault| {
            self.bytes.truncate(before);
            if self.is_exhausted { AnswerFault::NoRoom } else { AnswerFault::Unwritable(fault) }
        })
    }

    /// Writes one byte of JSON that stands between values.
    pub(crate) fn push(&mut self, byte: u8) -> Result<(), AnswerFault> {
        self.make_room(1).map_err(|_exhausted| AnswerFault::NoRoom)?;
        self.bytes.push(byte);
        Ok(())
    }

    /// Returns the bytes. The charge is released when the last copy of them is dropped.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }

    /// Charges room for `more` bytes, then reserves it.
    fn make_room(&mut self, more: usize) -> Result<(), BudgetExhausted> {
        let needed = self.bytes.len().saturating_add(more);
        if needed <= self.bytes.capacity() {
            return Ok(());
        }
        let room = needed.max(self.bytes.capacity().saturating_add(self.bytes.capacity() / 2));
        if room > UNCHARGED {
            self.charge.grow_to(room)?;
        }
        self.bytes.reserve_exact(room.saturating_sub(self.bytes.len()));
        Ok(())
    }
}

impl io::Write for Answer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.make_room(bytes.len()).is_err() {
            self.is_exhausted = true;
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::budget::MemoryBudget;
    use wardian_vocabulary::units::ByteCount;

    #[test]
    fn an_answer_is_charged_until_its_bytes_are_gone() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let mut answer = Answer::charged_to(Charge::none(&budget));
        answer.push(b'[').unwrap();
        answer.write_json(&"x".repeat(UNCHARGED / 2)).unwrap();
        assert_eq!(budget.used(), ByteCount::bytes(0), "small answers are free");
        answer.write_json(&"x".repeat(2 << 20)).unwrap();
        let (used, length) = (budget.used(), answer.len());
        assert!((2 << 20..4 << 20).contains(&used.as_usize()), "{used}");
        assert!(matches!(answer.write_json(&"x".repeat(7 << 20)), Err(AnswerFault::NoRoom)));
        assert_eq!(answer.len(), length, "nothing of a value that does not fit is left");
        let bytes = answer.into_bytes();
        let piece = bytes.slice(7..9);
        drop(bytes);
        assert_eq!(budget.used(), used, "a piece keeps the whole");
        drop(piece);
        assert_eq!(budget.used(), ByteCount::bytes(0));
    }
}
