//! The section `dylink.0`: how much memory and table a position-independent module needs.

use wasmparser::BinaryReader;

use crate::native::error::SideFault;

/// The number of the subsection with the sizes.
const MEMORY_INFO: u8 = 1;

/// The number of the subsection with the libraries that the module needs.
const NEEDED: u8 = 2;

/// Most memory that a native module may ask for, in bytes.
const MAX_MEMORY: u32 = 64 << 20;

/// Most slots of the table that it may ask for.
const MAX_SLOTS: u32 = 1 << 16;

/// Largest alignment of its memory, as a binary logarithm: that of a page.
const MAX_ALIGNMENT: u32 = 16;

/// The memory and the part of the table that a module needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DylinkSizes {
    /// Bytes of memory.
    pub(crate) memory: u32,
    /// The binary logarithm of their alignment.
    pub(crate) alignment: u32,
    /// Slots of the table.
    pub(crate) slots: u32,
}

impl DylinkSizes {
    /// Reads the content of the section.
    pub(crate) fn read(section: &[u8]) -> Result<Self, SideFault> {
        let mut reader = BinaryReader::new(section, 0);
        let mut found = None;
        while !reader.eof() {
            let (kind, length) = (reader.read_u8()?, reader.read_var_u32()?);
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let mut part = BinaryReader::new(reader.read_bytes(length)?, 0);
            match kind {
                MEMORY_INFO if found.is_none() => found = Some(Self::sizes(&mut part)?),
                MEMORY_INFO => return Err(SideFault::Unsupported("its sizes twice in `dylink.0`")),
                NEEDED if part.read_var_u32()? > 0 => {
                    return Err(SideFault::Unsupported("libraries that it needs in `dylink.0`"));
                }
                // What is exported and imported is in these sections; flags are for dynamic linkers.
                _ => {}
            }
        }
        found.ok_or(SideFault::Unsupported("no sizes in `dylink.0`"))
    }

    fn sizes(part: &mut BinaryReader<'_>) -> Result<Self, SideFault> {
        let (memory, alignment) = (part.read_var_u32()?, part.read_var_u32()?);
        let (slots, _alignment_of_slots) = (part.read_var_u32()?, part.read_var_u32()?);
        if memory > MAX_MEMORY || slots > MAX_SLOTS {
            return Err(SideFault::Unsupported("sizes beyond 64 MiB of memory or 65,536 slots"));
        }
        if alignment > MAX_ALIGNMENT {
            return Err(SideFault::Unsupported("an alignment above that of a page"));
        }
        Ok(Self { memory, alignment, slots })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_bounded() {
        let jiter = [1, 7, 0xbc, 0x85, 2, 3, 0xb5, 1, 0];
        let sizes = DylinkSizes { memory: 33_468, alignment: 3, slots: 181 };
        assert_eq!(DylinkSizes::read(&jiter).unwrap(), sizes);
        let cases: [(&[u8], &str); 6] = [
            (&[], "no sizes"),
            (&[1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0], "twice"),
            (&[1, 8, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0], "64 MiB"),
            (&[1, 4, 0, 17, 0, 0], "above that of a page"),
            (&[2, 1, 1], "libraries"),
            (&[1, 200, 0], "not a valid module"),
        ];
        for (section, expected) in cases {
            let error = DylinkSizes::read(section).unwrap_err().to_string();
            assert!(error.contains(expected), "{section:?}: {error}");
        }
    }
}
