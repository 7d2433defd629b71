//! Finds the places at which a function has to give NaNs their one form.
//!
//! The bits of a NaN that arithmetic returns depend on the processor, on the compiler and on the
//! order of operands. A program notices only where it looks at bits: in memory, in integers, in
//! signs, in parameters and results. So arithmetic may pass such values on to arithmetic, also
//! through locals, and a value is made canonical when it goes elsewhere.
//!
//! The bits of a NaN that a program copies belong to it. So a value of a local is changed where it
//! shows only if it comes from arithmetic on each way there. A value that may also be a copy is
//! *mixed*: if its bits show, arithmetic is made canonical before it becomes such a value.
//!
//! INVARIANT(canonical-nan): a program sees the bits that it would see if the result of each
//! arithmetic operation were canonical. They follow from its instructions and inputs alone.

use std::collections::BTreeSet;

use wasmparser::{
    BlockType, ContType, FrameKind, FuncType, FunctionBody, ModuleArity, Operator, RefType, SubType,
};

use crate::code::nan::float_operators::{Lanes, arithmetic, comparison, is_harmless, movement};
use crate::code::nan::local_values::{LocalValues, Origin, ValueId};
use crate::code::split_data::SplitError;

/// The types of a module's functions and tags, which decide how many values an instruction takes.
#[derive(Debug, Default)]
pub(crate) struct Signatures {
    pub(crate) types: Vec<SubType>,
    /// Type index of each function, imported ones first.
    pub(crate) functions: Vec<u32>,
    /// Type index of each tag, imported ones first.
    pub(crate) tags: Vec<u32>,
}

impl Signatures {
    fn type_at(&self, index: u32) -> Option<&SubType> {
        self.types.get(usize::try_from(index).ok()?)
    }

    /// The type of a function.
    pub(crate) fn of_function(&self, function: u32) -> Option<&FuncType> {
        let of = self.functions.get(usize::try_from(function).ok()?)?;
        Some(self.type_at(*of)?.unwrap_func())
    }
}

/// Returns the places after the instructions whose result has to be made canonical, in their order.
/// Each is an offset from the beginning of the body.
pub(crate) fn uncanonical(
    body: &FunctionBody<'_>,
    function: u32,
    module: &Signatures,
) -> Result<Vec<(usize, Lanes)>, SplitError> {
    if !has_arithmetic(body)? {
        return Ok(Vec::new());
    }
    let params = module.of_function(function).map_or(&[][..], FuncType::params);
    let values = LocalValues::read(body, params)?;
    let mut contents = Contents::of(&values);
    loop {
        let mut flow = Flow::new(module, function, &values, &mut contents);
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let operator = operators.read()?;
            flow.at = operators.original_position().saturating_sub(body.range().start);
            flow.take(&operator);
        }
        let places = flow.places;
        contents.join(&values);
        if !std::mem::take(&mut contents.have_changed) {
            return Ok(places.into_iter().collect());
        }
    }
}

fn has_arithmetic(body: &FunctionBody<'_>) -> Result<bool, SplitError> {
    for operator in body.get_operators_reader()? {
        if arithmetic(&operator?).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a value of a local may be. Becomes more until nothing changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Content {
    /// A result of arithmetic of this type.
    free: Option<Lanes>,
    /// A copy, whose bits must stay as they are.
    is_copy: bool,
    /// True if it is never changed, and so has to get what is canonical already.
    is_kept: bool,
}

/// What is known of the values of all locals.
#[derive(Debug)]
struct Contents {
    all: Vec<Content>,
    have_changed: bool,
}

impl Contents {
    fn of(values: &LocalValues) -> Self {
        let begins = |origin: &Origin| {
            let is_copy = *origin == Origin::Parameter;
            Content { is_copy, ..Content::default() }
        };
        Self { all: values.origins.iter().map(begins).collect(), have_changed: false }
    }

    fn at(&self, value: ValueId) -> Content {
        self.all.get(value).copied().unwrap_or_default()
    }

    /// Adds to what a value may be.
    fn add(&mut self, value: ValueId, more: Content) {
        let Some(content) = self.all.get_mut(value) else { return };
        let before = *content;
        let differs = |lanes| content.free.is_some_and(|free| free != lanes);
        content.is_kept |= more.is_kept || more.free.is_some_and(differs);
        content.free = content.free.or(more.free);
        content.is_copy |= more.is_copy;
        self.have_changed |= *content != before;
    }

    fn keep(&mut self, value: ValueId) {
        self.add(value, Content { is_kept: true, ..Content::default() });
    }

    /// A joined value may be all that its parts may be, and they are kept if it is.
    fn join(&mut self, values: &LocalValues) {
        let mut have_changed = self.have_changed;
        loop {
            self.have_changed = false;
            // What a value may be goes to later values, and that it is kept to earlier ones.
            (0..values.origins.len()).for_each(|value| self.join_one(values, value));
            (0..values.origins.len()).rev().for_each(|value| self.join_one(values, value));
            if !self.have_changed {
                break;
            }
            have_changed = true;
        }
        self.have_changed = have_changed;
    }

    fn join_one(&mut self, values: &LocalValues, value: ValueId) {
        if let Some(Origin::Phi(parts)) = values.origins.get(value) {
            parts.iter().for_each(|part| self.join_part(value, *part));
        }
    }

    fn join_part(&mut self, value: ValueId, part: ValueId) {
        let content = self.at(part);
        self.add(value, Content { is_kept: false, ..content });
        if self.at(value).is_kept {
            self.keep(part);
        }
    }
}

/// A value on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    /// Its bits must stay as they are.
    Exact,
    /// A number, or a canonical NaN.
    Harmless,
    /// Comes from arithmetic. Is on the stack since the instruction that ends at this place.
    Free(Lanes, usize),
    /// This value of a local, which is a copy or comes from arithmetic.
    Mixed(Lanes, ValueId),
}

/// An open block.
#[derive(Debug, Clone, Copy)]
struct Frame {
    of: BlockType,
    kind: FrameKind,
    /// Values below its own.
    height: usize,
    /// True if the code around it can be reached.
    was_reached: bool,
}

/// Follows values through a function.
struct Flow<'a> {
    module: &'a Signatures,
    values: &'a LocalValues,
    contents: &'a mut Contents,
    stack: Vec<Value>,
    frames: Vec<Frame>,
    is_reached: bool,
    /// The end of the present instruction.
    at: usize,
    places: BTreeSet<(usize, Lanes)>,
}

impl<'a> Flow<'a> {
    fn new(
        module: &'a Signatures,
        function: u32,
        values: &'a LocalValues,
        contents: &'a mut Contents,
    ) -> Self {
        let of = module.functions.get(usize::try_from(function).unwrap_or(usize::MAX));
        let of = of.map_or(BlockType::Empty, |of| BlockType::FuncType(*of));
        let frame = Frame { of, kind: FrameKind::Block, height: 0, was_reached: true };
        let (stack, frames, places) = (Vec::new(), vec![frame], BTreeSet::new());
        Self { module, values, contents, stack, frames, is_reached: true, at: 0, places }
    }

    fn take(&mut self, operator: &Operator<'_>) {
        match operator {
            Operator::Block { blockty } => self.open(operator, *blockty, FrameKind::Block),
            Operator::Loop { blockty } => self.open(operator, *blockty, FrameKind::Loop),
            Operator::If { blockty } => self.open(operator, *blockty, FrameKind::If),
            Operator::TryTable { try_table } => {
                self.open(operator, try_table.ty, FrameKind::TryTable);
            }
            Operator::Else | Operator::End => self.close(operator),
            _ if !self.is_reached => {}
            Operator::LocalGet { .. } => {
                let value = self.values.at(self.at).map(|value| self.read(value));
                self.stack.push(value.unwrap_or(Value::Exact));
            }
            Operator::LocalSet { .. } => {
                self.assign();
            }
            Operator::LocalTee { .. } => {
                let value = self.assign();
                self.stack.push(value);
            }
            Operator::Drop => {
                self.pop();
            }
            Operator::Select | Operator::TypedSelect { .. } => {
                self.pop();
                self.choose();
            }
            operator => self.calculate(operator),
        }
    }

    fn calculate(&mut self, operator: &Operator<'_>) {
        if let Some((inputs, from, to)) = arithmetic(operator) {
            self.pop_lanes(inputs, from);
            self.stack.push(Value::Free(to, self.at));
        } else if let Some((inputs, from)) = comparison(operator) {
            self.pop_lanes(inputs, from);
            self.stack.push(Value::Harmless);
        } else if let Some((inputs, from, to)) = movement(operator) {
            self.r#move(inputs, from, to);
        } else if is_harmless(operator) {
            self.apply(operator);
            self.pop();
            self.stack.push(Value::Harmless);
        } else {
            self.apply(operator);
            self.is_reached = !ends(operator);
        }
    }

    fn pop(&mut self) -> Value {
        self.stack.pop().unwrap_or(Value::Exact)
    }

    /// Uses a value where its bits show.
    fn show(&mut self, value: Value) {
        match value {
            Value::Free(lanes, at) => {
                self.places.insert((at, lanes));
            }
            Value::Mixed(_, value) => self.contents.keep(value),
            Value::Exact | Value::Harmless => {}
        }
    }

    /// Takes operands whose NaNs all count the same.
    fn pop_lanes(&mut self, count: u32, from: Lanes) {
        for _ in 0..count {
            match self.pop() {
                Value::Free(lanes, _) | Value::Mixed(lanes, _) if lanes == from => {}
                other => self.show(other),
            }
        }
    }

    /// Takes operands that the result consists of.
    fn r#move(&mut self, count: u32, from: [Lanes; 2], to: Lanes) {
        let values: Vec<_> = (0..count).map(|_| self.pop()).collect();
        let expected = from.iter().rev().skip(usize::from(count == 1));
        let is_free = values.iter().zip(expected).all(|(value, from)| match value {
            Value::Free(lanes, _) => lanes == from,
            Value::Harmless => true,
            Value::Exact | Value::Mixed(..) => false,
        });
        if is_free {
            // Lanes that are harmless as numbers of one size may be no such numbers of the other.
            let is_scalar = matches!(to, Lanes::F32 | Lanes::F64);
            let is_harmless = values.iter().all(|value| *value == Value::Harmless) && is_scalar;
            self.stack.push(if is_harmless { Value::Harmless } else { Value::Free(to, self.at) });
        } else {
            values.into_iter().for_each(|value| self.show(value));
            self.stack.push(Value::Exact);
        }
    }

    /// Takes two operands, one of which is the result.
    fn choose(&mut self) {
        let (one, other) = (self.pop(), self.pop());
        let chosen = match (one, other) {
            (Value::Free(lanes, _), Value::Harmless) | (Value::Harmless, Value::Free(lanes, _)) => {
                Value::Free(lanes, self.at)
            }
            (Value::Free(lanes, _), Value::Free(same, _)) if lanes == same => {
                Value::Free(lanes, self.at)
            }
            (Value::Harmless, Value::Harmless) => Value::Harmless,
            _ => {
                self.show(one);
                self.show(other);
                Value::Exact
            }
        };
        self.stack.push(chosen);
    }

    fn read(&self, value: ValueId) -> Value {
        match self.contents.at(value) {
            Content { is_kept: true, .. } | Content { is_copy: true, free: None, .. } => {
                Value::Exact
            }
            Content { is_copy: true, free: Some(lanes), .. } => Value::Mixed(lanes, value),
            Content { is_copy: false, free: Some(lanes), .. } => Value::Free(lanes, self.at),
            Content { is_copy: false, free: None, .. } => Value::Harmless,
        }
    }

    /// Takes a value into a local. Returns the value that stays on the stack if one does.
    fn assign(&mut self) -> Value {
        let taken = self.pop();
        let local = self.values.at(self.at);
        let is_kept = local.is_none_or(|local| self.contents.at(local).is_kept);
        let (free, is_copy) = match taken {
            Value::Harmless => return taken,
            Value::Free(lanes, _) if !is_kept => (Some(lanes), false),
            _ => (None, true),
        };
        if is_copy {
            self.show(taken);
        }
        let Some(local) = local else { return Value::Exact };
        self.contents.add(local, Content { free, is_copy, is_kept: false });
        self.read(local)
    }

    /// Takes all operands of an instruction, whose bits show, and puts its results.
    fn apply(&mut self, operator: &Operator<'_>) {
        let (taken, put) = operator.operator_arity(self).unwrap_or((0, 0));
        for _ in 0..taken {
            let value = self.pop();
            self.show(value);
        }
        self.put(put);
    }

    fn put(&mut self, count: u32) {
        (0..count).for_each(|_| self.stack.push(Value::Exact));
    }

    fn open(&mut self, operator: &Operator<'_>, of: BlockType, kind: FrameKind) {
        let was_reached = self.is_reached;
        let params = self.block_type_arity(of).map_or(0, |(params, _)| params);
        if was_reached {
            self.apply(operator);
        }
        // Code that is never reached has put no parameters on the stack.
        let params = if was_reached { usize::try_from(params).unwrap_or(usize::MAX) } else { 0 };
        let height = self.stack.len().saturating_sub(params);
        self.frames.push(Frame { of, kind, height, was_reached });
    }

    fn close(&mut self, operator: &Operator<'_>) {
        let put = operator.operator_arity(self).map_or(0, |(_, put)| put);
        if self.is_reached {
            self.apply(operator);
        }
        let frame = match operator {
            Operator::End => self.frames.pop(),
            _ => self.frames.last().copied(),
        };
        let Some(Frame { height, was_reached, .. }) = frame else { return };
        self.stack.truncate(height);
        self.is_reached = was_reached;
        if was_reached {
            self.put(put);
        }
    }
}

impl ModuleArity for Flow<'_> {
    fn sub_type_at(&self, index: u32) -> Option<&SubType> {
        self.module.type_at(index)
    }

    fn tag_type_arity(&self, at: u32) -> Option<(u32, u32)> {
        let of = self.module.tags.get(usize::try_from(at).ok()?)?;
        self.sub_type_arity(self.module.type_at(*of)?)
    }

    fn type_index_of_function(&self, function: u32) -> Option<u32> {
        self.module.functions.get(usize::try_from(function).ok()?).copied()
    }

    fn func_type_of_cont_type(&self, _: &ContType) -> Option<&FuncType> {
        None
    }

    fn sub_type_of_ref_type(&self, _: &RefType) -> Option<&SubType> {
        None
    }

    fn control_stack_height(&self) -> u32 {
        u32::try_from(self.frames.len()).unwrap_or(u32::MAX)
    }

    fn label_block(&self, depth: u32) -> Option<(BlockType, FrameKind)> {
        let above = usize::try_from(depth).ok()?.checked_add(1)?;
        let frame = self.frames.get(self.frames.len().checked_sub(above)?)?;
        Some((frame.of, frame.kind))
    }
}

/// True for instructions after which the code is not reached.
const fn ends(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::Br { .. }
            | Operator::BrTable { .. }
            | Operator::Return
            | Operator::Throw { .. }
            | Operator::ThrowRef
            | Operator::Unreachable
    )
}

#[cfg(test)]
#[path = "canonical_nan_tests.rs"]
mod tests;
