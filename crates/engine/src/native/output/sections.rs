//! Sections that grow: the engine's entries are copied as bytes, the added ones follow.

use wasm_encoder::Encode;
use wasmparser::BinaryReader;

/// Entries for the end of a section, and their number.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    count: u32,
    bytes: Vec<u8>,
}

impl Entries {
    /// Adds the entries of an encoded section.
    pub(crate) fn append(&mut self, section: &impl Encode) -> Result<(), wasmparser::Error> {
        let mut encoded = Vec::new();
        section.encode(&mut encoded);
        let mut reader = BinaryReader::new(&encoded, 0);
        let _length = reader.read_var_u32()?;
        self.append_counted(encoded.get(reader.original_position()..).unwrap_or_default())
    }

    /// Adds entries that follow their number.
    pub(crate) fn append_counted(&mut self, counted: &[u8]) -> Result<(), wasmparser::Error> {
        let mut reader = BinaryReader::new(counted, 0);
        let count = reader.read_var_u32()?;
        self.count = self.count.saturating_add(count);
        self.bytes.extend_from_slice(counted.get(reader.original_position()..).unwrap_or_default());
        Ok(())
    }

    /// Adds one entry.
    pub(crate) fn push(&mut self, entry: &impl Encode) {
        self.count = self.count.saturating_add(1);
        entry.encode(&mut self.bytes);
    }

    /// The content of a section that begins with the number of its entries, with these at its end.
    pub(crate) fn after(&self, section: &[u8]) -> Result<Vec<u8>, wasmparser::Error> {
        let mut reader = BinaryReader::new(section, 0);
        let count = reader.read_var_u32()?;
        let mut grown = Vec::with_capacity(section.len().saturating_add(self.bytes.len() + 5));
        count.saturating_add(self.count).encode(&mut grown);
        grown.extend_from_slice(section.get(reader.original_position()..).unwrap_or_default());
        grown.extend_from_slice(&self.bytes);
        Ok(grown)
    }
}
