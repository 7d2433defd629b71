//! Names of functions, as the guest's memory has them.

use crate::profile::layout::{MemoryView, PythonLayout};
use wardian_formats::job::profile::ProfiledFunction;

/// Longest name of a function, and longest name of a file, in characters. Longer ones are cut.
pub(crate) const MAX_LETTERS: usize = 160;

/// The mark at the end of a cut name.
const MARK: char = '…';

/// A text in the guest's memory, up to [`MAX_LETTERS`] letters of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RawText<'a> {
    /// Bytes of each letter: 1, 2 or 4.
    width: u8,
    bytes: &'a [u8],
    is_cut: bool,
}

impl<'a> RawText<'a> {
    /// The `str` at this address, if it looks like one.
    fn read(layout: &PythonLayout, memory: MemoryView<'a>, at: u32) -> Option<Self> {
        let layout = &layout.text;
        let state = memory.word(at.checked_add(layout.state)?)?;
        let (width, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1);
        let width = u8::try_from(width).ok().filter(|width| matches!(width, 1 | 2 | 4))?;
        if !is_compact {
            return None;
        }
        let length = usize::try_from(memory.word(at.checked_add(layout.length)?)?).ok()?;
        let start = at.checked_add(if is_ascii == 1 { layout.ascii } else { layout.compact })?;
        let letters = length.min(MAX_LETTERS);
        let bytes = memory.bytes(start, letters.checked_mul(usize::from(width))?)?;
        Some(Self { width, bytes, is_cut: length > MAX_LETTERS })
    }

    /// The text, with a replacement for what is not a letter or controls a terminal.
    fn text(self) -> String {
        let letters = self.bytes.chunks(usize::from(self.width).max(1)).map(|letter| {
            let number = letter.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte));
            let letter = char::from_u32(number).filter(|letter| !letter.is_control());
            letter.unwrap_or(char::REPLACEMENT_CHARACTER)
        });
        letters.chain(self.is_cut.then_some(MARK)).collect()
    }
}

/// The names of a code object as they are in the memory: cheap to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawFunction<'a> {
    name: RawText<'a>,
    file: RawText<'a>,
    line: u32,
}

impl<'a> RawFunction<'a> {
    /// The function whose code is at this address.
    pub(super) fn read(layout: &PythonLayout, memory: MemoryView<'a>, code: u32) -> Option<Self> {
        let member = |offset: u32| memory.word(code.checked_add(offset)?);
        let text = |offset: u32| RawText::read(layout, memory, member(offset)?);
        let line = member(layout.code.first_line)?;
        Some(Self {
            name: text(layout.code.qualified_name)?,
            file: text(layout.code.file)?,
            // Code without a line has a negative one.
            line: if i32::try_from(line).is_ok() { line } else { 0 },
        })
    }

    /// The function with its own names.
    pub(crate) fn to_function(self) -> ProfiledFunction {
        let Self { name, file, line } = self;
        ProfiledFunction { name: name.text(), file: file.text(), line }
    }
}

/// The names of a code object that was met before.
#[derive(Debug)]
pub(crate) struct KnownFunction {
    name: (u8, bool, Box<[u8]>),
    file: (u8, bool, Box<[u8]>),
    line: u32,
}

impl KnownFunction {
    pub(super) fn of(raw: &RawFunction<'_>) -> Self {
        let keep = |text: &RawText<'_>| (text.width, text.is_cut, Box::from(text.bytes));
        Self { name: keep(&raw.name), file: keep(&raw.file), line: raw.line }
    }

    /// False if other code is at the address by now.
    pub(super) fn is(&self, raw: &RawFunction<'_>) -> bool {
        let is_same = |(width, is_cut, bytes): &(u8, bool, Box<[u8]>), text: &RawText<'_>| {
            **bytes == *text.bytes && *width == text.width && *is_cut == text.is_cut
        };
        self.line == raw.line && is_same(&self.name, &raw.name) && is_same(&self.file, &raw.file)
    }
}
