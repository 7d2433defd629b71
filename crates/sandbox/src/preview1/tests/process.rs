//! Arguments, clocks, waiting and ending.

use std::time::{Duration, Instant};

use wasmtime::Memory;

use crate::clock_and_random::ClockAndRandomMode;
use crate::preview1::tests::{
    BUFFER, CREATE, FUNCTIONS, Guest, OUT, READ, SEEDED, WRITE, number, wasi,
};
use crate::preview1::{Exited, NulInText, StringTable};
use crate::run::deadline::{Deadline, Stopped};
use crate::vfs::Errno;

#[test]
fn arguments_and_environment_are_laid_out_as_c_expects() {
    let (mut process, turn) = wasi(SEEDED, Deadline::after(Duration::ZERO));
    process.arguments = StringTable::new(["python", "-c"]).unwrap();
    process.environment = StringTable::new(["HOME=/workspace", "É=ü", ""]).unwrap();
    assert_eq!(StringTable::new(["a\0b"]).unwrap_err(), NulInText);
    let mut guest = Guest::new((process, turn));
    let expected =
        [("args", vec!["python", "-c"]), ("environ", vec!["HOME=/workspace", "É=ü", ""])];
    for (name, texts) in expected {
        guest.call(&format!("{name}_sizes_get"), &[OUT.into(), u64::from(OUT) + 4]).unwrap();
        let size: usize = texts.iter().map(|text| text.len() + 1).sum();
        let told = (guest.u32(OUT) as usize, guest.u32(OUT + 4) as usize);
        assert_eq!(told, (texts.len(), size));
        guest.call(&format!("{name}_get"), &[0x6000, 0x7000]).unwrap();
        for (index, text) in (0..).zip(texts) {
            let at = guest.u32(0x6000 + index * 4);
            assert_eq!(guest.bytes(at, text.len() + 1), format!("{text}\0").into_bytes());
        }
    }
}

#[test]
fn clocks_and_randomness_come_from_their_source() {
    let mut guest = Guest::new(wasi(SEEDED, Deadline::after(Duration::ZERO)));
    for (clock, expected) in [(0, 1_000_000_001_000_000), (1, 3_600_002_000_000), (2, 3_000_000)] {
        guest.call("clock_time_get", &[clock, 0, OUT.into()]).unwrap();
        assert_eq!(guest.u64(OUT), expected, "{clock}");
        guest.call("clock_res_get", &[clock, OUT.into()]).unwrap();
        assert_eq!(guest.u64(OUT), 1_000_000);
    }
    assert_eq!(guest.call("clock_time_get", &[4, 0, OUT.into()]), Err(number(Errno::Invalid)));
    assert_eq!(guest.call("clock_res_get", &[4, OUT.into()]), Err(number(Errno::Invalid)));
    guest.call("random_get", &[0x6000, 32]).unwrap();
    let first = guest.bytes(0x6000, 32);
    guest.call("random_get", &[0x6000, 32]).unwrap();
    assert_ne!(guest.bytes(0x6000, 32), first);
    assert_eq!(guest.call("sched_yield", &[]), Ok(()));
}

#[test]
fn exiting_is_a_typed_error() {
    let mut guest = Guest::live();
    let error = guest.try_call("proc_exit", &[77]).unwrap_err();
    assert_eq!(error.downcast_ref::<Exited>(), Some(&Exited { code: 77 }));
}

#[test]
fn there_are_no_sockets_and_no_signals() {
    let mut guest = Guest::live();
    for (name, arguments) in
        [("sock_accept", 3), ("sock_recv", 6), ("sock_send", 5), ("sock_shutdown", 2)]
    {
        let mut arguments = vec![0; arguments];
        assert_eq!(guest.call(name, &arguments), Err(number(Errno::NotSocket)), "{name}");
        arguments[0] = 99;
        assert_eq!(guest.call(name, &arguments), Err(number(Errno::BadDescriptor)), "{name}");
    }
    assert_eq!(guest.call("proc_raise", &[9]), Err(number(Errno::NotSupported)));
    assert_eq!(guest.call("fd_allocate", &[4, 0, 9]), Err(number(Errno::BadDescriptor)));
    assert_eq!(guest.call("fd_advise", &[1, 0, 0, 0]), Err(number(Errno::NotSeekable)));
    assert_eq!(guest.call("fd_sync", &[1]), Ok(()));
    assert_eq!(guest.store.data().turn.calls(), 12);
}

/// A subscription to a clock.
fn clock(userdata: u64, id: u32, timeout: u64, flags: u16) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&userdata.to_le_bytes());
    bytes[16..20].copy_from_slice(&id.to_le_bytes());
    bytes[24..32].copy_from_slice(&timeout.to_le_bytes());
    bytes[40..42].copy_from_slice(&flags.to_le_bytes());
    bytes
}

/// A subscription to a descriptor.
fn descriptor(userdata: u64, kind: u8, fd: u32) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&userdata.to_le_bytes());
    bytes[8] = kind;
    bytes[16..20].copy_from_slice(&fd.to_le_bytes());
    bytes
}

/// The report of `poll_oneoff`: user data, error, kind and readable bytes of each event.
fn poll(
    guest: &mut Guest,
    subscriptions: &[[u8; 48]],
) -> wasmtime::Result<Vec<(u64, u16, u8, u64)>> {
    guest.put(BUFFER, &subscriptions.concat());
    let arguments = [BUFFER.into(), 0x6000, subscriptions.len() as u64, OUT.into()];
    let errno = guest.try_call("poll_oneoff", &arguments)?;
    let count = if errno == 0 { guest.u32(OUT) } else { 0 };
    Ok((0..count)
        .map(|index| {
            let event = guest.bytes(0x6000 + index * 32, 32);
            let word = |at: usize| u64::from_le_bytes(event[at..at + 8].try_into().unwrap());
            (word(0), u16::from_le_bytes([event[8], event[9]]), event[10], word(16))
        })
        .collect())
}

const MILLISECOND: u64 = 1_000_000;

#[test]
fn polling_reports_what_is_ready_and_waits_for_the_shortest_clock() {
    let mut guest = Guest::live();
    let start = Instant::now();
    let far = clock(1, 1, 3600 * 1000 * MILLISECOND, 0);
    assert_eq!(poll(&mut guest, &[far, clock(2, 0, 3 * MILLISECOND, 0)]).unwrap(), [(2, 0, 0, 0)]);
    assert!(start.elapsed() >= Duration::from_millis(3));
    let fd = guest.open(3, "skills/s/file07", 0, READ).unwrap();
    let ready = [
        far,
        descriptor(3, 1, 0),
        descriptor(4, 1, u32::try_from(fd).unwrap()),
        descriptor(5, 2, 1),
        descriptor(6, 1, 99),
    ];
    let bad = Errno::BadDescriptor.number();
    let expected = [(3, 0, 1, 0), (4, 0, 1, 6), (5, 0, 2, 0), (6, bad, 1, 0)];
    assert_eq!(poll(&mut guest, &ready).unwrap(), expected);
    let unknown = clock(7, 9, 1, 0);
    assert_eq!(poll(&mut guest, &[far, unknown]).unwrap(), [(7, Errno::Invalid.number(), 0, 0)]);
    assert_eq!(poll(&mut guest, &[clock(8, 1, 0, 0), far]).unwrap(), [(8, 0, 0, 0)]);
}

#[test]
fn absolute_timeouts_end_when_the_clock_reaches_them() {
    for wasi in [
        wasi(ClockAndRandomMode::Live, Deadline::after(Duration::from_secs(60))),
        wasi(SEEDED, Deadline::after(Duration::ZERO)),
    ] {
        let mut guest = Guest::new(wasi);
        for id in [0, 1] {
            guest.call("clock_time_get", &[u64::from(id), 0, OUT.into()]).unwrap();
            let target = guest.u64(OUT) + 3 * MILLISECOND + 1;
            assert_eq!(poll(&mut guest, &[clock(1, id, target, 1)]).unwrap(), [(1, 0, 0, 0)]);
            guest.call("clock_time_get", &[u64::from(id), 0, OUT.into()]).unwrap();
            assert!(guest.u64(OUT) >= target);
            assert_eq!(poll(&mut guest, &[clock(2, id, 5, 1)]).unwrap(), [(2, 0, 0, 0)]);
        }
    }
}

#[test]
fn a_sleeping_guest_ends_at_its_deadline() {
    let mut guest =
        Guest::new(wasi(ClockAndRandomMode::Live, Deadline::after(Duration::from_millis(20))));
    let start = Instant::now();
    let error = poll(&mut guest, &[clock(1, 1, u64::MAX, 0)]).unwrap_err();
    assert_eq!(error.downcast_ref::<Stopped>(), Some(&Stopped::Deadline));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_sleeping_guest_can_be_cancelled() {
    let deadline = Deadline::after(Duration::from_secs(3600));
    let canceller = deadline.canceller();
    let mut guest = Guest::new(wasi(ClockAndRandomMode::Live, deadline));
    let other = std::thread::spawn(move || canceller.cancel(Stopped::Cancelled));
    let error = poll(&mut guest, &[clock(1, 0, u64::MAX, 0)]).unwrap_err();
    other.join().unwrap();
    assert_eq!(error.downcast_ref::<Stopped>(), Some(&Stopped::Cancelled));
}

#[test]
fn a_sleep_takes_no_time_in_a_seeded_run() {
    let mut guest = Guest::new(wasi(SEEDED, Deadline::after(Duration::ZERO)));
    guest.call("clock_time_get", &[0, 0, OUT.into()]).unwrap();
    let before = guest.u64(OUT);
    poll(&mut guest, &[clock(1, 1, 1000 * MILLISECOND, 0)]).unwrap();
    guest.call("clock_time_get", &[0, 0, OUT.into()]).unwrap();
    assert_eq!(guest.u64(OUT), before + 1001 * MILLISECOND);
}

#[test]
fn bounded_call_in_every_respect() {
    let mut guest = Guest::live();
    let invalid = Err(number(Errno::Invalid));
    let fd = guest.open(4, "a", CREATE, READ | WRITE).unwrap();
    assert_eq!(guest.call("fd_write", &[fd, 0, 1024, OUT.into()]), Ok(()));
    assert_eq!(guest.call("fd_write", &[fd, 0, 1025, OUT.into()]), invalid);
    assert_eq!(guest.call("fd_read", &[fd, 0, 1025, OUT.into()]), invalid);
    assert_eq!(guest.call("poll_oneoff", &[0, 0, 0, OUT.into()]), invalid);
    assert_eq!(guest.call("poll_oneoff", &[0, 0, 4097, OUT.into()]), invalid);
    let too_long = guest.call("path_unlink_file", &[4, 0, 4096]);
    assert_eq!(too_long, Err(number(Errno::NameTooLong)));
    let big = wasmtime::MemoryType::new(1024, None);
    let big = Memory::new(&mut guest.store, big).unwrap();
    guest.store.data_mut().memory = Some(big);
    guest.memory = big;
    assert_eq!(guest.call("random_get", &[0, 1 << 20]), Ok(()));
    assert_eq!(guest.call("random_get", &[0, (1 << 20) + 1]), invalid);
    let [start, count] = guest.vectors(&[(0, 40 << 20), (0, 40 << 20)]);
    for fd in [1, fd] {
        guest.call("fd_write", &[fd, start, count, OUT.into()]).unwrap();
        assert_eq!(guest.u32(OUT), 32 << 20, "{fd}");
    }
}

#[test]
fn without_a_memory_every_call_is_a_fault() {
    let mut guest = Guest::live();
    guest.store.data_mut().memory = None;
    for (name, parameters) in FUNCTIONS {
        let answer = guest.try_call(name, &vec![0; parameters.len()]);
        if name != "proc_exit" {
            assert_eq!(answer.unwrap(), number(Errno::Fault), "{name}");
        }
    }
}
