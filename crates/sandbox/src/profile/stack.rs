//! The stack of Python calls at one moment.

use crate::profile::layout::{MemoryView, PythonLayout};

/// Most frames that are followed. Python itself allows 1,000 unless a program raises that.
pub(crate) const MAX_FOLLOWED: usize = 4_096;

/// Most frames that a stack has: the outermost half of them, and the innermost half.
pub(crate) const MAX_FRAMES: usize = 256;

/// Frames that belong to the interpreter have this owner or a higher one.
const OWNED_BY_INTERPRETER: u8 = 3;

/// The lowest bits of a reference on the stack say how it is counted.
const TAG: u32 = 3;

/// A stack, the innermost call first. Kept from sample to sample, so that it allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct PythonStack {
    /// Addresses of code objects.
    codes: Vec<u32>,
    /// True if the outermost frames were not reached.
    is_endless: bool,
    pub(crate) is_collecting: bool,
}

/// A part of a stack, as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackPart {
    /// A call of this code.
    Call(u32),
    /// Calls that are left out.
    LeftOut,
}

impl PythonStack {
    /// Reads the stack of the one thread; `None` if it cannot be read.
    pub(super) fn read(&mut self, layout: &PythonLayout, memory: MemoryView<'_>) -> Option<()> {
        self.codes.clear();
        self.is_endless = false;
        self.is_collecting = memory.word(layout.collecting)? != 0;
        let mut frame = memory.word(layout.innermost)?;
        for _ in 0..MAX_FOLLOWED {
            if frame == 0 {
                return Some(());
            }
            let member = |offset: u32| frame.checked_add(offset);
            if memory.byte(member(layout.frame.owner)?)? < OWNED_BY_INTERPRETER {
                let code = memory.word(member(layout.frame.executable)?)? & !TAG;
                // A frame that is being left has no code any more.
                if code != 0 {
                    self.codes.push(code);
                }
            }
            frame = memory.word(member(layout.frame.previous)?)?;
        }
        self.is_endless = true;
        Some(())
    }

    /// The stack from the outermost call inwards.
    pub(super) fn parts(&self) -> impl Iterator<Item = StackPart> {
        let depth = self.codes.len();
        let is_shown = move |at: usize| {
            depth <= MAX_FRAMES || at < MAX_FRAMES / 2 || at >= depth.saturating_sub(MAX_FRAMES / 2)
        };
        let inwards = self.codes.iter().rev().enumerate();
        let parts = inwards.filter_map(move |(at, code)| match at {
            _ if is_shown(at) => Some(StackPart::Call(*code)),
            _ if at == MAX_FRAMES / 2 => Some(StackPart::LeftOut),
            _ => None,
        });
        self.is_endless.then_some(StackPart::LeftOut).into_iter().chain(parts)
    }
}
