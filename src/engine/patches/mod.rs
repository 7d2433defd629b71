//! Applies checked patches to the engine's module before its code and data are taken apart.
//!
//! A patch replaces bytes of one function, or of the data, by as many others; a table may also
//! append functions that the new bytes call. The tables lie in `wasm/patches` and are part of the
//! program. Every row names the function, the offset in the file and the bytes that it expects, so
//! a table fits one module only, and everything that does not fit is refused.
//!
//! INVARIANT(exact-patches): the patched module is the pinned one with exactly the listed changes.
//! The digest of the input, the function at each offset, the expected bytes and the digest of the
//! result are checked; two rows never overlap.

mod layout;
mod table;

use std::collections::HashMap;

use crate::engine::patches::layout::{Layout, Sections};
use crate::engine::patches::table::{Added, Change, Piece, Place, Table};
use crate::ids::Digest;

/// The tables, in the order in which they are applied: name below `wasm/patches`, and content.
const TABLES: &[(&str, &str)] = &[
    ("integers.tsv", include_str!("../../../wasm/patches/integers.tsv")),
    ("positions.tsv", include_str!("../../../wasm/patches/positions.tsv")),
    ("overflow.tsv", include_str!("../../../wasm/patches/overflow.tsv")),
    ("depth.tsv", include_str!("../../../wasm/patches/depth.tsv")),
    ("errors.tsv", include_str!("../../../wasm/patches/errors.tsv")),
    ("limits.tsv", include_str!("../../../wasm/patches/limits.tsv")),
    ("casts.tsv", include_str!("../../../wasm/patches/casts.tsv")),
    ("memory.tsv", include_str!("../../../wasm/patches/memory.tsv")),
];

/// Why the engine's module cannot be patched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// A table is malformed.
    #[error("`{table}`, line {line}: {problem}")]
    Table {
        /// Name of the table.
        table: String,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A table was made for another module.
    #[error("`{table}` is for the module with the SHA-256 {expected}, not {found}")]
    OtherModule {
        /// Name of the table.
        table: String,
        /// The module that it was made for.
        expected: Digest,
        /// The module that is there.
        found: Digest,
    },
    /// A row does not fit the module.
    #[error("`{table}`, line {line}: `{function}` {problem}")]
    Row {
        /// Name of the table.
        table: String,
        /// Number of the line, from 1.
        line: usize,
        /// The function that the row names.
        function: String,
        /// What does not fit.
        problem: &'static str,
    },
    /// The module cannot be read.
    #[error("the module cannot be read")]
    Malformed(#[from] wasmparser::Error),
    /// The module is not laid out as the tables need it.
    #[error("the module {0}")]
    Layout(&'static str),
    /// The changes do not add up to the pinned result.
    #[error("the patched module has the SHA-256 {found}, not {pinned}")]
    Result {
        /// The digest that it should have.
        pinned: Digest,
        /// The digest that it has.
        found: Digest,
    },
}

/// All tables that belong to one module.
#[derive(Debug, Clone, Default)]
pub struct Patches {
    tables: Vec<Table>,
}

impl Patches {
    /// The tables that are part of this program.
    ///
    /// # Errors
    ///
    /// A table is malformed. A test sees to it that no such program is released.
    pub fn embedded() -> Result<Self, PatchError> {
        Self::parse(TABLES)
    }

    /// Reads tables: their names for messages, and their contents.
    ///
    /// # Errors
    ///
    /// A table is malformed.
    pub fn parse(tables: &[(&str, &str)]) -> Result<Self, PatchError> {
        let tables = tables.iter().map(|(name, text)| Table::parse(name, text));
        Ok(Self { tables: tables.collect::<Result<_, _>>()? })
    }

    /// Applies all tables to `module`. The result has the digest `pinned`.
    ///
    /// # Errors
    ///
    /// A table does not fit the module, or the result is another one than the pinned.
    pub fn apply(&self, module: &[u8], pinned: Digest) -> Result<Vec<u8>, PatchError> {
        let patched = self.apply_any(module)?;
        let found = Digest::of(&patched);
        if found == pinned { Ok(patched) } else { Err(PatchError::Result { pinned, found }) }
    }

    fn apply_any(&self, module: &[u8]) -> Result<Vec<u8>, PatchError> {
        let found = Digest::of(module);
        for table in &self.tables {
            if table.input != found {
                let (name, expected) = (table.name.clone(), table.input);
                return Err(PatchError::OtherModule { table: name, expected, found });
            }
        }
        let layout = Layout::read(module)?;
        let linker = Linker::new(&layout, &self.tables)?;

        // Check every row against the untouched module.
        let mut edits = Vec::new();
        for table in &self.tables {
            for change in &table.changes {
                edits.push(linker.edit(table, change, module)?);
            }
        }
        edits.sort_unstable_by_key(|edit| edit.offset);
        for pair in edits.windows(2) {
            if let [first, second] = pair
                && first.end() > second.offset
            {
                return Err(second.refused("overlaps another row"));
            }
        }

        // Change the bytes in place.
        let mut patched = module.to_vec();
        for edit in &edits {
            let place = patched.get_mut(edit.offset..edit.end());
            let place = place.ok_or_else(|| edit.refused("lies beyond the end"))?;
            place.copy_from_slice(&edit.bytes);
        }

        // Append the new functions.
        let mut appended = Vec::new();
        for table in &self.tables {
            for added in &table.added {
                appended.push(linker.body(table, added)?);
            }
        }
        if appended.is_empty() {
            return Ok(patched);
        }
        layout.sections.with_functions(&patched, &appended)
    }
}

/// One row, ready to be written.
struct Edit<'a> {
    table: &'a Table,
    change: &'a Change,
    offset: usize,
    bytes: Vec<u8>,
}

impl Edit<'_> {
    const fn end(&self) -> usize {
        self.offset.saturating_add(self.bytes.len())
    }

    fn refused(&self, problem: &'static str) -> PatchError {
        self.table.refused(self.change.line, self.change.place.as_str(), problem)
    }
}

/// Finds functions by their names: those of the module, and those that tables append.
struct Linker<'a> {
    layout: &'a Layout<'a>,
    appended: HashMap<&'a str, u32>,
}

impl<'a> Linker<'a> {
    fn new(layout: &'a Layout<'a>, tables: &'a [Table]) -> Result<Self, PatchError> {
        let mut appended = HashMap::new();
        let mut next = layout.functions;
        for table in tables {
            for added in &table.added {
                let is_new = !layout.by_name.contains_key(added.name.as_str());
                if !is_new || appended.insert(added.name.as_str(), next).is_some() {
                    return Err(table.refused(added.line, &added.name, "is there already"));
                }
                next = next.saturating_add(1);
            }
        }
        Ok(Self { layout, appended })
    }

    fn edit<'t>(
        &self,
        table: &'t Table,
        change: &'t Change,
        module: &[u8],
    ) -> Result<Edit<'t>, PatchError> {
        let refused = |problem| table.refused(change.line, change.place.as_str(), problem);
        let expected = self.bytes(table, change.line, &change.expected)?;
        let bytes = self.bytes(table, change.line, &change.new)?;
        if expected.len() != bytes.len() {
            return Err(refused("would change its length"));
        }
        let range = change.offset..change.offset.saturating_add(bytes.len());
        match &change.place {
            Place::Function(name) => match self.layout.function_at(&range) {
                Some(found) if found == name => {}
                _ => return Err(refused("is not the function at this offset")),
            },
            Place::Data if self.layout.is_data(&range) => {}
            Place::Data => return Err(refused("is not at this offset")),
        }
        if module.get(range) != Some(expected.as_slice()) {
            return Err(refused("has other bytes than expected"));
        }
        if expected == bytes {
            return Err(refused("would not change"));
        }
        Ok(Edit { table, change, offset: change.offset, bytes })
    }

    /// The type index and body of an appended function.
    fn body(&self, table: &Table, added: &Added) -> Result<(u32, Vec<u8>), PatchError> {
        let of_type = self.layout.types.get(added.signature.as_str()).copied();
        let unknown = || table.refused(added.line, &added.name, "has a type that is not there");
        Ok((of_type.ok_or_else(unknown)?, self.bytes(table, added.line, &added.body)?))
    }

    fn bytes(&self, table: &Table, line: usize, pieces: &[Piece]) -> Result<Vec<u8>, PatchError> {
        let mut bytes = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Bytes(plain) => bytes.extend_from_slice(plain),
                Piece::Function(name) => {
                    let index = self.index_of(name).ok_or_else(|| {
                        table.refused(line, name, "is not exactly one function's name")
                    })?;
                    Sections::padded(index, &mut bytes);
                }
            }
        }
        Ok(bytes)
    }

    fn index_of(&self, name: &str) -> Option<u32> {
        self.appended.get(name).or_else(|| self.layout.by_name.get(name)?.as_ref()).copied()
    }
}

#[cfg(test)]
mod tests;
