//! Tests of the metering: exact where a run ends by itself, charged everywhere.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use wasmparser::Operator;
use wasmtime::{Caller, Engine, Instance, Linker, Memory, Store, Trap, Val};

use super::*;
use crate::code::compile::config;
use crate::code::instrumentation::{Instrumentation, Variant};
use crate::code::metering::flow_graph::{cost, is_bulk};
use crate::code::polls::Interruption;

/// A module with each instruction charged by itself, before it is executed.
fn charged_singly(module: &[u8]) -> Vec<u8> {
    let original = Original::read(module).unwrap();
    let added = Added::to(&original).unwrap();
    let calls = CallGraph::default();
    let mut bodies = Bodies::new(&original, added, calls);
    for payload in Parser::new(0).parse_all(module) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let mut edits = Vec::new();
        let mut operators = body.get_operators_reader().unwrap();
        while !operators.eof() {
            let at = operators.original_position() - body.range().start;
            let operator = operators.read().unwrap();
            edits.push(Addition { at, kind: AddedCode::Charge { cost: cost(&operator) } });
            if is_bulk(&operator) {
                edits.push(Addition { at, kind: AddedCode::ChargeLength });
            }
        }
        bodies.add_edited(&body, &edits).unwrap();
    }
    bodies.finish()
}

fn metered(module: &[u8]) -> Vec<u8> {
    let metered = with_metering(module).unwrap();
    wasmparser::validate(&metered).unwrap();
    metered
}

fn engine() -> Engine {
    Engine::new(&config(Variant::Metered)).unwrap()
}

/// The counter in its memory.
fn counter_in(memory: &[u8]) -> i64 {
    let (parts, _) = memory.as_chunks();
    parts[..COUNTERS].iter().map(|part| i64::from_le_bytes(*part)).sum()
}

/// A module that runs, whose host lets it continue as long as it has fuel.
struct Running {
    store: Store<u32>,
    instance: Instance,
    fuel: Memory,
}

impl Running {
    fn new(engine: &Engine, module: &[u8], budget: i64) -> Self {
        let mut linker = Linker::new(engine);
        let answer = |mut caller: Caller<'_, u32>, _: i32, length: i32, _: i32, _: i32| {
            assert_eq!(length, MARK_PASSED);
            *caller.data_mut() += 1;
            let fuel = caller.get_export(COUNTER_EXPORT).unwrap().into_memory().unwrap();
            let left = counter_in(fuel.data(&caller));
            let mark = caller.get_export(MARK_EXPORT).unwrap().into_global().unwrap();
            mark.set(&mut caller, Val::I64(0)).unwrap();
            if left < 0 { Err(wasmtime::Error::from(Trap::OutOfFuel)) } else { Ok(-2) }
        };
        linker.func_wrap("host", "call", answer).unwrap();
        let module = wasmtime::Module::new(engine, module).unwrap();
        let mut store = Store::new(engine, 0);
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let fuel = instance.get_memory(&mut store, COUNTER_EXPORT).unwrap();
        let mut running = Self { store, instance, fuel };
        assert_eq!(running.left(), 0, "no fuel without a budget");
        running.fuel.write(&mut running.store, 0, &budget.to_le_bytes()).unwrap();
        running
    }

    fn set(&mut self, export: &str, value: Val) {
        self.instance
            .get_global(&mut self.store, export)
            .unwrap()
            .set(&mut self.store, value)
            .unwrap();
    }

    /// Calls a function, with the trap that ends it, if one does. An exception is not a trap.
    fn call(&mut self, export: &str) -> Result<(), Option<Trap>> {
        let function = self.instance.get_typed_func::<(), ()>(&mut self.store, export).unwrap();
        let end = function.call(&mut self.store, ());
        end.map_err(|error| error.downcast_ref::<Trap>().copied())
    }

    fn left(&mut self) -> i64 {
        counter_in(self.fuel.data(&self.store))
    }
}

const PLENTY: i64 = 1 << 50;

/// The end of `go`, and the fuel that it used.
fn used(engine: &Engine, module: &[u8]) -> (Result<(), Option<Trap>>, i64) {
    let mut running = Running::new(engine, module, PLENTY);
    let end = running.call("go");
    (end, PLENTY - running.left())
}

const HEADER: &str = r#"
    (import "host" "call" (func (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)"#;

fn parsed(text: &str) -> Vec<u8> {
    wat::parse_str(format!("(module {HEADER} {text})")).unwrap()
}

#[test]
fn each_instruction_costs_one_unit() {
    let engine = engine();
    let cases = [
        // Two constants and an addition; what drops, opens, closes or returns costs nothing.
        ("(drop (i32.add (i32.const 1) (i32.const 2)))", 3),
        ("(block (nop)) (return)", 0),
        ("(if (i32.const 1) (then (drop (i32.const 5))) (else (nop)))", 3),
        ("(if (i32.const 0) (then (drop (i32.const 5))) (else (nop)))", 2),
        ("(call $leaf)", 3),
        ("(call_indirect (type $nothing) (i32.const 0))", 4),
        // Three times a loop of 6: get, constant, subtract, tee, branch and one more.
        (
            "(local.set $n (i32.const 3))
             (loop (local.set $n (i32.sub (local.get $n) (i32.const 1)))
                   (br_if 0 (local.get $n)))",
            2 + 3 * 6,
        ),
        // Three times the choice, which takes 5, and twice the way back.
        (
            "(local.set $n (i32.const 3))
             (loop $again (block $ends (block $next
                (br_table $ends $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
                (br $again)))",
            2 + 3 * 5 + 2,
        ),
        // Three operands, the operation, and its length.
        ("(memory.fill (i32.const 0) (i32.const 1) (i32.const 4096))", 4 + 1024),
        ("(memory.copy (i32.const 0) (i32.const 1) (i32.const 3))", 4),
    ];
    for (body, expected) in cases {
        let text = format!(
            "(type $nothing (func)) (table 1 funcref) (elem (i32.const 0) $leaf)
             (func $leaf (drop (i32.eqz (i32.const 1))))
             (func (export \"go\") (local $n i32) {body})"
        );
        let module = parsed(&text);
        assert_eq!(used(&engine, &metered(&module)), (Ok(()), expected), "{body}");
        assert_eq!(used(&engine, &charged_singly(&module)), (Ok(()), expected), "{body}");
    }
}

#[test]
fn a_trap_and_an_exception_count_the_region_that_they_leave() {
    let engine = engine();
    // A region of 5: constant, branch, and three after the block.
    let cases = [
        ("(block (br_if 0 (i32.const 0)) (unreachable)) (drop (i32.eqz (i32.const 1)))", 4),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0))) (drop (i32.const 1))", 4),
    ];
    for (body, expected) in cases {
        let module = metered(&parsed(&format!("(func (export \"go\") {body})")));
        let (end, fuel) = used(&engine, &module);
        assert!(matches!(end, Err(Some(_))), "{body}");
        assert_eq!(fuel, expected, "{body}");
    }
    // The call that throws is in the region of what follows it in the body of the `try_table`.
    let caught = "(tag $oops) (func $fails (throw $oops))
        (func (export \"go\")
            (block $h (try_table (catch $oops $h) (call $fails) (drop (i32.const 1)))
                (drop (i32.const 2)))
            (drop (i32.const 3)))";
    assert_eq!(used(&engine, &metered(&parsed(caught))), (Ok(()), 1 + 1 + 1 + 1));
}

/// Functions that would never end. `tree` makes exponentially many calls.
const ENDLESS: &str = r#"
    (tag $oops)
    (func (export "spins") (loop br 0))
    (func (export "nested") (loop $outer (loop $inner (br_if $inner (i32.const 0))) br $outer))
    (func (export "calls") (loop (call $leaf) br 0))
    (func $leaf)
    (func $deep (export "deep") (call $deep))
    (func $tree (param i32)
        (if (local.get 0) (then
            (call $tree (i32.sub (local.get 0) (i32.const 1)))
            (call $tree (i32.sub (local.get 0) (i32.const 1))))))
    (func (export "tree") (call $tree (i32.const 100)))
    (func (export "table") (loop $a (block $b (br_table $a $b $a (i32.const 0))) br $a))
    (func (export "throws") (loop $a (block $h (try_table (catch_all $h) (throw $oops))) br $a))
    (func (export "fills")
        (loop (memory.fill (i32.const 0) (i32.const 7) (i32.const 65536)) br 0))"#;

#[test]
fn charged_everywhere_every_endless_function_uses_fuel() {
    let checks = Instrumentation { variant: Variant::Metered, interruption: Interruption::Epochs };
    let engine = Engine::new(&config(checks)).unwrap();
    let module = metered(&parsed(ENDLESS));
    for export in ["spins", "nested", "calls", "tree", "table", "throws", "fills"] {
        let mut running = Running::new(&engine, &module, PLENTY);
        running.store.set_epoch_deadline(1);
        let (_keep, wait) = mpsc::channel::<()>();
        let engine = engine.clone();
        let stops = thread::spawn(move || {
            wait.recv_timeout(Duration::from_millis(20)).unwrap_err();
            engine.increment_epoch();
        });
        assert_eq!(running.call(export), Err(Some(Trap::Interrupt)), "{export}");
        stops.join().unwrap();
        let used = PLENTY - running.left();
        assert!(used > 1_000, "{export}: {used}");
    }
}

#[test]
fn an_endless_function_with_recursion_ends_when_its_fuel_does() {
    let engine = engine();
    let module = metered(&parsed(ENDLESS));
    for budget in [0, 1, 2, 1000, 100_001] {
        let mut running = Running::new(&engine, &module, budget);
        assert_eq!(running.call("tree"), Err(Some(Trap::OutOfFuel)));
        let left = running.left();
        assert!((-20..0).contains(&left), "{left} of {budget}");
        let mut again = Running::new(&engine, &module, budget);
        assert_eq!((again.call("tree"), again.left()), (Err(Some(Trap::OutOfFuel)), left));
    }
    let mut running = Running::new(&engine, &module, 5_000);
    assert_eq!(running.call("deep"), Err(Some(Trap::OutOfFuel)));
}

#[test]
fn metered_everywhere_recursion_looks_at_the_mark() {
    let module = metered(&parsed(ENDLESS));
    let mut running = Running::new(&engine(), &module, 5_000);
    running.set(MARK_EXPORT, Val::I64(3_000));
    assert_eq!(running.call("deep"), Err(Some(Trap::OutOfFuel)));
    assert_eq!(*running.store.data(), 2, "once at the mark, once at the end");
}

/// The number of checks of each function.
fn checks(module: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let mut checks = 0;
        let mut in_check = false;
        for operator in body.get_operators_reader().unwrap() {
            let operator = operator.unwrap();
            checks += usize::from(in_check && matches!(operator, Operator::Call { .. }));
            in_check = matches!(operator, Operator::If { .. });
        }
        found.push(checks);
    }
    // The last function tells the host.
    found.pop();
    found
}

/// True for the last instruction of a charge.
fn is_charge(operator: &Operator<'_>) -> bool {
    matches!(operator, Operator::I64Store { memarg } if memarg.memory == 1)
}

#[test]
fn metered_everywhere_with_checks_only_where_calls_may_lead_back() {
    let functions = [
        ("(func $leaf)", 0),
        ("(func $calls (call $leaf) (call $leaf))", 0),
        // The first of these leads to the second, which leads back.
        ("(func $even (call $odd))", 0),
        ("(func $odd (call $even))", 1),
        ("(func $again (call $calls) (call $again) (call $again))", 1),
        ("(func $indirect (call_indirect (type $nothing) (i32.const 0)))", 1),
        ("(func $host (drop (call 0 (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))", 1),
        ("(func $fills (memory.fill (i32.const 0) (i32.const 0) (i32.const 8)))", 0),
        // Only the function's first call has a check.
        (
            "(func $loops (loop (call_indirect (type $nothing) (i32.const 0)) (br_if 0 (i32.const 0))))",
            1,
        ),
        ("(func $loops_directly (loop (call $leaf) (br_if 0 (i32.const 0))))", 0),
        ("(func $spins (loop (br_if 0 (i32.const 0))))", 0),
        // Each repetition of an interpreter's loop that makes calls looks, whatever it calls.
        (
            "(func $interprets (param i32)
                (loop $next
                    (block $b (block $a (br_table $a $b (local.get 0)))
                        (call $leaf) (call $leaf) (br $next))
                    (br_if $next (local.get 0))))",
            1,
        ),
        // Only one of the ways has a check already.
        ("(func $ways (block (br_if 0 (i32.const 1)) (call $ways) (call $ways)) (call $ways))", 2),
        // Nothing is known of what is caught.
        ("(func $catches (block $h (try_table (catch_all $h) (call $leaf))) (call $catches))", 1),
    ];
    let text: String = functions.iter().map(|(text, _)| *text).collect();
    let module = metered(&parsed(&format!("(type $nothing (func)) (table 1 funcref) {text}")));
    for ((text, expected), found) in functions.iter().zip(checks(&module)) {
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn paid_ahead_only_ways_that_are_not_expected_charge() {
    let charges = |body: &str| {
        let text = format!("(func (export \"go\") (local $n i32) {body})");
        let module = metered(&parsed(&text));
        let count = |body: FunctionBody<'_>| {
            let operators = body.get_operators_reader().unwrap().into_iter();
            operators
                .filter(|operator| {
                    let operator = operator.as_ref().unwrap();
                    is_charge(operator)
                })
                .count()
        };
        let payloads = Parser::new(0).parse_all(&module);
        let bodies = payloads.filter_map(|payload| match payload.unwrap() {
            Payload::CodeSectionEntry(body) => Some(count(body)),
            _ => None,
        });
        bodies.sum::<usize>()
    };
    let work = "(local.set $n (i32.add (local.get $n) (i32.const 1)))";
    assert_eq!(charges(work), 1);
    // Both arms cost the same.
    let arms = format!("(if (local.get $n) (then {work}) (else {work})) {work}");
    assert_eq!(charges(&arms), 1);
    // The other arm costs more.
    let arms = format!("(if (local.get $n) (then {work}) (else {work} {work})) {work}");
    assert_eq!(charges(&arms), 2);
    // The beginning, the loop, and the way out of it, which gives back the rest of a repetition.
    let endless = format!("(loop (br_if 1 (local.get $n)) {work} (br 0))");
    assert_eq!(charges(&endless), 2);
}

#[test]
fn paid_ahead_a_loop_charges_once_in_each_repetition() {
    let work = "(local.set $n (i32.sub (local.get $n) (i32.const 1)))";
    let rest = "(local.set $m (local.get $n)) (local.set $m (local.get $n))";
    // The rest is inside the loop, as compilers write it, but is not repeated.
    let inner = format!("(loop {work} (br_if 0 (local.get $n)) {rest})");
    for text in [inner.clone(), format!("(loop {inner} (br_if 0 (local.get $m)) {rest})")] {
        let text = format!("(func (export \"go\") (local $n i32) (local $m i32) {text})");
        let module = metered(&parsed(&text));
        let mut names = Vec::new();
        for payload in Parser::new(0).parse_all(&module) {
            let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
            for operator in body.get_operators_reader().unwrap() {
                match operator.unwrap() {
                    Operator::Loop { .. } => names.push("loop"),
                    operator if is_charge(&operator) => names.push("charge"),
                    Operator::BrIf { relative_depth: 0 } => names.push("repeat"),
                    _ => {}
                }
            }
        }
        // The branch is as it was: one that charges has another form.
        let names = names.join(" ");
        assert!(names.contains("loop charge repeat charge"), "{text}: {names}");
    }
}

#[test]
fn no_wrap_even_with_the_largest_budget() {
    let text = "(func $bulk (memory.fill (i32.const 0) (i32.const 0) (i32.const -1)))
        (func (export \"go\") (call $bulk))";
    let module = metered(&parsed(text));
    for budget in [0, i64::try_from(MOST_FUEL).unwrap()] {
        let mut running = Running::new(&engine(), &module, budget);
        assert_eq!(running.call("go"), Err(Some(Trap::MemoryOutOfBounds)));
        assert_eq!(running.left(), budget - 5 - (1 << 30) + 1, "charged before it is executed");
    }
}

#[test]
fn bounded_advance_by_the_length_of_functions() {
    let most = 7_654_321;
    assert!(most < MOST_ADVANCE);
    let engine = engine();
    // What wasmtime says of a metered function that was so long.
    let of_length = |length: u64| {
        let mut body = vec![0x01; usize::try_from(length).unwrap()];
        // No locals, and the end.
        (body[0], *body.last_mut().unwrap()) = (0, 0x0b);
        let mut code = Vec::new();
        1_u32.encode(&mut code);
        u32::try_from(body.len()).unwrap().encode(&mut code);
        code.extend(body);
        let mut module = Module::new();
        for payload in Parser::new(0).parse_all(&parsed("(func)")) {
            if let Some((id, range)) = payload.unwrap().as_section() {
                let is_code = id == u8::from(SectionId::Code);
                let original = &parsed("(func)")[range];
                let data = if is_code { &code } else { original };
                module.section(&RawSection { id, data });
            }
        }
        wasmtime::Module::validate(&engine, &with_metering(&module.finish()).unwrap())
            .map_err(|error| format!("{error:#}"))
    };
    of_length(most - 1000).unwrap();
    let refusal = of_length(most).unwrap_err();
    assert!(refusal.contains("body") && refusal.contains("size"), "{refusal}");
}

#[test]
fn unusual_modules_are_refused() {
    let refused = |text: &str| {
        let module = wat::parse_str(text).unwrap();
        with_metering(&module).unwrap_err().to_string()
    };
    for text in [
        "(module (func))",
        r#"(module (import "host" "call" (func (param i32) (result i32))) (func))"#,
    ] {
        assert!(refused(text).contains("`host.call`"), "{text}");
    }
    let tail = format!("(module {HEADER} (func $f (return_call $f)))");
    assert!(refused(&tail).contains("control flow of an unknown kind"));
    for memories in ["", "(memory 1) (memory 1)"] {
        let import = HEADER.replace("(memory (export \"memory\") 1)", memories);
        assert!(refused(&format!("(module {import} (func))")).contains("not one memory"));
    }
    assert!(with_metering(b"\0asm").is_err());
}

#[test]
fn missing_sections_are_added_in_their_place() {
    metered(&parsed("(tag) (func) (elem declare func 1)"));
    metered(&parsed("(global i32 (i32.const 1)) (func) (data \"x\")"));
}

/// Statements of generated programs.
#[derive(Debug, Clone)]
enum Node {
    Work(u8),
    Block(Vec<Node>),
    Loop(Vec<Node>),
    If(Vec<Node>, Option<Vec<Node>>),
    Branch(u8),
    BranchIf(u8),
    Table(Vec<u8>),
    Call(u8),
    Indirect(u8),
    Try(Vec<Node>),
    Fill(u8),
    Return,
    Trap,
    Throw,
}

fn node(with_ends: bool) -> impl Strategy<Value = Node> {
    let ends = if with_ends {
        prop_oneof![Just(Node::Trap), Just(Node::Throw)].boxed()
    } else {
        Just(Node::Return).boxed()
    };
    let leaf = prop_oneof![
        4 => any::<u8>().prop_map(|much| Node::Work(much % 5)),
        2 => any::<u8>().prop_map(Node::BranchIf),
        1 => any::<u8>().prop_map(Node::Branch),
        1 => prop::collection::vec(any::<u8>(), 1..5).prop_map(Node::Table),
        2 => any::<u8>().prop_map(Node::Call),
        1 => any::<u8>().prop_map(Node::Indirect),
        1 => any::<u8>().prop_map(Node::Fill),
        1 => ends,
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            2 => body().prop_map(Node::Block),
            2 => body().prop_map(Node::Loop),
            3 => (body(), prop::option::of(body())).prop_map(|(one, other)| Node::If(one, other)),
            1 => body().prop_map(Node::Try),
        ]
    })
}

const FUNCTIONS: u8 = 4;

/// The value of a generator of pseudo-random bits, below `most`.
fn random(most: usize) -> String {
    format!("(i32.rem_u (call $next) (i32.const {most}))")
}

/// Ends a program that has made too many steps.
const STEP: &str = "(global.set $steps (i32.sub (global.get $steps) (i32.const 1)))
    (if (i32.lt_s (global.get $steps) (i32.const 0)) (then (return)))";

fn write(nodes: &[Node], depth: usize, text: &mut String) {
    for node in nodes {
        let target = |to: u8| usize::from(to) % (depth + 1);
        let inner = |nodes: &[Node], more: usize| {
            let mut text = String::new();
            write(nodes, depth + more, &mut text);
            text
        };
        *text += &match node {
            Node::Work(much) => {
                "(global.set $sum (i32.add (global.get $sum) (i32.const 3)))".repeat((*much).into())
            }
            Node::Block(body) => format!("(block {})", inner(body, 1)),
            Node::Loop(body) => {
                format!("(loop {STEP} {} (br_if 0 {}))", inner(body, 1), random(2))
            }
            Node::If(one, None) => format!("(if {} (then {}))", random(2), inner(one, 1)),
            Node::If(one, Some(other)) => {
                let (one, other) = (inner(one, 1), inner(other, 1));
                format!("(if {} (then {one}) (else {other}))", random(2))
            }
            Node::Branch(to) => format!("(br {})", target(*to)),
            Node::BranchIf(to) => format!("(br_if {} {})", target(*to), random(2)),
            Node::Table(targets) => {
                let list: Vec<_> = targets.iter().map(|to| target(*to).to_string()).collect();
                format!("(br_table {} {})", list.join(" "), random(targets.len()))
            }
            Node::Call(to) => format!("(call $f{})", to % FUNCTIONS),
            Node::Indirect(to) => {
                format!("(call_indirect (type $nothing) (i32.const {}))", to % FUNCTIONS)
            }
            Node::Try(body) => {
                format!("(block $h (try_table (catch_all $h) {}))", inner(body, 2))
            }
            Node::Fill(much) => {
                let much = usize::from(*much) + 1;
                format!("(memory.fill (i32.const 8) (i32.const 1) {})", random(much))
            }
            Node::Return => "(return)".to_owned(),
            Node::Trap => format!("(drop (i32.div_u (i32.const 1) {}))", random(3)),
            Node::Throw => format!("(if {} (then (throw $oops)))", random(2)),
        };
    }
}

fn program(functions: &[Vec<Node>], seed: u32) -> Vec<u8> {
    let mut text = format!(
        "(type $nothing (func)) (tag $oops)
         (global $state (export \"state\") (mut i32) (i32.const {seed}))
         (global $sum (export \"sum\") (mut i32) (i32.const 0))
         (global $steps (export \"steps\") (mut i32) (i32.const 300))
         (table {FUNCTIONS} funcref) (elem (i32.const 0) $f0 $f1 $f2 $f3)
         (func $next (result i32)
            (global.set $state (i32.add
                (i32.mul (global.get $state) (i32.const 1103515245)) (i32.const 12345)))
            (i32.shr_u (global.get $state) (i32.const 16)))
         (func (export \"go\") (call $f0))"
    );
    for (number, nodes) in functions.iter().enumerate() {
        text += &format!("(func $f{number} {STEP} ");
        write(nodes, 0, &mut text);
        text += ")";
    }
    parsed(&text)
}

/// Checks each instruction of a metered module that names the memory of the counter.
fn ensure_in_bounds(module: &[u8]) {
    const END: u64 = 8 * COUNTERS as u64;
    const { assert!(END <= COUNTER_PAGES << 16) };
    let (mut loads, mut stores) = (0, 0);
    for payload in Parser::new(0).parse_all(module) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let operators: Vec<Operator<'_>> =
            body.get_operators_reader().unwrap().into_iter().map(Result::unwrap).collect();
        let is_zero = |at: usize| matches!(operators[at], Operator::I32Const { value: 0 });
        let is_load =
            |at: usize| matches!(operators[at], Operator::I64Load { memarg } if memarg.memory == 1);
        for (at, operator) in operators.iter().enumerate() {
            match operator {
                Operator::I64Load { memarg } if memarg.memory == 1 => {
                    assert!(is_zero(at - 1) && memarg.offset + 8 <= END, "{operator:?}");
                    loads += 1;
                }
                Operator::I64Store { memarg } if memarg.memory == 1 => {
                    assert!(memarg.offset + 8 <= END, "{operator:?}");
                    // The counter, less a constant or a length.
                    let value = match operators[at - 2] {
                        Operator::I64Const { .. } => 1,
                        Operator::I64ShrU => 4,
                        _ => panic!("{operator:?} of something else"),
                    };
                    let loaded = at - 2 - value;
                    assert!(matches!(operators[at - 1], Operator::I64Sub) && is_load(loaded));
                    assert!(is_zero(loaded - 2), "{operator:?} at another address");
                    stores += 1;
                }
                other => {
                    let text = format!("{other:?}");
                    let names_it = ["memory: 1,", "memory: 1 ", "mem: 1,", "mem: 1 "];
                    assert!(!names_it.iter().any(|name| text.contains(name)), "{text}");
                }
            }
        }
    }
    assert!(loads > 0 && stores > 0, "nothing was looked at");
}

/// The end of a program, its state then, and its fuel.
fn executed(
    engine: &Engine,
    module: &[u8],
    budget: i64,
) -> (Result<(), Option<Trap>>, [i32; 3], i64) {
    let mut running = Running::new(engine, module, budget);
    let end = running.call("go");
    let state = ["state", "sum", "steps"].map(|name| {
        let global = running.instance.get_global(&mut running.store, name).unwrap();
        global.get(&mut running.store).unwrap_i32()
    });
    (end, state, budget - running.left())
}

fn functions(with_ends: bool) -> impl Strategy<Value = Vec<Vec<Node>>> {
    let body = prop::collection::vec(node(with_ends), 0..8);
    prop::collection::vec(body, usize::from(FUNCTIONS))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(300)
    })]

    #[test]
    fn never_too_much_fuel_is_the_number_of_executed_instructions(
        functions in functions(false),
        seed in any::<u32>(),
    ) {
        let (engine, module) = (engine(), program(&functions, seed));
        let (metered, singly) = (metered(&module), charged_singly(&module));
        let counted = executed(&engine, &metered, PLENTY);
        prop_assert_eq!(&counted, &executed(&engine, &singly, PLENTY));
        let (end, state, fuel) = counted;
        prop_assert!(end.is_ok());
        // Exactly so much fuel suffices, and a unit less does not.
        prop_assert_eq!(executed(&engine, &metered, fuel), (Ok(()), state, fuel));
        let (_, _, all) = executed(&engine, &metered, fuel - 1);
        prop_assert!(all >= fuel);
    }

    #[test]
    fn counter_in_bounds_whatever_is_metered(functions in functions(true), seed in any::<u32>()) {
        let module = program(&functions, seed);
        ensure_in_bounds(&metered(&module));
        ensure_in_bounds(&charged_singly(&module));
    }

    #[test]
    fn paid_ahead_traps_and_exceptions_count_at_least_what_was_executed(
        functions in functions(true),
        seed in any::<u32>(),
    ) {
        let (engine, module) = (engine(), program(&functions, seed));
        let (metered, singly) = (metered(&module), charged_singly(&module));
        let (end, state, fuel) = executed(&engine, &metered, PLENTY);
        let (same_end, same_state, least) = executed(&engine, &singly, PLENTY);
        prop_assert_eq!((end, state), (same_end, same_state));
        prop_assert!(least <= fuel, "{} < {}", fuel, least);
        prop_assert_eq!(executed(&engine, &metered, PLENTY), (end, state, fuel));
    }
}
