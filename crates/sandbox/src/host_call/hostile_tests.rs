//! Makes host calls with hostile frames and pointers.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use wasmtime::{Engine, Instance, Memory, Module, Store, Trap};

use crate::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use crate::host_call::account::HostCallAccount;
use crate::memory::{
    ControlPages, DirtyPages, MemoryHandle, MemoryImage, SlotMemories, SlotPool, SlotRules, Verify,
};
use crate::preview1::TurnIo;
use crate::run::capture::Capture;
use crate::run::deadline::Deadline;
use crate::run::guest::calls;
use crate::run::guest::open::process_for;
use crate::run::guest::state::{Guest, TurnState};
use wardian_engine::code::compile::{self, MAX_WASM_STACK};
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::code::polls::with_polls;
use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::message::Refusal;
use wardian_formats::job::{SetupLimits, TurnLimits};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, Digest};

/// A guest whose `host_alloc` does what its mode says, and which can make any host call.
const SOURCE: &str = r#"(module
    (import "host" "call" (func $call (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 2 8)
    (global $mode (mut i32) (i32.const 0))
    (global $answer (mut i32) (i32.const 0))
    (global $allocations (mut i32) (i32.const 0))
    (func (export "set") (param i32 i32)
        (global.set $mode (local.get 0))
        (global.set $answer (local.get 1)))
    (func (export "allocations") (result i32) (global.get $allocations))
    (func (export "turn") (param i32 i32) (result i32) (i32.const 0))
    (func (export "host_alloc") (param i32) (result i32)
        (global.set $allocations (i32.add (global.get $allocations) (i32.const 1)))
        (block $fixed (block $loops (block $grows (block $traps (block $enters
            (br_table $fixed $enters $traps $grows $loops (global.get $mode)))
            (drop (call $call (i32.const 0) (i32.const 1) (i32.const 256) (i32.const 260)))
            (br $fixed))
            (unreachable))
            (drop (memory.grow (i32.const 1)))
            (br $fixed))
            (loop $again (br $again)))
        (global.get $answer))
    (func (export "call") (param i32 i32 i32 i32) (result i32)
        (call $call (local.get 0) (local.get 1) (local.get 2) (local.get 3)))
    (func (export "calls") (param $left i32) (param $length i32) (result i32) (local $worst i32)
        (loop $again
            (local.set $worst (i32.or (local.get $worst)
                (call $call (i32.const 0) (local.get $length) (i32.const 256) (i32.const 260))))
            (br_if $again
                (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
        (local.get $worst)))"#;

const SIZE: i32 = 2 << 16;

/// The behaviour of `host_alloc`.
const FIXED: i32 = 0;
const ENTERS: i32 = 1;
const TRAPS: i32 = 2;
const GROWS: i32 = 3;
const LOOPS: i32 = 4;

/// The place of answers unless a test sets another, and where their address and length go.
const ANSWER: i32 = 0x8000;
const OUT: [i32; 2] = [256, 260];

const ANSWERED: i32 = 0;
const FAULT: i32 = -2;

/// Addresses and lengths at the edges of everything.
const HOSTILE: [i32; 16] = [
    0,
    1,
    3,
    0x100,
    0x7fff,
    SIZE - 8,
    SIZE - 4,
    SIZE - 3,
    SIZE - 1,
    SIZE,
    SIZE + 1,
    i32::MAX - 1,
    i32::MAX,
    i32::MIN,
    -8,
    -1,
];

/// A host that accepts every blob and stores nothing.
struct Forgetful;

impl Host for Forgetful {
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        if kind.is_empty() {
            let (error_type, message) = ("ValueError".to_owned(), "no kind".to_owned());
            return Err(Refusal { error_type, message });
        }
        Ok(BlobId::of_digest(&Digest::of(content)))
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }
}

struct Hostile {
    store: Store<Guest>,
    instance: Instance,
    memory: Memory,
    pages: Arc<ControlPages>,
}

impl Hostile {
    fn new(memories: &SlotMemories, module: &Module) -> Self {
        let engine = module.engine();
        let zeros = vec![0; SIZE.unsigned_abs() as usize];
        let image = MemoryImage::open(MemoryImage::seal(zeros.as_slice()).unwrap()).unwrap();
        let rules = SlotRules::new(1 << 20, Verify::Always, DirtyPages::best());
        let pool = SlotPool::new(image, rules);
        // One guest serves thousands of calls, each of which is compared byte by byte.
        let wall_time = Duration::from_secs(600);
        let limits = TurnLimits { host_calls: 1_000, wall_time, ..TurnLimits::DEFAULT };
        let mode = ClockAndRandomMode::Seeded { seed: [7; 32], realtime: Duration::ZERO };
        let clock_and_random = ClockAndRandom::new(mode, Clock::System);
        let process = process_for(&SetupLimits::DEFAULT, &[], clock_and_random).unwrap();
        let io = TurnIo::new(Capture::new(limits.logs), Deadline::after(limits.wall_time));
        let account = HostCallAccount::new(Box::new(Forgetful), b"{}", &limits);
        let size = SIZE.unsigned_abs() as usize;
        let guest = Guest::new(process, &SetupLimits::DEFAULT, size);
        let mut store = Store::new(engine, guest);
        store.limiter(|guest| &mut guest.lasting.ceiling);
        let linker = calls::linker(engine).unwrap();
        let (instance, pages) =
            memories.assign_image(&pool, || linker.instantiate(&mut store, module).unwrap());
        let pages = pages.unwrap();
        calls::attach(&mut store, &instance, &pages).unwrap();
        let turn = TurnState::new(io, account);
        calls::begin_turn(&mut store, (&instance, &pages), turn, None).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        Self { store, instance, memory, pages }
    }

    fn set(&mut self, mode: i32, answer: i32) {
        let set = self.instance.get_typed_func::<(i32, i32), ()>(&mut self.store, "set").unwrap();
        set.call(&mut self.store, (mode, answer)).unwrap();
    }

    /// Puts a frame at address zero.
    fn put(&mut self, frame: &[u8]) {
        self.memory.write(&mut self.store, 0, frame).unwrap();
    }

    fn call(&mut self, frame: [i32; 2], out: [i32; 2]) -> wasmtime::Result<i32> {
        let call = self.instance.get_typed_func(&mut self.store, "call").unwrap();
        call.call(&mut self.store, (frame[0], frame[1], out[0], out[1]))
    }

    fn bytes(&self) -> Vec<u8> {
        self.memory.data(&self.store).to_vec()
    }

    /// Calls, and checks that nothing but the allowed parts of the memory has changed.
    fn call_and_compare(&mut self, frame: [i32; 2], out: [i32; 2], answer: i32) -> i32 {
        let before = self.bytes();
        let code = self.call(frame, out).unwrap();
        assert!([ANSWERED, FAULT].contains(&code), "{frame:?} {out:?} {answer} gave {code}");
        let after = self.bytes();
        // The longest answer here is shorter.
        let allowed = [part(answer, 512), part(out[0], 4), part(out[1], 4)];
        for (at, (one, other)) in before.iter().zip(&after).enumerate() {
            let is_allowed = allowed.iter().any(|part| part.contains(&at));
            assert!(one == other || is_allowed, "{frame:?} {out:?} {answer} changed {at:#x}");
        }
        code
    }
}

fn part(start: i32, length: usize) -> Range<usize> {
    let start = start.cast_unsigned() as usize;
    start..start + length
}

/// Does something with a hostile guest, on a thread whose stack is as large as in a worker.
fn with_guest<T: Send>(act: impl FnOnce(&mut Hostile) -> T + Send) -> T {
    thread::scope(|scope| {
        let large = thread::Builder::new().stack_size(4 * MAX_WASM_STACK);
        let running = large.spawn_scoped(scope, || {
            let memories = SlotMemories::new(SIZE.unsigned_abs() as usize);
            let mut config = compile::config(Variant::Timed);
            config.with_host_memory(Arc::new(MemoryHandle(Arc::clone(&memories))));
            let engine = Engine::new(&config).unwrap();
            let polled = with_polls(&wat::parse_str(SOURCE).unwrap()).unwrap();
            let module = Module::new(&engine, polled).unwrap();
            let mut guest = Hostile::new(&memories, &module);
            guest.set(FIXED, ANSWER);
            guest.put(&[1]);
            act(&mut guest)
        });
        running.unwrap().join().unwrap()
    })
}

#[test]
fn a_frame_outside_of_memory_is_a_fault() {
    with_guest(|guest| {
        for frame in [[SIZE, 1], [SIZE - 1, 2], [-1, 1], [0, -1], [0, SIZE + 1], [i32::MIN, 1]] {
            assert_eq!(guest.call_and_compare(frame, OUT, ANSWER), FAULT, "{frame:?}");
        }
        assert_eq!(guest.call_and_compare([0, 0], OUT, ANSWER), FAULT, "an empty frame");
        assert_eq!(guest.call_and_compare([0, 1], OUT, ANSWER), ANSWERED);
        let memory = guest.bytes();
        assert_eq!(memory[256..264], [0, 0x80, 0, 0, 3, 0, 0, 0], "address and length");
        assert_eq!(memory[0x8000..0x8003], *b"\0{}");
    });
}

#[test]
fn an_answer_goes_nowhere_outside_of_memory() {
    with_guest(|guest| {
        for answer in HOSTILE {
            guest.set(FIXED, answer);
            guest.put(&[1]);
            let fits = (1..=SIZE - 3).contains(&answer);
            let expected = if fits { ANSWERED } else { FAULT };
            assert_eq!(guest.call_and_compare([0, 1], OUT, answer), expected, "{answer:#x}");
        }
        guest.set(FIXED, ANSWER);
        for out in HOSTILE {
            let expected = if (0..=SIZE - 4).contains(&out) { ANSWERED } else { FAULT };
            for out in [[out, OUT[1]], [OUT[0], out], [out, out]] {
                guest.put(&[1]);
                assert_eq!(guest.call_and_compare([0, 1], out, ANSWER), expected, "{out:x?}");
            }
        }
    });
}

#[test]
fn overlapping_parts_harm_only_the_guest_itself() {
    with_guest(|guest| {
        // The answer over the frame, its address over the answer, its length over its address.
        for (answer, out) in [(1, OUT), (ANSWER, [ANSWER, ANSWER + 4]), (ANSWER, [0, 1])] {
            guest.set(FIXED, answer);
            guest.put(&[1]);
            assert_eq!(guest.call_and_compare([0, 1], out, answer), ANSWERED);
        }
    });
}

#[test]
fn an_allocation_that_grows_the_memory_is_answered_in_the_new_one() {
    with_guest(|guest| {
        guest.set(GROWS, SIZE + 100);
        assert_eq!(guest.call([0, 1], OUT).unwrap(), ANSWERED);
        let memory = guest.bytes();
        assert_eq!(memory.len(), SIZE.unsigned_abs() as usize + 65_536);
        assert_eq!(memory[SIZE.unsigned_abs() as usize + 100..][..3], *b"\0{}");
    });
}

#[test]
fn an_allocation_that_traps_or_never_ends_ends_the_run() {
    with_guest(|guest| {
        guest.set(TRAPS, ANSWER);
        let error = guest.call([0, 1], OUT).unwrap_err();
        assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::UnreachableCodeReached));

        guest.set(LOOPS, ANSWER);
        guest.pages.close().unwrap();
        let error = guest.call([0, 1], OUT).unwrap_err();
        assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::MemoryOutOfBounds), "{error:?}");
    });
}

#[test]
fn an_allocation_that_calls_the_host_again_ends_when_its_stack_does() {
    with_guest(|guest| {
        guest.set(ENTERS, ANSWER);
        let error = guest.call([0, 1], OUT).unwrap_err();
        assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::StackOverflow), "{error:?}");
        let count = guest.instance.get_typed_func::<(), i32>(&mut guest.store, "allocations");
        assert!(count.unwrap().call(&mut guest.store, ()).unwrap() > 100);
        // The next call starts on an empty stack.
        guest.set(FIXED, ANSWER);
        assert_eq!(guest.call([0, 1], OUT).unwrap(), ANSWERED);
    });
}

#[test]
fn a_hundred_thousand_calls_are_answered_and_refused_beyond_the_limit() {
    with_guest(|guest| {
        for frame in
            [&b"\x04\x01line\xff\nline"[..], b"\x05\x03\x00a/bx", b"\x06\x01\x00ano", b"\x01"]
        {
            guest.put(frame);
            let calls = guest.instance.get_typed_func::<(i32, i32), i32>(&mut guest.store, "calls");
            let length = i32::try_from(frame.len()).unwrap();
            let worst = calls.unwrap().call(&mut guest.store, (100_000, length)).unwrap();
            assert_eq!(worst, ANSWERED);
        }
        let refused = guest.bytes()[0x8000..].to_vec();
        assert_eq!(refused[..3], *b"\0{}", "the job is free of charge");
        guest.put(b"\x04\x01x");
        assert_eq!(guest.call([0, 3], OUT).unwrap(), ANSWERED);
        let refused = guest.bytes()[0x8000..].to_vec();
        let message =
            br#"{"type":"HostCallLimit","message":"the run made more than 1000 host calls"}"#;
        assert_eq!(refused[0], 1);
        assert_eq!(refused[1..=message.len()], *message);
        let (ending, calls) = guest.store.data_mut().turn.as_mut().unwrap().account.take_report();
        assert!(ending.is_none());
        assert_eq!(calls, 300_001);
    });
}

/// Frames of every operation, whole and broken.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let operation = prop_oneof![4 => 0_u8..15, 1 => any::<u8>()];
    let length = prop_oneof![select(vec![0_u16, 1, 2, 9, 0x7fff, 0xffff]), any::<u16>()];
    let text = prop_oneof![
        select(vec!["", "a/b", "text/plain", "/workspace/x", "../..", "\0", "/blobs", "é"])
            .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..80),
    ];
    (operation, length, any::<bool>(), text.clone(), text).prop_map(
        |(operation, length, is_true, one, other)| {
            let length = if is_true { u16::try_from(one.len()).unwrap_or(length) } else { length };
            [vec![operation], length.to_le_bytes().to_vec(), one, other].concat()
        },
    )
}

#[test]
fn frames_of_every_kind_never_panic_nor_reach_outside() {
    with_guest(|guest| {
        let arguments = prop::collection::vec(select(&HOSTILE[..]), 4);
        let calls = (frame(), arguments, prop::bool::weighted(0.7));
        let config =
            ProptestConfig { cases: 3_000, failure_persistence: None, ..Default::default() };
        let mut runner = prop::test_runner::TestRunner::new(config);
        let guest = RefCell::new(guest);
        let ended = runner.run(&calls, |(frame, hostile, is_sane)| {
            let (place, out, answer) = if is_sane {
                ([0, i32::try_from(frame.len()).unwrap()], OUT, ANSWER)
            } else {
                ([hostile[0], hostile[1]], [hostile[2], OUT[1]], hostile[3])
            };
            let mut guest = guest.borrow_mut();
            guest.set(FIXED, answer);
            guest.put(&frame);
            guest.call_and_compare(place, out, answer);
            Ok(())
        });
        ended.unwrap();
    });
}
