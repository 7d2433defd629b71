//! The boolean entropy encoder of VP8 (RFC 6386, section 7).

/// Writes bits, each with the probability that it is zero.
pub(super) struct BoolWriter {
    out: Vec<u8>,
    bottom: u32,
    range: u32,
    /// Shifts until the next byte is complete.
    shifts: u32,
}

impl BoolWriter {
    pub(super) const fn new() -> Self {
        Self { out: Vec::new(), bottom: 0, range: 255, shifts: 24 }
    }

    /// Writes a bit that is zero with the given probability, in parts of 256.
    pub(super) fn put(&mut self, bit: bool, probability: u8) {
        let split = 1 + (((self.range - 1) * u32::from(probability)) >> 8);
        if bit {
            self.bottom = self.bottom.wrapping_add(split);
            self.range -= split;
        } else {
            self.range = split;
        }
        while self.range < 128 {
            self.range <<= 1;
            if self.bottom >> 31 != 0 {
                self.carry();
            }
            self.bottom <<= 1;
            self.shifts -= 1;
            if self.shifts == 0 {
                let [byte, ..] = self.bottom.to_be_bytes();
                self.out.push(byte);
                self.bottom &= 0x00ff_ffff;
                self.shifts = 8;
            }
        }
    }

    /// Writes a number of the given bits, the highest first.
    pub(super) fn literal(&mut self, value: u32, bits: u32) {
        for bit in (0..bits).rev() {
            self.put(value >> bit & 1 != 0, 128);
        }
    }

    fn carry(&mut self) {
        for byte in self.out.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.bottom >> (32 - self.shifts) & 1 != 0 {
            self.carry();
        }
        let rest = u64::from(self.bottom) << self.shifts;
        let [.., a, b, c, d] = rest.to_be_bytes();
        self.out.extend([a, b, c, d]);
        self.out
    }
}
