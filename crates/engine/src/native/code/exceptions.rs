//! Writes the body of a function with new numbers, and translates legacy exceptions.
//!
//! Emscripten's modules use `try`, which wasmtime refuses. A `try` with two handlers becomes:
//!
//! ```text
//!   block $outer                          the value of the `try`
//!     block $all (result exnref)
//!       block $tagged (result i32)
//!         try_table (catch $tag $tagged) (catch_all_ref $all)
//!           ... body ...
//!         end
//!         br $outer
//!       end
//!       ... first handler ...
//!       br $outer
//!     end
//!     local.set $exception                only in handlers that are named by a `rethrow`
//!     ... second handler, with `local.get $exception`, `throw_ref` as its `rethrow` ...
//!   end
//! ```
//!
//! A `delegate` that passes by another `try` becomes a `try_table` whose only handler is a block inside
//! the body of the receiver, with a `throw_ref` after it.

use wasm_encoder::reencode::Reencode as _;
use wasm_encoder::{BlockType, Catch, Encode as _, Instruction, RefType, ValType};
use wasmparser::{FuncType, FunctionBody, Operator};

use crate::native::code::attempts::{Attempts, Receiver};
use crate::native::code::numbers::SideNumbers;
use crate::native::error::SideFault;
use crate::native::output::function_types::FunctionTypes;

/// What the bodies of a native module are written with.
#[derive(Debug)]
pub(crate) struct BodyTranslator<'m> {
    pub(crate) numbers: &'m mut SideNumbers,
    /// The types of the merged module.
    pub(crate) types: &'m mut FunctionTypes,
    /// The types of the native module.
    pub(crate) own_types: &'m [FuncType],
    /// The values of its exceptions.
    pub(crate) tag: Option<&'m FuncType>,
}

/// An open block of the legacy code.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// The number of the new block that its label stands for, counted from the function's.
    label: u32,
    attempt: Option<OpenAttempt>,
}

/// An open `try`.
#[derive(Debug, Clone, Copy)]
struct OpenAttempt {
    /// Its number.
    number: usize,
    /// The new block around everything.
    outer: u32,
    /// How many handlers were begun.
    begun: usize,
    /// The block inside its body that receives what is delegated.
    landing: Option<u32>,
    /// The local that holds the exception of the handler.
    exception: Option<u32>,
}

/// The code of one function.
struct Writer<'w, 'm> {
    with: &'w mut BodyTranslator<'m>,
    attempts: Attempts,
    /// The next `try`.
    next: usize,
    code: Vec<u8>,
    frames: Vec<Frame>,
    /// How many new blocks are open, the function itself included.
    height: u32,
    landing: Option<u32>,
    /// The first local that holds an exception, how many are in use, and how many were at most.
    first_exception: u32,
    exceptions: u32,
    most_exceptions: u32,
}

impl BodyTranslator<'_> {
    /// The body of a function whose type is `of`: its locals and code, without the length before them.
    pub(crate) fn body(
        &mut self,
        of: &FuncType,
        body: &FunctionBody<'_>,
    ) -> Result<Vec<u8>, SideFault> {
        let mut groups = Vec::new();
        let mut locals = u32::try_from(of.params().len()).unwrap_or(u32::MAX);
        for local in body.get_locals_reader()? {
            let (count, of) = local?;
            locals = locals.saturating_add(count);
            groups.push((count, self.numbers.val_type(of)?));
        }
        let attempts = Attempts::read(body)?;
        let mut writer = Writer {
            with: self,
            attempts,
            next: 0,
            code: Vec::new(),
            frames: vec![Frame { label: 0, attempt: None }],
            height: 1,
            landing: None,
            first_exception: locals,
            exceptions: 0,
            most_exceptions: 0,
        };
        if writer.attempts.all.is_empty() {
            writer.renumber(body)?;
        } else {
            writer.translate(body)?;
        }
        if writer.most_exceptions > 0 {
            groups.push((writer.most_exceptions, ValType::Ref(RefType::EXNREF)));
        }
        let mut bytes = Vec::with_capacity(writer.code.len().saturating_add(16));
        u32::try_from(groups.len()).unwrap_or(u32::MAX).encode(&mut bytes);
        for (count, of) in groups {
            count.encode(&mut bytes);
            of.encode(&mut bytes);
        }
        bytes.extend_from_slice(&writer.code);
        Ok(bytes)
    }
}

impl Writer<'_, '_> {
    /// Code without legacy exceptions: only its numbers change.
    fn renumber(&mut self, body: &FunctionBody<'_>) -> Result<(), SideFault> {
        for operator in body.get_operators_reader()? {
            self.with.numbers.instruction(operator?)?.encode(&mut self.code);
        }
        Ok(())
    }

    fn translate(&mut self, body: &FunctionBody<'_>) -> Result<(), SideFault> {
        if self.attempts.leaves_function {
            self.landing = Some(self.open(&Instruction::Block(EXCEPTION)));
        }
        for operator in body.get_operators_reader()? {
            self.operator(operator?)?;
        }
        Ok(())
    }

    fn operator(&mut self, operator: Operator<'_>) -> Result<(), SideFault> {
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                let instruction = self.with.numbers.instruction(operator)?;
                let label = self.open(&instruction);
                self.frames.push(Frame { label, attempt: None });
            }
            Operator::Br { relative_depth } => {
                let depth = self.depth(relative_depth)?;
                self.put(&Instruction::Br(depth));
            }
            Operator::BrIf { relative_depth } => {
                let depth = self.depth(relative_depth)?;
                self.put(&Instruction::BrIf(depth));
            }
            Operator::BrTable { targets } => {
                let mut depths = Vec::new();
                for target in targets.targets() {
                    depths.push(self.depth(target?)?);
                }
                let other = self.depth(targets.default())?;
                self.put(&Instruction::BrTable(depths.into(), other));
            }
            Operator::Try { blockty } => self.open_attempt(blockty)?,
            Operator::Catch { .. } | Operator::CatchAll => self.begin_handler()?,
            Operator::Rethrow { relative_depth } => {
                let attempt = self.frame(relative_depth)?.attempt;
                let exception = attempt.and_then(|attempt| attempt.exception);
                let exception = exception.ok_or(UNBALANCED)?;
                self.put(&Instruction::LocalGet(exception));
                self.put(&Instruction::ThrowRef);
            }
            Operator::Delegate { .. } | Operator::End => self.end()?,
            other => {
                let instruction = self.with.numbers.instruction(other)?;
                self.put(&instruction);
            }
        }
        Ok(())
    }

    fn put(&mut self, instruction: &Instruction<'_>) {
        instruction.encode(&mut self.code);
    }

    /// Begins a new block and returns its number.
    fn open(&mut self, instruction: &Instruction<'_>) -> u32 {
        self.put(instruction);
        let label = self.height;
        self.height = self.height.saturating_add(1);
        label
    }

    /// Ends the innermost new block.
    fn close(&mut self) {
        self.put(&Instruction::End);
        self.height = self.height.saturating_sub(1);
    }

    /// The depth of a new block, seen from here.
    fn depth_of(&self, label: u32) -> Result<u32, SideFault> {
        self.height.checked_sub(1).and_then(|top| top.checked_sub(label)).ok_or(UNBALANCED)
    }

    fn frame(&self, depth: u32) -> Result<Frame, SideFault> {
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        self.frames.iter().rev().nth(depth).copied().ok_or(UNBALANCED)
    }

    /// The new depth of a legacy branch.
    fn depth(&self, legacy: u32) -> Result<u32, SideFault> {
        self.depth_of(self.frame(legacy)?.label)
    }

    fn open_attempt(&mut self, of: wasmparser::BlockType) -> Result<(), SideFault> {
        if let wasmparser::BlockType::FuncType(index) = of {
            let of = usize::try_from(index).ok().and_then(|index| self.with.own_types.get(index));
            if of.is_none_or(|of| !of.params().is_empty()) {
                return Err(SideFault::Unsupported("a `try` with parameters"));
            }
        }
        let of = self.with.numbers.block_type(of)?;
        let number = self.next;
        self.next = self.next.saturating_add(1);
        let attempt = self.attempts.all.get(number).ok_or(UNBALANCED)?;
        let (is_delegated_to, delegates) = (attempt.is_delegated_to, attempt.delegates);
        let clauses = attempt.catches.iter().map(|clause| (clause.has_tag, clause.is_rethrown));
        let clauses = clauses.collect::<Vec<_>>();

        let outer = self.height;
        let mut catches = Vec::new();
        if let Some(receiver) = delegates {
            let label = self.depth_of(self.landing_of(receiver)?)?;
            catches.push(Catch::AllRef { label });
        } else if !clauses.is_empty() {
            self.open(&Instruction::Block(of));
            for clause in clauses.iter().rev() {
                let of = self.handler_type(*clause)?;
                self.open(&Instruction::Block(of));
            }
            for (label, clause) in (0..).zip(&clauses) {
                catches.push(self.catch(*clause, label)?);
            }
        }
        let label = if catches.is_empty() {
            self.open(&Instruction::Block(of))
        } else {
            self.open(&Instruction::TryTable(of, catches.into()))
        };
        let landing = is_delegated_to.then(|| self.open(&Instruction::Block(EXCEPTION)));
        let attempt = OpenAttempt { number, outer, begun: 0, landing, exception: None };
        self.frames.push(Frame { label, attempt: Some(attempt) });
        Ok(())
    }

    fn landing_of(&self, receiver: Receiver) -> Result<u32, SideFault> {
        let landing = match receiver {
            Receiver::Caller => self.landing,
            Receiver::Attempt(number) => {
                let attempts = self.frames.iter().filter_map(|frame| frame.attempt);
                let mut receivers = attempts.filter(|attempt| attempt.number == number);
                receivers.next().and_then(|attempt| attempt.landing)
            }
        };
        landing.ok_or(UNBALANCED)
    }

    fn catch(
        &mut self,
        (has_tag, is_rethrown): (bool, bool),
        label: u32,
    ) -> Result<Catch, SideFault> {
        if !has_tag {
            return Ok(if is_rethrown { Catch::AllRef { label } } else { Catch::All { label } });
        }
        let tag = self.with.numbers.tag_index(0)?;
        Ok(if is_rethrown { Catch::OneRef { tag, label } } else { Catch::One { tag, label } })
    }

    /// The type of the block after which a handler begins.
    fn handler_type(
        &mut self,
        (has_tag, is_rethrown): (bool, bool),
    ) -> Result<BlockType, SideFault> {
        let tag = self.with.tag.filter(|_| has_tag);
        let mut values = tag.map_or_else(Vec::new, |tag| tag.params().to_vec());
        if is_rethrown {
            values.push(wasmparser::ValType::EXNREF);
        }
        Ok(match values.as_slice() {
            [] => BlockType::Empty,
            [one] => BlockType::Result(self.with.numbers.val_type(*one)?),
            _ => {
                let of = FuncType::new([], values);
                BlockType::FunctionType(self.with.types.index_of(&of)?)
            }
        })
    }

    fn begin_handler(&mut self) -> Result<(), SideFault> {
        let Some(Frame { label, attempt: Some(mut attempt) }) = self.frames.pop() else {
            return Err(UNBALANCED);
        };
        if attempt.begun == 0 {
            self.land(attempt.landing.take(), label)?;
            self.close();
        }
        let over = self.depth_of(attempt.outer)?;
        self.put(&Instruction::Br(over));
        self.close();
        self.forget(attempt.exception.take());
        let clauses = self.attempts.all.get(attempt.number);
        let clause = clauses.and_then(|all| all.catches.get(attempt.begun)).ok_or(UNBALANCED)?;
        if clause.is_rethrown {
            let local = self.first_exception.saturating_add(self.exceptions);
            self.exceptions = self.exceptions.saturating_add(1);
            self.most_exceptions = self.most_exceptions.max(self.exceptions);
            self.put(&Instruction::LocalSet(local));
            attempt.exception = Some(local);
        }
        attempt.begun = attempt.begun.saturating_add(1);
        self.frames.push(Frame { label: attempt.outer, attempt: Some(attempt) });
        Ok(())
    }

    /// Ends a block in which delegated exceptions arrive, at the end of the code that it is around.
    fn land(&mut self, landing: Option<u32>, label: u32) -> Result<(), SideFault> {
        if landing.is_some() {
            let over = self.depth_of(label)?;
            self.put(&Instruction::Br(over));
            self.close();
            self.put(&Instruction::ThrowRef);
        }
        Ok(())
    }

    /// Ends a legacy block.
    fn end(&mut self) -> Result<(), SideFault> {
        let frame = self.frames.pop().ok_or(UNBALANCED)?;
        let landing = match frame.attempt {
            Some(attempt) => {
                self.forget(attempt.exception);
                attempt.landing
            }
            None if self.frames.is_empty() => self.landing.take(),
            None => None,
        };
        self.land(landing, frame.label)?;
        self.close();
        Ok(())
    }

    /// The local of a handler that is over is free again.
    fn forget(&mut self, exception: Option<u32>) {
        if exception.is_some() {
            self.exceptions = self.exceptions.saturating_sub(1);
        }
    }
}

/// The type of a block that receives an exception.
const EXCEPTION: BlockType = BlockType::Result(ValType::Ref(RefType::EXNREF));

/// Cannot happen in a valid module.
const UNBALANCED: SideFault = SideFault::Unsupported("blocks that do not fit each other");
