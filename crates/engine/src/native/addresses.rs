//! The table of addresses: where the engine keeps the data that native modules name.
//!
//! ```text
//! # comment
//! name<TAB>address           data of the engine at this address
//! =name<TAB>value            a variable that nobody changes: modules get a word with this value
//! ```
//!
//! The engine's name section has no data. The table is made in a guest, where `id` of a static object is its
//! address; variables such as `PyExc_ValueError` have an unknown address and a known value.

use std::collections::HashMap;

use crate::native::error::MergeError;

/// Addresses and values of the engine's data, by name.
#[derive(Debug, Clone, Default)]
pub struct DataAddresses {
    by_name: HashMap<String, DataSymbol>,
}

/// What is known of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataSymbol {
    /// The address of the data itself.
    At(u32),
    /// The value of a word that is never changed.
    Word(u32),
}

impl DataAddresses {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// A line is malformed or repeats a name.
    pub fn parse(text: &str) -> Result<Self, MergeError> {
        let mut by_name = HashMap::new();
        for (index, row) in text.lines().enumerate() {
            if row.is_empty() || row.starts_with('#') {
                continue;
            }
            let malformed =
                |problem| MergeError::Addresses { line: index.saturating_add(1), problem };
            let (name, value) = row.split_once('\t').ok_or_else(|| malformed("no tabulator"))?;
            let value = value.parse::<u32>();
            let value = value.map_err(|_invalid| malformed("not a number of 32 bits"))?;
            let (name, symbol) = match name.strip_prefix('=') {
                Some(name) => (name, DataSymbol::Word(value)),
                None => (name, DataSymbol::At(value)),
            };
            if name.is_empty() {
                return Err(malformed("no name"));
            }
            if by_name.insert(name.to_owned(), symbol).is_some() {
                return Err(malformed("a name that is there already"));
            }
        }
        Ok(Self { by_name })
    }

    pub(super) fn get(&self, name: &str) -> Option<DataSymbol> {
        self.by_name.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_addresses_and_words() {
        let table = DataAddresses::parse("# comment\n\nint\t16\n=error\t4294967295\n").unwrap();
        assert_eq!(table.get("int"), Some(DataSymbol::At(16)));
        assert_eq!(table.get("error"), Some(DataSymbol::Word(u32::MAX)));
        assert_eq!(table.get("other"), None);
    }

    #[test]
    fn malformed_lines_are_named() {
        let cases = [
            ("int 16", "line 1: no tabulator"),
            ("int\t16\nint\t17", "line 2: a name that is there already"),
            ("int\t4294967296", "not a number of 32 bits"),
            ("int\t-1", "not a number of 32 bits"),
            ("=\t1", "no name"),
        ];
        for (text, expected) in cases {
            let error = DataAddresses::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
