//! Decides where a function charges its instructions, and how much at a time.
//!
//! Charges run ahead of the instructions: at each point of a function some of those that follow are
//! *paid*. A way between two stretches charges the difference between what its end needs and what
//! its beginning has left over, or gives back what is too much. So a charge is needed only on
//! ways that the plan does not expect: each stretch pays for the most likely way until a loop
//! repeats or the function ends.
//!
//! INVARIANT(paid-ahead): an instruction is paid before it is executed. On each way through a
//! function the sum of all charges is the cost of its instructions.
//!
//! INVARIANT(never-too-much): a check ends a run only if the rest of the run needs more fuel than
//! there is. A call is made with no more paid than the function uses afterwards, on whichever way.
//!
//! INVARIANT(charged-everywhere): every cycle in the control flow of a module has a charge, because
//! it has instructions that cost something and are paid in each repetition. So has every recursion.

use crate::code::metering::flow_graph::{FlowGraph, Stretch, StretchId, Way, WayPlace};
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

/// For each stretch the number of loops to whose beginning it leads back. What a loop has before
/// its `end`, but after the branch that repeats it, is not repeated.
fn depths(graph: &FlowGraph) -> Vec<i64> {
    let mut before = vec![Vec::new(); graph.stretches.len()];
    for (id, stretch) in graph.stretches.iter().enumerate() {
        for way in stretch.next.iter().filter_map(|way| graph.ways.get(*way)) {
            before.get_mut(way.to).into_iter().for_each(|of: &mut Vec<_>| of.push(id));
        }
    }
    let mut depths = vec![0; graph.stretches.len()];
    let mut last = vec![None; graph.stretches.len()];
    for (head, stretch) in graph.stretches.iter().enumerate() {
        let Some(number) = stretch.loops.last().filter(|_| stretch.loop_head.is_some()) else {
            continue;
        };
        let mut found = vec![head];
        while let Some(id) = found.pop() {
            for from in before.get(id).into_iter().flatten() {
                let is_inside = graph.stretches.get(*from).is_some_and(|from| {
                    from.loops.get(stretch.loops.len().saturating_sub(1)) == Some(number)
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
    /// The stretches, the last one of the function first.
    backwards: Vec<StretchId>,
    /// The least cost from the beginning of each stretch to the end of the function.
    least: Vec<i64>,
    /// The instructions that are paid at the beginning of each stretch, its own included.
    paid: Vec<i64>,
    /// True for the stretches that always end in a trap or an exception.
    is_fatal: Vec<bool>,
    /// How many loops repeat each stretch.
    depths: Vec<i64>,
}

impl<'a> Plan<'a> {
    fn new(graph: &'a FlowGraph) -> Self {
        let count = graph.stretches.len();
        let mut backwards: Vec<_> = (0..count).collect();
        backwards.sort_by_key(|id| std::cmp::Reverse(graph.stretches.get(*id).map(|of| of.at)));
        Self {
            graph,
            backwards,
            least: vec![ENDLESS; count],
            paid: vec![0; count],
            is_fatal: vec![false; count],
            depths: depths(graph),
        }
    }

    fn ways<'b>(&'b self, stretch: &'b Stretch) -> impl Iterator<Item = &'b Way> {
        stretch.next.iter().filter_map(|way| self.graph.ways.get(*way))
    }

    fn least(&self, stretch: StretchId) -> i64 {
        self.least.get(stretch).copied().unwrap_or(0)
    }

    fn is_fatal(&self, stretch: StretchId) -> bool {
        self.is_fatal.get(stretch).copied().unwrap_or(false)
    }

    /// The least cost of all that follows a stretch.
    fn least_after(&self, stretch: &Stretch) -> i64 {
        self.ways(stretch).map(|way| self.least(way.to)).min().unwrap_or(0)
    }

    fn find_least(&mut self) {
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for index in 0..self.backwards.len() {
                let Some(id) = self.backwards.get(index).copied() else { continue };
                let Some(stretch) = self.graph.stretches.get(id) else { continue };
                let least = stretch.cost.saturating_add(self.least_after(stretch)).min(ENDLESS);
                let fatal = stretch.is_fatal
                    || !stretch.next.is_empty()
                        && self.ways(stretch).all(|way| self.is_fatal(way.to));
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
            let Some(stretch) = self.graph.stretches.get(id) else { continue };
            let paid = stretch.cost.saturating_add(self.left_over(stretch));
            self.paid.get_mut(id).into_iter().for_each(|old| *old = paid);
        }
    }

    /// The instructions that have to be paid where a way arrives.
    fn needed(&self, way: &Way) -> i64 {
        match self.graph.stretches.get(way.to) {
            // It pays for nothing else, and all that repeats it charges something anyway.
            Some(stretch) if stretch.is_dispatch() => stretch.cost,
            Some(stretch) if stretch.is_bare => 0,
            _ => self.paid.get(way.to).copied().unwrap_or(0),
        }
    }

    /// The instructions that are paid at the end of a stretch.
    fn left_over(&self, stretch: &Stretch) -> i64 {
        if self.ways(stretch).any(|way| way.place == WayPlace::Nowhere) {
            return 0;
        }
        let most = if stretch.has_calls || stretch.needs_check {
            self.least_after(stretch)
        } else {
            ENDLESS
        };
        let fits = self.ways(stretch).filter(|way| self.needed(way) <= most);
        let likely = fits.max_by_key(|way| self.likelihood(stretch, way));
        likely.map_or(0, |way| self.needed(way))
    }

    /// Compares the ways that lead on from a stretch. The most likely one has the largest number.
    fn likelihood(&self, from: &Stretch, way: &Way) -> i64 {
        if self.is_fatal(way.to) {
            return i64::MIN;
        }
        let others = || self.ways(from).filter(|other| other.to != way.to);
        let depth = self.depths.get(way.to).copied().unwrap_or(0);
        // Code that is left out because it is seldom needed, if it makes calls.
        let skips = others().any(|other| {
            self.graph.stretches.get(other.to).is_some_and(|left_out| {
                left_out.has_calls && self.ways(left_out).all(|next| next.to == way.to)
            })
        });
        let ends = self.ends_soon(way.to);
        let falls = !matches!(way.place, WayPlace::Taken(..) | WayPlace::NewElse(_));
        depth * 16 + i64::from(skips) * 8 - i64::from(ends) * 4 + i64::from(falls)
    }

    /// True if a stretch leads to the end of the function without a choice.
    fn ends_soon(&self, mut id: StretchId) -> bool {
        for _ in 0..8 {
            let Some(stretch) = self.graph.stretches.get(id) else { return false };
            if stretch.at == usize::MAX {
                return true;
            }
            match stretch.next.as_slice() {
                [] => return true,
                [only] => match self.graph.ways.get(*only) {
                    Some(way) => id = way.to,
                    None => return false,
                },
                _ => return false,
            }
        }
        false
    }

    /// The stretches that need a check, and that a way without one leads to from the beginning of
    /// the function, or from the beginning of a repetition of an interpreter's loop.
    ///
    /// Such a loop goes on for as long as a program does. Who wants to look at the guest now and then
    /// is told of each repetition that makes calls, as those do that begin and end the program's own
    /// functions.
    fn unchecked(&self) -> Vec<StretchId> {
        let dispatches = self.graph.stretches.iter().filter(|head| head.is_dispatch());
        let interpreters: Vec<_> = dispatches.filter_map(|head| head.loops.last()).collect();
        let mut is_checked = vec![true; self.graph.stretches.len()];
        let mut unchecked = Vec::new();
        for id in self.backwards.iter().rev() {
            let Some(stretch) = self.graph.stretches.get(*id) else { continue };
            let interprets = stretch.loops.iter().any(|number| interpreters.contains(&number));
            let needs_check = stretch.needs_check || interprets && stretch.has_calls;
            let was_checked = *id != 0
                && !stretch.is_handler
                && !stretch.is_dispatch()
                && is_checked.get(*id).is_some_and(|is_checked| *is_checked);
            if needs_check && !was_checked {
                unchecked.push(*id);
            }
            let after = was_checked || needs_check;
            for way in self.ways(stretch) {
                is_checked.get_mut(way.to).into_iter().for_each(|checked| *checked &= after);
            }
        }
        unchecked
    }

    fn additions(&self) -> Vec<Addition> {
        let mut additions = Vec::new();
        let mut add = |at, kind| additions.push(Addition { at, kind });
        for id in self.unchecked() {
            let Some(stretch) = self.graph.stretches.get(id) else { continue };
            add(stretch.at, AddedCode::CheckMark);
        }
        for (id, stretch) in self.graph.stretches.iter().enumerate() {
            let paid = self.paid.get(id).copied().unwrap_or(0);
            if stretch.is_bare && !stretch.is_dispatch() && paid != 0 {
                add(stretch.at, AddedCode::Charge { cost: paid });
            }
            for way in self.ways(stretch) {
                let cost = self.needed(way).saturating_sub(self.left_over(stretch));
                // An end by force has no use for what is given back.
                if cost == 0 || cost < 0 && self.is_fatal(way.to) {
                    continue;
                }
                match &way.place {
                    WayPlace::Before(at) => add(*at, AddedCode::Charge { cost }),
                    WayPlace::NewElse(at) => add(*at, AddedCode::ChargeElse { cost }),
                    WayPlace::Taken(range, depth) => {
                        let (depth, until) = (*depth, range.end);
                        add(range.start, AddedCode::ChargeTaken { cost, depth, until });
                    }
                    WayPlace::Nowhere => {}
                }
            }
        }
        for at in &self.graph.bulk {
            add(*at, AddedCode::ChargeLength);
        }
        additions
    }
}
