//! Calls every function with hostile arguments.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;

use crate::clock_and_random::ClockAndRandomMode;
use crate::preview1::Exited;
use crate::preview1::tests::{FUNCTIONS, Guest, MEMORY_SIZE, wasi};
use crate::run::deadline::{Deadline, Stopped};
use crate::vfs::Errno;

/// Values at the edges of everything.
const HOSTILE: [u64; 18] = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    0x100,
    MEMORY_SIZE as u64 - 64,
    MEMORY_SIZE as u64 - 8,
    MEMORY_SIZE as u64 - 1,
    MEMORY_SIZE as u64,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fff8,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];

/// No argument above points between these. Only lengths of nearly the whole memory reach them.
const UNTOUCHED: std::ops::Range<usize> = 0x5000..0x8000;

/// A guest with seeded clocks, so that no sleep takes time.
fn guest() -> Guest {
    let mode = ClockAndRandomMode::Seeded { seed: [9; 32], realtime: Duration::ZERO };
    let mut guest = Guest::new(wasi(mode, Deadline::after(Duration::from_secs(60))));
    guest.memory()[UNTOUCHED].fill(0xa5);
    guest
}

/// Calls a function; the answer must be an error number, or one of the two typed errors.
fn call(guest: &mut Guest, name: &str, arguments: &[u64]) -> Option<u32> {
    match guest.try_call(name, arguments) {
        Ok(errno) => {
            assert!(errno <= 76, "{name}{arguments:x?} answered {errno}");
            Some(errno)
        }
        Err(error) => {
            let typed = error.is::<Exited>() || error.is::<Stopped>();
            assert!(typed, "{name}{arguments:x?} trapped: {error:?}");
            None
        }
    }
}

#[test]
fn guest_memory_only_for_every_single_hostile_argument() {
    for (name, parameters) in FUNCTIONS {
        let mut guest = guest();
        for position in 0..parameters.len() {
            for (hostile, usual) in HOSTILE.iter().flat_map(|&h| [(h, 0), (h, 4), (h, 0x100)]) {
                let mut arguments = vec![usual; parameters.len()];
                arguments[position] = hostile;
                call(&mut guest, name, &arguments);
                let untouched = &mut guest.memory()[UNTOUCHED];
                if (0x1_0000 - 64..=0x1_0000).contains(&hostile) {
                    untouched.fill(0xa5);
                }
                let kept = untouched.iter().all(|&byte| byte == 0xa5);
                assert!(kept, "{name}{arguments:x?} wrote where it was not told to");
            }
        }
        assert_eq!(guest.memory().len(), MEMORY_SIZE as usize);
    }
}

#[test]
fn results_that_would_lie_outside_are_faults() {
    let fault = Some(u32::from(Errno::Fault.number()));
    let end = u64::from(MEMORY_SIZE);
    for outside in [end, end - 1, end - 3, 0x7fff_ffff, 0xffff_fffd, 0xffff_ffff] {
        let mut guest = guest();
        guest.memory()[..16].copy_from_slice(b"workspaceskills/");
        for (name, arguments) in [
            ("args_sizes_get", vec![0x100, outside]),
            ("args_sizes_get", vec![outside, 0x100]),
            ("clock_res_get", vec![0, outside]),
            ("clock_time_get", vec![0, 0, outside]),
            ("fd_fdstat_get", vec![3, outside]),
            ("fd_filestat_get", vec![3, outside]),
            ("fd_prestat_get", vec![3, outside]),
            ("fd_prestat_dir_name", vec![3, outside, 8]),
            ("fd_read", vec![0, 0x100, 0, outside]),
            ("fd_read", vec![0, outside, 1, 0x100]),
            ("fd_write", vec![1, 0x100, 0, outside]),
            ("fd_write", vec![1, outside, 1, 0x100]),
            ("fd_readdir", vec![3, outside, 8, 0, 0x100]),
            ("fd_readdir", vec![3, 0x100, 8, 0, outside]),
            ("path_filestat_get", vec![3, 0, 0, 9, outside]),
            ("path_filestat_get", vec![3, 0, outside, 9, 0x100]),
            ("path_open", vec![3, 0, 0, 9, 0, 0, 0, 0, outside]),
            ("path_open", vec![3, 0, outside, 9, 0, 0, 0, 0, 0x100]),
            ("path_create_directory", vec![4, outside, 4]),
            ("path_symlink", vec![outside, 4, 4, 0, 4]),
            ("path_rename", vec![4, 0, 4, 4, outside, 4]),
            ("path_readlink", vec![4, 0, 4, outside, 4, 0x100]),
            ("poll_oneoff", vec![outside, 0x100, 1, 0x200]),
            ("poll_oneoff", vec![0x100, outside, 1, 0x200]),
            ("poll_oneoff", vec![0x100, 0x200, 1, outside]),
            ("random_get", vec![outside, 4]),
        ] {
            assert_eq!(call(&mut guest, name, &arguments), fault, "{name} {outside:x}");
        }
        let opened = call(&mut guest, "path_open", &[3, 0, 0, 9, 0, 0, 0, 0, 0x100]);
        assert_eq!((opened, guest.memory()[0x100]), (Some(0), 6), "a refused call opened a file");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn bounded_call_for_any_arguments_on_any_memory(
        seed in prop::collection::vec(prop_oneof![select(&HOSTILE[..]), any::<u64>()], 64),
        calls in prop::collection::vec(
            (select(&FUNCTIONS[..]), prop::collection::vec(select(&HOSTILE[..]), 9)), 1..200),
    ) {
        let mut guest = guest();
        // Vectors, subscriptions and paths consist of hostile values too.
        for (chunk, value) in guest.memory().chunks_mut(8).zip(seed.iter().cycle()) {
            chunk.copy_from_slice(&value.to_le_bytes());
        }
        for ((name, parameters), arguments) in calls {
            call(&mut guest, name, &arguments[..parameters.len()]);
        }
    }
}
