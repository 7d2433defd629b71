//! Time that does not pass while a guest is parked, and reproducible guests.

use std::sync::Arc;
use std::time::Duration;

use crate::workshop::{
    Parked, SEEDED, difference, on_guest_thread, reproducible, sandbox, setup, turn,
};
use wardian_engine::code::instrumentation::Variant;
use wardian_sandbox::clock_and_random::ClockAndRandomMode;
use wardian_vocabulary::units::Fuel;

#[test]
fn parked_time_does_not_pass_for_the_guest() {
    on_guest_thread(|| {
        let mut sandbox = sandbox(ClockAndRandomMode::Live, Variant::Timed);
        let mut guest = Parked::open(&mut sandbox, &Arc::new(setup()));
        let begin = "import time\ndef now(): return time.monotonic(), time.process_time(), time.time()\nbegun = now()";
        guest.run(&sandbox, &turn(begin, "begun", None));
        guest.checkpoint(&sandbox);
        guest.lose(&sandbox);
        std::thread::park_timeout(Duration::from_millis(1500));
        guest.resume(&mut sandbox);
        let passed = "[later - before for later, before in zip(now(), begun)]";
        let passed = guest.run(&sandbox, &turn("", passed, None));
        let passed: Vec<f64> = serde_json::from_str(&passed).unwrap();
        assert!(passed[0] > 0.0 && passed[0] < 1.4, "the monotonic clock: {passed:?}");
        assert!(passed[1] >= 0.0 && passed[1] < 1.4, "processor time: {passed:?}");
        assert!(passed[2] > 1.4, "the time of day goes on: {passed:?}");
        guest.lose(&sandbox);
    });
}

/// Turns that read clocks, draw randomness, use fuel in the guest and in the host, and free memory, of which
/// states say nothing.
const TURNS: &[(&str, &str)] = &[
    ("import os, random, time, zlib; x = [os.urandom(5)]", "x, random.random(), time.time_ns()"),
    (
        "x.append(os.urandom(7)); open('file', 'wb').write(os.urandom(9000))",
        "x, time.monotonic_ns()",
    ),
    ("import numpy as np; m = np.random.rand(40, 40) @ np.random.rand(40, 40)", "float(m.sum())"),
    ("time.sleep(2.5)", "time.monotonic_ns(), time.process_time()"),
    ("x.append(len(zlib.compress(open('file', 'rb').read())))", "x, os.stat('file').st_mtime_ns"),
    ("", "random.gauss(0, 1), os.statvfs('.').f_bfree, time.time_ns()"),
    (
        "large = [os.urandom(9000) for _ in range(3000)]; del large[::3]",
        "len(large), id(large[-1])",
    ),
    ("del large", "random.random(), time.monotonic_ns()"),
    ("taken = bytearray(5 << 20)", "id(taken), sum(taken), time.monotonic_ns()"),
];

#[test]
fn parked_unchanged_are_fuel_clocks_and_randomness_of_reproducible_guests() {
    on_guest_thread(|| {
        let [mut first, mut second] = [(); 2].map(|()| sandbox(SEEDED, Variant::Metered));
        let setup = Arc::new(reproducible());
        let mut original = Parked::open(&mut first, &setup);
        let mut parked = Parked::open(&mut first, &setup);
        for (number, (code, value)) in TURNS.iter().enumerate() {
            let turn = turn(code, value, Some(Fuel(50_000_000_000)));
            let (expected, end) = original.end_of(&first, &turn);
            assert!(end.outcome.end.is_ok(), "turn {number}: {expected}");
            let here = if number % 2 == 0 { &mut first } else { &mut second };
            let (found, other_end) = parked.end_of(here, &turn);
            assert_eq!(found, expected, "turn {number}");
            assert_eq!(other_end.outcome.usage.fuel, end.outcome.usage.fuel, "turn {number}");
            let facts = parked.checkpoint(here);
            parked.lose(here);
            let there = if number % 2 == 0 { &mut second } else { &mut first };
            parked.resume(there);
            assert_eq!(facts.root, original.checkpoint(&first).root, "turn {number}");
            assert_eq!(difference(parked.memory(), original.memory()), None, "turn {number}");
        }
    });
}
