//! Tells apart the values that the floating-point locals of a function hold one after the other.
//!
//! A compiler uses one local for several variables. Each assignment gives a value, and where ways
//! with different values of a local meet, a value joins them: static single assignment, built in
//! one pass over structured control flow. Some joined values are never read. Source: Braun and
//! others, Simple and Efficient Construction of Static Single Assignment Form, 2013.

use std::collections::HashMap;

use wasmparser::{BrTable, Catch, FunctionBody, Operator, ValType};

use crate::code::split_data::SplitError;

/// Most locals of a function, as WebAssembly's implementations have agreed.
const MOST_LOCALS: u32 = 50_000;

/// The position of a value among those of its function.
pub(crate) type ValueId = usize;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The caller.
    Parameter,
    /// The zero that a local begins with.
    Zero,
    /// An assignment.
    Assigned,
    /// One of these values, depending on the way that led here.
    Phi(Vec<ValueId>),
}

/// The values of a function's floating-point locals.
#[derive(Debug, Default)]
pub(crate) struct LocalValues {
    pub(crate) origins: Vec<Origin>,
    accesses: HashMap<usize, ValueId>,
}

impl LocalValues {
    /// Reads a function whose first `params` locals are its parameters.
    ///
    /// In a function that handles exceptions each local has one value, which is zero, assigned and
    /// joined: an exception may come from within each call.
    ///
    /// # Errors
    ///
    /// The body cannot be read, or has more locals than compilers take.
    pub(crate) fn read(body: &FunctionBody<'_>, params: &[ValType]) -> Result<Self, SplitError> {
        let mut reader = Reader { is_split: !handles_exceptions(body)?, ..Reader::default() };
        params.iter().for_each(|of| reader.declare(1, *of, &Origin::Parameter));
        let mut room = MOST_LOCALS;
        for declared in body.get_locals_reader()? {
            let (count, of) = declared?;
            let left = room.checked_sub(count);
            room = left.ok_or(SplitError::Unsupported("a function with too many locals"))?;
            reader.declare(count, of, &Origin::Zero);
        }
        reader.current = Some((0..reader.values.origins.len()).collect());
        reader.open(Label::End(None));
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            let end = operators.original_position().saturating_sub(body.range().start);
            reader.take(&operator, end)?;
        }
        Ok(reader.values)
    }

    /// The value that the instruction reads or assigns that ends at this offset from the beginning
    /// of the body. `None` if it handles no floating-point local, or is never reached.
    pub(crate) fn at(&self, end: usize) -> Option<ValueId> {
        self.accesses.get(&end).copied()
    }
}

fn handles_exceptions(body: &FunctionBody<'_>) -> Result<bool, SplitError> {
    for operator in body.get_operators_reader()? {
        if matches!(operator?, Operator::TryTable { .. }) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The value of each floating-point local at a place.
type State = Vec<ValueId>;

/// Where branches to an open block lead.
#[derive(Debug)]
enum Label {
    /// To its end, where so far these values arrive.
    End(Option<State>),
    /// To its beginning, where these values join.
    Beginning(State),
}

#[derive(Debug)]
struct Frame {
    label: Label,
    /// What an `if` began with, until its `else`.
    before: Option<State>,
}

#[derive(Debug, Default)]
struct Reader {
    values: LocalValues,
    is_split: bool,
    /// The place of each local among the floating-point ones.
    places: Vec<Option<usize>>,
    frames: Vec<Frame>,
    /// `None` in code that is never reached.
    current: Option<State>,
}

impl Reader {
    fn declare(&mut self, count: u32, of: ValType, origin: &Origin) {
        for _ in 0..count {
            let is_float = matches!(of, ValType::F32 | ValType::F64 | ValType::V128);
            let place = is_float.then(|| self.value(origin.clone()));
            self.places.push(place);
        }
    }

    fn value(&mut self, origin: Origin) -> ValueId {
        self.values.origins.push(origin);
        self.values.origins.len().saturating_sub(1)
    }

    fn open(&mut self, label: Label) {
        self.frames.push(Frame { label, before: None });
    }

    fn take(&mut self, operator: &Operator<'_>, end: usize) -> Result<(), SplitError> {
        match operator {
            Operator::LocalGet { local_index } => self.access(*local_index, end, false),
            Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                self.access(*local_index, end, true);
            }
            Operator::Block { .. } => self.open(Label::End(None)),
            Operator::TryTable { try_table } => {
                for Catch::One { label, .. }
                | Catch::OneRef { label, .. }
                | Catch::All { label }
                | Catch::AllRef { label } in &try_table.catches
                {
                    self.branch(*label);
                }
                self.open(Label::End(None));
            }
            Operator::Loop { .. } => {
                self.join_all();
                self.open(Label::Beginning(self.current.clone().unwrap_or_default()));
            }
            Operator::If { .. } => {
                let before = self.current.clone();
                self.frames.push(Frame { label: Label::End(None), before });
            }
            Operator::Else => {
                self.branch(0);
                self.current = self.frames.last_mut().and_then(|frame| frame.before.take());
            }
            Operator::End => self.close(),
            Operator::Br { relative_depth } => {
                self.branch(*relative_depth);
                self.current = None;
            }
            Operator::BrIf { relative_depth } => self.branch(*relative_depth),
            Operator::BrTable { targets } => self.branch_to_all(targets)?,
            Operator::Return
            | Operator::Throw { .. }
            | Operator::ThrowRef
            | Operator::Unreachable => self.current = None,
            _ => {}
        }
        Ok(())
    }

    fn access(&mut self, local: u32, end: usize, assigns: bool) {
        let place = usize::try_from(local).ok().and_then(|local| self.places.get(local).copied());
        let Some(place) = place.flatten() else { return };
        let assigned = (assigns && self.is_split).then(|| self.value(Origin::Assigned));
        let Some(value) = self.current.as_mut().and_then(|state| state.get_mut(place)) else {
            return;
        };
        *value = assigned.unwrap_or(*value);
        self.values.accesses.insert(end, *value);
    }

    /// Gives each local a value that joins the present one and those that branches will bring.
    fn join_all(&mut self) {
        if !self.is_split {
            return;
        }
        let Some(mut state) = self.current.take() else { return };
        for value in &mut state {
            *value = self.value(Origin::Phi(vec![*value]));
        }
        self.current = Some(state);
    }

    fn branch(&mut self, depth: u32) {
        let Some(state) = &self.current else { return };
        let above = usize::try_from(depth).ok().and_then(|depth| depth.checked_add(1));
        let frame = above.and_then(|above| self.frames.len().checked_sub(above));
        let Some(frame) = frame.and_then(|frame| self.frames.get_mut(frame)) else { return };
        match &mut frame.label {
            Label::End(None) => frame.label = Label::End(Some(state.clone())),
            Label::End(Some(arrived)) => {
                for (joined, value) in arrived.iter_mut().zip(state) {
                    if joined != value {
                        self.values.origins.push(Origin::Phi(vec![*joined, *value]));
                        *joined = self.values.origins.len().saturating_sub(1);
                    }
                }
            }
            Label::Beginning(joined) => {
                for (joined, value) in joined.iter().zip(state) {
                    if let Some(Origin::Phi(parts)) = self.values.origins.get_mut(*joined) {
                        parts.push(*value);
                    }
                }
            }
        }
    }

    fn branch_to_all(&mut self, table: &BrTable<'_>) -> Result<(), SplitError> {
        let mut targets = table.targets().collect::<Result<Vec<_>, _>>()?;
        targets.push(table.default());
        targets.sort_unstable();
        targets.dedup();
        targets.into_iter().for_each(|target| self.branch(target));
        self.current = None;
        Ok(())
    }

    fn close(&mut self) {
        let ends_with =
            self.frames.last().is_some_and(|frame| matches!(frame.label, Label::End(_)));
        if ends_with {
            self.branch(0);
        }
        let Some(frame) = self.frames.pop() else { return };
        let Label::End(arrived) = frame.label else { return };
        self.current = arrived;
        // An `if` without `else` that is not taken.
        if frame.before.is_some() {
            let after = std::mem::replace(&mut self.current, frame.before);
            self.open(Label::End(after));
            self.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::{Parser, Payload};

    use super::*;

    /// The values that the instructions of a body read and assign in `$x`, a local without a
    /// parameter's value, in their order.
    fn accesses(body: &str) -> (Vec<ValueId>, LocalValues) {
        let text =
            format!("(module (memory 1) (func (param f64) (local $i i32) (local $x f64) {body}))");
        let module = wat::parse_str(text).unwrap();
        for payload in Parser::new(0).parse_all(&module) {
            let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
            let values = LocalValues::read(&body, &[ValType::F64]).unwrap();
            let mut found: Vec<_> =
                values.accesses.iter().map(|(at, value)| (*at, *value)).collect();
            found.sort_unstable();
            return (found.into_iter().map(|(_, value)| value).collect(), values);
        }
        panic!("no function");
    }

    const READ: &str = "(drop (local.get $x))";
    const ASSIGN: &str = "(local.set $x (f64.const 1))";

    #[test]
    fn each_assignment_gives_a_value() {
        let (found, values) = accesses(&format!("{READ} {ASSIGN} {READ} {ASSIGN} {READ}"));
        assert_eq!(found, [1, 2, 2, 3, 3]);
        let origins = [Origin::Parameter, Origin::Zero, Origin::Assigned, Origin::Assigned];
        assert_eq!(values.origins, origins);
    }

    #[test]
    fn ways_that_meet_join_their_values() {
        let (found, values) =
            accesses(&format!("(if (local.get $i) (then {ASSIGN}) (else {READ} {ASSIGN})) {READ}"));
        assert_eq!(found, [2, 1, 3, 4]);
        assert_eq!(values.origins[4], Origin::Phi(vec![2, 3]));

        let (found, values) = accesses(&format!("(if (local.get $i) (then {ASSIGN})) {READ}"));
        assert_eq!(values.origins[found[1]], Origin::Phi(vec![2, 1]));

        let (found, values) = accesses(&format!(
            "(block (br_if 0 (local.get $i)) {ASSIGN} (br_table 0 0 (local.get $i))) {READ}"
        ));
        assert_eq!(values.origins[found[1]], Origin::Phi(vec![1, 2]));
    }

    #[test]
    fn a_loop_joins_what_its_branches_bring() {
        let (found, values) =
            accesses(&format!("(loop {READ} {ASSIGN} (br_if 0 (local.get $i)) {ASSIGN}) {READ}"));
        let [before, again, after, end] = found[..] else { panic!("{found:?}") };
        assert_eq!(values.origins[before], Origin::Phi(vec![1, again]));
        assert_eq!(end, after, "only one value leads out of the loop");
    }

    #[test]
    fn code_that_is_never_reached_has_no_values() {
        let (found, _) = accesses(&format!("(block (br 0) {ASSIGN} {READ}) {READ}"));
        assert_eq!(found, [1]);
    }

    #[test]
    fn a_local_has_one_value_where_exceptions_are_handled() {
        let (found, _) = accesses(&format!(
            "(block (try_table (catch_all 0) {ASSIGN} (loop {READ} {ASSIGN}))) {READ}"
        ));
        assert_eq!(found, [1, 1, 1, 1]);
        // Only an exception leads to the handler.
        let (found, _) = accesses(&format!(
            "(block (try_table (catch_all 0) {ASSIGN}) (return)) {READ} {ASSIGN}"
        ));
        assert_eq!(found, [1, 1, 1]);
    }

    #[test]
    fn too_many_locals_are_refused_before_they_are_counted() {
        // A group of 2³²-1 locals, and `end`.
        let body = [1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7c, 0x0b];
        let body = FunctionBody::new(wasmparser::BinaryReader::new(&body, 0));
        LocalValues::read(&body, &[]).unwrap_err();
    }
}
