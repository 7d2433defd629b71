//! Short programs, one for each topic of preview 1, with the expected answer of every call. The
//! reference must agree except for the listed differences, until one of them leaves the two sides
//! with different files.

use std::collections::BTreeMap;

use crate::sandbox::preview1::tests::reference::calls::{
    Awaited, BOTH, CREATE, Call, DIRECTORY, EXCLUSIVE, GivenTimes, Handle, Opening, Path, READS,
    TRUNCATE, WRITES, base, open, read, write,
};
use crate::sandbox::preview1::tests::reference::differences::{DIFFERENCES, Then, errno};
use crate::sandbox::preview1::tests::reference::pair::Pair;
use crate::sandbox::preview1::tests::reference::session::{TRAP, Value, Vectors};

const FILE: u64 = 4;
const FOLDER: u64 = 3;
const LINK: u64 = 7;

/// A call and its expected answer.
struct Expected {
    call: Call,
    errno: u32,
    fields: Vec<(&'static str, Value)>,
}

impl Expected {
    fn and(mut self, field: &'static str, value: u64) -> Self {
        self.fields.push((field, Value::Number(value)));
        self
    }

    fn and_bytes(mut self, field: &'static str, value: &[u8]) -> Self {
        self.fields.push((field, Value::Bytes(value.to_vec())));
        self
    }

    fn and_names(mut self, names: &[(&str, u64)]) -> Self {
        let named = |(name, kind): &(&str, u64)| ((*name).to_owned(), u8::try_from(*kind).unwrap());
        let dots = [(".", FOLDER), ("..", FOLDER)];
        let names: BTreeMap<String, u8> = names.iter().chain(&dots).map(named).collect();
        self.fields.push(("names", Value::Names(names)));
        self
    }
}

fn ok(call: Call) -> Expected {
    Expected { call, errno: errno::NONE, fields: Vec::new() }
}

fn fails(call: Call, errno: u32) -> Expected {
    Expected { call, errno, fields: Vec::new() }
}

fn run(program: Vec<Expected>) {
    let mut pair = Pair::new(Vectors::OneByOne);
    let mut are_alike = true;
    for Expected { call, errno, fields } in program {
        let step = pair.step(&call);
        assert_eq!(step.ours.errno, errno, "{step:#?}");
        for expected in fields {
            assert!(step.ours.fields.contains(&expected), "{expected:?}, {step:#?}");
        }
        if are_alike {
            let known = pair.known(&step).unwrap_or_else(|unlisted| panic!("{unlisted}"));
            are_alike = known.iter().all(|index| DIFFERENCES[*index].then == Then::GoOn);
        }
    }
}

const fn slot(number: usize) -> Handle {
    Handle::Open(number)
}

fn within(number: usize, text: &str) -> Path {
    Path { at: slot(number), text: text.to_owned() }
}

fn make(text: &str) -> Call {
    Call::MakeFolder(base(text))
}

fn remove(text: &str) -> Call {
    Call::RemoveFolder(base(text))
}

fn unlink(text: &str) -> Call {
    Call::Unlink(base(text))
}

fn stat(text: &str) -> Call {
    Call::PathStat { path: base(text), lookup: 1 }
}

fn stat_link(text: &str) -> Call {
    Call::PathStat { path: base(text), lookup: 0 }
}

fn link(from: &str, to: &str) -> Call {
    Call::Link { from: base(from), lookup: 0, to: base(to) }
}

fn rename(from: &str, to: &str) -> Call {
    Call::Rename { from: base(from), to: base(to) }
}

fn symlink(target: &str, text: &str) -> Call {
    Call::Symlink { target: target.to_owned(), path: base(text) }
}

fn read_link(text: &str, length: u32) -> Call {
    Call::ReadLink { path: base(text), length }
}

fn touch(text: &str) -> Call {
    open(text, CREATE, BOTH)
}

fn seek(number: usize, delta: i64, whence: u32) -> Call {
    Call::Seek { fd: slot(number), delta, whence }
}

fn read_at(number: usize, length: u32, offset: u64) -> Call {
    Call::Read { fd: slot(number), lengths: vec![length], offset: Some(offset) }
}

fn write_at(number: usize, bytes: &[u8], offset: u64) -> Call {
    Call::Write { fd: slot(number), parts: vec![bytes.to_vec()], offset: Some(offset) }
}

fn close(number: usize) -> Call {
    Call::Close(slot(number))
}

fn list(fd: Handle, length: u32) -> Call {
    Call::List { fd, length }
}

/// Opens without following a link at the end.
fn open_itself(text: &str, oflags: u32, rights: u64) -> Call {
    Call::Open { path: base(text), how: Opening { lookup: 0, oflags, rights, fdflags: 0 } }
}

fn open_with_flags(text: &str, fdflags: u32) -> Call {
    let how = Opening { lookup: 1, oflags: CREATE, rights: BOTH, fdflags };
    Call::Open { path: base(text), how }
}

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
fn folders_of_the_start() {
    let prestat = |fd| Call::Prestat(fd);
    let name = |fd, length| Call::PrestatName { fd, length };
    run(vec![
        ok(prestat(Handle::Base)).and("kind", 0).and("length", 10),
        ok(name(Handle::Base, 10)).and_bytes("name", b"/workspace"),
        fails(name(Handle::Base, 9), errno::NAMETOOLONG),
        fails(prestat(Handle::Output), errno::BADF),
        fails(prestat(Handle::Closed), errno::BADF),
        ok(open(".", DIRECTORY, READS)),
        fails(prestat(slot(0)), errno::BADF),
        fails(name(slot(0), 20), errno::BADF),
        ok(touch("a")),
        ok(Call::Close(Handle::Base)),
        fails(Call::Close(Handle::Base), errno::BADF),
        fails(prestat(Handle::Base), errno::BADF),
        fails(stat("a"), errno::BADF),
        ok(Call::PathStat { path: within(0, "a"), lookup: 1 }).and("type", FILE),
    ]);
    run(vec![
        ok(touch("a")),
        fails(Call::Renumber { from: slot(0), to: Handle::Base }, errno::NOTSUP),
    ]);
}

#[test]
fn a_folder_that_was_removed_while_it_is_open() {
    run(vec![
        ok(make("a")),
        ok(open("a", DIRECTORY, READS)),
        ok(remove("a")),
        ok(Call::Stat(slot(0))).and("type", FOLDER),
        fails(Call::MakeFolder(within(0, "b")), errno::NOENT),
        fails(
            Call::Open {
                path: within(0, "b"),
                how: Opening { lookup: 1, oflags: CREATE, rights: BOTH, fdflags: 0 },
            },
            errno::NOENT,
        ),
        fails(Call::Rename { from: base("x"), to: within(0, "b") }, errno::NOENT),
        ok(make("a")),
        fails(Call::PathStat { path: within(0, "b"), lookup: 1 }, errno::NOENT),
        ok(close(0)),
        ok(remove("a")),
    ]);
}

#[test]
fn a_file_that_was_removed_while_it_is_open() {
    run(vec![
        ok(touch("a")),
        ok(write(0, b"0123")),
        ok(unlink("a")),
        fails(stat("a"), errno::NOENT),
        ok(Call::Stat(slot(0))).and("links", 0).and("size", 4),
        ok(write(0, b"4567")),
        ok(read_at(0, 9, 2)).and_bytes("bytes", b"234567"),
        ok(touch("a")),
        ok(Call::Stat(slot(1))).and("links", 1).and("size", 0),
    ]);
}

#[test]
fn links_to_nothing() {
    run(vec![
        ok(symlink("nowhere", "a")),
        ok(stat_link("a")).and("type", LINK).and("size", 7),
        fails(stat("a"), errno::NOENT),
        fails(open("a", 0, READS), errno::NOENT),
        fails(open("a", DIRECTORY, READS), errno::NOENT),
        fails(open_itself("a", 0, READS), errno::LOOP),
        fails(open("a", CREATE | EXCLUSIVE, BOTH), errno::EXIST),
        fails(make("a"), errno::EXIST),
        fails(symlink("x", "a"), errno::EXIST),
        ok(touch("a")),
        ok(stat("nowhere")).and("type", FILE),
        ok(unlink("a")),
        ok(unlink("nowhere")),
    ]);
}

#[test]
fn folders_are_no_files() {
    let base_folder = || Handle::Base;
    run(vec![
        fails(Call::Read { fd: base_folder(), lengths: vec![1], offset: None }, errno::ISDIR),
        fails(Call::Write { fd: base_folder(), parts: vec![vec![1]], offset: None }, errno::BADF),
        fails(
            Call::Write { fd: base_folder(), parts: vec![vec![1]], offset: Some(0) },
            errno::BADF,
        ),
        fails(Call::SetSize { fd: base_folder(), size: 0 }, errno::INVAL),
        fails(Call::Allocate { fd: base_folder(), offset: 0, length: 1 }, errno::BADF),
        ok(Call::Sync(base_folder())),
        ok(Call::DataSync(base_folder())),
        ok(Call::Advise { fd: base_folder(), offset: 0, length: 0, advice: 0 }),
        fails(Call::Seek { fd: base_folder(), delta: 0, whence: 1 }, errno::ISDIR),
        fails(Call::Tell(base_folder()), errno::ISDIR),
        fails(open(".", 0, BOTH), errno::ISDIR),
        fails(open(".", TRUNCATE, READS), errno::ISDIR),
        fails(open(".", CREATE, READS), errno::ISDIR),
        fails(open(".", CREATE | EXCLUSIVE, READS), errno::EXIST),
        fails(open(".", CREATE | DIRECTORY, READS), errno::INVAL),
    ]);
}

#[test]
fn files_are_no_folders() {
    run(vec![
        ok(touch("a")),
        fails(open("a", DIRECTORY, READS), errno::NOTDIR),
        fails(open("a/", 0, READS), errno::NOTDIR),
        fails(open("a/b", 0, READS), errno::NOTDIR),
        fails(open("a/.", 0, READS), errno::NOTDIR),
        fails(stat("a/"), errno::NOTDIR),
        fails(Call::MakeFolder(within(0, "b")), errno::NOTDIR),
        fails(Call::PathStat { path: within(0, "b"), lookup: 1 }, errno::NOTDIR),
        fails(list(slot(0), 100), errno::NOTDIR),
        fails(remove("a"), errno::NOTDIR),
        fails(Call::MakeFolder(Path { at: Handle::Output, text: "b".to_owned() }), errno::NOTDIR),
        fails(Call::MakeFolder(Path { at: Handle::Closed, text: "b".to_owned() }), errno::BADF),
    ]);
}

#[test]
fn opening_makes_finds_and_refuses() {
    run(vec![
        fails(open("a", 0, READS), errno::NOENT),
        fails(open("a/b", CREATE, BOTH), errno::NOENT),
        fails(open("a/", CREATE, BOTH), errno::ISDIR),
        ok(open("a", CREATE | EXCLUSIVE, BOTH)),
        ok(write(0, b"text")),
        fails(open("a", CREATE | EXCLUSIVE, BOTH), errno::EXIST),
        ok(touch("a")),
        ok(Call::Stat(slot(1))).and("size", 4),
        ok(open("a", CREATE | TRUNCATE, BOTH)),
        ok(Call::Stat(slot(1))).and("size", 0),
        fails(open("", 0, READS), errno::NOENT),
        fails(open("a\0", 0, READS), errno::INVAL),
        fails(open(&"x".repeat(256), CREATE, BOTH), errno::NAMETOOLONG),
        ok(open(&"x".repeat(255), CREATE, BOTH)),
        fails(open("b", 1 << 4, READS), errno::INVAL),
        fails(open_with_flags("b", 1 << 5), errno::INVAL),
        fails(
            Call::Open {
                path: base("a"),
                how: Opening { lookup: 2, oflags: 0, rights: READS, fdflags: 0 },
            },
            errno::INVAL,
        ),
    ]);
}

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
fn listing_with_buffers_of_every_size() {
    let names: Vec<String> = (0..12).map(|number| "n".repeat(1 + number * number)).collect();
    let mut program: Vec<Expected> = names.iter().map(|name| ok(make(name))).collect();
    program.push(ok(touch("file")));
    program.push(ok(symlink("file", "link")));
    let mut expected: Vec<(&str, u64)> = names.iter().map(|name| (&**name, FOLDER)).collect();
    expected.extend([("file", FILE), ("link", LINK)]);
    for length in [1, 23, 24, 25, 26, 49, 50, 51, 64, 100, 4096] {
        program.push(ok(list(Handle::Base, length)).and_names(&expected).and("numbers agree", 1));
    }
    let once = |length, cookie| Call::ReadDir { fd: Handle::Base, length, cookie };
    program.extend([
        ok(once(0, 0)).and("used", 0),
        ok(once(10, 0)).and("used", 10),
        ok(once(51, 0)).and("used", 51),
        ok(once(4096, 1 << 40)).and("used", 0),
        ok(once(4096, u64::MAX)).and("used", 0),
        fails(list(Handle::Closed, 100), errno::BADF),
    ]);
    run(program);
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
fn times() {
    let times = |accessed, modified, flags| GivenTimes { accessed, modified, flags };
    let set = |times| Call::SetTimes { fd: slot(0), times };
    let set_link = |lookup, times| Call::PathSetTimes { path: base("l"), lookup, times };
    let now = |call: Call, field| Expected { fields: vec![(field, Value::Now)], ..ok(call) };
    run(vec![
        ok(touch("a")),
        ok(set(times(1, 2_000_000_003, 0b101))),
        ok(stat("a")).and("accessed", 1).and("modified", 2_000_000_003),
        ok(set(times(7, 7, 0))),
        ok(stat("a")).and("accessed", 1).and("modified", 2_000_000_003),
        ok(set(times(7, 7, 0b1000))),
        now(stat("a"), "modified").and("accessed", 1),
        fails(set(times(0, 0, 0b0011)), errno::INVAL),
        fails(set(times(0, 0, 0b1100)), errno::INVAL),
        fails(set(times(0, 0, 0b1_0000)), errno::INVAL),
        ok(symlink("a", "l")),
        ok(set_link(0, times(5, 6, 0b101))),
        ok(stat_link("l")).and("modified", 6),
        now(stat("l"), "modified"),
        ok(set_link(1, times(8, 9, 0b101))),
        ok(stat("a")).and("accessed", 8).and("modified", 9),
        ok(Call::SetSize { fd: slot(0), size: 0 }),
        now(stat("a"), "modified"),
        ok(set(times(8, 9, 0b101))),
        ok(write(0, b"")),
        ok(stat("a")).and("modified", 9),
        ok(write(0, b"x")),
        now(stat("a"), "modified"),
    ]);
}

#[test]
fn paths_with_dots_and_slashes() {
    run(vec![
        ok(make("a")),
        ok(make("a/b/")),
        ok(touch("a/b/f")),
        ok(stat("a//b///f")).and("type", FILE),
        ok(stat("./a/./b/../b/f")).and("type", FILE),
        ok(stat("a/b/../../a/b/f")).and("type", FILE),
        ok(stat("a/")).and("type", FOLDER),
        ok(stat("a/.")).and("type", FOLDER),
        ok(stat("a/b/..")).and("type", FOLDER),
        fails(stat("a/b/f/.."), errno::NOTDIR),
        fails(stat("a/x/.."), errno::NOENT),
        fails(stat("a/b/f/"), errno::NOTDIR),
        fails(stat(""), errno::NOENT),
        fails(stat(&("a/".repeat(2047) + "xx")), errno::NAMETOOLONG),
        ok(stat(&("./".repeat(2047) + "a"))).and("type", FOLDER),
        fails(make("a/"), errno::EXIST),
        fails(make("."), errno::EXIST),
        fails(make("a/b/f/x"), errno::NOTDIR),
        fails(make(""), errno::NOENT),
        ok(make("é\u{1f600} ")),
        ok(stat("é\u{1f600} ")).and("type", FOLDER),
    ]);
}

#[test]
fn links_are_followed_or_not() {
    run(vec![
        ok(make("d")),
        ok(touch("d/f")),
        ok(symlink("d", "to-folder")),
        ok(symlink("d/f", "to-file")),
        ok(stat("to-folder/f")).and("type", FILE),
        fails(open_itself("to-file", 0, READS), errno::LOOP),
        fails(open_itself("to-folder", 0, READS), errno::LOOP),
        fails(open_itself("to-folder", DIRECTORY, READS), errno::NOTDIR),
        fails(open_itself("to-file", CREATE, BOTH), errno::LOOP),
        ok(open("to-folder", DIRECTORY, READS)),
        ok(open("to-file", 0, READS)),
        ok(stat_link("to-folder")).and("type", LINK).and("size", 1),
        ok(stat_link("to-folder/")).and("type", FOLDER),
        fails(stat_link("to-file/"), errno::NOTDIR),
        fails(unlink("to-folder/"), errno::NOTDIR),
        fails(remove("to-folder"), errno::NOTDIR),
        ok(unlink("to-folder")),
        ok(stat("d")).and("type", FOLDER),
        ok(list(slot(1), 100)).and_names(&[("f", FILE)]),
    ]);
}

#[test]
fn loops_of_links() {
    let mut program = vec![
        ok(symlink("a", "a")),
        fails(stat("a"), errno::LOOP),
        fails(open("a", 0, READS), errno::LOOP),
        fails(open("a/b", CREATE, BOTH), errno::LOOP),
        ok(symlink("c", "b")),
        ok(symlink("b", "c")),
        fails(stat("b/x"), errno::LOOP),
        ok(touch("l0")),
    ];
    for number in 1..=41 {
        program.push(ok(symlink(&format!("l{}", number - 1), &format!("l{number}"))));
    }
    program.push(ok(stat("l40")).and("type", FILE));
    program.push(fails(stat("l41"), errno::LOOP));
    run(program);
}

#[test]
fn making_and_reading_links() {
    run(vec![
        ok(symlink("some/target", "a")),
        ok(read_link("a", 100)).and_bytes("target", b"some/target"),
        ok(read_link("a", 11)).and_bytes("target", b"some/target"),
        ok(read_link("a", 4)).and_bytes("target", b"some"),
        ok(read_link("a", 0)).and_bytes("target", b""),
        fails(read_link("b", 100), errno::NOENT),
        ok(make("b")),
        fails(read_link("b", 100), errno::INVAL),
        fails(read_link("a/", 100), errno::NOENT),
        fails(symlink("", "c"), errno::NOENT),
        fails(symlink("x", ""), errno::NOENT),
        fails(symlink("x", "c/"), errno::NOENT),
        fails(symlink("x", "b/"), errno::EXIST),
        fails(symlink("x", "a"), errno::EXIST),
        fails(symlink("x", "c/d"), errno::NOENT),
        fails(symlink(&"x".repeat(4096), "c"), errno::NAMETOOLONG),
        ok(symlink("é", "c")),
        ok(read_link("c", 100)).and_bytes("target", "é".as_bytes()),
    ]);
}

#[test]
fn several_names_of_one_file() {
    run(vec![
        ok(touch("a")),
        ok(write(0, b"text")),
        ok(link("a", "b")),
        ok(stat("b")).and("links", 2).and("size", 4),
        ok(unlink("a")),
        ok(stat("b")).and("links", 1),
        fails(link("a", "c"), errno::NOENT),
        fails(link("b", "b"), errno::EXIST),
        ok(make("d")),
        fails(link("d", "e"), errno::PERM),
        fails(link("b", "d"), errno::EXIST),
        fails(link("b", "c/"), errno::NOENT),
        fails(link("b/", "c"), errno::NOTDIR),
        fails(link("b", "d/x/y"), errno::NOENT),
        ok(link("b", "d/x")),
        ok(stat("d/x")).and("links", 2),
        ok(symlink("b", "l")),
        ok(link("l", "m")),
        ok(stat_link("m")).and("type", LINK).and("links", 2),
        fails(Call::Link { from: base("b"), lookup: 2, to: base("n") }, errno::INVAL),
        ok(Call::Link { from: base("l"), lookup: 1, to: base("n") }),
    ]);
}

#[test]
fn renaming() {
    run(vec![
        ok(touch("a")),
        ok(rename("a", "b")),
        fails(stat("a"), errno::NOENT),
        fails(rename("a", "c"), errno::NOENT),
        fails(rename("b", "x/y"), errno::NOENT),
        ok(rename("b", "b")),
        ok(make("d")),
        ok(make("e")),
        ok(touch("e/f")),
        fails(rename("b", "d"), errno::ISDIR),
        fails(rename("d", "b"), errno::NOTDIR),
        fails(rename("d", "e"), errno::NOTEMPTY),
        ok(rename("e", "d")),
        ok(stat("d/f")).and("type", FILE),
        fails(rename("d", "d/g"), errno::INVAL),
        fails(rename("d", "d/f/g"), errno::NOTDIR),
        fails(rename("d/f", "d"), errno::NOTEMPTY),
        ok(rename("d/", "g/")),
        ok(rename("g", "h/")),
        fails(rename("b", "c/"), errno::NOTDIR),
        fails(rename("b/", "c"), errno::NOTDIR),
        fails(rename("h/.", "i"), errno::BUSY),
        fails(rename("h", "."), errno::BUSY),
        fails(rename("h", "h/.."), errno::BUSY),
        ok(symlink("h", "l")),
        ok(rename("l", "m")),
        ok(stat_link("m")).and("type", LINK),
        ok(rename("b", "m")),
        ok(stat_link("m")).and("type", FILE),
        ok(rename("m", "h/f")),
        ok(list(Handle::Base, 64)).and_names(&[("h", FOLDER)]),
    ]);
}

#[test]
fn removing() {
    run(vec![
        ok(make("a")),
        ok(touch("a/f")),
        fails(remove("a"), errno::NOTEMPTY),
        fails(unlink("a"), errno::ISDIR),
        fails(unlink("a/"), errno::ISDIR),
        fails(unlink("a/f/"), errno::NOTDIR),
        fails(remove("a/f"), errno::NOTDIR),
        ok(unlink("a/f")),
        fails(unlink("a/f"), errno::NOENT),
        fails(remove("a/."), errno::INVAL),
        fails(remove("."), errno::INVAL),
        fails(remove("x"), errno::NOENT),
        fails(remove(""), errno::NOENT),
        ok(make("a/b")),
        fails(remove("a/b/.."), errno::NOTEMPTY),
        ok(remove("a/b")),
        ok(remove("a/")),
        fails(remove("a"), errno::NOENT),
        ok(list(Handle::Base, 64)).and_names(&[]),
    ]);
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
