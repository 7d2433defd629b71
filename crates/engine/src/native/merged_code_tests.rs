//! What follows the merge sees one module: the split, polls, metering, canonical NaNs and the graph of calls treat
//! the code of native modules as that of the engine.

use wasmparser::{KnownCustom, Name, Operator, Parser, Payload};
use wasmtime::{Caller, Engine, Func, Instance, Store, Trap, Val};

use crate::code::compile;
use crate::code::instrumentation::{Instrumentation, Variant};
use crate::code::metering::call_graph::CallGraph;
use crate::code::metering::transform::{COUNTER_EXPORT, COUNTERS, MARK_EXPORT};
use crate::code::polls::{Interruption, POLL_PAGE, with_polls};
use crate::code::split_data::{AddedExport, abi_of, split_data};
use crate::native::{DataAddresses, NativeModule, NativeRole, merge};

/// An engine whose `go` calls the function that was made importable, as `go_own` calls one of its own. Both return
/// through `result`.
const ENGINE: &str = r#"(module
    (type $init (func (result i32)))
    (import "host" "call" (func $host (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (table 4 4 funcref)
    (tag $thrown (param i32))
    (global $__stack_pointer (mut i32) (i32.const 65536))
    (func $_Unwind_RaiseException (param i32) (result i32) (throw $thrown (local.get 0)))
    (func $PyImport_AppendInittab (param i32 i32) (result i32)
        (i32.store (i32.const 0) (local.get 1)) (i32.const 0))
    (func $PyNumber_Half (param f64) (result f64) (f64.mul (local.get 0) (f64.const 0.5)))
    (func $call (param i32)
        (i32.store (i32.const 4) (call_indirect (type $init) (local.get 0))))
    (func (export "go") (call $call (i32.load (i32.const 0))))
    (func (export "go_own") (call $call (i32.load (i32.const 8))))
    (func $own (result i32) (local $n i32) OWN)
    (elem (i32.const 1) func $own $PyNumber_Half)
    (data (i32.const 8) "\01\00\00\00engine"))"#;

/// 64 bytes of memory, and two slots of the table.
const SIDE: &str = r#"(module
    (@custom "dylink.0" (before first) "\01\04\40\02\02\00")
    (import "env" "memory" (memory 1))
    (import "env" "__indirect_function_table" (table 1 funcref))
    (import "env" "__stack_pointer" (global $sp (mut i32)))
    (import "env" "__memory_base" (global $mb i32))
    (import "env" "__cpp_exception" (tag $e (param i32)))
    (import "env" "_Unwind_RaiseException" (func $raise (param i32) (result i32)))
    (import "env" "PyNumber_Half" (func $half (param f64) (result f64)))
    MORE
    (func $init (export "PyInit__mod") (result i32) (local $n i32) BODY)
    (data (global.get $mb) "native"))"#;

const PLENTY: i64 = 1 << 40;

const METERED: Instrumentation =
    Instrumentation { variant: Variant::Metered, interruption: Interruption::Polls };

fn merged(body: &str, more: &str) -> Vec<u8> {
    let engine = wat::parse_str(ENGINE.replace("OWN", body))
        .or_else(|_uses_the_side| wat::parse_str(ENGINE.replace("OWN", "(i32.const 0)")));
    let side = wat::parse_str(SIDE.replace("BODY", body).replace("MORE", more)).unwrap();
    let side = NativeModule { name: "pkg._mod", bytes: &side, role: NativeRole::Extension };
    merge(&engine.unwrap(), &[side], &DataAddresses::default()).unwrap()
}

/// A merged module whose data is in its memory, as guests begin.
struct Guest {
    store: Store<()>,
    instance: Instance,
}

impl Guest {
    fn new(merged: &[u8], checks: Instrumentation) -> Self {
        let prepare = AddedExport {
            name: "prepare",
            symbol: "wardian_prepare_native",
            signature: "() -> i32",
        };
        let split = split_data(merged, &abi_of(merged).unwrap(), &[prepare]).unwrap();
        let code = checks.apply(&split.module).unwrap();
        let engine = compile::start(checks).unwrap();
        let module = wasmtime::Module::new(&engine, &code).unwrap();
        let mut store = Store::new(&engine, ());
        store.set_epoch_deadline(1);
        let instance = Self::instance(&mut store, &module);
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        memory.write(&mut store, 0, &split.cold.to_memory()).unwrap();
        let mut guest = Self { store, instance };
        guest.set_fuel(PLENTY);
        let prepare = guest.instance.get_typed_func::<(), i32>(&mut guest.store, "prepare");
        assert_eq!(prepare.unwrap().call(&mut guest.store, ()).unwrap(), 0);
        guest.set_fuel(PLENTY);
        guest
    }

    /// The host lets metered code go on as long as it has fuel.
    fn instance(store: &mut Store<()>, module: &wasmtime::Module) -> Instance {
        let host = |mut caller: Caller<'_, ()>, _: i32, _: i32, _: i32, _: i32| {
            let fuel = caller.get_export(COUNTER_EXPORT).unwrap().into_memory().unwrap();
            let left = counter_in(fuel.data(&caller));
            let mark = caller.get_export(MARK_EXPORT).unwrap().into_global().unwrap();
            mark.set(&mut caller, Val::I64(0)).unwrap();
            if left < 0 { Err(wasmtime::Error::from(Trap::OutOfFuel)) } else { Ok(-2) }
        };
        let host = Func::wrap(&mut *store, host);
        Instance::new(&mut *store, module, &[host.into()]).unwrap()
    }

    fn set_fuel(&mut self, left: i64) {
        if let Some(fuel) = self.instance.get_memory(&mut self.store, COUNTER_EXPORT) {
            fuel.data_mut(&mut self.store).fill(0);
            fuel.write(&mut self.store, 0, &left.to_le_bytes()).unwrap();
        }
    }

    fn fuel(&mut self) -> i64 {
        let fuel = self.instance.get_memory(&mut self.store, COUNTER_EXPORT).unwrap();
        counter_in(fuel.data(&self.store))
    }

    /// What the native function returns, or the trap that ends it.
    fn call(&mut self, export: &str) -> Result<i32, Option<Trap>> {
        let go = self.instance.get_typed_func::<(), ()>(&mut self.store, export).unwrap();
        let ended = go.call(&mut self.store, ());
        ended.map_err(|error| error.downcast_ref::<Trap>().copied())?;
        Ok(self.word(4))
    }

    fn word(&mut self, at: usize) -> i32 {
        let memory = self.instance.get_memory(&mut self.store, "memory").unwrap();
        i32::from_le_bytes(memory.data(&self.store)[at..at + 4].try_into().unwrap())
    }

    /// The result of a call, and the fuel that it used.
    fn metered_call(&mut self, export: &str) -> (Result<i32, Option<Trap>>, i64) {
        self.set_fuel(PLENTY);
        let result = self.call(export);
        (result, PLENTY - self.fuel())
    }
}

/// The counter in its memory.
fn counter_in(memory: &[u8]) -> i64 {
    let (parts, _) = memory.as_chunks();
    parts[..COUNTERS].iter().map(|part| i64::from_le_bytes(*part)).sum()
}

/// The index of the function with this name.
fn index_of(module: &[u8], wanted: &str) -> u32 {
    for payload in Parser::new(0).parse_all(module) {
        let Payload::CustomSection(custom) = payload.unwrap() else { continue };
        let KnownCustom::Name(parts) = custom.as_known() else { continue };
        for part in parts {
            let Name::Function(functions) = part.unwrap() else { continue };
            let mut named = functions.into_iter().map(Result::unwrap);
            if let Some(found) = named.find(|naming| naming.name == wanted) {
                return found.index;
            }
        }
    }
    panic!("no function is called `{wanted}`");
}

#[test]
fn the_split_takes_the_data_of_native_modules_along() {
    let merged = merged("(i32.load8_u offset=2 (global.get $mb))", "");
    let abi = abi_of(&merged).unwrap();
    assert_eq!((abi.memory_min_pages, abi.table_elements, abi.mutable_globals), (2, 7, 1));
    let split = split_data(&merged, &abi, &[]).unwrap();
    let memory = split.cold.to_memory();
    assert_eq!((&memory[12..18], &memory[65_536..65_542]), (&b"engine"[..], &b"native"[..]));
    assert!(!split.module.windows(6).any(|bytes| bytes == b"native"), "data is still in the code");
    let mut guest = Guest::new(&merged, METERED);
    assert_eq!(guest.call("go"), Ok(i32::from(b't')));
}

#[test]
fn nans_of_native_code_are_canonical_where_a_program_sees_them() {
    // A division of zeros has the sign bit on this processor, and the payload of a NaN stays.
    let high = |value: &str| {
        format!("(i32.wrap_i64 (i64.shr_u (i64.reinterpret_f64 {value}) (i64.const 32)))")
    };
    let zeros = "(f64.div (f64.convert_i32_s (local.get $n)) (f64.const 0))";
    let stored = "(f32.store offset=16 (global.get $mb)
        (f32.div (f32.convert_i32_s (local.get $n)) (f32.const 0)))
        (i32.load offset=16 (global.get $mb))";
    let cases = [
        (high(zeros), 0x7ff8_0000_u32),
        (high(&format!("(call $half {zeros})")), 0x7ff8_0000),
        (stored.to_owned(), 0x7fc0_0000),
    ];
    for (body, expected) in cases {
        let module = merged(&body, "");
        let found = Guest::new(&module, METERED).call("go").unwrap();
        assert_eq!(found.cast_unsigned(), expected, "{body}");
        if cfg!(target_arch = "x86_64") {
            let epochs =
                Instrumentation { variant: Variant::Timed, interruption: Interruption::Epochs };
            let other = Guest::new(&module, epochs).call("go").unwrap();
            assert_ne!(other, found, "the test shows nothing: {body}");
        }
    }
}

#[test]
fn every_loop_of_native_code_has_a_poll() {
    let body = "(loop $a (loop $b (br_if $b (local.get $n))) (br_if $a (local.get $n)))
        (loop (br 0)) (i32.const 0)";
    let polled = with_polls(&merged(body, "(func $f (call $f))")).unwrap();
    wasmparser::validate(&polled).unwrap();
    let (mut loops, mut calling) = (0, 0);
    for payload in Parser::new(0).parse_all(&polled) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let reader = body.get_operators_reader().unwrap();
        let operators: Vec<_> = reader.into_iter().map(Result::unwrap).collect();
        let is_poll = |at: usize| match operators.get(at..at + 3) {
            Some([Operator::I32Const { value }, Operator::I32Load8U { .. }, Operator::Drop]) => {
                POLL_PAGE.contains(&value.cast_unsigned())
            }
            _ => false,
        };
        let is_call = |one: &Operator<'_>| {
            matches!(one, Operator::Call { .. } | Operator::CallIndirect { .. })
        };
        if operators.iter().any(is_call) {
            calling += 1;
            assert!(is_poll(0), "a function that calls begins without a poll");
        }
        for (at, operator) in operators.iter().enumerate() {
            if matches!(operator, Operator::Loop { .. }) {
                loops += 1;
                assert!(is_poll(at + 1), "a loop without a poll");
            }
        }
    }
    // The engine's own function has the same loops.
    assert!(loops >= 6 && calling >= 3, "{loops} {calling}");
}

#[test]
fn a_native_loop_without_calls_is_stopped() {
    let module = merged("(loop (br 0)) (i32.const 0)", "");
    for variant in Variant::ALL {
        let checks = Instrumentation { variant, interruption: Interruption::Epochs };
        let mut guest = Guest::new(&module, checks);
        let engine: Engine = guest.store.engine().clone();
        let stopper = std::thread::spawn(move || engine.increment_epoch());
        assert_eq!(guest.call("go"), Err(Some(Trap::Interrupt)), "{variant}");
        stopper.join().unwrap();
    }
}

#[test]
fn native_code_is_counted_like_the_engines_own() {
    let counting = "(local.set $n (i32.const TIMES))
        (loop (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br_if 0 (local.get $n)))
        (memory.fill (i32.const 100) (i32.const 1) (i32.const 4096))
        (i32.const 7)";
    let mut costs = Vec::new();
    for times in ["10", "20", "30"] {
        let module = merged(&counting.replace("TIMES", times), "");
        let mut guest = Guest::new(&module, METERED);
        let native = guest.metered_call("go");
        assert_eq!(native, guest.metered_call("go_own"), "{times}");
        assert_eq!(native, guest.metered_call("go"), "the second call");
        let epochs = Instrumentation { interruption: Interruption::Epochs, ..METERED };
        assert_eq!(native, Guest::new(&module, epochs).metered_call("go"), "the other code");
        assert_eq!(native.0, Ok(7));
        costs.push(native.1);
    }
    assert_eq!((costs[1] - costs[0], costs[2] - costs[1]), (60, 60), "{costs:?}");
}

#[test]
fn exceptions_of_native_code_cost_the_same_each_time() {
    let body = "try (result i32)
            i32.const 5 call $raise drop i32.const 1
        catch $e
            i32.const 37 i32.add
        end";
    let module = merged(body, "");
    let first = Guest::new(&module, METERED).metered_call("go");
    assert_eq!(first.0, Ok(42));
    assert!(first.1 > 0);
    assert_eq!(first, Guest::new(&module, METERED).metered_call("go"));
}

#[test]
fn recursion_of_native_code_is_in_the_graph_of_calls_and_ends_without_fuel() {
    let more = "(func $leaf (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
        (func $once (param i32) (result i32) (call $leaf (local.get 0)))
        (func $again (param i32) (result i32)
            (if (result i32) (i32.eqz (call $once (local.get 0)))
                (then (i32.const 0)) (else (call $again (local.get 0)))))";
    let module = merged("(call $again (i32.const 1))", more);
    let of = |name: &str| index_of(&module, &format!("pkg._mod:{name}"));
    let (leaf, once, again, init) = (of("leaf"), of("once"), of("again"), of("init"));
    let graph = CallGraph::read(&module, 1).unwrap();
    assert!(graph.needs_check(again, again), "it leads back to itself");
    for (caller, callee) in [(init, again), (again, once), (once, leaf)] {
        assert!(!graph.needs_check(caller, callee), "{caller} {callee}");
    }
    let mut guest = Guest::new(&module, METERED);
    guest.set_fuel(10_000);
    assert_eq!(guest.call("go"), Err(Some(Trap::OutOfFuel)));
    assert!((-100_000..0).contains(&guest.fuel()), "{}", guest.fuel());
}
