//! What has to be known of each legacy `try` of a function before its first instruction is written.

use wasmparser::{FunctionBody, Operator};

use crate::native::error::SideFault;

/// Deepest nesting of blocks in a function with a legacy `try`.
const MAX_NESTING: usize = 10_000;

/// The legacy `try` instructions of a function.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// In the order of the function.
    pub(crate) all: Vec<Attempt>,
    /// True if an exception is delegated past every `try`, to the caller.
    pub(crate) leaves_function: bool,
}

/// One `try`.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) catches: Vec<CatchClause>,
    /// True if a `try` inside delegates to it past other ones.
    pub(crate) is_delegated_to: bool,
    /// The place to which it delegates past other ones.
    pub(crate) delegates: Option<Receiver>,
}

/// A `catch` or `catch_all`.
#[derive(Debug)]
pub(crate) struct CatchClause {
    /// True for `catch`, which has the exception's values.
    pub(crate) has_tag: bool,
    /// True if a `rethrow` names it.
    pub(crate) is_rethrown: bool,
}

/// Who receives a delegated exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// The `try` with this number.
    Attempt(usize),
    /// The caller.
    Caller,
}

/// An open block.
#[derive(Debug, Clone, Copy)]
enum Open {
    Block,
    /// The body of a `try`.
    Body(usize),
    /// A handler of it.
    Handler(usize),
}

impl Attempts {
    pub(crate) fn read(body: &FunctionBody<'_>) -> Result<Self, SideFault> {
        let mut found = Self::default();
        let mut open = Vec::new();
        let mut is_new = false;
        for operator in body.get_operators_reader()? {
            found.take(&operator?, &mut open, &mut is_new)?;
            if open.len() > MAX_NESTING && !found.all.is_empty() {
                return Err(SideFault::Unsupported("a `try` in too many blocks"));
            }
        }
        if is_new && !found.all.is_empty() {
            return Err(SideFault::Unsupported("a function with `try` and `try_table`"));
        }
        Ok(found)
    }

    fn take(
        &mut self,
        operator: &Operator<'_>,
        open: &mut Vec<Open>,
        is_new: &mut bool,
    ) -> Result<(), SideFault> {
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                open.push(Open::Block);
            }
            Operator::TryTable { .. } => {
                *is_new = true;
                open.push(Open::Block);
            }
            Operator::Try { .. } => {
                open.push(Open::Body(self.all.len()));
                self.all.push(Attempt::default());
            }
            Operator::Catch { .. } => self.begin_handler(open, true)?,
            Operator::CatchAll => self.begin_handler(open, false)?,
            Operator::Rethrow { relative_depth } => {
                let index = position(open, *relative_depth);
                let Some(Open::Handler(attempt)) = index.and_then(|index| open.get(index)) else {
                    return Err(SideFault::Unsupported("a `rethrow` outside its handler"));
                };
                // The handler is the last one that was begun.
                let clause = self.all.get_mut(*attempt).and_then(|all| all.catches.last_mut());
                if let Some(clause) = clause {
                    clause.is_rethrown = true;
                }
            }
            Operator::Delegate { relative_depth } => {
                let Some(Open::Body(attempt)) = open.pop() else {
                    return Err(SideFault::Unsupported("a `delegate` outside a `try`"));
                };
                self.delegate(attempt, open, *relative_depth);
            }
            Operator::End => {
                open.pop();
            }
            _ => {}
        }
        Ok(())
    }

    fn begin_handler(&mut self, open: &mut [Open], has_tag: bool) -> Result<(), SideFault> {
        let outside = SideFault::Unsupported("a `catch` outside a `try`");
        let Some(innermost) = open.last_mut() else { return Err(outside) };
        let (Open::Body(attempt) | Open::Handler(attempt)) = *innermost else {
            return Err(outside);
        };
        *innermost = Open::Handler(attempt);
        if let Some(attempt) = self.all.get_mut(attempt) {
            attempt.catches.push(CatchClause { has_tag, is_rethrown: false });
        }
        Ok(())
    }

    /// An exception is delegated to the first `try` at or around the block that is named. It needs help
    /// only if there is another one in between.
    fn delegate(&mut self, attempt: usize, open: &[Open], depth: u32) {
        let around = |open: &[Open]| {
            let bodies = open.iter().rev().find_map(|block| match block {
                Open::Body(attempt) => Some(*attempt),
                Open::Block | Open::Handler(_) => None,
            });
            bodies.map_or(Receiver::Caller, Receiver::Attempt)
        };
        let named = position(open, depth).map_or(0, |index| index.saturating_add(1));
        let wanted = around(open.get(..named).unwrap_or_default());
        if wanted == around(open) {
            return;
        }
        match wanted {
            Receiver::Caller => self.leaves_function = true,
            Receiver::Attempt(receiver) => {
                if let Some(receiver) = self.all.get_mut(receiver) {
                    receiver.is_delegated_to = true;
                }
            }
        }
        if let Some(attempt) = self.all.get_mut(attempt) {
            attempt.delegates = Some(wanted);
        }
    }
}

/// The index of the block that a branch of this depth names; `None` for the function itself.
fn position(open: &[Open], depth: u32) -> Option<usize> {
    open.len().checked_sub(1)?.checked_sub(usize::try_from(depth).ok()?)
}
