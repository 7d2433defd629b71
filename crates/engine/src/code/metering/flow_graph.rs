//! Divides a function into basic blocks, with the edges between them.
//!
//! A basic block has no branches inside, and no branch leads into it. Calls count as instructions
//! that return.

use std::ops::Range;

use wasmparser::{BlockType, Catch, FunctionBody, Operator};

use crate::code::split_data::SplitError;

/// The position of a basic block in its graph.
pub(crate) type BlockId = usize;

/// The basic blocks of a function. The first one is its entry, and the second one its exit.
#[derive(Debug, Default)]
pub(crate) struct FlowGraph {
    pub(crate) blocks: Vec<BasicBlock>,
    pub(crate) edges: Vec<FlowEdge>,
    /// The offsets of the bulk operations that can be reached.
    pub(crate) bulk: Vec<usize>,
    /// The number of loops.
    loops: usize,
}

/// Instructions that are executed one after the other.
#[derive(Debug, Clone)]
pub(crate) struct BasicBlock {
    /// The offset of the first instruction from the beginning of the body.
    pub(crate) at: usize,
    /// The fuel of all instructions together.
    pub(crate) cost: i64,
    pub(crate) has_calls: bool,
    /// True if it has calls that a check has to come before.
    pub(crate) needs_check: bool,
    /// True if exceptions lead here.
    pub(crate) is_handler: bool,
    /// True if it ends with a `br_table`.
    pub(crate) has_table: bool,
    /// True if it is entered by one, or in another way that can have no code of its own.
    pub(crate) is_entered_blindly: bool,
    /// True if the block is entered in a way that can have no code of its own.
    pub(crate) is_bare: bool,
    /// True if its end traps or throws.
    pub(crate) is_fatal: bool,
    /// The offset of the `loop` that begins here.
    pub(crate) loop_head: Option<usize>,
    /// The loops that it begins in, by their numbers, the innermost one last.
    pub(crate) loops: Vec<usize>,
    /// The outgoing edges.
    pub(crate) next: Vec<usize>,
}

/// An edge from one basic block to another.
#[derive(Debug, Clone)]
pub(crate) struct FlowEdge {
    pub(crate) to: BlockId,
    pub(crate) place: EdgePlace,
}

/// The place for code that is executed on one edge only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EdgePlace {
    /// Before the instruction at this offset.
    Before(usize),
    /// Instead of the `br_if` that extends so far, which leads so many labels out.
    Taken(Range<usize>, u32),
    /// In a new `else` before the `end` at this offset.
    NewElse(usize),
    /// There is none.
    Nowhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    Block,
    Loop,
    /// An `if` without an `else` so far, and the block before it.
    If(Option<BlockId>),
    Try,
}

/// An open block.
#[derive(Debug, Clone, Copy)]
struct Frame {
    kind: FrameKind,
    /// The basic block to which branches to the label lead.
    label: BlockId,
    /// True if branches carry values.
    carries: bool,
    /// True if an edge leads to the label.
    is_target: bool,
}

/// Reads a function from its beginning to its end.
struct Reader<'a> {
    graph: FlowGraph,
    frames: Vec<Frame>,
    /// The block of the next instruction; `None` in code that is never reached.
    current: Option<BlockId>,
    /// Open loops by their numbers.
    open: Vec<usize>,
    /// True for functions whose direct calls a check has to come before.
    needs_check: &'a dyn Fn(u32) -> bool,
}

impl BasicBlock {
    /// True for a loop that begins with a `br_table`, as the one of an interpreter does.
    pub(crate) const fn is_dispatch(&self) -> bool {
        self.loop_head.is_some() && self.has_table && !self.is_entered_blindly
    }
}

impl FlowGraph {
    /// Reads a function. Stretches are in the order of their offsets, but for the end.
    ///
    /// # Errors
    ///
    /// The function has control flow of an unknown kind.
    pub(crate) fn read(
        body: &FunctionBody<'_>,
        needs_check: &dyn Fn(u32) -> bool,
    ) -> Result<Self, SplitError> {
        let start = body.range().start;
        let mut operators = body.get_operators_reader()?;
        let (graph, frames, open) = (Self::default(), Vec::new(), Vec::new());
        let mut reader = Reader { graph, frames, current: None, open, needs_check };
        let entry = reader.block(operators.original_position().saturating_sub(start));
        let end = reader.block(usize::MAX);
        reader.current = Some(entry);
        reader.graph.blocks.iter_mut().for_each(|block| block.is_bare = true);
        let whole = Frame { kind: FrameKind::Block, label: end, carries: true, is_target: true };
        reader.frames.push(whole);
        while !operators.eof() {
            let from = operators.original_position().saturating_sub(start);
            let operator = operators.read()?;
            let to = operators.original_position().saturating_sub(start);
            reader.take(&operator, from..to)?;
        }
        Ok(reader.graph)
    }
}

impl Reader<'_> {
    fn block(&mut self, at: usize) -> BlockId {
        self.graph.blocks.push(BasicBlock {
            at,
            cost: 0,
            has_calls: false,
            needs_check: false,
            is_handler: false,
            has_table: false,
            is_entered_blindly: false,
            is_bare: false,
            is_fatal: false,
            loop_head: None,
            loops: self.open.clone(),
            next: Vec::new(),
        });
        self.graph.blocks.len().saturating_sub(1)
    }

    fn current(&mut self) -> Option<&mut BasicBlock> {
        self.graph.blocks.get_mut(self.current?)
    }

    fn connect(&mut self, from: Option<BlockId>, to: BlockId, place: EdgePlace) {
        let Some(from) = from else { return };
        let number = self.graph.edges.len();
        if place == EdgePlace::Nowhere
            && let Some(target) = self.graph.blocks.get_mut(to)
        {
            target.is_bare = true;
            target.is_entered_blindly = true;
        }
        self.graph.edges.push(FlowEdge { to, place });
        if let Some(block) = self.graph.blocks.get_mut(from) {
            block.next.push(number);
        }
    }

    /// Begins a block that is entered from one other.
    fn go_on(&mut self, from: Option<BlockId>, at: usize) {
        self.current = from.map(|_| self.block(at));
        if let Some(to) = self.current {
            self.connect(from, to, EdgePlace::Before(at));
        }
    }

    /// Takes an instruction at its place in the body.
    fn take(&mut self, operator: &Operator<'_>, place: Range<usize>) -> Result<(), SplitError> {
        let Range { start: from, end: to } = place;
        if let Some(block) = self.current() {
            block.cost = block.cost.saturating_add(cost(operator));
        }
        match operator {
            Operator::Block { blockty } => self.open(FrameKind::Block, *blockty),
            Operator::Loop { blockty } => self.open_loop(*blockty, from..to),
            Operator::If { blockty } => {
                self.open(FrameKind::If(self.current), *blockty);
                self.go_on(self.current, to);
            }
            Operator::Else => self.turn_to_else(from, to),
            Operator::End => self.close(from, to),
            Operator::TryTable { try_table } => {
                self.catch(&try_table.catches);
                self.open(FrameKind::Try, try_table.ty);
            }
            Operator::Br { relative_depth } => {
                self.branch(*relative_depth, EdgePlace::Before(from));
                self.current = None;
            }
            Operator::BrIf { relative_depth } => {
                let carries = self.frame(*relative_depth).is_none_or(|frame| frame.carries);
                let taken = EdgePlace::Taken(from..to, *relative_depth);
                self.branch(*relative_depth, if carries { EdgePlace::Nowhere } else { taken });
                self.go_on(self.current, to);
            }
            Operator::BrTable { targets } => {
                for target in targets.targets() {
                    self.branch(target?, EdgePlace::Nowhere);
                }
                self.branch(targets.default(), EdgePlace::Nowhere);
                self.current().into_iter().for_each(|block| block.has_table = true);
                self.current = None;
            }
            Operator::Return => {
                let outermost = u32::try_from(self.frames.len()).unwrap_or(u32::MAX);
                self.branch(outermost.saturating_sub(1), EdgePlace::Before(from));
                self.current = None;
            }
            Operator::Throw { .. } | Operator::ThrowRef | Operator::Unreachable => {
                self.current().into_iter().for_each(|block| block.is_fatal = true);
                self.current = None;
            }
            operator if is_unknown_branch(operator) => {
                return Err(SplitError::Unsupported("control flow of an unknown kind"));
            }
            operator => self.calculate(operator, from),
        }
        Ok(())
    }

    fn calculate(&mut self, operator: &Operator<'_>, at: usize) {
        let needs_check = match operator {
            Operator::Call { function_index } => (self.needs_check)(*function_index),
            operator => is_call(operator),
        };
        if let Some(block) = self.current() {
            block.has_calls |= is_call(operator);
            block.needs_check |= needs_check;
        }
        if is_bulk(operator) && self.current.is_some() {
            self.graph.bulk.push(at);
        }
    }

    fn open(&mut self, kind: FrameKind, of: BlockType) {
        // The place of the label is known when the block ends.
        let label = self.block(usize::MAX);
        let carries = of != BlockType::Empty;
        self.frames.push(Frame { kind, label, carries, is_target: false });
    }

    fn open_loop(&mut self, of: BlockType, place: Range<usize>) {
        let number = self.graph.loops;
        self.graph.loops = number.saturating_add(1);
        self.open.push(number);
        let label = self.block(place.end);
        self.open.pop();
        self.connect(self.current, label, EdgePlace::Before(place.start));
        self.open.push(number);
        if let Some(head) = self.graph.blocks.get_mut(label).filter(|_| self.current.is_some()) {
            head.loop_head = Some(place.start);
            head.is_bare = true;
        }
        self.current = self.current.map(|_| label);
        // A block without parameters and with a result takes nothing where it repeats.
        let carries = matches!(of, BlockType::FuncType(_));
        self.frames.push(Frame { kind: FrameKind::Loop, label, carries, is_target: false });
    }

    fn turn_to_else(&mut self, from: usize, to: usize) {
        let end_of_first = self.current;
        let Some(frame) = self.frames.last_mut() else { return };
        let label = frame.label;
        let FrameKind::If(before) = std::mem::replace(&mut frame.kind, FrameKind::Block) else {
            return;
        };
        frame.is_target |= end_of_first.is_some();
        self.connect(end_of_first, label, EdgePlace::Before(from));
        self.go_on(before, to);
    }

    fn frame(&mut self, depth: u32) -> Option<&mut Frame> {
        self.frames.iter_mut().rev().nth(usize::try_from(depth).ok()?)
    }

    fn branch(&mut self, depth: u32, place: EdgePlace) {
        let Some(current) = self.current else { return };
        let Some(frame) = self.frame(depth) else { return };
        frame.is_target = true;
        let label = frame.label;
        self.connect(Some(current), label, place);
    }

    /// Takes the edges from a `try_table` to its handlers, which begin in its calls.
    fn catch(&mut self, catches: &[Catch]) {
        if self.current.is_none() {
            return;
        }
        for catch in catches {
            let (Catch::One { label, .. }
            | Catch::OneRef { label, .. }
            | Catch::All { label }
            | Catch::AllRef { label }) = catch;
            let Some(frame) = self.frame(*label) else { continue };
            frame.is_target = true;
            let to = frame.label;
            if let Some(handler) = self.graph.blocks.get_mut(to) {
                handler.is_bare = true;
                handler.is_handler = true;
                handler.is_entered_blindly = true;
            }
        }
    }

    /// Continues after a block.
    fn close(&mut self, from: usize, to: usize) {
        let Some(Frame { kind, label, is_target, .. }) = self.frames.pop() else { return };
        if kind == FrameKind::Loop {
            self.open.pop();
            return;
        }
        let before = if let FrameKind::If(before) = kind { before } else { None };
        // Nothing else leads here. But a call that throws leaves what it has in the `try_table`.
        if !is_target && before.is_none() && kind != FrameKind::Try {
            return;
        }
        if self.current.is_none() && !is_target && before.is_none() {
            return;
        }
        self.connect(self.current, label, EdgePlace::Before(from));
        self.connect(before, label, EdgePlace::NewElse(from));
        if let Some(block) = self.graph.blocks.get_mut(label) {
            block.at = to;
            block.is_bare |= kind == FrameKind::Try;
        }
        self.current = Some(label);
    }
}

const fn is_call(operator: &Operator<'_>) -> bool {
    matches!(operator, Operator::Call { .. } | Operator::CallIndirect { .. })
}

/// True for the operations whose work follows from a length on top of the stack.
pub(crate) const fn is_bulk(operator: &Operator<'_>) -> bool {
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
pub(crate) const fn cost(operator: &Operator<'_>) -> i64 {
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
