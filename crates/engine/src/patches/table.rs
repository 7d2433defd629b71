//! A table of patches, as text.
//!
//! ```text
//! # comment
//! input<TAB>SHA-256 of the module
//! function<TAB>offset<TAB>expected<TAB>new<TAB>reason
//! -<TAB>offset<TAB>expected<TAB>new<TAB>reason           bytes of the data
//! +function<TAB>type<TAB>-<TAB>body<TAB>reason           an appended function
//! ```
//!
//! Bytes are hexadecimal. `{name}` among them stands for the index of that function, padded to five
//! bytes as compilers write the operand of a call.

use crate::patches::error::PatchError;
use wardian_vocabulary::ids::Digest;

/// One table.
#[derive(Debug, Clone)]
pub(super) struct PatchTable {
    pub(super) name: String,
    /// Digest of the module that it was made for.
    pub(super) input: Digest,
    pub(super) changes: Vec<Change>,
    pub(super) added: Vec<Added>,
}

/// Bytes that are replaced by the same number of other bytes.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) line: usize,
    pub(super) place: PatchSite,
    /// Their place in the file.
    pub(super) offset: usize,
    pub(super) expected: Vec<Piece>,
    pub(super) new: Vec<Piece>,
}

/// The place of a change.
#[derive(Debug, Clone)]
pub(super) enum PatchSite {
    /// The body of this function.
    Function(String),
    /// A data segment.
    Data,
}

impl PatchSite {
    pub(super) const fn as_str(&self) -> &str {
        match self {
            Self::Function(name) => name.as_str(),
            Self::Data => "the data",
        }
    }
}

/// A function that a table appends to the module.
#[derive(Debug, Clone)]
pub(super) struct Added {
    pub(super) line: usize,
    pub(super) name: String,
    /// Its type as a text such as `(i32, i32) -> i32`; the module must have this type already.
    pub(super) signature: String,
    /// Local variables and code, without the length before them.
    pub(super) body: Vec<Piece>,
}

/// A part of a sequence of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// The index of this function.
    Function(String),
}

impl PatchTable {
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, PatchError> {
        let mut input = None;
        let (mut changes, mut added) = (Vec::new(), Vec::new());
        for (index, row) in text.lines().enumerate() {
            let line = index.saturating_add(1);
            let malformed = |problem| PatchError::Table { table: name.to_owned(), line, problem };
            if row.is_empty() || row.starts_with('#') {
                continue;
            }
            match Row::read(line, row).map_err(malformed)? {
                Row::Input(digest) => {
                    if input.replace(digest).is_some() {
                        return Err(malformed("a second digest of the input"));
                    }
                }
                Row::Change(change) => changes.push(change),
                Row::Added(function) => added.push(function),
            }
        }
        let problem = "no digest of the input";
        let missing = || PatchError::Table { table: name.to_owned(), line: 0, problem };
        Ok(Self { name: name.to_owned(), input: input.ok_or_else(missing)?, changes, added })
    }

    pub(super) fn refused(&self, line: usize, function: &str, problem: &'static str) -> PatchError {
        let (table, function) = (self.name.clone(), function.to_owned());
        PatchError::Row { table, line, function, problem }
    }
}

/// One line of a table.
enum Row {
    Input(Digest),
    Change(Change),
    Added(Added),
}

impl Row {
    fn read(line: usize, row: &str) -> Result<Self, &'static str> {
        match row.split('\t').collect::<Vec<_>>().as_slice() {
            ["input", digest] => {
                Digest::parse(digest).map(Self::Input).map_err(|_invalid| "not a digest")
            }
            [place, _, _, _, reason] if place.is_empty() || reason.is_empty() => {
                Err("no function or no reason")
            }
            [place, offset, expected, new, _] => {
                let new = pieces(new).ok_or(BAD_BYTES)?;
                match place.strip_prefix('+') {
                    Some(_) if *expected != "-" => Err("a new function has no expected bytes"),
                    Some(function) => {
                        let (name, signature) = (function.to_owned(), (*offset).to_owned());
                        Ok(Self::Added(Added { line, name, signature, body: new }))
                    }
                    None => {
                        let expected = pieces(expected).ok_or(BAD_BYTES)?;
                        let offset = offset_of(offset).ok_or("not an offset")?;
                        let place = match *place {
                            "-" => PatchSite::Data,
                            function => PatchSite::Function(function.to_owned()),
                        };
                        Ok(Self::Change(Change { line, place, offset, expected, new }))
                    }
                }
            }
            _ => Err("not a row of five columns"),
        }
    }
}

const BAD_BYTES: &str = "not a sequence of bytes";

fn offset_of(text: &str) -> Option<usize> {
    usize::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Reads bytes such as `10{name}1a`; there is at least one.
fn pieces(text: &str) -> Option<Vec<Piece>> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (plain, name) = match rest.split_once('{') {
            Some((plain, after)) => {
                let (name, after) = after.split_once('}')?;
                rest = after;
                (plain, Some(name))
            }
            None => (std::mem::take(&mut rest), None),
        };
        if !plain.is_empty() {
            let decoded = data_encoding::HEXLOWER.decode(plain.as_bytes()).ok()?;
            found.push(Piece::Bytes(decoded));
        }
        found.extend(name.map(|name| Piece::Function(name.to_owned())));
    }
    (!found.is_empty()).then_some(found)
}
