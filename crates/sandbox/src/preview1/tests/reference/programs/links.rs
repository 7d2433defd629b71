//! Programs about links: symbolic ones, and several names of one file.

use super::*;

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
