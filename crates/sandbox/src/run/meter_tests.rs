//! Runs small metered guests with budgets and listeners.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use wasmtime::{Engine, Instance, Module, Store, Trap};

use super::*;
use crate::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use crate::host_call::account::HostCallAccount;
use crate::memory::{
    DirtyPages, MemoryHandle, MemoryImage, SlotMemories, SlotPool, SlotRules, Verify, WASM_PAGE,
};
use crate::preview1::Preview1 as _;
use crate::preview1::TurnIo;
use crate::run::capture::Capture;
use crate::run::deadline::Deadline;
use crate::run::guest::calls;
use crate::run::guest::open::process_for;
use crate::run::guest::state::{Guest, TurnState};
use wardian_engine::code::compile::{self, MAX_WASM_STACK};
use wardian_engine::code::instrumentation::{Instrumentation, Variant};
use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::message::Refusal;
use wardian_formats::job::{SetupLimits, TurnLimits};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, Digest};

/// `turn` counts in memory, with an indirect call for each number, and then spins for a while
/// without calls.
/// `asks` says that the mark is passed, for no reason. `late` and `later` call the host after code that
/// does not look at the counter.
const SOURCE: &str = r#"(module
    (import "host" "call" (func $call (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
    (memory (export "memory") 1)
    (func (export "host_alloc") (param i32) (result i32) (i32.const 1024))
    (type $nothing (func))
    (table 1 funcref)
    (elem (i32.const 0) $leaf)
    (func $leaf)
    (func $count
        (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
        (call_indirect (type $nothing) (i32.const 0)))
    (func $spin (param $left i32)
        (loop (br_if 0 (local.tee $left (i32.sub (local.get $left) (i32.const 1))))))
    (func (export "turn") (param i32 i32) (result i32)
        (call $count)
        (call $count)
        (loop
            (call $count)
            (br_if 0 (i32.lt_u (i32.load (i32.const 0)) (i32.const 100))))
        (call $spin (i32.const 1000))
        (call $count)
        (i32.const 0))
    (func (export "late") (result i32)
        (call $count)
        (call $spin (i32.const 1000))
        (call $call (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (func (export "later") (result i32)
        (call $count)
        (call $spin (i32.const 1000))
        (call $yield))
    (func (export "asks") (result i32)
        (call $call (i32.const 0) (i32.const -1) (i32.const 0) (i32.const 0))))"#;

struct Forgetful;

impl Host for Forgetful {
    fn write_blob(&mut self, _kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        Ok(BlobId::of_digest(&Digest::of(content)))
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }
}

struct Metered {
    store: Store<Guest>,
    instance: Instance,
}

impl Metered {
    fn new(budget: u64, sampling: Option<Sampling<Guest>>) -> Self {
        Self::attached(Variant::Metered, budget, sampling).unwrap()
    }

    fn attached(
        variant: Variant,
        budget: u64,
        sampling: Option<Sampling<Guest>>,
    ) -> wasmtime::Result<Self> {
        let memories = SlotMemories::new(WASM_PAGE);
        let checks = Instrumentation::from(variant);
        let mut config = compile::config(checks);
        config.with_host_memory(Arc::new(MemoryHandle(Arc::clone(&memories))));
        let engine = Engine::new(&config).unwrap();
        let source = wat::parse_str(SOURCE).unwrap();
        let module = Module::new(&engine, checks.apply(&source).unwrap()).unwrap();
        let image = MemoryImage::seal([0; WASM_PAGE].as_slice()).unwrap();
        let rules = SlotRules::new(1 << 20, Verify::Always, DirtyPages::best());
        let pool = SlotPool::new(MemoryImage::open(image).unwrap(), rules);

        let limits = TurnLimits { fuel: Some(Fuel(budget)), ..TurnLimits::DEFAULT };
        let mode = ClockAndRandomMode::Seeded { seed: [7; 32], realtime: Duration::ZERO };
        let clock_and_random = ClockAndRandom::new(mode, Clock::System);
        let process = process_for(&SetupLimits::DEFAULT, &[], clock_and_random).unwrap();
        let io = TurnIo::new(Capture::new(limits.logs), Deadline::after(limits.wall_time));
        let account = HostCallAccount::new(Box::new(Forgetful), b"{}", &limits);
        let mut turn = TurnState::new(io, account);
        turn.sampling = sampling;
        let guest = Guest::new(process, &SetupLimits::DEFAULT, WASM_PAGE);
        let mut store = Store::new(&engine, guest);
        let linker = calls::linker(&engine).unwrap();
        let instantiate = || linker.instantiate(&mut store, &module).unwrap();
        let (instance, pages) = memories.assign_image(&pool, instantiate);
        let pages = pages.unwrap();
        calls::attach(&mut store, &instance, &pages)?;
        calls::begin_turn(&mut store, (&instance, &pages), turn, limits.fuel)?;
        Ok(Self { store, instance })
    }

    fn turn(&mut self) -> Result<i32, Trap> {
        calls::turn(&mut self.store, b"x").map_err(|error| *error.downcast_ref::<Trap>().unwrap())
    }

    fn used(&mut self) -> u64 {
        self.store.data().meter().unwrap().used().0
    }
}

/// On a thread whose stack is as large as in a worker.
fn on_guest_thread(act: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let large = thread::Builder::new().stack_size(2 * MAX_WASM_STACK);
        large.spawn_scoped(scope, act).unwrap().join().unwrap();
    });
}

#[test]
fn fuel_decides_if_a_run_completes() {
    on_guest_thread(|| {
        let mut enough = Metered::new(u64::MAX, None);
        assert_eq!(enough.turn(), Ok(0));
        let used = enough.used();
        assert!((1_000..20_000).contains(&used), "{used}");
        for missing in [0, 1, 2, 1_000, used] {
            let mut guest = Metered::new(used - missing, None);
            let end = guest.turn();
            let meter = guest.store.data().meter().unwrap();
            assert_eq!(meter.is_exceeded(), missing > 0, "{missing} {end:?}");
            assert_eq!(guest.used(), used - missing, "never more than the budget");
            if missing == 0 {
                assert_eq!(end, Ok(0));
            }
        }
        // At the first indirect call, in a loop of them, and after a loop without calls.
        for budget in [5, 50, used - 1_000] {
            assert_eq!(Metered::new(budget, None).turn(), Err(Trap::OutOfFuel));
        }
    });
}

#[test]
fn fuel_decides_what_a_guest_may_ask_of_the_host() {
    on_guest_thread(|| {
        for (export, answer) in [("late", -2), ("later", 0)] {
            for (budget, expected) in [(100_000, Ok(answer)), (500, Err(Trap::OutOfFuel))] {
                let mut guest = Metered::new(budget, None);
                let export = guest.instance.get_typed_func::<(), i32>(&mut guest.store, export);
                let end = export.unwrap().call(&mut guest.store, ());
                let end = end.map_err(|error| *error.downcast_ref::<Trap>().unwrap());
                assert_eq!(end, expected, "{budget}");
            }
        }
    });
}

#[test]
fn a_counter_is_looked_at_when_it_could_be_used_up_and_seldom_while_it_rests() {
    on_guest_thread(|| {
        let far = Metered::new(1_600_000_000_000, None);
        let mut watch = CounterWatch::new(far.store.data().meter().cloned().unwrap());
        assert_eq!(watch.next(), Duration::from_secs(100));
        let mut near = Metered::new(20_000, None);
        let mut watch = CounterWatch::new(near.store.data().meter().cloned().unwrap());
        let rests: Vec<_> = (0..4).map(|_| watch.next().as_millis()).collect();
        assert_eq!(rests, [4, 8, 16, 32]);
        assert_eq!(near.turn(), Ok(0));
        assert_eq!(watch.next().as_millis(), 2);
        assert!(!watch.is_used_up());
    });
}

#[test]
fn no_free_runs_on_code_that_does_not_count() {
    on_guest_thread(|| {
        let refused = Metered::attached(Variant::Timed, 1_000, None).map(drop).unwrap_err();
        assert!(refused.to_string().contains("does not count fuel"), "{refused}");
    });
}

#[test]
fn a_guest_that_asks_for_no_reason_gets_nothing() {
    on_guest_thread(|| {
        let mut guest = Metered::new(1_000, None);
        let asks = guest.instance.get_typed_func::<(), i32>(&mut guest.store, "asks").unwrap();
        let before = guest.used();
        assert_eq!(asks.call(&mut guest.store, ()).unwrap(), -2);
        assert_eq!(guest.used(), before + 5, "four constants and a call");
    });
}

/// The calls of a listener, each with the intervals, the fuel that is left, and the guest's number.
fn heard(every: u64, budget: u64) -> (Vec<(u64, u64, i32)>, u64) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let listener: Listener<Guest> = Box::new(move |caller, intervals| {
        let left = Guest::fuel_left(caller).unwrap();
        let memory = caller.data().memory().unwrap();
        let number = i32::from_le_bytes(*memory.data(caller).first_chunk().unwrap());
        hears.lock().push((intervals, left, number));
    });
    let mut guest = Metered::new(budget, Some(Sampling::new(every, listener)));
    guest.turn().ok();
    let used = guest.used();
    drop(guest);
    (Arc::into_inner(heard).unwrap().into_inner(), used)
}

#[test]
fn a_listener_is_called_at_the_same_places_each_time() {
    on_guest_thread(|| {
        let (_, without) = heard(u64::MAX, 1 << 40);
        for every in [1, 7, 100, 1_000, 1 << 39] {
            let (calls, used) = heard(every, 1 << 40);
            assert_eq!(used, without, "a listener costs no fuel");
            assert_eq!((&calls, used), (&heard(every, 1 << 40).0, used));
            let mut ended = 0;
            for (intervals, left, _) in &calls {
                ended += intervals;
                assert_eq!(ended, ((1 << 40) - left) / every, "{every}: {calls:?}");
            }
            let numbers: Vec<_> = calls.iter().map(|(_, _, number)| *number).collect();
            assert!(numbers.is_sorted(), "{numbers:?}");
        }
        let (calls, used) = heard(100, 1 << 40);
        let all: u64 = calls.iter().map(|(intervals, _, _)| intervals).sum();
        // The loop without calls took some dozens of intervals; they are told afterwards.
        assert!(calls.iter().any(|(intervals, _, _)| *intervals > 20), "{calls:?}");
        assert!(all * 100 <= used && used - all * 100 < 200, "{all} of {used}");
    });
}

#[test]
fn a_listener_does_not_change_the_end() {
    on_guest_thread(|| {
        for budget in [0, 10, 99, 100, 101, 1_500] {
            let (calls, used) = heard(10, budget);
            assert_eq!(used, heard(u64::MAX, budget).1, "{budget}");
            assert!(calls.iter().all(|(_, left, _)| *left < budget), "{calls:?}");
        }
    });
}
