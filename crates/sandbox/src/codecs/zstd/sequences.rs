//! Sequences of Zstandard: a number of literals, and the copy that follows (RFC 8878, 3.1.1.3.2).

use crate::codecs::zstd::bits::Backward;
use crate::codecs::zstd::fse::{self, Cell, FseTable};

/// Lengths of literals: the smallest of each code, and the number of extra bits.
#[rustfmt::skip]
const LITERALS: [(usize, u8); 36] = [
    (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0),
    (11, 0), (12, 0), (13, 0), (14, 0), (15, 0), (16, 1), (18, 1), (20, 1), (22, 1), (24, 2),
    (28, 2), (32, 3), (40, 3), (48, 4), (64, 6), (128, 7), (256, 8), (512, 9), (1024, 10),
    (2048, 11), (4096, 12), (8192, 13), (16_384, 14), (32_768, 15), (65_536, 16),
];

/// Lengths of copies from the code 32 on; below it is three more than its code.
#[rustfmt::skip]
const COPIES: [(usize, u8); 21] = [
    (35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3), (67, 4), (83, 4),
    (99, 5), (131, 7), (259, 8), (515, 9), (1027, 10), (2051, 11), (4099, 12), (8195, 13),
    (16_387, 14), (32_771, 15), (65_539, 16),
];

/// The number of states of each code unless a block sets another.
#[rustfmt::skip]
const USUAL_LITERALS: [i16; 36] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
];
#[rustfmt::skip]
const USUAL_COPIES: [i16; 53] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
#[rustfmt::skip]
const USUAL_DISTANCES: [i16; 29] = [
    1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
];

/// One of the three kinds of codes.
struct Kind {
    usual: &'static [i16],
    usual_log: usize,
    most_log: usize,
    most_symbols: usize,
}

const KINDS: [Kind; 3] = [
    Kind { usual: &USUAL_LITERALS, usual_log: 6, most_log: 9, most_symbols: 36 },
    Kind { usual: &USUAL_DISTANCES, usual_log: 5, most_log: 8, most_symbols: 32 },
    Kind { usual: &USUAL_COPIES, usual_log: 6, most_log: 9, most_symbols: 53 },
];

/// Tables and distances that a block inherits from the previous one.
pub(super) struct Tables {
    tables: [Option<FseTable>; 3],
    distances: [usize; 3],
}

impl Tables {
    pub(super) const fn new() -> Self {
        Self { tables: [const { None }; 3], distances: [1, 4, 8] }
    }

    /// The distance that a number stands for: a new one, or one of the last three.
    fn distance(&mut self, number: usize, literals: usize) -> Option<usize> {
        let [one, two, three] = self.distances;
        if let Some(new @ 1..) = number.checked_sub(3) {
            self.distances = [new, one, two];
            return Some(new);
        }
        let found = match number.checked_sub(1)? + usize::from(literals == 0) {
            0 => return Some(one),
            1 => {
                self.distances = [two, one, three];
                return Some(two);
            }
            2 => three,
            _ => one.checked_sub(1).filter(|distance| *distance > 0)?,
        };
        self.distances = [found, one, two];
        Some(found)
    }
}

/// A number of literals, and a copy of earlier output.
pub(super) struct Sequence {
    pub(super) literals: usize,
    pub(super) distance: usize,
    pub(super) count: usize,
}

/// The sequences of a block.
pub(super) struct Sequences<'a> {
    bits: Backward<'a>,
    left: usize,
    states: [Cell; 3],
}

impl<'a> Sequences<'a> {
    /// Reads the tables.
    pub(super) fn new(data: &'a [u8], tables: &mut Tables) -> Option<Self> {
        let (count, rest) = match *data {
            [0, ref rest @ ..] => {
                let none = Self { bits: Backward::empty(), left: 0, states: [Cell::default(); 3] };
                return rest.is_empty().then_some(none);
            }
            [count @ ..=127, ref rest @ ..] => (usize::from(count), rest),
            [high @ ..=254, low, ref rest @ ..] => {
                (usize::from(high - 128) << 8 | usize::from(low), rest)
            }
            [255, low, high, ref rest @ ..] => {
                ((usize::from(high) << 8 | usize::from(low)) + 0x7f00, rest)
            }
            _ => return None,
        };
        let (modes, mut rest) = rest.split_first()?;
        for ((kind, table), shift) in KINDS.iter().zip(&mut tables.tables).zip([6, 4, 2]) {
            match modes >> shift & 3 {
                0 => *table = Some(FseTable::new(kind.usual, kind.usual_log)?),
                1 => {
                    let (symbol, after) = rest.split_first()?;
                    *table = Some(FseTable::of(*symbol));
                    rest = after;
                }
                2 => {
                    let (read, after) = fse::read(rest, kind.most_log, kind.most_symbols)?;
                    *table = Some(read);
                    rest = after;
                }
                _ => {}
            }
        }
        let mut bits = Backward::new(rest)?;
        let mut states = [Cell::default(); 3];
        for (state, table) in states.iter_mut().zip(&tables.tables) {
            *state = table.as_ref()?.start(&mut bits)?;
        }
        Some(Self { bits, left: count, states })
    }

    pub(super) const fn is_done(&self) -> bool {
        self.left == 0
    }

    /// The next sequence, if the data is sound.
    pub(super) fn read(&mut self, tables: &mut Tables) -> Option<Sequence> {
        self.left = self.left.checked_sub(1)?;
        let [literals, distance, copies] = self.states.map(|state| usize::from(state.symbol));
        if distance > 31 {
            return None;
        }
        let number = (1 << distance) + self.bits.read(distance);
        let (least, more) = match copies.checked_sub(32) {
            Some(late) => *COPIES.get(late)?,
            None => (copies + 3, 0),
        };
        let count = least + self.bits.read(more.into());
        let (least, more) = *LITERALS.get(literals)?;
        let literals = least + self.bits.read(more.into());
        if self.left == 0 {
            if !self.bits.is_exact() {
                return None;
            }
        } else {
            // The states follow in another order than the tables.
            for kind in [0, 2, 1] {
                let table = tables.tables.get(kind)?.as_ref()?;
                let state = self.states.get_mut(kind)?;
                *state = table.after(*state, &mut self.bits)?;
            }
        }
        Some(Sequence { literals, distance: tables.distance(number, literals)?, count })
    }
}
