//! Checks rows against the module, and finds the functions that they name.

use std::collections::HashMap;

use crate::patches::error::PatchError;
use crate::patches::layout::{Layout, Sections};
use crate::patches::table::{Added, Change, PatchSite, PatchTable, Piece};

/// One row, ready to be written.
pub(super) struct Edit<'a> {
    table: &'a PatchTable,
    change: &'a Change,
    pub(super) offset: usize,
    pub(super) bytes: Vec<u8>,
}

impl Edit<'_> {
    pub(super) const fn end(&self) -> usize {
        self.offset.saturating_add(self.bytes.len())
    }

    pub(super) fn refused(&self, problem: &'static str) -> PatchError {
        self.table.refused(self.change.line, self.change.place.as_str(), problem)
    }
}

/// Finds functions by their names: those of the module, and those that tables append.
pub(super) struct Linker<'a> {
    layout: &'a Layout<'a>,
    appended: HashMap<&'a str, u32>,
}

impl<'a> Linker<'a> {
    pub(super) fn new(
        layout: &'a Layout<'a>,
        tables: &'a [PatchTable],
    ) -> Result<Self, PatchError> {
        let mut appended = HashMap::new();
        let mut next = layout.functions;
        for table in tables {
            for added in &table.added {
                let is_new = !layout.by_name.contains_key(added.name.as_str());
                if !is_new || appended.insert(added.name.as_str(), next).is_some() {
                    return Err(table.refused(added.line, &added.name, "already exists"));
                }
                next = next.saturating_add(1);
            }
        }
        Ok(Self { layout, appended })
    }

    pub(super) fn edit<'t>(
        &self,
        table: &'t PatchTable,
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
            PatchSite::Function(name) => match self.layout.function_at(&range) {
                Some(found) if found == name => {}
                _ => return Err(refused("is not the function at this offset")),
            },
            PatchSite::Data if self.layout.is_data(&range) => {}
            PatchSite::Data => return Err(refused("is not at this offset")),
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
    pub(super) fn body(
        &self,
        table: &PatchTable,
        added: &Added,
    ) -> Result<(u32, Vec<u8>), PatchError> {
        let of_type = self.layout.types.get(added.signature.as_str()).copied();
        let unknown = || table.refused(added.line, &added.name, "has a type that is not there");
        Ok((of_type.ok_or_else(unknown)?, self.bytes(table, added.line, &added.body)?))
    }

    fn bytes(
        &self,
        table: &PatchTable,
        line: usize,
        pieces: &[Piece],
    ) -> Result<Vec<u8>, PatchError> {
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
