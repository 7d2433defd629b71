//! Programs about open files: access, positions, sizes and numbers.

use super::*;

#[test]
fn a_file_allows_only_the_access_that_it_was_opened_with() {
    run(vec![
        ok(open("a", CREATE, WRITES)),
        ok(write(0, b"0123456789")),
        fails(read(0, 4), errno::BADF),
        fails(read_at(0, 4, 0), errno::BADF),
        ok(open("a", 0, READS)),
        fails(write(1, b"x"), errno::BADF),
        fails(write_at(1, b"x", 0), errno::BADF),
        fails(Call::SetSize { fd: slot(1), size: 0 }, errno::INVAL),
        ok(Call::DescriptorStat(slot(0))).and("reads", 0).and("writes", 1).and("type", FILE),
        ok(Call::DescriptorStat(slot(1))).and("reads", 1).and("writes", 0),
        ok(read(1, 20)).and_bytes("bytes", b"0123456789"),
    ]);
}

#[test]
fn flags_of_files() {
    run(vec![
        ok(open_with_flags("a", 4)),
        ok(Call::DescriptorStat(slot(0))).and("flags", 4),
        ok(write(0, b"abc")),
        ok(Call::SetFlags { fd: slot(0), flags: 1 }),
        ok(Call::DescriptorStat(slot(0))).and("flags", 1),
        ok(seek(0, 0, 0)),
        ok(write(0, b"def")),
        ok(Call::Tell(slot(0))).and("position", 6),
        ok(write_at(0, b"ghi", 0)),
        ok(Call::Tell(slot(0))).and("position", 6),
        ok(Call::SetFlags { fd: slot(0), flags: 0 }),
        ok(seek(0, 0, 0)),
        ok(write(0, b"A")),
        ok(read_at(0, 20, 0)).and_bytes("bytes", b"Abcdefghi"),
        fails(Call::SetFlags { fd: slot(0), flags: 32 }, errno::INVAL),
        fails(Call::SetFlags { fd: Handle::Closed, flags: 0 }, errno::BADF),
        fails(Call::SetRights { fd: slot(0), rights: READS }, errno::NOTSUP),
        fails(Call::SetRights { fd: Handle::Closed, rights: READS }, errno::BADF),
        ok(open_with_flags("a", 1)),
        ok(write(1, b"!")).and("count", 1),
        ok(Call::Tell(slot(1))).and("position", 10),
    ]);
}

#[test]
fn reading_and_writing_at_positions() {
    run(vec![
        ok(touch("a")),
        ok(write_at(0, b"x", 3)),
        ok(Call::Tell(slot(0))).and("position", 0),
        ok(read_at(0, 9, 0)).and_bytes("bytes", b"\0\0\0x"),
        ok(read_at(0, 9, 4)).and("count", 0),
        ok(read_at(0, 9, 400)).and("count", 0),
        ok(read_at(0, 0, 0)).and("count", 0),
        fails(read_at(0, 1, 1 << 63), errno::INVAL),
        fails(write_at(0, b"x", 1 << 63), errno::INVAL),
        ok(write(0, b"ab")),
        ok(read(0, 9)).and_bytes("bytes", b"\0x"),
        ok(Call::Write {
            fd: slot(0),
            parts: vec![b"1".to_vec(), vec![], b"23".to_vec()],
            offset: None,
        })
        .and("count", 3),
        ok(Call::Read { fd: slot(0), lengths: vec![2, 0, 9], offset: Some(1) })
            .and_bytes("bytes", b"b\0x123"),
    ]);
}

#[test]
fn positions() {
    run(vec![
        ok(touch("a")),
        ok(Call::Tell(slot(0))).and("position", 0),
        ok(seek(0, 5, 0)).and("position", 5),
        ok(seek(0, -2, 1)).and("position", 3),
        ok(write(0, b"xy")),
        ok(seek(0, -1, 2)).and("position", 4),
        fails(seek(0, -6, 2), errno::INVAL),
        fails(seek(0, -1, 0), errno::INVAL),
        fails(seek(0, -5, 1), errno::INVAL),
        fails(seek(0, 0, 3), errno::INVAL),
        ok(Call::Tell(slot(0))).and("position", 4),
        ok(seek(0, i64::MAX, 0)).and("position", u64::MAX >> 1),
        fails(seek(0, 1, 1), errno::INVAL),
    ]);
    run(vec![
        fails(Call::Tell(Handle::Output), errno::SPIPE),
        fails(Call::Seek { fd: Handle::Output, delta: 0, whence: 0 }, errno::SPIPE),
        fails(Call::Seek { fd: Handle::Closed, delta: 0, whence: 0 }, errno::BADF),
    ]);
}

#[test]
fn sizes_of_files() {
    run(vec![
        ok(touch("a")),
        ok(Call::SetSize { fd: slot(0), size: 10 }),
        ok(stat("a")).and("size", 10),
        ok(read(0, 20)).and_bytes("bytes", &[0; 10]),
        ok(write(0, b"end")),
        ok(Call::SetSize { fd: slot(0), size: 11 }),
        ok(Call::SetSize { fd: slot(0), size: 14 }),
        ok(read_at(0, 20, 9)).and_bytes("bytes", b"\0e\0\0\0"),
        ok(Call::Tell(slot(0))).and("position", 13),
        fails(Call::SetSize { fd: slot(0), size: u64::MAX }, errno::INVAL),
        fails(Call::SetSize { fd: Handle::Closed, size: 0 }, errno::BADF),
        fails(Call::SetSize { fd: slot(0), size: 1 << 40 }, errno::FBIG),
    ]);
}

#[test]
fn advice_and_allocation() {
    let advise = |fd, length, advice| Call::Advise { fd, offset: 0, length, advice };
    let allocate = |fd| Call::Allocate { fd, offset: 0, length: 10 };
    let mut program = vec![ok(touch("a"))];
    program.extend((0..6).map(|advice| ok(advise(slot(0), 100, advice))));
    program.extend([
        fails(advise(slot(0), 0, 6), errno::INVAL),
        fails(advise(slot(0), u64::MAX, 0), errno::INVAL),
        fails(advise(Handle::Closed, 0, 0), errno::BADF),
        fails(advise(Handle::Output, 0, 0), errno::SPIPE),
        fails(allocate(slot(0)), errno::NOTSUP),
        fails(allocate(Handle::Closed), errno::BADF),
        fails(allocate(Handle::Output), errno::BADF),
        ok(Call::Sync(slot(0))),
        ok(Call::DataSync(slot(0))),
        fails(Call::Sync(Handle::Closed), errno::BADF),
    ]);
    run(program);
}

#[test]
fn moving_descriptors() {
    let renumber = |from, to| Call::Renumber { from, to };
    run(vec![
        ok(touch("a")),
        ok(write(0, b"abc")),
        ok(touch("b")),
        ok(renumber(slot(0), slot(1))),
        ok(Call::Tell(slot(0))).and("position", 3),
        ok(renumber(slot(0), slot(0))),
        fails(renumber(slot(0), Handle::Closed), errno::BADF),
        fails(renumber(Handle::Closed, slot(0)), errno::BADF),
        ok(read_at(0, 9, 0)).and_bytes("bytes", b"abc"),
        ok(renumber(slot(0), Handle::Output)),
        ok(Call::Stat(Handle::Output)).and("type", FILE).and("size", 3),
        ok(Call::Close(Handle::Output)),
        fails(Call::Close(Handle::Output), errno::BADF),
    ]);
}

#[test]
fn written_bytes_are_visible_at_once_through_other_descriptors() {
    run(vec![
        ok(touch("a")),
        ok(write(0, b"one")),
        ok(open("a", 0, READS)),
        ok(read(1, 9)).and_bytes("bytes", b"one"),
        ok(write(0, b"two")),
        ok(read(1, 9)).and_bytes("bytes", b"two"),
        ok(rename("a", "b")),
        ok(write(0, b"three")),
        ok(read(1, 9)).and_bytes("bytes", b"three"),
        ok(open("b", 0, READS)),
        ok(read(2, 20)).and_bytes("bytes", b"onetwothree"),
    ]);
}
