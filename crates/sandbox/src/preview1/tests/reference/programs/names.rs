//! Programs about names and folders: opening, listing, moving and removing.

use super::*;

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
