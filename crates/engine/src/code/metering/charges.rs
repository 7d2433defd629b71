//! Decides where a function charges its instructions, and how much at a time.
//!
//! Charges run ahead of the instructions: at each point of a function some of those that follow are
//! *paid*. An edge between two blocks charges the difference between what its target needs and what
//! its source has left over, or refunds the excess. So a charge is needed only on edges that the
//! plan does not expect: each block pays for the most likely edge until a loop repeats or the
//! function ends.
//!
//! INVARIANT(paid-ahead): an instruction is paid before it is executed. On each way through a
//! function the sum of all charges is the cost of its instructions.
//!
//! INVARIANT(never-too-much): a check ends a run only if the rest of the run needs more fuel than
//! there is. A call is made with no more paid than the function uses afterwards, on whichever way.
//!
//! INVARIANT(charged-everywhere): every cycle in the control flow of a module has a charge, because
//! it has instructions that cost something and are paid in each repetition. So has every recursion.

use crate::code::metering::flow_graph::{BasicBlock, BlockId, EdgePlace, FlowEdge, FlowGraph};
use crate::code::nan::float_operators::Lanes;

/// An addition to a function: the place in its body, and the code to be added there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addition {
    /// The offset from the beginning of the body.
    pub(crate) at: usize,
    pub(crate) kind: AddedCode,
}

/// The code that an [`Addition`] adds. Of several at one place, the first variant comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddedCode {
    /// Makes each NaN on top of the stack canonical.
    Canonical(Lanes),
    /// Charges so many units; gives back if they are negative.
    Charge { cost: i64 },
    /// Looks at the mark, and tells the host if it is passed. Comes after the charge, whose result it
    /// compares, so that the counter is not loaded again.
    CheckMark,
    /// Charges a bulk operation by its length, which is on top of the stack.
    ChargeLength,
    /// Stands for a `br_if` that ends at the offset `until`, and charges if it branches.
    ChargeTaken { cost: i64, depth: u32, until: usize },
    /// Charges in an `else` of its own.
    ChargeElse { cost: i64 },
}

impl AddedCode {
    const fn rank(self) -> u8 {
        match self {
            Self::Canonical(_) => 0,
            Self::Charge { .. } => 1,
            Self::CheckMark => 2,
            Self::ChargeLength => 3,
            Self::ChargeTaken { .. } => 4,
            Self::ChargeElse { .. } => 5,
        }
    }
}

/// Puts additions into the order in which they are written, and makes one of charges at one place.
pub(crate) fn in_order(additions: &mut Vec<Addition>) {
    additions.sort_by_key(|addition| (addition.at, addition.kind.rank()));
    additions.dedup_by(|next, kept| match (next.kind, &mut kept.kind) {
        (AddedCode::Charge { cost: more }, AddedCode::Charge { cost }) if next.at == kept.at => {
            *cost = cost.saturating_add(more);
            true
        }
        _ => false,
    });
}

/// Returns the additions that charge a function and check its counter.
pub(crate) fn additions(graph: &FlowGraph) -> Vec<Addition> {
    let mut plan = Plan::new(graph);
    plan.find_least();
    plan.find_paid();
    plan.additions()
}

/// For each block the number of loops to whose beginning it leads back. What a loop has before
/// its `end`, but after the branch that repeats it, is not repeated.
fn depths(graph: &FlowGraph) -> Vec<i64> {
    let mut before = vec![Vec::new(); graph.blocks.len()];
    for (id, block) in graph.blocks.iter().enumerate() {
        for edge in block.next.iter().filter_map(|edge| graph.edges.get(*edge)) {
            before.get_mut(edge.to).into_iter().for_each(|of: &mut Vec<_>| of.push(id));
        }
    }
    let mut depths = vec![0; graph.blocks.len()];
    let mut last = vec![None; graph.blocks.len()];
    for (head, block) in graph.blocks.iter().enumerate() {
        let Some(number) = block.loops.last().filter(|_| block.loop_head.is_some()) else {
            continue;
        };
        let mut found = vec![head];
        while let Some(id) = found.pop() {
            for from in before.get(id).into_iter().flatten() {
                let is_inside = graph.blocks.get(*from).is_some_and(|from| {
                    from.loops.get(block.loops.len().saturating_sub(1)) == Some(number)
                });
                let is_new = last.get(*from).is_some_and(|last| *last != Some(number));
                if is_inside && is_new {
                    last.get_mut(*from).into_iter().for_each(|last| *last = Some(number));
                    depths.get_mut(*from).into_iter().for_each(|depth| *depth += 1);
                    found.push(*from);
                }
            }
        }
    }
    depths
}

/// More than any function costs.
const ENDLESS: i64 = i64::MAX >> 2;

struct Plan<'a> {
    graph: &'a FlowGraph,
    /// The blocks, the last one of the function first.
    backwards: Vec<BlockId>,
    /// The least cost from the beginning of each block to the end of the function.
    least: Vec<i64>,
    /// The instructions that are paid at the beginning of each block, its own included.
    paid: Vec<i64>,
    /// True for the blocks that always end in a trap or an exception.
    is_fatal: Vec<bool>,
    /// How many loops repeat each block.
    depths: Vec<i64>,
}

impl<'a> Plan<'a> {
    fn new(graph: &'a FlowGraph) -> Self {
        let count = graph.blocks.len();
        let mut backwards: Vec<_> = (0..count).collect();
        backwards.sort_by_key(|id| std::cmp::Reverse(graph.blocks.get(*id).map(|of| of.at)));
        Self {
            graph,
            backwards,
            least: vec![ENDLESS; count],
            paid: vec![0; count],
            is_fatal: vec![false; count],
            depths: depths(graph),
        }
    }

    fn edges<'b>(&'b self, block: &'b BasicBlock) -> impl Iterator<Item = &'b FlowEdge> {
        block.next.iter().filter_map(|edge| self.graph.edges.get(*edge))
    }

    fn least(&self, block: BlockId) -> i64 {
        self.least.get(block).copied().unwrap_or(0)
    }

    fn is_fatal(&self, block: BlockId) -> bool {
        self.is_fatal.get(block).copied().unwrap_or(false)
    }

    /// The least cost of all that follows a block.
    fn least_after(&self, block: &BasicBlock) -> i64 {
        self.edges(block).map(|edge| self.least(edge.to)).min().unwrap_or(0)
    }

    fn find_least(&mut self) {
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for index in 0..self.backwards.len() {
                let Some(id) = self.backwards.get(index).copied() else { continue };
                let Some(block) = self.graph.blocks.get(id) else { continue };
                let least = block.cost.saturating_add(self.least_after(block)).min(ENDLESS);
                let fatal = block.is_fatal
                    || !block.next.is_empty()
                        && self.edges(block).all(|edge| self.is_fatal(edge.to));
                if let (Some(old), Some(was_fatal)) =
                    (self.least.get_mut(id), self.is_fatal.get_mut(id))
                {
                    has_changed |= *old != least || *was_fatal != fatal;
                    (*old, *was_fatal) = (least, fatal);
                }
            }
        }
    }

    fn find_paid(&mut self) {
        for index in 0..self.backwards.len() {
            let Some(id) = self.backwards.get(index).copied() else { continue };
            let Some(block) = self.graph.blocks.get(id) else { continue };
            let paid = block.cost.saturating_add(self.left_over(block));
            self.paid.get_mut(id).into_iter().for_each(|old| *old = paid);
        }
    }

    /// The instructions that have to be paid where an edge arrives.
    fn needed(&self, edge: &FlowEdge) -> i64 {
        match self.graph.blocks.get(edge.to) {
            // It pays for nothing else, and all that repeats it charges something anyway.
            Some(block) if block.is_dispatch() => block.cost,
            Some(block) if block.is_bare => 0,
            _ => self.paid.get(edge.to).copied().unwrap_or(0),
        }
    }

    /// The instructions that are paid at the end of a block.
    fn left_over(&self, block: &BasicBlock) -> i64 {
        if self.edges(block).any(|edge| edge.place == EdgePlace::Nowhere) {
            return 0;
        }
        let most =
            if block.has_calls || block.needs_check { self.least_after(block) } else { ENDLESS };
        let fits = self.edges(block).filter(|edge| self.needed(edge) <= most);
        let likely = fits.max_by_key(|edge| self.likelihood(block, edge));
        likely.map_or(0, |edge| self.needed(edge))
    }

    /// Compares the outgoing edges of a block. The most likely one has the largest number.
    fn likelihood(&self, from: &BasicBlock, edge: &FlowEdge) -> i64 {
        if self.is_fatal(edge.to) {
            return i64::MIN;
        }
        let others = || self.edges(from).filter(|other| other.to != edge.to);
        let depth = self.depths.get(edge.to).copied().unwrap_or(0);
        // Code that is left out because it is seldom needed, if it makes calls.
        let skips = others().any(|other| {
            self.graph.blocks.get(other.to).is_some_and(|left_out| {
                left_out.has_calls && self.edges(left_out).all(|next| next.to == edge.to)
            })
        });
        let ends = self.ends_soon(edge.to);
        let falls = !matches!(edge.place, EdgePlace::Taken(..) | EdgePlace::NewElse(_));
        depth * 16 + i64::from(skips) * 8 - i64::from(ends) * 4 + i64::from(falls)
    }

    /// True if a block leads to the end of the function without a choice.
    fn ends_soon(&self, mut id: BlockId) -> bool {
        for _ in 0..8 {
            let Some(block) = self.graph.blocks.get(id) else { return false };
            if block.at == usize::MAX {
                return true;
            }
            match block.next.as_slice() {
                [] => return true,
                [only] => match self.graph.edges.get(*only) {
                    Some(edge) => id = edge.to,
                    None => return false,
                },
                _ => return false,
            }
        }
        false
    }

    /// The blocks that need a check and are reached without one from the entry of the function, or
    /// from the start of an iteration of an interpreter loop.
    ///
    /// Such a loop runs for as long as a program does. A sampling profiler is called in every
    /// iteration of an interpreter loop that makes calls, so it sees function entry and exit.
    fn unchecked(&self) -> Vec<BlockId> {
        let dispatches = self.graph.blocks.iter().filter(|head| head.is_dispatch());
        let interpreters: Vec<_> = dispatches.filter_map(|head| head.loops.last()).collect();
        let mut is_checked = vec![true; self.graph.blocks.len()];
        let mut unchecked = Vec::new();
        for id in self.backwards.iter().rev() {
            let Some(block) = self.graph.blocks.get(*id) else { continue };
            let interprets = block.loops.iter().any(|number| interpreters.contains(&number));
            let needs_check = block.needs_check || interprets && block.has_calls;
            let was_checked = *id != 0
                && !block.is_handler
                && !block.is_dispatch()
                && is_checked.get(*id).is_some_and(|is_checked| *is_checked);
            if needs_check && !was_checked {
                unchecked.push(*id);
            }
            let after = was_checked || needs_check;
            for edge in self.edges(block) {
                is_checked.get_mut(edge.to).into_iter().for_each(|checked| *checked &= after);
            }
        }
        unchecked
    }

    fn additions(&self) -> Vec<Addition> {
        let mut additions = Vec::new();
        let mut add = |at, kind| additions.push(Addition { at, kind });
        for id in self.unchecked() {
            let Some(block) = self.graph.blocks.get(id) else { continue };
            add(block.at, AddedCode::CheckMark);
        }
        for (id, block) in self.graph.blocks.iter().enumerate() {
            let paid = self.paid.get(id).copied().unwrap_or(0);
            if block.is_bare && !block.is_dispatch() && paid != 0 {
                add(block.at, AddedCode::Charge { cost: paid });
            }
            for edge in self.edges(block) {
                let cost = self.needed(edge).saturating_sub(self.left_over(block));
                // No refund on an edge to a trap.
                if cost == 0 || cost < 0 && self.is_fatal(edge.to) {
                    continue;
                }
                match &edge.place {
                    EdgePlace::Before(at) => add(*at, AddedCode::Charge { cost }),
                    EdgePlace::NewElse(at) => add(*at, AddedCode::ChargeElse { cost }),
                    EdgePlace::Taken(range, depth) => {
                        let (depth, until) = (*depth, range.end);
                        add(range.start, AddedCode::ChargeTaken { cost, depth, until });
                    }
                    EdgePlace::Nowhere => {}
                }
            }
        }
        for at in &self.graph.bulk {
            add(*at, AddedCode::ChargeLength);
        }
        additions
    }
}
