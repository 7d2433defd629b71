//! Decides before which calls a function has to have looked at its counter.
//!
//! A function calls itself again only through an indirect call, through the host, or through direct
//! calls that lead back. A check before one call of each such circle is enough. All other calls
//! form trees: their size is known, and calls of large ones count as such circles.

use std::collections::BTreeSet;

use wasmparser::{FunctionBody, Operator, Parser, Payload};

use crate::code::metering::flow_graph::cost;
use crate::code::split_data::SplitError;

/// Most instructions of a function and all that it calls, if it is called without a check. They
/// take less than 20 ms, since none is repeated.
const MOST_UNCHECKED: u64 = 1 << 24;

/// The direct calls of a module that need no check.
#[derive(Debug, Default)]
pub(crate) struct CallGraph {
    imported: u32,
    functions: Vec<Node>,
    /// Calls that lead back to a function that has led to them: caller and callee.
    back: BTreeSet<(u32, u32)>,
}

#[derive(Debug, Default)]
struct Node {
    /// The instructions of the function and of those that it calls.
    size: u64,
    callees: Vec<u32>,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Open,
    Done,
}

impl CallGraph {
    /// Reads the code of a module that imports so many functions.
    pub(crate) fn read(module: &[u8], imported: u32) -> Result<Self, SplitError> {
        let mut graph = Self { imported, ..Self::default() };
        for payload in Parser::new(0).parse_all(module) {
            if let Payload::CodeSectionEntry(body) = payload? {
                graph.functions.push(Node::read(&body, imported)?);
            }
        }
        for first in 0..graph.functions.len() {
            graph.explore(u32::try_from(first).unwrap_or(u32::MAX));
        }
        Ok(graph)
    }

    /// True if a check has to come before a direct call. Both are indices in the module.
    pub(crate) fn needs_check(&self, caller: u32, callee: u32) -> bool {
        let Some(callee) = callee.checked_sub(self.imported) else { return true };
        let is_large = self.node(callee).is_none_or(|node| node.size > MOST_UNCHECKED);
        is_large || self.back.contains(&(caller.saturating_sub(self.imported), callee))
    }

    fn node(&self, function: u32) -> Option<&Node> {
        self.functions.get(usize::try_from(function).ok()?)
    }

    fn node_mut(&mut self, function: u32) -> Option<&mut Node> {
        self.functions.get_mut(usize::try_from(function).ok()?)
    }

    /// Follows all calls from a function, the deepest ones first.
    fn explore(&mut self, first: u32) {
        let mut path = vec![(first, 0_usize)];
        while let Some((function, next)) = path.last_mut() {
            let (caller, place) = (*function, *next);
            *next = place.saturating_add(1);
            let Some(node) = self.node_mut(caller) else { return };
            if place == 0 {
                if node.state != State::New {
                    path.pop();
                    continue;
                }
                node.state = State::Open;
            }
            let Some(callee) = node.callees.get(place).copied() else {
                node.state = State::Done;
                path.pop();
                self.add_up(caller);
                continue;
            };
            match self.node(callee).map(|node| node.state) {
                Some(State::New) => path.push((callee, 0)),
                Some(State::Open) => {
                    self.back.insert((caller, callee));
                }
                Some(State::Done) | None => {}
            }
        }
    }

    /// Adds the sizes of all that a function calls without a check.
    fn add_up(&mut self, caller: u32) {
        let Some(node) = self.node(caller) else { return };
        let callees = node.callees.iter().filter(|callee| {
            !self.needs_check(
                caller.saturating_add(self.imported),
                callee.saturating_add(self.imported),
            )
        });
        let sizes = callees.filter_map(|callee| Some(self.node(*callee)?.size));
        let size = sizes.fold(node.size, u64::saturating_add);
        self.node_mut(caller).into_iter().for_each(|node| node.size = size);
    }
}

impl Node {
    fn read(body: &FunctionBody<'_>, imported: u32) -> Result<Self, SplitError> {
        let mut node = Self::default();
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            node.size = node.size.saturating_add(cost(&operator).unsigned_abs());
            if let Operator::Call { function_index } = operator {
                node.callees.extend(function_index.checked_sub(imported));
            }
        }
        Ok(node)
    }
}
