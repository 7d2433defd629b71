//! Divides a function into regions whose instructions are executed equally often.
//!
//! Structured control flow makes this easy. Code after a block belongs to the region before the
//! block, unless a branch leads from inside the block to a place further out. A branch begins a new
//! region for the code that follows it, and so does an arm of an `if` or the body of a loop.
//!
//! A region has one charge, at its beginning, for all of its instructions. Calls count as
//! instructions that return.

use wasmparser::{Catch, FunctionBody, Operator};

use crate::engine::code::split_data::SplitError;

/// An addition to a function: the place in its body, and the code to be added there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Addition {
    /// The offset from the beginning of the body.
    pub(super) at: usize,
    pub(super) kind: AddedCode,
}

/// The code that an [`Addition`] adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddedCode {
    /// Charges the cost of a region, at its beginning.
    Charge {
        cost: i64,
        counter: Counter,
    },
    /// Charges a bulk operation by its length, which is on top of the stack.
    ChargeLength(Counter),
    /// Copies the counter into the function's local, before a loop that makes no calls.
    EnterLoop,
    CheckEntry,
    CheckLoop(Counter),
}

/// The counter that code reads. Both are written.
///
/// A loop that makes no calls keeps the counter in a local variable as well. So the counter of the
/// next iteration does not wait for a load from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    Global,
    Local,
}

/// Returns the edits of a function in the order of their places.
pub(super) fn edits(body: &FunctionBody<'_>) -> Result<Vec<Addition>, SplitError> {
    let contents = Contents::read(body)?;
    let start = body.range().start;
    let mut operators = body.get_operators_reader()?;
    let mut regions = Regions { calls: contents.loops_with_calls, ..Regions::default() };
    let entry = operators.original_position().saturating_sub(start);
    regions.begin(entry);
    if contents.needs_entry_check {
        regions.add(entry, AddedCode::CheckEntry);
    }
    regions.frames.push(Frame::new(FrameKind::Block, regions.current, Counter::Global));
    while !operators.eof() {
        let from = operators.original_position().saturating_sub(start);
        let operator = operators.read()?;
        let to = operators.original_position().saturating_sub(start);
        regions.take(&operator, from, to)?;
    }
    Ok(regions.edits)
}

/// The facts about a function that decide the edits at its beginning.
struct Contents {
    /// For each loop, in their order: true if it makes calls.
    loops_with_calls: Vec<bool>,
    /// True if the function makes calls or has bulk operations.
    needs_entry_check: bool,
}

impl Contents {
    fn read(body: &FunctionBody<'_>) -> Result<Self, SplitError> {
        let mut contents = Self { loops_with_calls: Vec::new(), needs_entry_check: false };
        // The number of the loop that each open frame is, if it is one.
        let mut open: Vec<Option<usize>> = Vec::new();
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::Loop { .. } => {
                    open.push(Some(contents.loops_with_calls.len()));
                    contents.loops_with_calls.push(false);
                }
                Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                    open.push(None);
                }
                Operator::End => drop(open.pop()),
                operator if is_call(&operator) => {
                    contents.needs_entry_check = true;
                    for number in open.iter().flatten() {
                        let has_calls = contents.loops_with_calls.get_mut(*number);
                        has_calls.into_iter().for_each(|has_calls| *has_calls = true);
                    }
                }
                operator => contents.needs_entry_check |= is_bulk(&operator),
            }
        }
        Ok(contents)
    }
}

const fn is_call(operator: &Operator<'_>) -> bool {
    matches!(operator, Operator::Call { .. } | Operator::CallIndirect { .. })
}

/// True for the operations whose work follows from a length on top of the stack.
pub(super) const fn is_bulk(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::MemoryCopy { .. }
            | Operator::MemoryFill { .. }
            | Operator::MemoryInit { .. }
            | Operator::TableCopy { .. }
            | Operator::TableFill { .. }
            | Operator::TableInit { .. }
    )
}

/// The fuel of one execution of an instruction, without the length of bulk operations.
pub(super) const fn cost(operator: &Operator<'_>) -> i64 {
    match operator {
        Operator::Nop
        | Operator::Drop
        | Operator::Block { .. }
        | Operator::Loop { .. }
        | Operator::TryTable { .. }
        | Operator::Else
        | Operator::End
        | Operator::Return
        | Operator::Unreachable => 0,
        _ => 1,
    }
}

/// The position of a region's charge in the list of edits.
type Region = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    /// A block, or the whole function.
    Block,
    Loop,
    /// An `if` in its first arm, which is its only one so far.
    If,
    /// An `if` in its second arm. Holds the region at the end of the first one.
    Else(Option<Region>),
    /// A block whose calls may lead to handlers further out.
    Try,
}

/// An open block.
struct Frame {
    kind: FrameKind,
    /// The region in which it begins; `None` in code that is never reached.
    before: Option<Region>,
    /// The counter outside of it.
    counter: Counter,
    /// True if a branch from inside leads further out than its end.
    is_left: bool,
    /// True if a branch leads to its label.
    is_target: bool,
}

impl Frame {
    const fn new(kind: FrameKind, before: Option<Region>, counter: Counter) -> Self {
        Self { kind, before, counter, is_left: false, is_target: false }
    }
}

struct Regions {
    edits: Vec<Addition>,
    frames: Vec<Frame>,
    /// The region of the next instruction; `None` in code that is never reached.
    current: Option<Region>,
    counter: Counter,
    calls: Vec<bool>,
    loops: usize,
}

impl Default for Regions {
    fn default() -> Self {
        let (edits, frames, calls) = (Vec::new(), Vec::new(), Vec::new());
        Self { edits, frames, current: None, counter: Counter::Global, calls, loops: 0 }
    }
}

impl Regions {
    fn add(&mut self, at: usize, kind: AddedCode) {
        self.edits.push(Addition { at, kind });
    }

    /// Begins a region.
    fn begin(&mut self, at: usize) {
        self.current = Some(self.edits.len());
        self.add(at, AddedCode::Charge { cost: 0, counter: self.counter });
    }

    /// Takes an instruction that extends in the body from `from` to `to`.
    fn take(&mut self, operator: &Operator<'_>, from: usize, to: usize) -> Result<(), SplitError> {
        self.charge(cost(operator));
        match operator {
            Operator::Block { .. } => self.open(FrameKind::Block),
            Operator::Loop { .. } => self.open_loop(from, to),
            Operator::If { .. } => {
                self.open(FrameKind::If);
                self.begin_if_reached(self.current, to);
            }
            Operator::Else => self.turn_to_else(to),
            Operator::End => self.close(to),
            Operator::TryTable { try_table } => {
                for catch in &try_table.catches {
                    let (Catch::One { label, .. }
                    | Catch::OneRef { label, .. }
                    | Catch::All { label }
                    | Catch::AllRef { label }) = catch;
                    self.branch(*label);
                }
                self.open(FrameKind::Try);
            }
            Operator::Br { relative_depth } => {
                self.branch(*relative_depth);
                self.current = None;
            }
            Operator::BrIf { relative_depth } => {
                self.branch(*relative_depth);
                self.begin_if_reached(self.current, to);
            }
            Operator::BrTable { targets } => {
                for target in targets.targets() {
                    self.branch(target?);
                }
                self.branch(targets.default());
                self.current = None;
            }
            Operator::Return | Operator::Throw { .. } | Operator::ThrowRef => {
                self.leave();
                self.current = None;
            }
            Operator::Unreachable => self.current = None,
            operator if is_bulk(operator) && self.current.is_some() => {
                self.add(from, AddedCode::ChargeLength(self.counter));
            }
            operator if is_unknown_branch(operator) => {
                return Err(SplitError::Unsupported("control flow of an unknown kind"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds to the cost of the current region.
    fn charge(&mut self, more: i64) {
        let edit = self.current.and_then(|region| self.edits.get_mut(region));
        if let Some(Addition { kind: AddedCode::Charge { cost, .. }, .. }) = edit {
            *cost = cost.saturating_add(more);
        }
    }

    fn open(&mut self, kind: FrameKind) {
        self.frames.push(Frame::new(kind, self.current, self.counter));
    }

    fn open_loop(&mut self, from: usize, to: usize) {
        let makes_calls = self.calls.get(self.loops).copied().unwrap_or(true);
        self.loops = self.loops.saturating_add(1);
        self.open(FrameKind::Loop);
        if self.current.is_none() {
            return;
        }
        if self.counter == Counter::Global && !makes_calls {
            self.add(from, AddedCode::EnterLoop);
            self.counter = Counter::Local;
        }
        self.begin(to);
        self.add(to, AddedCode::CheckLoop(self.counter));
    }

    fn begin_if_reached(&mut self, from: Option<Region>, at: usize) {
        match from {
            Some(_) => self.begin(at),
            None => self.current = None,
        }
    }

    fn turn_to_else(&mut self, to: usize) {
        let end_of_first = self.current;
        let before = self.frames.last_mut().and_then(|frame| {
            frame.kind = FrameKind::Else(end_of_first);
            frame.before
        });
        self.begin_if_reached(before, to);
    }

    /// Marks the frames that a branch leaves, and its target.
    fn branch(&mut self, depth: u32) {
        if self.current.is_none() {
            return;
        }
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        for (above, frame) in self.frames.iter_mut().rev().enumerate() {
            if above == depth {
                frame.is_target = true;
                return;
            }
            frame.is_left = true;
        }
    }

    /// Marks all frames as left.
    fn leave(&mut self) {
        if self.current.is_some() {
            self.frames.iter_mut().for_each(|frame| frame.is_left = true);
        }
    }

    /// Finds the region of the code after a frame.
    fn close(&mut self, to: usize) {
        let Some(frame) = self.frames.pop() else { return };
        self.counter = frame.counter;
        let fallen = self.current;
        // The regions whose ends lead here, and true if there are other ways.
        let (ends, has_other_ways) = match frame.kind {
            FrameKind::Block => ([fallen, None], frame.is_target),
            FrameKind::Loop => ([fallen, None], false),
            FrameKind::If => ([fallen, None], frame.is_target || frame.before.is_some()),
            FrameKind::Else(first) => ([first, fallen], frame.is_target),
            FrameKind::Try => ([fallen, None], true),
        };
        self.current = match (ends, has_other_ways) {
            ([None, None], _) if frame.kind == FrameKind::Try && !frame.is_target => None,
            ([None, None], false) => None,
            _ if !frame.is_left && frame.kind != FrameKind::Try => frame.before,
            ([Some(only), None] | [None, Some(only)], false) => Some(only),
            _ => {
                self.begin(to);
                self.current
            }
        };
    }
}

/// True for branches of proposals that the compiler's configuration leaves off.
const fn is_unknown_branch(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Try { .. }
            | Operator::Catch { .. }
            | Operator::CatchAll
            | Operator::Rethrow { .. }
            | Operator::Delegate { .. }
            | Operator::BrOnNull { .. }
            | Operator::BrOnNonNull { .. }
            | Operator::BrOnCast { .. }
            | Operator::BrOnCastFail { .. }
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. }
            | Operator::CallRef { .. }
            | Operator::Resume { .. }
            | Operator::ResumeThrow { .. }
            | Operator::Suspend { .. }
            | Operator::Switch { .. }
    )
}
