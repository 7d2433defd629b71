//! Finite state entropy: tables of states (RFC 8878, section 4.1).

use crate::codecs::zstd::bits::{Backward, Forward};

/// The symbol of a state, and the way to the next state.
#[derive(Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) symbol: u8,
    bits: u8,
    base: u16,
}

/// A table of states.
#[derive(Clone)]
pub(super) struct FseTable {
    cells: Vec<Cell>,
    log: usize,
}

/// Reads a table with at most `1 << most_log` states and `most_symbols` symbols.
pub(super) fn read(data: &[u8], most_log: usize, most_symbols: usize) -> Option<(FseTable, &[u8])> {
    let mut bits = Forward::new(data);
    let log = bits.read(4) + 5;
    if log > most_log {
        return None;
    }
    let mut counts: Vec<i16> = Vec::with_capacity(most_symbols);
    let (mut left, mut threshold, mut width) = ((1_usize << log) + 1, 1_usize << log, log + 1);
    while left > 1 {
        let small = 2 * threshold - 1 - left;
        let low = bits.peek(width - 1);
        let value = if low < small {
            bits.skip(width - 1);
            low
        } else {
            let value = bits.read(width);
            if value >= threshold { value - small } else { value }
        };
        let count = i16::try_from(value).ok()? - 1;
        left = left.checked_sub(usize::from(count.unsigned_abs()))?;
        counts.push(count);
        if count == 0 {
            loop {
                let zeros = bits.read(2);
                counts.extend(std::iter::repeat_n(0, zeros));
                if zeros < 3 || counts.len() > most_symbols {
                    break;
                }
            }
        }
        if counts.len() > most_symbols || left == 0 {
            return None;
        }
        while left < threshold {
            threshold >>= 1;
            width -= 1;
        }
    }
    Some((FseTable::new(&counts, log)?, bits.rest()?))
}

impl FseTable {
    /// The table in which each symbol has the given number of states; -1 stands for one at the end.
    pub(super) fn new(counts: &[i16], log: usize) -> Option<Self> {
        let size = 1_usize << log;
        let mut symbols = vec![0_u8; size];
        let mut end = size;
        for (symbol, count) in counts.iter().enumerate() {
            if *count == -1 {
                end = end.checked_sub(1)?;
                *symbols.get_mut(end)? = u8::try_from(symbol).ok()?;
            }
        }
        let (step, mut at) = ((size >> 1) + (size >> 3) + 3, 0);
        for (symbol, count) in counts.iter().enumerate() {
            for _ in 0..(*count).max(0) {
                *symbols.get_mut(at)? = u8::try_from(symbol).ok()?;
                at = (at + step) & (size - 1);
                while at >= end && end > 0 {
                    at = (at + step) & (size - 1);
                }
            }
        }
        let mut next: Vec<usize> =
            counts.iter().map(|count| usize::from(count.unsigned_abs())).collect();
        let cell = |symbol: u8| {
            let number = next.get_mut(usize::from(symbol))?;
            let bits = log.checked_sub(usize::try_from(number.checked_ilog2()?).ok()?)?;
            let base = (*number << bits).checked_sub(size)?;
            *number += 1;
            Some(Cell { symbol, bits: u8::try_from(bits).ok()?, base: u16::try_from(base).ok()? })
        };
        let cells: Option<Vec<Cell>> = symbols.into_iter().map(cell).collect();
        Some(Self { cells: cells?, log })
    }

    /// The table with one symbol.
    pub(super) fn of(symbol: u8) -> Self {
        Self { cells: vec![Cell { symbol, bits: 0, base: 0 }], log: 0 }
    }

    /// The first state.
    pub(super) fn start(&self, bits: &mut Backward<'_>) -> Option<Cell> {
        self.cells.get(bits.read(self.log)).copied()
    }

    /// The state after this one.
    pub(super) fn after(&self, cell: Cell, bits: &mut Backward<'_>) -> Option<Cell> {
        self.cells.get(usize::from(cell.base) + bits.read(cell.bits.into())).copied()
    }
}
