//! Programs about the process: its start, end, clocks, streams and waiting.

use super::*;

#[test]
fn arguments_environment_randomness_and_yielding() {
    run(vec![
        ok(Call::Arguments).and_bytes("texts", b"program\0\0-x \xc3\xa9\0"),
        ok(Call::Environment).and_bytes("texts", b"A=1\0B=x=y\0"),
        ok(Call::Random(30_000)).and("filled", 1),
        ok(Call::Random(0)),
        ok(Call::Yield),
        fails(Call::Raise(6), errno::NOTSUP),
    ]);
}

#[test]
fn clocks() {
    run(vec![
        ok(Call::ClockTime(0)).and("now", 1),
        ok(Call::ClockTime(1)),
        ok(Call::ClockTime(2)),
        ok(Call::ClockTime(3)),
        fails(Call::ClockTime(4), errno::INVAL),
        ok(Call::ClockResolution(0)).and("resolution", 1_000_000),
        fails(Call::ClockResolution(9), errno::INVAL),
    ]);
}

#[test]
fn a_program_that_exits_is_over() {
    run(vec![fails(Call::Raw("proc_exit", &[3]), TRAP)]);
}

#[test]
fn streams() {
    let write = |fd, offset| Call::Write { fd, parts: vec![b"x".to_vec()], offset };
    let read = |fd, offset| Call::Read { fd, lengths: vec![9], offset };
    run(vec![
        ok(write(Handle::Output, None)).and("count", 1),
        fails(write(Handle::Output, Some(0)), errno::SPIPE),
        fails(write(Handle::Input, None), errno::BADF),
        ok(read(Handle::Input, None)).and("count", 0),
        fails(read(Handle::Input, Some(0)), errno::SPIPE),
        fails(read(Handle::Output, None), errno::BADF),
        ok(Call::DescriptorStat(Handle::Input)).and("type", 2),
        ok(Call::Stat(Handle::Output)).and("type", 2),
        ok(Call::Close(Handle::Input)),
        fails(read(Handle::Input, None), errno::BADF),
    ]);
}

#[test]
fn polling() {
    let clock = |id, flags| Awaited::Clock { id, timeout: 1000, flags };
    run(vec![
        fails(Call::Poll(vec![]), errno::INVAL),
        ok(Call::Poll(vec![clock(0, 0)])).and_bytes("events", &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ok(Call::Poll(vec![clock(1, 0)])),
        ok(Call::Poll(vec![clock(0, 1)])),
        ok(touch("a")),
        ok(write(0, b"abc")),
        ok(seek(0, 1, 0)),
        ok(Call::Poll(vec![Awaited::Readable(slot(0)), Awaited::Writable(slot(0))]))
            .and_bytes("event sizes", &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ok(Call::Poll(vec![Awaited::Writable(Handle::Output)]))
            .and_bytes("events", &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]),
        ok(Call::Poll(vec![Awaited::Readable(Handle::Closed)]))
            .and_bytes("events", &[1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1]),
    ]);
}

#[test]
fn there_are_no_sockets() {
    let mut program = vec![ok(touch("a"))];
    for fd in [slot(0), Handle::Base, Handle::Output] {
        program.extend([
            fails(Call::Accept(fd), errno::NOTSOCK),
            fails(Call::Receive(fd), errno::NOTSOCK),
            fails(Call::Send(fd), errno::NOTSOCK),
            fails(Call::Shutdown(fd), errno::NOTSOCK),
        ]);
    }
    program.push(fails(Call::Receive(Handle::Closed), errno::BADF));
    run(program);
}
