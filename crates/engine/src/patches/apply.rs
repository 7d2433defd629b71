//! Applies all tables to a module.

use crate::patches::error::PatchError;
use crate::patches::layout::Layout;
use crate::patches::linker::Linker;
use crate::patches::table::PatchTable;
use wardian_vocabulary::ids::Digest;

/// The tables, in the order in which they are applied: name below `wasm/patches`, and content.
const TABLES: &[(&str, &str)] = &[
    ("integers.tsv", include_str!("../../../../wasm/patches/integers.tsv")),
    ("positions.tsv", include_str!("../../../../wasm/patches/positions.tsv")),
    ("overflow.tsv", include_str!("../../../../wasm/patches/overflow.tsv")),
    ("depth.tsv", include_str!("../../../../wasm/patches/depth.tsv")),
    ("errors.tsv", include_str!("../../../../wasm/patches/errors.tsv")),
    ("limits.tsv", include_str!("../../../../wasm/patches/limits.tsv")),
    ("casts.tsv", include_str!("../../../../wasm/patches/casts.tsv")),
    ("memory.tsv", include_str!("../../../../wasm/patches/memory.tsv")),
    ("bounds.tsv", include_str!("../../../../wasm/patches/bounds.tsv")),
    ("indices.tsv", include_str!("../../../../wasm/patches/indices.tsv")),
    ("shifts.tsv", include_str!("../../../../wasm/patches/shifts.tsv")),
];

/// All tables that belong to one module.
#[derive(Debug, Clone, Default)]
pub struct Patches {
    pub(super) tables: Vec<PatchTable>,
}

impl Patches {
    /// The tables that are part of this program.
    ///
    /// # Errors
    ///
    /// A table is malformed. A test ensures that no such program is released.
    pub fn embedded() -> Result<Self, PatchError> {
        Self::parse(TABLES)
    }

    /// Reads tables: their names for messages, and their contents.
    ///
    /// # Errors
    ///
    /// A table is malformed.
    pub fn parse(tables: &[(&str, &str)]) -> Result<Self, PatchError> {
        let tables = tables.iter().map(|(name, text)| PatchTable::parse(name, text));
        Ok(Self { tables: tables.collect::<Result<_, _>>()? })
    }

    /// Applies all tables to `module`. The result has the digest `pinned`.
    ///
    /// # Errors
    ///
    /// A table does not fit the module, or the result is not the pinned module.
    pub fn apply(&self, module: &[u8], pinned: Digest) -> Result<Vec<u8>, PatchError> {
        let patched = self.apply_any(module)?;
        let found = Digest::of(&patched);
        if found == pinned { Ok(patched) } else { Err(PatchError::Result { pinned, found }) }
    }

    pub(super) fn apply_any(&self, module: &[u8]) -> Result<Vec<u8>, PatchError> {
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
