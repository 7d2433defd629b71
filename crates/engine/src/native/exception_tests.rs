//! Random functions with legacy exceptions: what they do after the translation is what an interpreter of the
//! legacy instructions does.

use std::fmt::Write as _;
use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;
use wasmtime::{Config, Engine, Func, Instance, Module, Store, bail};

use super::tests::{extension, merged_with, side, with_prepare_exported};

/// Calls of the host after which a run is stopped.
const MAX_CALLS: usize = 300;

/// What `call` of the host is asked for by this number; others are noted.
const NEXT: i32 = -1;

/// A statement. Labels are numbers of the blocks around it.
#[derive(Debug)]
enum Statement {
    Note(i32),
    /// These are executed if the next bit is set.
    Throw(i32),
    Branch(usize),
    Rethrow(usize),
    Block(usize, Vec<Self>),
    Loop(usize, Vec<Self>),
    Try(Box<Try>),
}

#[derive(Debug)]
struct Try {
    label: usize,
    body: Vec<Statement>,
    handler: Option<Vec<Statement>>,
    handler_of_all: Option<Vec<Statement>>,
    /// The label and the depth of the block to which it delegates; no label is the function's.
    delegate: Option<(Option<usize>, usize)>,
}

/// Why a statement did not end.
#[derive(Debug, PartialEq)]
enum Left {
    Branch(usize),
    Thrown(i32),
    /// On the way to this block, or to the caller.
    Delegated(Option<usize>, i32),
    Stopped,
}

/// What the host knows of a run.
#[derive(Debug, Default)]
struct Host {
    bits: u64,
    calls: usize,
    notes: Vec<i32>,
}

impl Host {
    /// The answer to a call, or nothing if there were too many.
    fn call(&mut self, asked: i32) -> Option<i32> {
        self.calls += 1;
        if self.calls > MAX_CALLS {
            return None;
        }
        if asked != NEXT {
            self.notes.push(asked);
            return Some(0);
        }
        self.bits = self.bits.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x55;
        Some(i32::from(self.bits >> 63 == 1))
    }
}

/// Makes functions from a number.
struct Maker {
    random: u64,
    labels: usize,
    notes: i32,
}

/// A block around the statement that is made: its label, and whether a handler of it is being made.
type Around = (usize, bool);

impl Maker {
    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random >> 33).unwrap() % bound
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn note(&mut self) -> i32 {
        self.notes += 1;
        self.notes
    }

    fn statements(&mut self, around: &mut Vec<Around>, depth: usize) -> Vec<Statement> {
        let count = 1 + self.below(3);
        (0..count).map(|_| self.statement(around, depth)).collect()
    }

    fn statement(&mut self, around: &mut Vec<Around>, depth: usize) -> Statement {
        let handlers = around.iter().filter(|(_, handles)| *handles).map(|(label, _)| *label);
        let handlers = handlers.collect::<Vec<_>>();
        match self.below(12) {
            0 => Statement::Note(self.note()),
            1 | 2 => Statement::Throw(self.note()),
            3 if !around.is_empty() => Statement::Branch(around[self.below(around.len())].0),
            4 | 5 if !handlers.is_empty() => {
                Statement::Rethrow(handlers[self.below(handlers.len())])
            }
            _ if depth == 0 => Statement::Note(self.note()),
            6 => {
                let (label, body) = self.inside(around, false, depth);
                Statement::Block(label, body)
            }
            7 => {
                let (label, body) = self.inside(around, false, depth);
                Statement::Loop(label, body)
            }
            _ => Statement::Try(Box::new(self.attempt(around, depth))),
        }
    }

    fn inside(
        &mut self,
        around: &mut Vec<Around>,
        handles: bool,
        depth: usize,
    ) -> (usize, Vec<Statement>) {
        let label = self.label();
        (label, self.inside_of(label, around, handles, depth))
    }

    fn inside_of(
        &mut self,
        label: usize,
        around: &mut Vec<Around>,
        handles: bool,
        depth: usize,
    ) -> Vec<Statement> {
        around.push((label, handles));
        let made = self.statements(around, depth - 1);
        around.pop();
        made
    }

    fn attempt(&mut self, around: &mut Vec<Around>, depth: usize) -> Try {
        let (label, body) = self.inside(around, false, depth);
        let mut made = Try { label, body, handler: None, handler_of_all: None, delegate: None };
        match self.below(8) {
            0..3 => {
                let depth = self.below(around.len() + 1);
                made.delegate = Some((around.iter().rev().nth(depth).map(|one| one.0), depth));
            }
            3 => {}
            kind => {
                let handler = |maker: &mut Self, around: &mut Vec<Around>| {
                    maker.inside_of(label, around, true, depth)
                };
                made.handler = (kind != 4).then(|| handler(self, around));
                made.handler_of_all = (kind < 6).then(|| handler(self, around));
            }
        }
        made
    }
}

/// The statements as flat text.
fn text(statements: &[Statement], out: &mut String) {
    for statement in statements {
        match statement {
            Statement::Note(number) => writeln!(out, "i32.const {number} call $call drop"),
            Statement::Throw(value) => {
                writeln!(out, "{IF_NEXT} i32.const {value} call $raise drop end")
            }
            Statement::Branch(label) => writeln!(out, "{IF_NEXT} br $l{label} end"),
            Statement::Rethrow(label) => writeln!(out, "{IF_NEXT} rethrow $l{label} end"),
            Statement::Block(label, body) => {
                writeln!(out, "block $l{label}").unwrap();
                text(body, out);
                writeln!(out, "end")
            }
            Statement::Loop(label, body) => {
                writeln!(out, "loop $l{label}").unwrap();
                text(body, out);
                writeln!(out, "end")
            }
            Statement::Try(made) => {
                writeln!(out, "try $l{}", made.label).unwrap();
                text(&made.body, out);
                if let Some(handler) = &made.handler {
                    writeln!(out, "catch $e call $call drop").unwrap();
                    text(handler, out);
                }
                if let Some(handler) = &made.handler_of_all {
                    writeln!(out, "catch_all").unwrap();
                    text(handler, out);
                }
                match made.delegate {
                    Some((_, depth)) => writeln!(out, "delegate {depth}"),
                    None => writeln!(out, "end"),
                }
            }
        }
        .unwrap();
    }
}

const IF_NEXT: &str = "i32.const -1 call $call if";

/// Executes statements. `caught` are the exceptions of the handlers around them, with the labels.
fn execute(
    statements: &[Statement],
    host: &mut Host,
    caught: &mut Vec<(usize, i32)>,
) -> Result<(), Left> {
    for statement in statements {
        match statement {
            Statement::Note(number) => {
                host.call(*number).ok_or(Left::Stopped)?;
            }
            Statement::Block(label, body) => leave(execute(body, host, caught), *label)?,
            Statement::Loop(label, body) => loop {
                match execute(body, host, caught) {
                    Err(Left::Branch(target)) if target == *label => {}
                    ended => break leave(ended, *label)?,
                }
            },
            Statement::Try(made) => leave(attempt(made, host, caught), made.label)?,
            Statement::Throw(_) | Statement::Branch(_) | Statement::Rethrow(_) => {
                if host.call(NEXT).ok_or(Left::Stopped)? == 0 {
                    continue;
                }
                return Err(match statement {
                    Statement::Throw(value) => Left::Thrown(*value),
                    Statement::Branch(label) => Left::Branch(*label),
                    Statement::Rethrow(label) => {
                        let of = caught.iter().rev().find(|(of, _)| of == label);
                        Left::Thrown(of.unwrap().1)
                    }
                    _ => continue,
                });
            }
        }
    }
    Ok(())
}

/// How a block of this label ends.
fn leave(ended: Result<(), Left>, label: usize) -> Result<(), Left> {
    match ended {
        Err(Left::Branch(target)) if target == label => Ok(()),
        Err(Left::Delegated(Some(target), value)) if target == label => Err(Left::Thrown(value)),
        other => other,
    }
}

fn attempt(made: &Try, host: &mut Host, caught: &mut Vec<(usize, i32)>) -> Result<(), Left> {
    let ended = execute(&made.body, host, caught);
    let value = match ended {
        Err(Left::Thrown(value)) => value,
        Err(Left::Delegated(Some(target), value)) if target == made.label => value,
        other => return other,
    };
    if let Some((target, _)) = made.delegate {
        return Err(Left::Delegated(target, value));
    }
    let handler = match (&made.handler, &made.handler_of_all) {
        (Some(handler), _) => {
            host.call(value).ok_or(Left::Stopped)?;
            handler
        }
        (None, Some(handler)) => handler,
        (None, None) => return Err(Left::Thrown(value)),
    };
    caught.push((made.label, value));
    let ended = execute(handler, host, caught);
    caught.pop();
    ended
}

/// Executes the translated function: what the host noted, and what it returns. -1 stands for an end
/// without an exception, nothing for a run that was stopped.
fn translated(code: &str, bits: u64) -> (Vec<i32>, Option<i32>) {
    let imports = r#"(import "env" "__cpp_exception" (tag $e (param i32)))
        (import "env" "_Unwind_RaiseException" (func $raise (param i32) (result i32)))
        (import "host" "call" (func $call (param i32) (result i32)))"#;
    let module = side(imports, code);
    let merged = with_prepare_exported(&merged_with(&[extension(&module)]).unwrap());
    let mut config = Config::new();
    config.wasm_exceptions(true);
    let engine = Engine::new(&config).unwrap();
    let module = Module::new(&engine, merged).unwrap();
    let mut store = Store::new(&engine, ());
    let host = Arc::new(Mutex::new(Host { bits, ..Host::default() }));
    let known = Arc::clone(&host);
    let call = Func::wrap(&mut store, move |asked: i32| match known.lock().call(asked) {
        Some(answer) => Ok(answer),
        None => bail!("stopped"),
    });
    let instance = Instance::new(&mut store, &module, &[call.into()]).unwrap();
    let prepare = instance.get_typed_func::<(), i32>(&mut store, "prepare").unwrap();
    let ended = prepare.call(&mut store, ());
    let get = instance.get_typed_func::<(), i32>(&mut store, "get").unwrap();
    let value = get.call(&mut store, ()).unwrap() - i32::from(b'p');
    let notes = std::mem::take(&mut host.lock().notes);
    (notes, ended.ok().map(|_| value))
}

fn interpreted(statements: &[Statement], bits: u64) -> (Vec<i32>, Option<i32>) {
    let mut host = Host { bits, ..Host::default() };
    let value = match execute(statements, &mut host, &mut Vec::new()) {
        Ok(()) => Some(-1),
        Err(Left::Thrown(value) | Left::Delegated(None, value)) => Some(value),
        Err(Left::Stopped) => None,
        Err(other) => panic!("{other:?}"),
    };
    (host.notes, value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn translated_functions_do_what_the_legacy_instructions_say(random in 1..u64::MAX) {
        let mut maker = Maker { random, labels: 0, notes: 0 };
        let statements = maker.statements(&mut Vec::new(), 5);
        let mut body = String::new();
        text(&statements, &mut body);
        let code = format!(
            r#"(func $f {body}) (func (export "PyInit__mod") (result i32)
                try (result i32) call $f i32.const -1 catch $e end)"#
        );
        for bits in 0..3_u64 {
            let bits = bits.wrapping_mul(0x0123_4567_89ab_cdef) ^ random;
            prop_assert_eq!(translated(&code, bits), interpreted(&statements, bits), "{}", body);
        }
    }
}
